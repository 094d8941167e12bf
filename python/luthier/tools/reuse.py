"""reuse: how soon the lines of memory that a kernel uses are used again, how much it works on at a time, and what caches would
hold of it.

``card=NAME`` chooses the caches, of AMD's data sheets; without it, those of a card with the processor. ``line=BYTES`` chooses
the size of a line. ``most=N`` looks at the first N uses of lines.

The model: an access of a wave uses each line that its lanes touch once; loads, stores and atomics are alike. A cache is fully
associative and puts out the least recently used line; a workgroup has the innermost cache, a compute unit's, for itself, and
all workgroups share the others. How workgroups take turns is the device's choice, on the mock device its threads'. Each launch
begins with empty caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.tools.accesses import Accesses, AccessTool
from luthier.tools.caches import CARDS, stack_distances
from luthier.tools.lanes import as_json, incomplete, place_of

if TYPE_CHECKING:
    import numpy as np


class Reuse(AccessTool):
    """``{"line": bytes, "uses": N, "looked at": N, "footprint": bytes, "workgroup": {"mean", "most"}, "distances": {lines: N},
    "again": N, "caches": {name: {"bytes", "hits", "misses"}}, "arguments": {index: bytes}, "accesses": {address: {"uses",
    "first", "median"}}, "not seen"}``.

    ``footprint`` are the bytes of all different lines, ``workgroup`` those of a workgroup's, in the mean and at most.
    ``distances`` counts uses within a workgroup by how many other lines were used in between: 0, 1, 2 to 3, 4 to 7 and so on,
    under the least; ``again`` are all these. A line's other uses are ``first`` ones of their workgroup."""

    def __init__(self, card: str = "", line: int = 0, most: int = 4_000_000) -> None:
        super().__init__(lds=False, scalar=False, scratch=False)
        if card and card not in CARDS:
            raise lt.ToolError(f"reuse: card={card}: {', '.join(CARDS)}")
        if line and (line & (line - 1) or not 16 <= line <= 4096):
            raise lt.ToolError(f"reuse: line={line}: a power of 2 from 16 to 4096")
        self.card, self.line, self.most = card, line, most
        #: Of the launches so far, launch after launch: the workgroup, the line, the point and the argument of each use.
        self.uses: list[tuple[np.ndarray, ...]] = []
        self.counted = self.held = 0

    def on_kernel(self, kernel: lt.Kernel) -> None:
        processor = kernel.code_object.processor
        self.card = self.card or next((name for name, (p, _, _) in CARDS.items() if p == processor), "")
        gfx9 = processor.startswith("gfx9") and processor not in ("gfx942", "gfx950", "gfx9-4-generic")
        self.line = self.line or (CARDS[self.card][1] if self.card else 64 if gfx9 else 128)
        super().on_kernel(kernel)

    def on_accesses(self, accesses: Accesses) -> None:
        import numpy as np

        address = accesses.raw["address"].astype("i8")
        first = address // self.line
        last = (address + accesses.of_points("size") - 1) // self.line
        # Each line of an execution once, where it is touched first.
        at = np.arange(len(address))
        again = np.flatnonzero(last > first)
        lines, of = np.concatenate([first, last[again]]), np.concatenate([at, at[again]])
        order = np.lexsort((lines, accesses.execution[of]))
        lines, of = lines[order], of[order]
        execution = accesses.execution[of]
        new = np.ones(len(lines), bool)
        new[1:] = (execution[1:] != execution[:-1]) | (lines[1:] != lines[:-1])
        lines, of = lines[new], of[new]
        self.counted += len(lines)
        kept = max(0, min(len(lines), self.most - self.held))
        lines, of = lines[:kept], of[:kept]
        self.held += kept
        group = accesses.raw["yz"][of].astype("u8") << np.uint64(32) | accesses.raw["x"][of]
        arguments = accesses.arguments
        argument = np.full(len(of), -1, "i4") if arguments is None else arguments[of]
        launch = np.full(len(of), max(accesses.launch or 0, 0), "i8")
        self.uses.append((launch, group, lines, accesses.point[of], argument))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        import numpy as np

        empty = [np.zeros(0, kind) for kind in ("i8", "u8", "i8", "u4", "i4")]
        launch, group, lines, point, argument = (np.concatenate(parts) for parts in zip(empty, *self.uses))
        _, whole = np.unique(np.stack([launch, lines], axis=1), axis=0, return_inverse=True)
        _, owner = np.unique(np.stack([launch, group.astype("i8")], axis=1), axis=0, return_inverse=True)
        of_groups, own = np.unique(np.stack([owner, lines], axis=1), axis=0, return_inverse=True)
        # Workgroup after workgroup, each in its own order.
        order = np.argsort(owner, kind="stable")
        near = np.empty(len(lines), "i8")
        near[order] = stack_distances(own.reshape(-1)[order])
        caches = self._caches(near, whole.reshape(-1))
        sizes = np.bincount(of_groups[:, 0]) * self.line if len(of_groups) else np.zeros(1, int)
        again = near[near >= 0]
        buckets = np.where(again > 0, 1 << np.floor(np.log2(np.maximum(again, 1))).astype("i8"), 0)
        distances = {int(n): int(c) for n, c in zip(*np.unique(buckets, return_counts=True))}
        of_arguments = np.unique(np.stack([argument, lines], axis=1), axis=0)[:, 0]
        report.result = {
            "line": self.line, "uses": self.counted, "looked at": self.held,
            "footprint": len(np.unique(lines)) * self.line,
            "workgroup": {"mean": float(sizes.mean()), "most": int(sizes.max())},
            "distances": {str(n): count for n, count in distances.items()}, "again": len(again),
            **({"card": self.card} if self.card else {}), "caches": caches,
            "arguments": {str(n): int(count) * self.line for n, count in zip(*np.unique(of_arguments, return_counts=True)) if n >= 0},
            "accesses": as_json(by_instruction := self._by_instruction(point, near)),
            "not seen": [f"{address:#x}" for address in sorted(self.unseen)],
        }  # fmt: skip
        instrs = {p.instr.address: p.instr for p in self.points}
        rows = [(name, c["bytes"], c["hits"], c["misses"], _share(c["hits"], c["misses"])) for name, c in caches.items()]
        report.table(f"caches of {self.card}" if self.card else "caches", rows, ("cache", "bytes", "hits", "misses", "hit"))
        told = [(_range(n), count) for n, count in distances.items()]
        report.table("reuse distances within a workgroup", told, ("other lines in between", "uses"))
        told_accesses = [
            (f"{a:#x}", instrs[a].text, place_of(instrs[a]), t["uses"], t["first"], "" if t["median"] is None else t["median"])
            for a, t in by_instruction.items()
        ]
        headers = ("address", "instruction", "line", "uses", "first", "median distance (lines)")
        report.table("by instruction", sorted(told_accesses, key=lambda row: -row[3]), headers)
        report.column("first uses", {a: t["first"] for a, t in by_instruction.items()}, unit="lines", about="lines new to their workgroup")  # fmt: skip
        if distances:
            report.plot("reuse distances within a workgroup", _histogram(distances))

    def _caches(self, near: np.ndarray, lines: np.ndarray) -> dict[str, dict[str, int]]:
        """Hits of each cache, the innermost first: what one misses comes to the next."""
        import numpy as np

        found: dict[str, dict[str, int]] = {}
        if not self.card:
            return found
        coming = np.arange(len(lines))
        for n, (name, size) in enumerate(CARDS[self.card][2].items()):
            distances = near if n == 0 else stack_distances(lines[coming])
            hit = (distances >= 0) & (distances < size // self.line)
            found[name] = {"bytes": size, "hits": int(hit.sum()), "misses": int((~hit).sum())}
            coming = coming[~hit]
        return found

    def _by_instruction(self, point: np.ndarray, near: np.ndarray) -> dict[int, dict[str, Any]]:
        import numpy as np

        found: dict[int, dict[str, Any]] = {}
        address = np.array([p.instr.address for p in self.points], "u8")[point]
        for a in np.unique(address).tolist():
            own = near[address == a]
            again = own[own >= 0]
            median = float(np.median(again)) if len(again) else None
            found[a] = {"uses": len(own), "first": int((own < 0).sum()), "median": median}
        return found


def _share(hits: int, misses: int) -> str:
    return f"{hits / (hits + misses):.1%}" if hits + misses else ""


def _range(least: int) -> str:
    return str(least) if least < 2 else f"{least:,} to {2 * least - 1:,}"


def _histogram(distances: dict[int, int]) -> dict[str, Any]:
    values = [{"lines": _range(n), "uses": count} for n, count in distances.items()]
    axes = {
        "x": {"field": "lines", "type": "ordinal", "sort": None, "title": "other lines in between"},
        "y": {"field": "uses", "type": "quantitative", "title": "uses"},
    }
    return {"data": {"values": values}, "mark": "bar", "encoding": axes}
