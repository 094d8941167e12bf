"""How often each instruction runs, and in how many lanes, from a few counters: EXEC stays as it is from one instruction
that writes it to the next, so a counter for each such stretch of a block tells of all its instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import luthier as lt
from luthier.reports.report import Report


@dataclass
class Stretch:
    """Instructions in a row that run in the same lanes."""

    block: lt.Block
    instructions: list[lt.Instruction]
    counts: lt.DeviceArray
    index: int

    @property
    def waves(self) -> int:
        """How often waves ran it."""
        return int(self.counts[2 * self.index])

    @property
    def lanes(self) -> int:
        """The active lanes of all these."""
        return int(self.counts[2 * self.index + 1])


def writes_exec(instr: lt.Instruction) -> bool:
    return any(register.name.startswith("exec") for register in instr.writes)


def stretches(block: lt.Block) -> Iterator[list[lt.Instruction]]:
    """The instructions of a block, cut behind those that write EXEC."""
    part: list[lt.Instruction] = []
    for instr in block.instructions:
        part.append(instr)
        if writes_exec(instr):
            yield part
            part = []
    if part:
        yield part


class LaneTool(lt.Tool):
    """A tool with such counters in each kernel that it watches."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self) -> None:
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.stretches: list[Stretch] = []

    @lt.hook
    def passed(counts: lt.ptr[lt.u64]):
        lt.wave_atomic_add(counts, 1)
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.exec_mask()))

    def count_lanes(self, kernel: lt.Kernel) -> list[lt.Function]:
        """Inserts the counters; gives the functions that were not seen before."""
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        found = [(block, part) for f in functions for block in f.blocks for part in stretches(block)]
        if found:
            counts = lt.DeviceArray(lt.u64, 2 * len(found), name=f"lanes.{kernel.name}")
            for index, (block, part) in enumerate(found):
                kernel.insert_before(part[0], self.passed, counts.at(2 * index))
                self.stretches.append(Stretch(block, part, counts, index))
        return functions

    def by_instruction(self) -> dict[lt.Instruction, tuple[int, int]]:
        """Waves and lanes of each instruction."""
        return {i: (waves, lanes) for s in self.stretches for waves, lanes in [(s.waves, s.lanes)] for i in s.instructions}

    def lane_columns(self, report: Report) -> None:
        """What annotated code shows of them."""
        found = self.by_instruction()
        report.column(
            "executed", {i.address: n for i, (n, _) in found.items()}, unit="waves", combine="max", about="how often waves ran it"
        )
        report.column("lanes", {i.address: n for i, (_, n) in found.items()}, unit="lanes", combine="max", about="active lanes")


def incomplete(tool: lt.Tool, report: Report, besides: Collection[int] = ()) -> bool:
    """Whether some of what the tool inserts is missing, so that its numbers would say too little: the report says that
    instead. ``besides``: points that may be missing."""
    missing = [one for one in tool.rejected if one["point"] not in besides]
    if not missing:
        return False
    first = missing[0]
    why = f"at {first['address']:#x}: {first['reason']}"
    report.result = {"not_counted": {"insertions": len(missing), "why": why}}
    report.table(tool.name, [("not counted", why)])
    return True


def line_of(instr: lt.Instruction) -> tuple[str, int] | None:
    """File and line that an instruction comes from."""
    frames = instr.source
    return (frames[0].file, frames[0].line) if frames and frames[0].file and frames[0].line else None


def place_of(instr: lt.Instruction) -> str:
    """The same for people, ``file:line``; "" where it is not known."""
    line = line_of(instr)
    return f"{line[0].rpartition('/')[2]}:{line[1]}" if line else ""


def wave_size(kernel: lt.Kernel) -> int:
    return int(kernel.code_object.program.wavefront_size)


def as_json(values: dict[int, Any]) -> dict[str, Any]:
    """Addresses as the results have them."""
    return {f"{address:#x}": value for address, value in values.items()}
