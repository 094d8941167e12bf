"""divergence: how many lanes are active where. Blocks that run with few of them are what a GPU wastes its time on.

luthier run collatz.hsaco --kernel collatz ... --tool examples/divergence.py
"""

from __future__ import annotations

import luthier as lt


class Divergence(lt.Tool):
    """Sums up the active lanes at each block: ``{"blocks": {address: {"waves": N, "lanes": N}}}``."""

    def __init__(self, most: int = 16):
        self.most = most  # rows of the table
        self.counted: list[tuple[lt.DeviceArray, lt.DeviceArray, list[lt.Block]]] = []

    @lt.hook
    def enter(waves: lt.ptr[lt.u64], lanes: lt.ptr[lt.u64]):
        lt.wave_atomic_add(waves, 1)
        lt.wave_atomic_add(lanes, lt.active_lanes())

    def on_kernel(self, kernel: lt.Kernel) -> None:
        blocks = list(kernel.blocks)
        waves = lt.DeviceArray(lt.u64, len(blocks), name=f"waves.{kernel.name}")
        lanes = lt.DeviceArray(lt.u64, len(blocks), name=f"lanes.{kernel.name}")
        self.counted.append((waves, lanes, blocks))
        for i, block in enumerate(blocks):
            kernel.insert_before(block.instructions[0], self.enter, waves.at(i), lanes.at(i))

    def on_exit(self, report: lt.Report) -> None:
        blocks: dict[str, dict[str, int]] = {}
        for waves, lanes, seen in self.counted:
            for block, entered, active in zip(seen, waves, lanes):
                if entered:
                    blocks[f"{block.address:#x}"] = {"waves": entered, "lanes": active}
        report.result = {"blocks": blocks}
        worst = sorted(blocks.items(), key=lambda item: item[1]["lanes"] / item[1]["waves"])[: self.most]
        rows = [(address, n["waves"], f"{n['lanes'] / n['waves']:.1f}") for address, n in worst]
        report.table("active lanes", rows, ("block", "waves", "lanes of each"))
