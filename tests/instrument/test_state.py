"""What waves and lanes carry from hook to hook (lt.WaveState, lt.LaneState), on every kind of processor: against what the
device shows of the plain run."""

# ruff: noqa: F841  # what a hook assigns to an inout goes back

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import LANES, instrumented, on_every_target, places, places_by_python

import luthier as lt

SOURCE = """
KERNEL k(u32 *p) {
    u32 i = local_x(), x = p[i];
    for (u32 n = 0; n <= (i & 3); n++) x = x * 3 + n;
    p[i] = x;
}
"""


def launched(target, *tools):
    """A launch of one wave with the tools, and one without: what both store is the same."""
    code = lt.CodeObject.open(compiled.build(SOURCE, *target))
    module = instrumented(code, target, list(tools))
    plain = lt.Device(target[0]).load(code)
    lanes = code.program.wavefront_size
    stored = []
    for which in (plain, module):
        values = np.arange(lanes, dtype=np.uint32)
        result = which.run("k", grid=lanes, block=lanes, args=[values], strict=True)
        assert not result.findings, result.findings[:1]
        stored.append(values)
    assert (stored[0] == stored[1]).all() and not (stored[0] == np.arange(lanes)).all()
    return code, module, lanes


def ran(target, code, lanes):
    """The program counters and EXECs of the plain run, as the device shows them."""
    args = [np.arange(lanes, dtype=np.uint32)]
    events = lt.Device(target[0]).load(code).trace("k", events=["instructions"], grid=lanes, block=lanes, args=args).instructions
    return events["pc"].tolist(), events["exec"].tolist()


class Kept(lt.Tool):
    """The last two program counters of the wave, how many instructions each lane ran, and how many the wave did, which a
    counter says as well."""

    count = lt.Counter()
    last = lt.WaveState(lt.u64, 2)
    ran = lt.WaveState(lt.u32)
    lane = lt.LaneState(lt.u32)
    half = lt.LaneState(lt.f32)
    seen = lt.DeviceArray(lt.u64, 4)
    lanes = lt.DeviceArray(lt.u32, 64)
    halves = lt.DeviceArray(lt.f32, 64)

    @lt.hook
    def begin(ran: lt.inout[lt.u32], half: lt.inout[lt.f32]):
        ran = lt.u32(100)
        half = lt.f32(lt.lane_id())

    @lt.hook
    def step(
        count: lt.counter,
        last: lt.inout[lt.u64, 2],
        ran: lt.inout[lt.u32],
        lane: lt.inout[lt.u32],
        half: lt.inout[lt.f32],
        pc: lt.u64,
    ):
        count += 1
        last[1] = last[0]
        last[0] = pc
        ran += 1
        lane += 1
        half += 0.5

    @lt.hook
    def end(
        last: lt.inout[lt.u64, 2],
        ran: lt.inout[lt.u32],
        lane: lt.inout[lt.u32],
        half: lt.inout[lt.f32],
        seen: lt.ptr[lt.u64],
        lanes: lt.ptr[lt.u32],
        halves: lt.ptr[lt.f32],
    ):
        seen[0] = last[0]
        seen[1] = last[1]
        seen[2] = ran
        lanes[lt.lane_id()] = lane
        halves[lt.lane_id()] = half

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.begin, self.ran, self.half)
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.step, self.count, self.last, self.ran, self.lane, self.half, lt.Pc())
        kernel.insert_at_exit(self.end, self.last, self.ran, self.lane, self.half, self.seen, self.lanes, self.halves, priority=1)


@on_every_target
def test_values_live_from_one_hook_to_the_next(target):
    tool = Kept()
    code, _, lanes = launched(target, tool)
    pcs, masks = ran(target, code, lanes)
    assert int(tool.count) == len(pcs)
    seen = tool.seen.read().tolist()
    assert seen[:3] == [pcs[-1], pcs[-2], 100 + len(pcs)]
    of_lane = [sum(mask >> lane & 1 for mask in masks) for lane in range(lanes)]
    assert tool.lanes.read().tolist()[:lanes] == of_lane and len(set(of_lane)) > 1
    assert tool.halves.read().tolist()[:lanes] == [lane + 0.5 * n for lane, n in enumerate(of_lane)]


class Table(lt.Tool):
    """Counts by the program counter's lower bits in a table, whose element is known only as the hook runs."""

    table = lt.WaveState(lt.u32, 4)
    of_lanes = lt.LaneState(lt.u32, 4)
    seen = lt.DeviceArray(lt.u32, 8)

    @lt.hook
    def step(table: lt.inout[lt.u32, 4], of_lanes: lt.inout[lt.u32, 4], pc: lt.u64):
        table[(pc >> 2) & 7] += 1
        of_lanes[lt.lane_id() & 7] += 1

    @lt.hook
    def end(table: lt.inout[lt.u32, 4], of_lanes: lt.inout[lt.u32, 4], seen: lt.ptr[lt.u32]):
        for n in range(4):
            seen[n] = table[n]
        if lt.lane_id() == 2:
            for n in range(4):
                seen[4 + n] = of_lanes[n]

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.step, self.table, self.of_lanes, lt.Pc())
        kernel.insert_at_exit(self.end, self.table, self.of_lanes, self.seen, priority=1)


