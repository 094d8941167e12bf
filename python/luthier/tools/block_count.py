"""block_count: how often each basic block, line and loop runs, and in how many lanes."""

from __future__ import annotations

import luthier as lt
from luthier.tools.lanes import LaneTool, as_json, incomplete, line_of, place_of


class BlockCount(LaneTool):
    """``{"blocks": {address: {"executed", "lanes"}}, "lines": {"file:line": {"executed", "lanes"}}, "loops": {address of the
    header: {"depth", "entered", "rounds", "mean"}}}``. ``executed`` counts waves; of a line, those of its instruction that
    ran most often. ``rounds`` is how often the header ran, ``mean`` how often for each time that the loop was entered."""

    def __init__(self) -> None:
        super().__init__()
        #: Of each loop: its header, its depth, and the counter of the edges that lead back.
        self.loops: list[tuple[lt.Block, int, lt.DeviceArray, int]] = []

    @lt.hook
    def back(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for function in self.count_lanes(kernel):
            loops = list({loop.header.address: loop for loop in function.loops}.values())
            if not loops:
                continue
            counts = lt.DeviceArray(lt.u64, len(loops), name=f"back.{function.name}")
            for index, loop in enumerate(loops):
                self.loops.append((loop.header, loop.depth, counts, index))
                for block in loop.blocks:
                    if loop.header in block.successors:
                        kernel.insert_on_edge(block, loop.header, self.back, counts.at(index))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        blocks: dict[int, tuple[int, int]] = {}
        lines: dict[tuple[str, int], tuple[int, int]] = {}
        for stretch in self.stretches:
            waves, lanes = stretch.waves, stretch.lanes
            blocks.setdefault(stretch.block.address, (waves, lanes))  # the first one is what entered
            for line in {line for i in stretch.instructions if (line := line_of(i))}:
                lines[line] = max(lines.get(line, (0, 0)), (waves, lanes))
        loops = {}
        for header, depth, counts, index in self.loops:
            rounds = blocks[header.address][0]
            entered = rounds - int(counts[index])
            mean = rounds / entered if entered else 0.0
            loops[header.address] = {"depth": depth, "entered": entered, "rounds": rounds, "mean": mean}

        def told(pair: tuple[int, int]) -> dict[str, int]:
            return {"executed": pair[0], "lanes": pair[1]}

        report.result = {
            "blocks": as_json({a: told(pair) for a, pair in blocks.items()}),
            "lines": {f"{file}:{line}": told(pair) for (file, line), pair in lines.items()},
            "loops": as_json(loops),
        }
        first = {s.block.address: s.block for s in reversed(self.stretches)}
        rows = [
            (f"{a:#x}", first[a].function.name, place_of(first[a].instructions[0]), waves, lanes)
            for a, (waves, lanes) in sorted(blocks.items(), key=lambda item: -item[1][0])
        ]
        report.table("blocks", rows, ("block", "function", "line", "executed", "lanes"))
        around = [(f"{a:#x}", v["depth"], v["entered"], v["rounds"], round(v["mean"], 2)) for a, v in loops.items()]
        report.table("loops", around, ("header", "depth", "entered", "rounds", "mean"))
        self.lane_columns(report)
