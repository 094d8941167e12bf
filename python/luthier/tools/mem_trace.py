"""mem_trace: every access to memory, in the order in which each wave does it.

luthier run app.hsaco --kernel scale ... --tool mem_trace:out=accesses

``out=DIR`` streams all of them into Parquet files of up to a million rows, which pandas, Polars, DuckDB and Arrow read as one
data set; without it the first ``most`` are kept. ``values=yes`` adds what is loaded and stored. ``lds=no``, ``scalar=no`` and
``scratch=no`` leave these out. ``first=N`` records the first N accesses (give or take what is under way when the host has them) and
counts the others: a program that makes billions ends in its time.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from typing import Any

import luthier as lt
from luthier.base.outputs import Outputs
from luthier.reports.as_arrow import needed, parquet_bytes
from luthier.tools.accesses import ACTIONS, SPACES, Accesses, AccessTool
from luthier.tools.lanes import as_json, incomplete, place_of

#: Rows of a file.
_ROWS = 1 << 20
#: Folders that tools of this process write to, and the numbers of these tools.
_folders: set[str] = set()
_numbers = itertools.count()


class MemTrace(AccessTool):
    """``{"accesses": N, "not recorded": N, "kept": N, "by instruction": {address: {"accesses", "bytes", "first", "last"}}, "by argument": {argument:
    {"loads", "stores", "atomics", "bytes"}}, "without lanes": N, "files": [path], "not seen": [address]}``. ``accesses`` counts lanes, of scalar accesses
    waves; scalar ones of waves without an active lane are ``without lanes``, and not told of otherwise; ``first`` and ``last`` are the lowest and the highest address. The report's records ``accesses`` have the columns
    ``launch`` (from 0, null in programs), ``workgroup_x``, ``_y`` and ``_z``, ``wave`` (in the workgroup), ``lane``, ``pc``, ``address``, ``size`` in bytes,
    ``action`` (load, store, atomic), ``space``, ``argument`` (the index of that in whose array it is) and, as asked for,
    ``value`` and ``value_high``: the first 8 bytes, and the next 8."""

    def __init__(
        self,
        out: str = "",
        most: int = 1_000_000,
        values: bool = False,
        lds: bool = True,
        scalar: bool = True,
        scratch: bool = True,
        first: int = 0,
    ) -> None:
        super().__init__(lds=lds, scalar=scalar, scratch=scratch, values=values, limited=first > 0)
        if most < 0 or first < 0:
            raise lt.ToolError(f"mem_trace: {'most' if most < 0 else 'first'}={min(most, first)}: a number of accesses")
        self.first = first
        self.out, self.most = out, most
        self.number = next(_numbers)
        self.files: list[str] = []
        self.kept: list[Accesses] = []
        self.counted = self.held = 0
        #: By point: how many, and from where to where.
        self.extents: dict[int, tuple[int, int, int]] = {}
        self.of_arguments: Counter[tuple[int, int, int]] = Counter()
        if out:
            _begin(out)

    def on_accesses(self, accesses: Accesses) -> None:
        import numpy as np

        self.counted += len(accesses)
        if self.first and self.counted >= self.first:
            self.stop()
        point, address = accesses.point, accesses.raw["address"]
        for n in np.unique(point).tolist():
            own = address[point == n]
            count, low, high = self.extents.get(n, (0, 1 << 64, 0))
            self.extents[n] = count + len(own), min(low, int(own.min())), max(high, int(own.max()))
        arguments = accesses.arguments
        if arguments is not None:
            # One number for each argument and point.
            keys, counts = np.unique(arguments.astype("i8") << 32 | point, return_counts=True)
            for key, n in zip(keys.tolist(), counts.tolist()):
                about = self.points[key & 0xFFFFFFFF]
                self.of_arguments[key >> 32, about.action, about.size] += n
        if self.out:
            self.kept.append(accesses)
            self.held += len(accesses)
            if self.held >= _ROWS:
                self._write()
        elif self.held < self.most:
            fits = Accesses(accesses.raw[: self.most - self.held], self.points, accesses.launch, accesses.places)
            self.kept.append(fits)
            self.held += len(fits)

    def _write(self) -> None:
        if self.kept:
            path = os.path.join(self.out, f"accesses-{self.number}-{len(self.files):04}.parquet")
            with Outputs() as outputs:
                outputs.open(path).write(parquet_bytes(self._table()))
                outputs.commit()
            self.files.append(path)
        self.kept, self.held = [], 0

    def _table(self) -> Any:
        """What is kept."""
        arrow = needed()
        return arrow.concat_tables([arrow.table(part.columns()) for part in self.kept])

    def on_exit(self, report: lt.Report) -> None:
        if self.out:
            self._write()
        if incomplete(self, report):
            return
        by_instruction: dict[int, dict[str, Any]] = {}
        for n, (count, low, high) in sorted(self.extents.items()):
            told = by_instruction.setdefault(
                self.points[n].instr.address, {"accesses": 0, "bytes": 0, "first": low, "last": high}
            )
            told["accesses"] += count
            told["bytes"] += count * self.points[n].size
            told["first"], told["last"] = min(told["first"], low), max(told["last"], high)
        arguments: dict[str, dict[str, int]] = {}
        for (argument, action, size), n in sorted(self.of_arguments.items()):
            name = str(argument) if argument >= 0 else "none"
            told = arguments.setdefault(name, {"loads": 0, "stores": 0, "atomics": 0, "bytes": 0})
            told[("loads", "stores", "atomics")[action]] += n
            told["bytes"] += n * size
        report.result = {
            "accesses": self.counted + int(self.left_out[0]),
            "not recorded": int(self.left_out[0]),
            "kept": self.counted if self.out else self.held,
            "by instruction": as_json(by_instruction),
            "by argument": arguments,
            "without lanes": int(self.without_lanes[0]),
            "files": self.files,
            "not seen": [f"{address:#x}" for address in sorted(self.unseen)],
        }
        instrs = {p.instr.address: p for p in self.points}
        rows = [
            (
                f"{a:#x}", instrs[a].instr.text, place_of(instrs[a].instr), SPACES[instrs[a].space], ACTIONS[instrs[a].action],
                t["accesses"], t["bytes"], f"{t['first']:#x}", f"{t['last']:#x}",
            )
            for a, t in by_instruction.items()
        ]  # fmt: skip
        headers = ("address", "instruction", "line", "memory", "action", "accesses", "bytes", "from", "to")
        report.table("mem_trace", sorted(rows, key=lambda row: -row[6]), headers)
        if self.left_out[0]:
            report.table("not recorded", [("accesses behind the first", self.counted), ("not recorded", int(self.left_out[0]))])
        told_arguments = [(name, *told.values()) for name, told in arguments.items()]
        report.table("by argument", told_arguments, ("argument", "loads", "stores", "atomics", "bytes"))
        report.column(
            "accesses", {a: t["accesses"] for a, t in by_instruction.items()}, unit="accesses", about="lanes that access memory"
        )
        if not self.out and self.kept:
            table = self._table()
            report.records("accesses", {name: table.column(name) for name in table.column_names})


def _begin(folder: str) -> None:
    """Takes a folder for the files of this process. ToolError where it cannot be made, or has tables of another run."""
    path = os.path.abspath(folder)
    if path in _folders:
        return
    try:
        os.makedirs(path, exist_ok=True)
        there = [name for name in os.listdir(path) if name.endswith(".parquet")]
    except OSError as error:
        raise lt.ToolError(f"mem_trace: out={folder}: {(error.strerror or str(error)).lower()}") from None
    if there:
        raise lt.ToolError(f"mem_trace: out={folder}: there is {there[0]} already: name a new folder")
    needed()
    _folders.add(path)
