"""Records that hooks put into channels come to the tool, each whole and none twice, while kernels run."""

from __future__ import annotations

import os
import time

import compiled
import numpy as np
import pytest
from instrumented import TARGETS
from test_waves import MASKS, SOURCE

import luthier as lt

#: The deep run: how many records.
RECORDS = int(os.environ.get("LUTHIER_RECORDS", "0"))

#: How often every wave comes to the place.
LOOP = """
KERNEL loop(u32 n, u64 mask) {
    u32 i = global_x();
    for (u32 k = 0; k < n; k++) asm volatile("s_nop 7 ; %0" ::"v"(i * n + k));
}
"""


class Channels(lt.Tool):
    """Each lane records what it has in the register that the place names, and its complement; each wave how often it came."""

    lanes = lt.Channel(64, value=lt.u32, odd=bool, other=lt.u64, small=lt.f16)
    waves = lt.Channel(64, lanes=lt.u64)

    @lt.hook
    def put(lanes: lt.channel, value: lt.u32):
        lt.record(lanes, value, value % 2 == 1, ~lt.u64(value), 1.5)

    @lt.hook
    def pass_by(waves: lt.channel):
        lt.record(waves, lt.exec_mask(), per_wave=True)

    def __init__(self, seconds: float = 0):
        self.seconds = seconds
        self.got: dict[str, list[np.ndarray]] = {"lanes": [], "waves": []}

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.mnemonic == "s_nop" and "7" in i.text)
        kernel.insert_before(place, self.pass_by, self.waves)
        if kernel.name == "loop":
            previous = [i for i in kernel.instructions if i.address < place.address]
            register = next(op for i in reversed(previous) for op in i.operands if op.is_written and str(op).startswith("v"))
            kernel.insert_before(place, self.put, self.lanes, lt.Reg(str(register)))

    def on_records(self, channel, records):
        time.sleep(self.seconds)
        self.got[channel.name].append(records)


class Dropping(Channels):
    lanes = lt.Channel(128, "drop", value=lt.u32, odd=bool, other=lt.u64, small=lt.f16)
    waves = lt.Channel(64, "drop", lanes=lt.u64)


class Overwriting(Channels):
    lanes = lt.Channel(256, "overwrite", value=lt.u32, odd=bool, other=lt.u64, small=lt.f16)
    waves = lt.Channel(64, "overwrite", lanes=lt.u64)


on_every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))


def run(target, tool: Channels, blocks: int, rounds: int, strict: bool = True, threads: int = 0, bodies: str = "in-place") -> int:
    """How many records lanes have made."""
    code = lt.CodeObject.open(compiled.build(LOOP, *target))
    module = lt.Device(target[0], threads=threads).load(code, tools=[tool], on_rejected="raise", bodies=bodies)
    result = module.run("loop", blocks=blocks, block=256, args=[np.uint32(rounds), np.uint64(0)], strict=strict)
    assert result.findings == [], [str(f) for f in result.findings]
    return 256 * blocks * rounds


def all_of(tool: Channels) -> np.ndarray:
    """What lanes have recorded; none of it is torn."""
    got = np.concatenate(tool.got["lanes"]) if tool.got["lanes"] else np.zeros(0, tool.lanes.shape.dtype)
    assert (got["other"] == ~got["value"].astype(np.uint64)).all()
    assert (got["odd"] == (got["value"] % 2 == 1)).all()
    assert (got["small"] == 1.5).all()
    return got


@on_every_target
def test_every_record_comes_once(target):
    tool = Channels()
    number = run(target, tool, 3, 5)
    assert sorted(all_of(tool)["value"].tolist()) == list(range(number))
    waves = np.concatenate(tool.got["waves"])["lanes"]
    size = lt.CodeObject.open(compiled.build(LOOP, *target)).program.wavefront_size
    assert waves.tolist() == [(1 << size) - 1] * (number // size)
    assert tool.lanes.dropped == 0 and tool.lanes.received == number and tool.lanes.unfinished == 0


@on_every_target
def test_what_finds_no_room_is_counted_or_takes_the_place_of_the_oldest(target):
    dropping = Dropping(0.02)
    number = run(target, dropping, 3, 20)
    got = all_of(dropping)
    assert len(set(got["value"].tolist())) == len(got)
    assert len(got) + dropping.lanes.dropped == number and dropping.lanes.dropped > 0
    overwriting = Overwriting()
    number = run(target, overwriting, 3, 4)
    got = all_of(overwriting)
    assert len(got) == 256 and overwriting.lanes.dropped == number - 256
    assert len(set(got["value"].tolist())) == 256


@on_every_target
def test_a_wave_without_lanes_records_for_itself(target):
    code = lt.CodeObject.open(compiled.build(SOURCE, *target))
    size = code.program.wavefront_size
    for kind in (Channels, Dropping, Overwriting):
        for mask in (*MASKS, 1 << 17):
            tool = kind()
            module = lt.Device(target[0]).load(code, tools=[tool], on_rejected="raise")
            result = module.run("masked", grid=size, block=size, args=[np.uint64(mask % (1 << size))], strict=True)
            assert result.findings == [], [str(f) for f in result.findings]
            assert [r["lanes"].tolist() for r in tool.got["waves"]] == [[mask % (1 << size)]]


def test_records_are_in_the_order_of_each_wave():
    tool = Channels()
    run(("gfx90a", ()), tool, 4, 50)
    got = all_of(tool)["value"]
    lane, step = got // 50, got % 50
    assert all(step[lane == one].tolist() == list(range(50)) for one in range(0, 1024, 37))


def test_a_slow_host_loses_nothing():
    tool = Channels(0.001)
    number = run(("gfx90a", ()), tool, 4, 20, strict=False)
    assert sorted(all_of(tool)["value"].tolist()) == list(range(number))


class Prints(lt.Tool):
    @lt.hook
    def say(n: lt.u32):
        say_it(n)
        lt.printf("100%% of %u lanes, %.2f, %x\n", lt.active_lanes(), 2.5, lt.i32(-1), per_wave=True)

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.mnemonic == "s_nop" and "7" in i.text)
        kernel.insert_before(place, self.say, lt.Imm(7))


