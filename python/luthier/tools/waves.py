"""Which wave is this: what tools that make records put into each. It is found out once, when the wave begins.

A record for a wave is made by its first active lane. What waves do without one is counted.
"""

from __future__ import annotations

import luthier as lt
from luthier.tools.lanes import wave_size


@lt.device
def is_first() -> lt.bool_:
    """Of the active lanes of a wave, the first."""
    return lt.lane_id() == lt.u32(lt.ctz(lt.exec_mask()))


class WaveTool(lt.Tool):
    """A tool whose hooks are given :attr:`here`. It is set in each kernel by :meth:`begin_waves`."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    #: The workgroup's place in the grid, x and then y and z << 16, and the wave's number in the workgroup << 6.
    here = lt.WaveState(lt.u32, 3)

    #: Events of waves without an active lane: there are no records of these.
    without_lanes = lt.DeviceArray(lt.u64, 1)

    def __init__(self) -> None:
        #: Kernels whose workgroups are taken to have one dimension: there is no way to the packet.
        self.flat: set[str] = set()

    @lt.hook
    def begins(here: lt.inout[lt.u32, 3]):
        here[0] = lt.workgroup_id_x()
        here[1] = lt.workgroup_id_y() | lt.workgroup_id_z() << 16
        here[2] = lt.wave_in_group() << 6

    @lt.hook
    def begins_flat(here: lt.inout[lt.u32, 3], shift: lt.u32):
        here[0] = lt.workgroup_id_x()
        here[1] = lt.workgroup_id_y() | lt.workgroup_id_z() << 16
        here[2] = lt.readfirstlane(lt.workitem_id_x() >> shift) << 6

    @lt.hook
    def idle(without_lanes: lt.ptr[lt.u64]):
        lt.wave_atomic_add(without_lanes, lt.u32(lt.exec_mask() == 0))

    def begin_waves(self, kernel: lt.Kernel) -> None:
        """Has each wave of the kernel find out which it is."""
        fields = kernel.code_object.descriptor(kernel.name).fields
        is_full = fields.get("user_sgpr_count", 0) > 14 and not fields.get("enable_sgpr_dispatch_ptr")
        if is_full and kernel.code_object.processor.startswith(("gfx9", "gfx10", "gfx11")):
            self.flat.add(kernel.name)
            kernel.insert_at_entry(self.begins_flat, self.here, wave_size(kernel).bit_length() - 1)
        else:
            kernel.insert_at_entry(self.begins, self.here)

    def on_launch(self, launch: lt.Launch) -> None:
        if any(-(-launch.grid[d] // launch.block[d]) > 1 << 16 for d in (1, 2)):
            raise lt.ToolError(f"{self.name}: a grid of more than 65,536 workgroups in y or z cannot be followed")
        if launch.kernel in self.flat and tuple(launch.block[1:]) != (1, 1):
            raise lt.ToolError(
                f"{self.name}: kernel {launch.kernel} has all user SGPRs in use, so that waves of workgroups of several dimensions "
                f"cannot be told apart: {launch.block[0]} x {launch.block[1]} x {launch.block[2]}"
            )