@on_every_target
def test_an_element_is_chosen_as_the_hook_runs(target):
    tool = Table()
    code, _, lanes = launched(target, tool)
    pcs, masks = ran(target, code, lanes)
    # What a table has no element for, it does not count.
    wanted = [sum(pc >> 2 & 7 == n for pc in pcs) for n in range(4)]
    of_lane = sum(mask >> 2 & 1 for mask in masks)
    assert tool.seen.read().tolist() == [*wanted, 0, 0, of_lane, 0] and 0 < sum(wanted) < len(pcs)


class Sum(lt.Tool):
    """Counts in functions that are called, too: in a counter, and in a state that each wave adds to memory at its end."""

    count = lt.Counter()
    ran = lt.WaveState(lt.u64)
    lane = lt.LaneState(lt.u32)
    sums = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def step(count: lt.counter, ran: lt.inout[lt.u64], lane: lt.inout[lt.u32]):
        count += 1
        ran += 1
        lane += lt.u32(ran)

    @lt.hook
    def end(ran: lt.inout[lt.u64], sums: lt.ptr[lt.u64]):
        lt.wave_atomic_add(sums, ran)

    def on_kernel(self, kernel):
        for instr in (instr for function in kernel.functions for instr in function.instructions):
            kernel.insert_before(instr, self.step, self.count, self.ran, self.lane)
        kernel.insert_at_exit(self.end, self.ran, self.sums, priority=1)


@pytest.mark.parametrize("calling_convention", [False, True])
@on_every_target
def test_functions_that_are_called_change_what_their_wave_carries(target, calling_convention):
    tool, code = Sum(), places(target)
    module = instrumented(code, target, [tool], calling_convention=calling_convention)
    values = np.random.default_rng(7).integers(0, 1 << 32, LANES, np.uint32)
    out = np.zeros(LANES, np.uint32)
    result = module.run("places", grid=384, block=128, args=[values, out, np.uint32(LANES)])
    assert (out == places_by_python(values)).all()
    assert int(tool.count) == tool.sums[0] == result.app_instructions > 500


def test_each_instance_of_a_tool_has_states_of_its_own():
    first, second = Kept(), Kept()
    assert first.last is not second.last and first.last is first.last and first.last.n == 2


class Wrong(lt.Tool):
    value = lt.WaveState(lt.u32)
    table = lt.LaneState(lt.u32, 3)

    def __init__(self, hook, *args):
        self.hook, self.args = hook, args

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hook, *[getattr(self, name) for name in self.args])


@lt.hook
def takes_a_value(value: lt.inout[lt.u32]):
    value = lt.u32(1)


@lt.hook
def takes_another(value: lt.inout[lt.f32]):
    value = 1.0


@lt.hook
def takes_a_table(table: lt.inout[lt.u32, 4]):
    table[0] = 1


@lt.hook
def takes_two(a: lt.inout[lt.u32], b: lt.inout[lt.u32]):
    a = b


@pytest.mark.parametrize(
    ("hook", "args", "says"),
    [
        (takes_another, ["value"], "declare it lt.inout[lt.u32]"),
        (takes_a_value, ["table"], "declare it lt.inout[lt.u32, 3]"),
        (takes_a_table, ["table"], "declare it lt.inout[lt.u32, 3]"),
        (takes_two, ["value", "value"], "twice"),
    ],
)
def test_a_state_that_does_not_fit_its_parameter_is_refused(hook, args, says):
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a"))
    with pytest.raises(lt.ToolError, match=says.replace("[", r"\[")):
        lt.instrument(code, [Wrong(hook, *args)])


@lt.hook
def differs(value: lt.inout[lt.u32]):
    value = lt.u32(lt.lane_id())


@lt.hook
def differs_in_a_table(table: lt.inout[lt.u32, 3], x: lt.u32):
    table[lt.lane_id()] = x


@lt.hook
def beyond(table: lt.inout[lt.u32, 3]):
    table[3] = 1


@lt.hook
def whole(table: lt.inout[lt.u32, 3], other: lt.ptr[lt.u32]):
    other[0] = table


@pytest.mark.parametrize(("hook", "says"), [(beyond, "3 is outside"), (whole, "name one of its elements")])
def test_a_table_is_used_by_its_elements(hook, says):
    with pytest.raises(lt.HookError, match=says):
        hook.check()


def test_what_the_wave_has_one_of_gets_no_value_that_lanes_have_each():
    code = lt.CodeObject.open(compiled.build(SOURCE, "gfx90a"))
    with pytest.raises(lt.HookError, match="one value for the whole wave"):
        lt.instrument(code, [Wrong(differs, "value")])


@pytest.mark.parametrize("n", [0, 17, True, "4"])
def test_a_table_has_one_to_sixteen_values(n):
    with pytest.raises(lt.ToolError, match="1 to 16"):
        lt.WaveState(lt.u32, n)
    with pytest.raises(TypeError, match="1 to 16"):
        lt.inout[lt.u32, n]
