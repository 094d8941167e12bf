"""A launch that stops anywhere and goes back, from Python: breakpoints by line, conditions, watchpoints, and where values come
from."""

from __future__ import annotations

import time

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")

SOURCE = """\
KERNEL scaled(const float *x, const float *y, float *out, u32 n) {
    u32 i = group_x() * 64 + local_x();
    LDS float room[64];
    if (i >= n) return;
    float quotient = x[i] / y[i];
    room[local_x()] = quotient * 2.0f;
    barrier();
    out[i] = room[local_x() ^ 1] + 1.0f;
}
KERNEL wild(u32 *out) {
    out[local_x()] = 7;
    out[local_x() << 24] = 8;
}
"""
X = np.arange(128, dtype=np.float32)
Y = np.where(np.arange(128) == 37, 0, np.arange(128) + 1).astype(np.float32)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


@pytest.fixture(params=TARGETS)
def stage(request):
    return begin(request.param)


def begin(target: str, kernel: str = "scaled", **more) -> lt.Stage:
    module = lt.Device(target).load(compiled.build(SOURCE, target, ("-g",), "O1"))
    args = [X.copy(), Y.copy(), np.zeros(128, np.float32), np.uint32(128)] if kernel == "scaled" else [np.zeros(64, np.uint32)]
    return module.debug(kernel, blocks=2, block=64, args=args, **more)


def test_a_line_stops_each_wave_before_it_and_a_condition_one_of_them(stage):
    point = stage.break_at(str(line_of("room[local_x()] =")))
    stop = stage.resume()
    assert (stop.why, stop.point) == ("address", point)
    groups = {stop.wave.group}
    while (stop := stage.resume()).why == "address":
        groups.add(stop.wave.group)
    assert stop.why == "over" and groups == {0, 1} and point.hits == sum(1 for _ in groups) * point.hits // 2
    stage.goto(0)
    stage.delete(point)
    stage.break_at(f"{line_of('out[i] =')}", "group == 1")
    assert stage.resume().wave.workgroup == (1, 0, 0)


def test_the_launch_does_what_it_does_without_stops(stage):
    stage.break_at(str(line_of("float quotient")))
    while stage.resume().why != "over":
        stage.step(count=3)
    stage.finish()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (X / Y * 2)[np.arange(128) ^ 1] + 1
    np.testing.assert_allclose(stage.arguments[2], expected, rtol=1e-6)


