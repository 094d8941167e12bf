"""Hooks leave lanes that are off what they hold, and know which wave they are in whichever lanes are on."""

from __future__ import annotations

import compiled
import kernel_cases
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")


class Passes(lt.Tool):
    """A record of the wave at the start of each block, in loops that lanes leave one by one, too."""

    passes = lt.Channel(1 << 16, time=lt.u64, point=lt.u32)

    def __init__(self) -> None:
        self.heard = 0

    @lt.hook
    def passed(passes: lt.channel, point: lt.u32):
        lt.record(passes, lt.clock(), point, per_wave=True)

    def on_kernel(self, kernel):
        for block in kernel.blocks:
            kernel.insert_at_block(block, self.passed, self.passes, block.number)

    def on_records(self, channel, records):
        self.heard += len(records)


@pytest.mark.parametrize("target", TARGETS)
def test_a_record_of_a_wave_without_lanes_leaves_lanes_that_are_off_their_registers(target):
    code = lt.CodeObject.open(compiled.code_object("collatz", target=target))
    (launch,) = kernel_cases.launches("collatz")
    tool = Passes()
    result = lt.Device(target).run(code, launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, tools=[tool])
    trace_args = kernel_cases.launches("collatz")[0].args
    trace = lt.Device(target).trace(code, launch.kernel, grid=launch.grid, block=launch.block, args=trace_args)
    assert tool.heard == sum(trace.block_counts().values()) and result.findings == []
    launch.check(launch.args)


class Waves(lt.Tool):
    """Which wave of its workgroup accesses scratch."""

    waves = lt.Channel(1 << 12, wave=lt.u32, pc=lt.u64)

    def __init__(self) -> None:
        self.heard: set[tuple[int, int]] = set()

    @lt.hook
    def access(waves: lt.channel, pc: lt.u64):
        lt.record(waves, lt.wave_in_group(), pc)

    def on_kernel(self, kernel):
        for function in kernel.functions[1:]:
            for instr in function.instructions:
                if instr.memory_space and instr.works_for == "lane":
                    kernel.insert_before(instr, self.access, self.waves, lt.Pc())

    def on_records(self, channel, records):
        self.heard.update(map(tuple, records[["pc", "wave"]].tolist()))


@pytest.mark.parametrize("target", ("gfx90a", "gfx1030"))
def test_a_callee_that_turns_the_other_lanes_on_knows_which_wave_it_is_in(target):
    code = lt.CodeObject.open(compiled.code_object("call", target=target))
    (launch,) = kernel_cases.launches("call")
    tool = Waves()
    given = {"grid": launch.grid, "block": launch.block}
    lt.Device(target).run(code, launch.kernel, args=launch.args, tools=[tool], **given)
    trace = lt.Device(target).trace(code, launch.kernel, args=kernel_cases.launches("call")[0].args, events=["memory"], **given)
    inside = np.isin(trace.memory["pc"], [pc for pc, _ in tool.heard])
    assert inside.any() and tool.heard == set(map(tuple, trace.memory[inside][["pc", "wave"]].tolist()))


ENDS_EMPTY = """
KERNEL ends(unsigned *to, const unsigned *from, unsigned long n) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  asm volatile("v_mov_b32 v0, 64\\n v_mov_b32 v1, 64\\n v_mov_b32 v2, 64\\n v_mov_b32 v3, 64" ::: "v0", "v1", "v2", "v3");
  if (i + n < 7)
    to[0] = from[i];
}
"""


class FirstWaves(lt.Tool):
    """What the first wave of each workgroup is called, where no lane is active."""

    first = lt.Channel(64, wave=lt.u64, in_group=lt.u32)

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    @lt.hook
    def leave(first: lt.channel):
        if lt.wave_in_group() == 0:
            lt.record(first, lt.wave_id(), lt.wave_in_group(), per_wave=True)

    def on_kernel(self, kernel):
        kernel.insert_at_exit(self.leave, self.first)

    def on_records(self, channel, records):
        self.heard += records.tolist()


@pytest.mark.parametrize("target", (*TARGETS, "gfx1250"))
def test_waves_that_end_without_lanes_know_their_numbers_behind_a_branch(target):
    code, tool = lt.CodeObject.open(compiled.build(ENDS_EMPTY, target)), FirstWaves()
    module = lt.Device(target).load(code, tools=[tool], check=True)
    zeros = np.zeros(64, np.uint32)
    module.run("ends", grid=512, block=256, args=[zeros, zeros, 7])
    waves = 256 // (64 if target.startswith("gfx9") else 32)
    assert sorted(tool.heard) == [(0, 0), (waves, 0)]
