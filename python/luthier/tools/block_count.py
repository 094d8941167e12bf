"""block_count: how often each basic block, line and loop runs, and in how many lanes.

``trips=yes`` tells of each loop how many rounds a wave has gone each time that it has entered it: the least, the most and how often
which. For that the wave keeps a number for each loop.
"""

from __future__ import annotations

from typing import Any

import luthier as lt
from luthier.objects.kernel import leaves
from luthier.tools.lanes import LaneTool, as_json, incomplete, line_of, place_of

#: Rounds that are told apart.
_ROUNDS = 4096


class BlockCount(LaneTool):
    """``{"blocks": {address: {"executed", "lanes"}}, "lines": {"file:line": {"executed", "lanes"}}, "loops": {address of the
    header: {"depth", "entered", "rounds", "mean"}}}``. ``executed`` counts waves; of a line, those of its instruction that
    ran most often. ``rounds`` is how often the header ran, ``mean`` how often for each time that the loop was entered. With
    ``trips=yes`` loops also have ``least``, ``most`` and ``trips``: ``{rounds: times}`` for each time that a wave has left the loop; 4,095
    rounds or more are one number, and ``most`` is None then."""

    def __init__(self, trips: bool = False) -> None:
        super().__init__()
        self.trips = trips
        #: By the address of the header: how often a loop was left, by the rounds that it had run.
        self.left: dict[int, lt.DeviceArray] = {}
        #: Of each loop: its header, its depth, and the counter of the edges that lead back.
        self.loops: list[tuple[lt.Block, int, lt.DeviceArray, int]] = []

    @lt.hook
    def back(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    @lt.hook
    def goes_round(rounds: lt.inout[lt.u32]):
        rounds += 1

    @lt.hook
    def leaves_loop(left: lt.ptr[lt.u64], rounds: lt.inout[lt.u32]):
        lt.wave_atomic_add(left + lt.min(rounds, 4095), 1)
        rounds = lt.u32(0)  # noqa: F841

    def count_trips(self, kernel: lt.Kernel, loop: lt.Loop) -> None:
        """Has waves count their rounds in a loop, and tell them where they leave it."""
        rounds = lt.WaveState(lt.u32)
        left = self.left[loop.header.address] = lt.DeviceArray(lt.u64, _ROUNDS, name=f"left.{loop.header.address:x}")
        inside = {block.address for block in loop.blocks}
        kernel.insert_at_block(loop.header, self.goes_round, rounds)
        for block in loop.blocks:
            if block.terminator == "end" or leaves(block):
                kernel.insert_before(block.instructions[-1], self.leaves_loop, left, rounds)
            for successor in block.successors:
                if successor.address not in inside:
                    kernel.insert_on_edge(block, successor, self.leaves_loop, left, rounds)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for function in self.count_lanes(kernel):
            loops = list({loop.header.address: loop for loop in function.loops}.values())
            if not loops:
                continue
            counts = lt.DeviceArray(lt.u64, len(loops), name=f"back.{function.name}")
            for index, loop in enumerate(loops):
                self.loops.append((loop.header, loop.depth, counts, index))
                if self.trips:
                    self.count_trips(kernel, loop)
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
        loops: dict[int, dict[str, Any]] = {}
        for header, depth, counts, index in self.loops:
            rounds = blocks[header.address][0]
            entered = rounds - int(counts[index])
            mean = rounds / entered if entered else 0.0
            loops[header.address] = {"depth": depth, "entered": entered, "rounds": rounds, "mean": mean}
            if self.trips:
                trips = {n: int(times) for n, times in self.left[header.address].nonzero().items()}
                most = max(trips, default=0)
                loops[header.address] |= {
                    "least": min(trips, default=0), "most": None if most == _ROUNDS - 1 else most, "trips": {str(n): t for n, t in trips.items()},
                }  # fmt: skip

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
        extremes = ("least", "most") if self.trips else ()
        around = [
            (f"{a:#x}", v["depth"], v["entered"], v["rounds"], round(v["mean"], 2), *(v[name] for name in extremes))
            for a, v in loops.items()
        ]
        report.table("loops", around, ("header", "depth", "entered", "rounds", "mean", *extremes))
        self.lane_columns(report)
