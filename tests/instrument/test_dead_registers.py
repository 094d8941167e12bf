"""A hook sees what a register of the application holds even where the application has no more use for it: no other hook
takes it for its own."""

from __future__ import annotations

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
