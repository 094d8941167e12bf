"""block_counts: how often each basic block runs, and which source line it begins with.

luthier run saxpy.hsaco --kernel saxpy ... --tool examples/block_counts.py
"""

from __future__ import annotations

import luthier as lt


class BlockCounts(lt.Tool):
    """Counts how often waves enter each block: ``{"blocks": {address: times}, "lines": {line: instructions}}``."""

    def __init__(self) -> None:
        self.counted: list[tuple[lt.DeviceArray, list[lt.Block]]] = []

    @lt.hook
    def enter(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        blocks = list(kernel.blocks)
        counts = lt.DeviceArray(lt.u64, len(blocks), name=f"counts.{kernel.name}")
        self.counted.append((counts, blocks))
        for i, block in enumerate(blocks):
            kernel.insert_before(block.instructions[0], self.enter, counts.at(i))

    def on_exit(self, report: lt.Report) -> None:
        entered: dict[str, int] = {}
        lines: dict[str, int] = {}
        for counts, blocks in self.counted:
            for block, times in zip(blocks, counts):
                entered[f"{block.address:#x}"] = times
                for instr in block.instructions:
                    place = f"{instr.source[0].file}:{instr.source[0].line}" if instr.source else "no source line"
                    lines[place] = lines.get(place, 0) + times
        report.result = {"blocks": entered, "lines": lines}
        ordered = sorted(lines.items(), key=lambda item: -item[1])
        report.table("instructions by source line", ordered, ("line", "instructions"))