def test_going_back_over_ten_million_instructions_takes_less_than_a_second():
    source = """
KERNEL spin(float *x, u32 n) {
    float a = x[local_x()];
    for (u32 k = 0; k < n; k++) a = a * 1.5f > 100.0f ? a - 99.0f : a + 0.5f;
    x[local_x()] = a;
}"""
    module = lt.Device("gfx90a").load(compiled.build(source, "gfx90a", ("-g",), "O1"))
    stage = module.debug("spin", blocks=8, block=64, args=[np.arange(64, dtype=np.float32), np.uint32(250_000)])
    assert stage.resume().why == "over" and stage.event > 10_000_000
    end = stage.event
    where = {"address": stage.arrays["x"].address + 4 * 5}
    for back in (stage.back, lambda: stage.goto(end // 2), lambda: stage.goto(end - 1), stage.reverse_step, stage.reverse_line,
                 lambda: stage.last_write(**where)):  # fmt: skip
        began = time.monotonic()
        back()
        assert time.monotonic() - began < 1
    stage.goto(end)
    assert "v_" in str(stage.why(**where)), "a chain of many values, each a way back"


def test_a_finding_stops_at_its_instruction_however_far_it_ran_before():
    module = lt.Device("gfx90a").load(compiled.build(SOURCE, "gfx90a", ("-g",), "O1"))
    with module.debug("scaled", blocks=2, block=64, args=[X.copy(), Y.copy(), None, np.uint32(128)], strict=True) as stage:
        stage.stops_at_findings = True
        stop = stage.resume()
        if stop.why == "finding":
            assert stop.finding["address"] is not None
        else:
            assert stop.why == "failed" and "global_store" in str(stop)


def test_steps_are_taken_back(stage):
    stage.break_at(str(line_of("float quotient")))
    stop = stage.resume()
    places = [(stop.event, stop.wave.pc)]
    for _ in range(5):
        stop = stage.step()
        places.append((stop.event, stage.wave(*stop.wave.id).pc))
    for event, pc in reversed(places[:-1]):
        stop = stage.reverse_step()
        assert (stop.event, stop.wave.pc) == (event, pc)
    assert stage.back(10**9).event == 0


def test_lines_are_stepped_through_and_back(stage):
    stage.break_at(str(line_of("float quotient")))
    first = stage.resume().wave
    seen = [stage.lines.line(first.pc)]
    for _ in range(3):
        stop = stage.step_line(first.id)
        seen.append(stage.lines.line(stop.wave.pc))
    assert all(a != b for a, b in zip(seen, seen[1:]))
    stop = stage.reverse_line(first.id)
    assert stage.lines.line(stop.wave.pc) == seen[-2]


def test_going_back_stops_at_the_last_breakpoint_before(stage):
    stage.break_at(str(line_of("float quotient")))
    events = []
    while (stop := stage.resume()).why == "address":
        events.append(stop.event)
    assert stop.why == "over" and events
    for event in reversed(events):
        assert stage.reverse_resume().event == event
    assert stage.reverse_resume().why == "begin"


def test_the_last_write_of_an_element_is_found_from_the_end(stage):
    assert stage.resume().why == "over"
    end, address = stage.event, stage.arrays["out"].address + 4 * 100
    stop = stage.last_write(address=address)
    assert stop.wave.workgroup == (1, 0, 0) and stop.access[2] % 32 == 36 % 32 and stage.event == end
    assert (stage.lines.line(stop.pc) or ("", 0))[1] == line_of("out[i] =")
    assert stage.last_write(address=stage.arrays["x"].address) is None


def test_an_infinity_is_led_back_to_the_two_values_that_were_divided(stage):
    """Element 36 of ``out`` is made of element 37's quotient by way of LDS."""
    assert stage.resume().why == "over"
    assert np.isinf(stage.array("out")[36])
    origin = stage.why(address=stage.arrays["out"].address + 4 * 36, depth=60)
    told = str(origin)
    assert f":{line_of('out[i] =')}" in told and f":{line_of('float quotient')}" in told and "in LDS of workgroup 0" in told, told
    leaves = " ".join(leaf.what for leaf in origin.leaves)
    assert "argument 0 'x'" in leaves and "148 bytes from its start" in leaves and "argument 1 'y'" in leaves, told
    assert origin.to_dict()["inputs"] and origin.to_dot().startswith("digraph")


def test_watchpoints_stop_behind_the_store(stage):
    address = stage.arrays["out"].address + 4 * 5
    watch = stage.watch(address=address)
    stop = stage.resume()
    assert (stop.why, stop.point) == ("watchpoint", watch) and stage.array("out")[5] != 0
    assert stop.access[0] <= address < stop.access[0] + stop.access[1] and stop.access[3] == "store"
    assert stage.resume().why == "over"


def test_a_register_is_watched_and_read_by_name(stage):
    stage.break_at("entry")
    wave = stage.resume().wave
    with pytest.raises(lt.ArgumentError, match="each lane"):
        wave.value("v0")
    with pytest.raises(lt.ArgumentError, match="no register"):
        wave.value("w0")
    watch = stage.watch(register="v0", wave=wave, lane=5)
    before, event = wave.value("v0", 5), stage.event
    stop = stage.resume()
    assert stop.point is watch and stop.wave.id == wave.id and stop.event > event
    assert stage.wave(*wave.id).value("v0", 5) != before


@pytest.mark.parametrize("target", TARGETS)
def test_a_fault_is_stood_before_and_left_backwards(target):
    stage = begin(target, "wild")
    stop = stage.resume()
    assert stop.why == "failed" and "store" in str(stop.error)
    assert "store" in stage.wave(*stop.wave.id).text
    event = stop.event
    assert stage.reverse_step().event < event
    assert stage.array("out")[63] in (0, 7)
    assert stage.resume().why == "failed" and stage.event == event


@pytest.mark.parametrize("schedule", ["pct:3", "choices:1=1", "fair"])
def test_a_schedule_is_followed_and_told_again(schedule):
    stage = begin("gfx90a", schedule=schedule)
    stage.resume()
    again = begin("gfx90a", schedule=stage.choices if schedule != "fair" else "fair")
    again.resume()
    assert (again.event, again.choices) == (stage.event, stage.choices)


def test_what_cannot_be_is_refused_in_a_line():
    stage = begin("gfx90a")
    for where, message in [
        (3, "no instruction begins"), ("999", "no code"), ("nowhere.hip:3", "source file"), ("0xzz", "no address"), ("absent", "no address"),
    ]:  # fmt: skip
        with pytest.raises(lt.ArgumentError, match=message):
            stage.break_at(where)
    with pytest.raises(lt.ArgumentError, match="condition"):
        stage.break_at("entry", "1 +")
    for keywords in ({}, {"address": 1, "lds": 2}, {"address": 1, "on": "sometimes"}, {"register": "mode"}):
        with pytest.raises(lt.ArgumentError, match="watch"):
            stage.watch(**keywords)
    with pytest.raises(lt.DeviceError, match="only fair, pct, choices and weak"):
        begin("gfx90a", schedule="random:3")
    with pytest.raises(lt.ArgumentError, match="not under way"):
        stage.wave(7, 0)


def test_strict_mode_stops_at_what_it_finds():
    stage = begin("gfx90a", "wild", strict=True)
    stage.stops_at_findings = True
    stop = stage.resume()
    assert stop.why == "finding" and stop.finding["kind"] == "out-of-bounds"
    assert stage.findings