@lt.device
def say_it(n: lt.u32):
    if lt.lane_id() < 2:
        lt.printf("lane %d says %d\n", lt.lane_id(), lt.i16(n) - 8)


def test_printf_prints_in_order(capsys):
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx1100"))
    module = lt.Device("gfx1100").load(code, tools=[Prints()], on_rejected="raise")
    module.run("masked", grid=32, block=32, args=[np.uint64(-1 % (1 << 32))], strict=True)
    assert capsys.readouterr().out == "lane 0 says -1\nlane 1 says -1\n100% of 32 lanes, 2.50, -1\n"


class Fails(Channels):
    def on_records(self, channel, records):
        raise KeyError("no")


def test_what_on_records_raises_comes_out_of_run_and_the_kernel_ends():
    with pytest.raises(KeyError, match="no"):
        run(("gfx90a", ()), Fails(), 4, 20)


def test_a_code_object_by_itself_has_nobody_who_reads(tmp_path):
    with pytest.raises(lt.ToolError, match="channels.lanes is a channel, which nothing reads"):
        lt.instrument(compiled.build(LOOP, "gfx90a"), [Channels()])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: lt.Channel(0, a=lt.u32), "room for 0 records"),
        (lambda: lt.Channel(1 << 30, a=lt.u64), "17,179,869,376 bytes"),
        (lambda: lt.Channel(64), "needs the fields"),
        (lambda: lt.Channel(64, "sometimes", a=lt.u32), "when_full='sometimes': one of wait, drop, overwrite"),
        (lambda: lt.Channel(64, a=int), "field a=<class 'int'>"),
        (lambda: lt.Channel(64, _a=lt.u32), "field '_a'"),
    ],
)
def test_a_channel_that_cannot_be_is_refused(wrong, why):
    with pytest.raises(lt.ToolError, match=why):
        wrong()


class Wrong(lt.Tool):
    to = lt.Channel(64, a=lt.u32, b=lt.u64)

    @lt.hook
    def few(to: lt.channel):
        lt.record(to, 1)

    @lt.hook
    def kind(to: lt.channel, x: lt.f32):
        lt.record(to, x, 1)

    @lt.hook
    def apart(to: lt.channel):
        lt.record(to, lt.lane_id(), 1, per_wave=True)

    def __init__(self, name: str):
        self.hook = getattr(self, name)

    def on_kernel(self, kernel):
        more = (1.5,) if self.hook is self.kind else ()
        kernel.insert_at_entry(self.hook, self.to, *more)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("few", "a record of this channel has 2 values (a: u32, b: u64), 1 given"),
        ("kind", "a of the record: f32 does not become u32 by itself"),
        ("apart", "a wave's record needs values that all lanes share, this one can differ between lanes"),
    ],
)
def test_a_record_of_another_kind_is_shown(name, why):
    with pytest.raises(lt.HookError) as raised:
        lt.Device("gfx90a").load(compiled.build(LOOP, "gfx90a"), tools=[Wrong(name)])
    text = str(raised.value)
    assert why in text and "| " in text and "^" in text and "test_channels.py" in text


@lt.device
def inner(to: lt.channel):
    lt.record(to, 1, 2)


def test_a_device_function_has_no_channel():
    with pytest.raises(lt.HookError, match="a device function cannot have a channel parameter"):
        _ = inner.params


class Many(Channels):
    lanes = lt.Channel(1 << 16, value=lt.u32, odd=bool, other=lt.u64, small=lt.f16)
    waves = lt.Channel(1 << 12, lanes=lt.u64)


class ManyDropping(Many):
    lanes = lt.Channel(1 << 12, "drop", value=lt.u32, odd=bool, other=lt.u64, small=lt.f16)


@pytest.mark.skipif(
    not RECORDS, reason="LUTHIER_RECORDS=N records N times, the host slower than the device and the other way round"
)
@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize("seconds", [0, 0.02])
@pytest.mark.parametrize("kind", [Many, ManyDropping])
def test_deep(kind, seconds, bodies):
    tool = kind(seconds)
    started = time.perf_counter()
    number = run(("gfx90a", ()), tool, 16, -(-RECORDS // 4096), strict=False, bodies=bodies)
    took = time.perf_counter() - started
    got = all_of(tool)["value"]
    assert len(got) + tool.lanes.dropped == number and (np.bincount(got, minlength=number) <= 1).all()
    assert (kind is Many) == (tool.lanes.dropped == 0) and tool.lanes.unfinished == 0
    print(
        f"{kind.__name__}, {bodies}: {number:,} records in {took:.1f} s, the host sleeping {seconds} s for each piece of them; "
        f"{len(got):,} came, {tool.lanes.dropped:,} were dropped"
    )
