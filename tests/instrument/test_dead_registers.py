"""A hook sees what a register of the application holds even where the application has no more use for it: no other hook
takes it for its own."""

from __future__ import annotations

import compiled
import numpy as np
from instrumented import instrumented, launch, on_every_target, places

import luthier as lt


class AtTheEnd(lt.Tool):
    """What v0 and v1 hold when a wave ends, by lane; ``busy``: with a hook in front that needs many registers."""

    seen = lt.DeviceArray(lt.u32, 256)
    other = lt.DeviceArray(lt.u32, 64)

    def __init__(self, busy: bool = False):
        self.busy = busy

    @lt.hook
    def scribble(other: lt.ptr[lt.u32], n: lt.u32):
        x = lt.lane_id() * 2654435761 + n
        y = x ^ (x >> 15)
        z = y * 2246822519 + x
        w = z ^ (y << 3)
        lt.atomic_max(other + (lt.lane_id() & 63), x + y + z + w)

    @lt.hook
    def keep(seen: lt.ptr[lt.u32], first: lt.u32, second: lt.u32):
        lt.atomic_max(seen + lt.lane_id() * 2, first)
        lt.atomic_max(seen + lt.lane_id() * 2 + 1, second)

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            if self.busy and instr.falls_through:
                kernel.insert_after(instr, self.scribble, self.other, 5)
            if instr.opcode == "s_endpgm":
                if self.busy:
                    kernel.insert_before(instr, self.scribble, self.other, 7)
                kernel.insert_before(instr, self.keep, self.seen, lt.Reg("v0"), lt.Reg("v1"))


@on_every_target
def test_no_hook_takes_a_register_that_another_looks_at(target):
    seen = []
    for busy in (False, True):
        tool = AtTheEnd(busy)
        module = instrumented(places(target), target, [tool], on_rejected="report")
        launch(module)
        seen.append(tool.seen.read())
    # v0 holds an address: where a page lies differs from run to run.
    np.testing.assert_array_equal(seen[0] & 0xFFF, seen[1] & 0xFFF)
    assert seen[0].any()


#: SCC, VCC, M0, v8 and v9 are set and not used any more. Then v8 and SCC get other values, of which v8's is used.
UNUSED = """
KERNEL unused(u32 *out) {
    u32 x;
    asm volatile("s_cmp_eq_u32 0, 0\\ns_mov_b32 vcc_lo, 0x1230\\ns_mov_b32 m0, 0x770" ::: "scc", "vcc");
    asm volatile("v_mov_b32 v8, 0x4440\\nv_mov_b32 v9, 0x5550" ::: "v8", "v9");
    asm volatile("s_nop 1\\ns_nop 2\\ns_nop 3");
    asm volatile("v_mov_b32 v8, 0x99\\ns_cmp_eq_u32 0, 1\\nv_mov_b32 %0, v8" : "=v"(x) :: "scc", "v8");
    out[local_x()] = x;
}
"""


class Unused(AtTheEnd):
    """Looks at them behind hooks that need state and registers of their own."""

    values = lt.DeviceArray(lt.u32, 64)
    count = lt.Counter()

    @lt.hook
    def note(values: lt.ptr[lt.u32], value: lt.u32):
        values[0] = value

    @lt.hook
    def compare(count: lt.counter, other: lt.ptr[lt.u32]):
        if lt.ballot(other[lt.lane_id()] > 3) > 5:
            count += 1

    def on_kernel(self, kernel):
        at = {i.text.strip(): i for i in kernel.instructions}
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.scribble, self.other, 5)
            kernel.insert_before(instr, self.compare, self.count, self.other)
        last = at["s_nop 3"]
        for n, name in enumerate(("scc", "vcc_lo", "m0", "v9")):
            kernel.insert_before(last, self.note, self.values.at(n), lt.Reg(name), priority=1)
        move = [i for i in kernel.instructions if i.opcode == "v_mov_b32" and "0x99" in i.text][0]
        kernel.insert_after(move, self.note, self.values.at(4), lt.Old(move.operands[0]))
        compare = [i for i in kernel.instructions if i.opcode == "s_cmp_eq_u32" and i.text.split()[-1] == "1"][0]
        kernel.insert_after(compare, self.note, self.values.at(5), lt.Old(lt.Reg("scc")))
        kernel.insert_after(compare, self.note, self.values.at(6), lt.Reg("scc"))


@on_every_target
def test_state_and_overwritten_values_are_kept_for_the_hooks_that_look_at_them(target):
    code, tool = lt.CodeObject.open(compiled.build(UNUSED, *target)), Unused()
    module = instrumented(code, target, [tool])
    out = np.zeros(64, np.uint32)
    module.run("unused", grid=64, block=64, args=[out])
    assert tool.values[:7].tolist() == [1, 0x1230, 0x770, 0x5550, 0x4440, 1, 0]
    assert (out == 0x99).all()
