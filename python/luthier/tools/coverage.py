"""coverage: which lines and branches of kernels ran, merged over runs, as lcov has it.

``lcov=FILE`` writes an lcov file (``genhtml FILE`` and most services that show coverage read it). What is in the file already
is added to, so that the file of a test suite is that of all its runs.
"""

from __future__ import annotations

import os
import re

import luthier as lt
from luthier.base.outputs import Outputs
from luthier.tools.lanes import LaneTool, incomplete, line_of

#: A line, or a branch: its line, its block (an address in the code) and which way.
Lines = dict[str, dict[int, int]]
Branches = dict[str, dict[tuple[int, int, int], int]]


class Coverage(LaneTool):
    """``{"lines": {file: {line: times}}, "covered": N, "of": N, "branches covered": N, "branches": N}``. A line's number is
    how often waves ran the instruction of it that ran most often; a branch has two ways."""

    def __init__(self, lcov: str = "") -> None:
        super().__init__()
        self.lcov = lcov
        self.ways: list[tuple[lt.Instruction, lt.DeviceArray, int]] = []

    @lt.hook
    def went(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        blocks = [block for f in self.count_lanes(kernel) for block in f.blocks]
        ways = [b for b in blocks if b.terminator == "cond_branch" and len({s.address for s in b.successors}) == 2]
        if not ways:
            return
        counts = lt.DeviceArray(lt.u64, 2 * len(ways), name=f"ways.{kernel.name}")
        for n, block in enumerate(ways):
            last = block.instructions[-1]
            for successor in block.successors:
                kernel.insert_on_edge(block, successor, self.went, counts.at(2 * n + (successor.address != last.branch_target)))
            self.ways.append((last, counts, 2 * n))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        lines: Lines = {}
        for instr, (waves, _) in self.by_instruction().items():
            if (at := line_of(instr)) is not None:
                of = lines.setdefault(at[0], {})
                of[at[1]] = max(of.get(at[1], 0), waves)
        branches: Branches = {}
        for instr, counts, n in self.ways:
            if (at := line_of(instr)) is not None:
                for way in range(2):
                    branches.setdefault(at[0], {})[at[1], instr.address, way] = int(counts[n + way])
        if self.lcov:
            merge_into(self.lcov, lines, branches)
        told = [n for of in lines.values() for n in of.values()]
        ways = [n for of in branches.values() for n in of.values()]
        report.result = {
            "lines": {file: {str(line): n for line, n in sorted(of.items())} for file, of in lines.items()},
            "covered": sum(n > 0 for n in told),
            "of": len(told),
            "branches covered": sum(n > 0 for n in ways),
            "branches": len(ways),
        }
        rows = [(file, sum(n > 0 for n in of.values()), len(of)) for file, of in lines.items()]
        report.table("coverage", rows, ("file", "lines that ran", "lines with code"))
        missing = [(file, line) for file, of in lines.items() for line, n in sorted(of.items()) if not n]
        report.table("lines that did not run", missing, ("file", "line"))
        self.lane_columns(report)


def merge_into(path: str, lines: Lines, branches: Branches) -> None:
    """Adds to an lcov file. ArgumentError for a file that is none."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            _read(path, file.read(), lines, branches)
    text = ["TN:luthier"]
    for name in sorted(lines):
        text.append(f"SF:{name}")
        ways = sorted(branches.get(name, {}).items())
        text += [f"BRDA:{line},{block},{way},{n}" for (line, block, way), n in ways]
        text += [f"BRF:{len(ways)}", f"BRH:{sum(n > 0 for _, n in ways)}"]
        text += [f"DA:{line},{n}" for line, n in sorted(lines[name].items())]
        text += [f"LF:{len(lines[name])}", f"LH:{sum(n > 0 for n in lines[name].values())}", "end_of_record"]
    with Outputs() as outputs:
        outputs.open(path).write(("\n".join(text) + "\n").encode())
        outputs.commit()


def _read(path: str, text: str, lines: Lines, branches: Branches) -> None:
    name = None
    for number, row in enumerate(text.splitlines(), 1):
        kind, _, rest = row.partition(":")
        if kind == "SF":
            name = rest
        elif kind == "DA" and name is not None and re.fullmatch(r"\d+,\d+", rest):
            line, n = map(int, rest.split(","))
            of = lines.setdefault(name, {})
            of[line] = of.get(line, 0) + n
        elif kind == "BRDA" and name is not None and re.fullmatch(r"\d+,\d+,\d+,(\d+|-)", rest):
            line, block, way = map(int, rest.split(",")[:3])
            last = rest.rpartition(",")[2]
            found = branches.setdefault(name, {})
            found[line, block, way] = found.get((line, block, way), 0) + (0 if last == "-" else int(last))
        elif kind not in ("TN", "BRF", "BRH", "LF", "LH", "FNF", "FNH", "FN", "FNDA", "end_of_record"):
            raise lt.ArgumentError(f"{path}:{number}: no line of an lcov file: {row[:60]}")
