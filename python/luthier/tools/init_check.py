"""init_check: reads of memory that nothing has written, found in what waves have recorded: for real cards, too.

LDS begins undefined in each workgroup. ``outputs=2+3`` says that the arrays of these arguments, by their index, are undefined
when a launch begins, as ``torch.empty`` is. What is read has to have been written before by a wave of the launch: in LDS by
one of the workgroup. ``most=N`` looks at the first N accesses of each launch.
"""

from __future__ import annotations

import re
from typing import Any

import luthier as lt
from luthier.tools.accesses import Accesses
from luthier.tools.recorded import STORE, RecordedTool, touched


class InitCheck(RecordedTool):
    """``{"reads": [{"memory", "bytes", "pc", "text", "line", "first": {"address", "workgroup", "wave", "lane"}}], "accesses": N, "looked
    at": N, "not seen": [address]}``: for each instruction, how many undefined bytes it has read, and which was the first.
    ``memory`` is ``lds``, or ``argument N``; ``address`` in LDS is an offset. An atomic operation reads."""

    def __init__(self, outputs: str = "", most: int = 4_000_000) -> None:
        super().__init__(most, lds=True)
        if outputs and not re.fullmatch(r"\d+(\+\d+)*", outputs):
            raise lt.ToolError(f"init_check: outputs={outputs}: indices of arguments, 2 or 2+3")
        self.outputs = [int(n) for n in outputs.split("+")] if outputs else []
        self.reads: dict[tuple[int, str], dict[str, Any]] = {}

    def look(self, parts: list[Accesses]) -> None:
        import numpy as np

        rows = touched(parts)
        wanted = rows["is_lds"] | np.isin(rows["argument"], self.outputs)
        rows = {name: values[wanted] for name, values in rows.items()}
        owner = np.where(rows["is_lds"], rows["group"] + 1, 0)
        order = np.lexsort((rows["time"], rows["byte"], owner))
        owner, byte, action = owner[order], rows["byte"][order], rows["action"][order]
        starts = np.ones(len(order), bool)
        starts[1:] = (owner[1:] != owner[:-1]) | (byte[1:] != byte[:-1])
        # Of each byte: whether anything was written so far.
        written = np.cumsum(action == STORE)
        before = written - (action == STORE)
        first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0)) if len(order) else order
        undefined = order[(action != STORE) & (before - before[first] == 0)]
        raw = np.concatenate([part.raw for part in parts])
        for point in np.unique(rows["point"][undefined]).tolist():
            own = undefined[rows["point"][undefined] == point]
            for is_lds, argument in {(bool(rows["is_lds"][n]), int(rows["argument"][n])) for n in own}:
                mine = own[(rows["is_lds"][own] == is_lds) & (rows["argument"][own] == argument)]
                at = int(mine[np.argmin(rows["time"][mine])])
                memory = "lds" if is_lds else f"argument {argument}"
                record = raw[int(rows["time"][at])]
                told = self.reads.setdefault((point, memory), {
                    "memory": memory, "bytes": 0, **self.where(point),
                    "first": {
                        "address": f"{int(rows['byte'][at]):#x}",
                        "workgroup": [int(record["x"]), int(record["yz"]) & 0xFFFF, int(record["yz"]) >> 16],
                        "wave": int(rows["wave"][at]), "lane": int(rows["lane"][at]),
                    },
                })  # fmt: skip
                told["bytes"] += len(mine)

    def on_exit(self, report: lt.Report) -> None:
        if not self.told(report):
            return
        found = sorted(self.reads.values(), key=lambda read: -read["bytes"])
        report.result = {
            "reads": found, "accesses": self.all_accesses, "looked at": self.looked_at,
            "not seen": [f"{address:#x}" for address in sorted(self.unseen)],
        }  # fmt: skip
        rows: list[tuple[Any, ...]] = [(r["memory"], r["bytes"], r["pc"], r["text"], r["line"]) for r in found]
        headers = ("memory", "undefined bytes", "address", "instruction", "line")
        report.table("reads of undefined memory", rows or [("none found",)], headers if rows else ())
        column = {self.points[p].instr.address: told["bytes"] for (p, _), told in self.reads.items()}
        report.column("undefined", column, unit="bytes", about="undefined bytes that are read")
