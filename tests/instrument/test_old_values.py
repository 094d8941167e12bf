"""``lt.Old``: what a register held before an instruction, whatever the instruction does to lanes, addresses and calls."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, on_every_target, places

import luthier as lt

#: v9 holds the work-item id in all lanes; few lanes are on for a moment.
LANES = """
KERNEL lanes(u32 *out) {
    u32 i = local_x();
    asm volatile("v_mov_b32 v9, %0\\ns_nop 1" :: "v"(i) : "v9");
    asm volatile("s_mov_bN s[20:21], exec\\ns_mov_bN exec, 5\\ns_nop 2\\ns_or_bN exec, exec, s[20:21]" ::: "s20", "s21", "scc");
    asm volatile("s_mov_b32 s25, 0x1234\\ns_cmp_eq_u32 0, 0\\ns_getpc_b64 s[22:23]\\ns_cselect_b32 s24, 7, 9\\nv_mov_b32 %0, s24"
                 : "=v"(i) :: "s22", "s23", "s24", "s25", "scc");
    out[local_x()] = i;
}
"""


class Keeps(lt.Tool):
    """One hook behind the instructions that a test chooses."""

    seen = lt.DeviceArray(lt.u64, 64)

    def __init__(self, choose, *args):
        self.choose, self.args = choose, args

    @lt.hook
    def keep(seen: lt.ptr[lt.u64], old: lt.u32, now: lt.u32):
        seen[lt.lane_id()] = (lt.u64(old) << 32) | now

    def on_kernel(self, kernel):
        for instr in filter(self.choose, kernel.instructions):
            kernel.insert_after(instr, self.keep, self.seen, *self.args)


def of(target):
    """The kernel's code. Waves of 32 have half of EXEC."""
    text = LANES.replace("_bN", "_b64")
    if target[0].startswith("gfx1") and not target[1]:
        text = LANES.replace("_bN", "_b32").replace("s[20:21]", "s20").replace("exec", "exec_lo")
    return lt.CodeObject.open(compiled.build(text, *target))


def run(target, choose, *args):
    """What the hook has seen in each lane, old value above the new one."""
    code, tool, out = of(target), Keeps(choose, *args), np.zeros(64, np.uint32)
    lanes = code.program.wavefront_size
    instrumented(code, target, [tool]).run("lanes", grid=lanes, block=lanes, args=[out])
    assert out[:lanes].tolist() == [7] * lanes
    return tool.seen.read()[:lanes]


@on_every_target
def test_lanes_that_an_instruction_turns_on_have_their_old_values(target):
    v9 = lt.Reg("v9")
    seen = run(target, lambda i: i.opcode.startswith("s_or_b"), lt.Old(v9), v9)
    ids = np.arange(len(seen), dtype=np.uint64)
    np.testing.assert_array_equal(seen, ids << np.uint64(32) | ids)


@on_every_target
def test_an_old_value_is_kept_where_the_program_counter_is_read(target):
    seen = run(target, lambda i: "getpc" in i.flags and "s[22:23]" in i.text, lt.Old(lt.Reg("s25")), lt.Reg("s25"))
    np.testing.assert_array_equal(seen, np.full(len(seen), 0x1234_0000_1234, np.uint64))


def test_what_nothing_keeps_or_the_kernel_does_not_have_is_refused():
    target = ("gfx90a", ())
    tool = Keeps(lambda i: i.is_call, lt.Old(lt.Reg("v0")), lt.Reg("v0"))
    with pytest.raises(lt.RejectedError, match="nothing keeps the value that v0 had before s_swappc_b64") as caught:
        instrumented(places(target), target, [tool])
    assert {r["kind"] for r in caught.value.rejected} == {"old_over_call"}
