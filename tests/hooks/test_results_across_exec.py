"""RDNA3 with waves of 64: a hook reads a value that was moved for it in front of a change of EXEC beside one from behind the change.

What the hook changes EXEC for can be left out by a branch, and the way is longer than placement follows it from the place: it has
to wait in front of the hook (`va_vdst`)."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

KERNEL = """
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 64))) void k(unsigned *a, unsigned n) {
  unsigned i = __builtin_amdgcn_workitem_id_x(), x = a[i];
  if (x > 3) x = x * 7 + n;
  a[i] = x + i;
}
"""


class Changes(lt.Tool):
    """How often a lane's v0 is another number than was kept the time before: its v0, changed by the number of times."""

    total = lt.DeviceArray(lt.u64, 1)
    steps = lt.WaveState(lt.u64)
    last = lt.LaneState(lt.u32)

    @lt.hook
    def look(total: lt.ptr[lt.u64], steps: lt.inout[lt.u64], last: lt.inout[lt.u32], value: lt.u32):
        steps += 1
        if last != value:
            lt.atomic_add(total, 1)
        last = value ^ lt.u32(steps)

    def on_kernel(self, kernel):
        first = next(instruction for instruction in kernel.instructions if "v0" in map(str, instruction.reads))
        for _ in range(2):
            kernel.insert_before(first, self.look, self.total, self.steps, self.last, lt.Reg("v0"))


@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize("target", ["gfx1100", "gfx1150", "gfx1201"])
def test_placements_are_proven_and_count_each_lane_once(target, bodies):
    path = compiled.build(KERNEL, target, ("-mwavefrontsize64",))
    code = lt.CodeObject.open(path)
    placed = lt.instrument(code, [Changes()], check=True, bodies=bodies)
    assert not placed.instrumentation["rejected"]
    tool, data = Changes(), np.arange(64, dtype=np.uint32)
    lt.Device(target).run(path, "k", grid=64, block=64, args=[data, np.uint32(5)], tools=[tool], check=True, bodies=bodies)
    i = np.arange(64)
    assert (data == np.where(i > 3, i * 7 + 5, i) + i).all()
    # The first time work-item 0 has what the state begins with, the second time no lane has what was kept.
    assert int(tool.total[0]) == 63 + 64
