"""A hook that is given one register, one counter or one number more than once, in whatever arguments."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
from instrumented import instrumented, on_every_target

import luthier as lt

#: v6 holds the work-item id at the ``s_nop 1``, v7 the number 9, and v6 is what the kernel stores.
SOURCE = """
KERNEL same(u32 *out) {
    u32 i = local_x(), v = i;
    asm volatile("v_mov_b32 v6, %0\\nv_mov_b32 v7, 9\\ns_nop 1\\nv_mov_b32 %0, v6" : "+v"(v) :: "v6", "v7");
    out[i] = v;
}
"""
LANES = np.arange(32, dtype=np.uint32)


class Given(lt.Tool):
    """One hook with the arguments of a test before the ``s_nop``."""

    seen = lt.DeviceArray(lt.u32, 32)
    sum = lt.DeviceArray(lt.u32, 2)
    count = lt.Counter()

    def __init__(self, insert):
        self.insert = insert

    @lt.hook
    def change(seen: lt.ptr[lt.u32], new: lt.inout[lt.u32], old: lt.u32):
        if old & 1:
            new = new + 1
        if old & 2:
            new = old
        seen[lt.lane_id()] = old

    @lt.hook
    def change_pair(seen: lt.ptr[lt.u32], new: lt.inout[lt.u64], old: lt.u32):
        new = new + (lt.u64(7) << 32) + 1
        seen[lt.lane_id()] = old

    @lt.hook
    def add(seen: lt.ptr[lt.u32], a: lt.u32, b: lt.u32, c: lt.u32):
        seen[lt.lane_id()] = a + b * 3 + c * 5

    @lt.hook
    def two(a: lt.inout[lt.u32], b: lt.inout[lt.u32]):
        a += 1
        b += 2

    @lt.hook
    def pair_and_one(a: lt.inout[lt.u64], b: lt.inout[lt.u32]):
        a += 1
        b += 2

    @lt.hook
    def count_twice(a: lt.counter, b: lt.counter):
        a += 1
        b += 2

    @lt.hook
    def signs(sum: lt.ptr[lt.u32], x: lt.f32):
        lt.atomic_add(sum, lt.bitcast(lt.u32, x) >> 31)

    def on_kernel(self, kernel):
        (instr,) = [i for i in kernel.instructions if i.text.strip() == "s_nop 1"]
        self.insert(self, kernel, instr)


def run(target, insert):
    """What the kernel stores, and the tool."""
    code, tool, out = lt.CodeObject.open(compiled.build(SOURCE, *target)), Given(insert), np.zeros(32, np.uint32)
    instrumented(code, target, [tool]).run("same", grid=32, block=32, args=[out])
    return out, tool


@on_every_target
def test_a_hook_that_changes_a_register_sees_its_old_value_in_another_argument(target):
    v6, v7, both = lt.Reg("v6"), lt.Reg("v7"), lt.Reg("v[6:7]")
    out, tool = run(target, lambda t, k, i: k.insert_before(i, t.change, t.seen, v6, v6))
    np.testing.assert_array_equal(tool.seen.read(), LANES)
    np.testing.assert_array_equal(out, LANES + (LANES % 4 == 1))
    for register, value in ((v6, LANES), (v7, LANES * 0 + 9)):
        out, tool = run(target, lambda t, k, i, r=register: k.insert_before(i, t.change_pair, t.seen, both, r))
        np.testing.assert_array_equal(tool.seen.read(), value)
        np.testing.assert_array_equal(out, LANES + 1)


@on_every_target
def test_a_register_that_is_only_read_may_be_given_several_times(target):
    v6 = lt.Reg("v6")
    out, tool = run(target, lambda t, k, i: k.insert_before(i, t.add, t.seen, v6, v6, v6))
    np.testing.assert_array_equal(tool.seen.read(), LANES * 9)
    np.testing.assert_array_equal(out, LANES)


def test_two_new_values_for_one_register_or_counter_are_refused():
    target, v6 = ("gfx90a", ()), lt.Reg("v6")
    with pytest.raises(lt.ToolError, match="gets v6 twice to write it: pass it once"):
        run(target, lambda t, k, i: k.insert_before(i, t.two, v6, v6))
    with pytest.raises(lt.ToolError, match="gets count twice: pass it once"):
        run(target, lambda t, k, i: k.insert_before(i, t.count_twice, t.count, t.count))
    with pytest.raises(lt.RejectedError, match="two new values for v6: give it to one argument") as caught:
        run(target, lambda t, k, i: k.insert_before(i, t.pair_and_one, lt.Reg("v[6:7]"), v6))
    assert [r["kind"] for r in caught.value.rejected] == ["two_values"]


@pytest.mark.parametrize("kind", [float, lt.Imm, lt.Literal, np.float32])
def test_both_zeros_are_numbers_of_their_own(kind):
    def insert(tool, kernel, instr):
        for zero in (0.0, -0.0, 0.0):
            kernel.insert_before(instr, tool.signs, tool.sum, kind(zero))

    _, tool = run(("gfx90a", ()), insert)
    assert tool.sum[0] == 32
