# ruff: noqa: F821, UP037 (an address space is a word in quotes, not a type)
"""How much each workgroup does: `luthier run ... --tool examples/workgroups.py`.

Each wave counts its instructions in a register of its own, adds them up in LDS that its workgroup has for it, and the last wave of a
workgroup to end sends one record to the host, while others still run.
"""

from typing import Any

import luthier as lt


@lt.device
def waves_in_group() -> lt.u32:
    # Workgroups at the grid's edges have fewer work-items.
    wide = min(lt.workgroup_size_x(), lt.grid_size_x() - lt.workgroup_id_x() * lt.workgroup_size_x())
    high = min(lt.workgroup_size_y(), lt.grid_size_y() - lt.workgroup_id_y() * lt.workgroup_size_y())
    deep = min(lt.workgroup_size_z(), lt.grid_size_z() - lt.workgroup_id_z() * lt.workgroup_size_z())
    return (wide * high * deep + lt.wave_size() - 1) // lt.wave_size()


class Workgroups(lt.Tool):
    """Instructions of each workgroup."""

    instructions = lt.WaveState(lt.u64)
    total = lt.shared(lt.u64, 1)
    ended = lt.shared(lt.u32, 1)
    groups = lt.Channel(1 << 14, x=lt.u32, y=lt.u32, z=lt.u32, waves=lt.u32, instructions=lt.u64)

    @lt.hook
    def block(instructions: lt.inout[lt.u64], n: lt.u64):
        instructions += n

    @lt.hook
    def end(
        instructions: lt.inout[lt.u64], total: lt.ptr[lt.u64, "lds"], ended: lt.ptr[lt.u32, "lds"], groups: lt.channel
    ):  # fmt: skip
        before = lt.wave_atomic_add(total, instructions)
        waves = waves_in_group()
        if lt.wave_atomic_add(ended, 1) == waves - 1:
            lt.record(
                groups, lt.workgroup_id_x(), lt.workgroup_id_y(), lt.workgroup_id_z(), waves, before + instructions, per_wave=True
            )

    def __init__(self, top: int = 5) -> None:
        self.top = top
        self.heard: list[tuple[int, ...]] = []

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for block in kernel.blocks:
            kernel.insert_at_block(block, self.block, self.instructions, lt.Literal(len(block.instructions)))
        kernel.insert_at_exit(self.end, self.instructions, self.total, self.ended, self.groups)

    def on_records(self, channel: lt.Channel, records: Any) -> None:
        self.heard += records.tolist()

    def on_exit(self, report: lt.Report) -> None:
        most = sorted(self.heard, key=lambda group: -group[-1])
        report.result = {"workgroups": len(most), "instructions": sum(group[-1] for group in most)}
        report.table(
            "most instructions",
            [(f"{x}, {y}, {z}", waves, n) for x, y, z, waves, n in most[: self.top]],
            ("workgroup", "waves", "instructions"),
        )
