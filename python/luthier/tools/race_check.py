"""race_check: accesses of the same bytes that nothing orders, found in what waves have recorded: for real cards, too.

Within a workgroup, in LDS and in device memory: two waves that touch a byte with no barrier in between, one of them to write, and
not both by atomic operations. ``workgroups=yes`` looks between workgroups as well: of these nothing but the end of the launch is
taken to order anything, so that programs whose workgroups wait for each other's flags are told of, too. Lanes of one wave are
not compared. ``most=N`` looks at the first N accesses of each launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.tools.accesses import Accesses
from luthier.tools.recorded import ATOMIC, LOAD, STORE, RecordedTool, touched

if TYPE_CHECKING:
    import numpy as np


class RaceCheck(RecordedTool):
    """``{"races": [{"memory", "between", "bytes", "first": {"pc", "text", "line", "wave"}, "second", "address", "workgroup"}],
    "accesses": N, "looked at": N, "not seen": [address]}``: for each pair of instructions, the first of which writes, in how many
    bytes, and one of these. ``between`` is ``waves`` or ``workgroups``; ``address`` in LDS is an offset."""

    def __init__(self, workgroups: bool = False, lds: bool = True, most: int = 4_000_000) -> None:
        super().__init__(most, lds=lds, barriers=True)
        self.workgroups = workgroups
        self.races: dict[tuple[int, int, str], dict[str, Any]] = {}

    def look(self, parts: list[Accesses]) -> None:
        rows = touched(parts)
        places = numbered(rows, ("group", "is_lds", "byte", "epoch"))
        self._compare(parts, rows, places, rows["wave"], "waves")
        if self.workgroups:
            outside = {name: values[~rows["is_lds"]] for name, values in rows.items()}
            self._compare(parts, outside, numbered(outside, ("byte",)), outside["group"], "workgroups")

    def _compare(
        self, parts: list[Accesses], rows: dict[str, np.ndarray], places: np.ndarray, owner: np.ndarray, between: str
    ) -> None:
        """Finds the places where owners differ, one of which writes."""
        import numpy as np

        if not len(owner):
            return
        order = np.lexsort((rows["time"], places))
        place, owner, action = places[order], owner[order], rows["action"][order]
        starts = np.flatnonzero(np.diff(place, prepend=-1))

        def reach(which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """The lowest and the highest owner of some accesses of each place."""
            low = np.minimum.reduceat(np.where(which, owner, 1 << 40), starts)
            return low, np.maximum.reduceat(np.where(which, owner, -1), starts)

        every, stores = reach(np.ones(len(owner), bool)), reach(action == STORE)
        atomics, loads = reach(action == ATOMIC), reach(action == LOAD)
        differ = every[0] != every[1]
        mixed = (np.maximum(atomics[1], loads[1]) != np.minimum(atomics[0], loads[0])) & (atomics[1] >= 0) & (loads[1] >= 0)
        racing = np.flatnonzero(differ & (stores[1] >= 0) | mixed)
        ends = np.append(starts[1:], len(owner))
        for at in racing.tolist():
            mine = np.arange(int(starts[at]), int(ends[at]))
            writers = mine[action[mine] == STORE]
            if not len(writers):
                writers = mine[action[mine] == ATOMIC]
            pair = self._pair(mine, writers, owner, action)
            if pair is not None:
                self._note(parts, rows, order[list(pair)].tolist(), between)

    def _pair(self, mine: np.ndarray, writers: np.ndarray, owner: np.ndarray, action: np.ndarray) -> tuple[int, int] | None:
        """An access that writes, and one of another owner that is not ordered with it."""
        for writer in writers.tolist():
            other = mine[owner[mine] != owner[writer]]
            if action[writer] == ATOMIC:
                other = other[action[other] != ATOMIC]
            if len(other):
                return writer, int(other[0])
        return None

    def _note(self, parts: list[Accesses], rows: dict[str, np.ndarray], pair: list[int], between: str) -> None:
        key = (int(rows["point"][pair[0]]), int(rows["point"][pair[1]]), between)
        if key in self.races:
            self.races[key]["bytes"] += 1
            return
        import numpy as np

        raw = np.concatenate([part.raw for part in parts])[rows["time"][pair[1]]]
        sides = [{**self.where(int(rows["point"][n])), "wave": int(rows["wave"][n])} for n in pair]
        self.races[key] = {
            "memory": "lds" if rows["is_lds"][pair[0]] else "device", "between": between, "bytes": 1,
            "first": sides[0], "second": sides[1], "address": f"{int(rows['byte'][pair[0]]):#x}",
            "workgroup": [int(raw["x"]), int(raw["yz"]) & 0xFFFF, int(raw["yz"]) >> 16],
        }  # fmt: skip

    def on_exit(self, report: lt.Report) -> None:
        if not self.told(report):
            return
        found = sorted(self.races.values(), key=lambda race: -race["bytes"])
        report.result = {
            "races": found, "accesses": self.all_accesses, "looked at": self.looked_at,
            "not seen": [f"{address:#x}" for address in sorted(self.unseen)],
        }  # fmt: skip
        rows = [
            (
                r["memory"],
                r["between"],
                r["bytes"],
                *(x for s in ("first", "second") for x in (r[s]["pc"], r[s]["text"], r[s]["line"])),
            )
            for r in found
        ]
        headers = ("memory", "between", "bytes", "address", "writes", "line", "other", "instruction", "line of it")
        report.table("races", rows or [("none found",)], headers if rows else ())
        of: dict[int, int] = {}
        for (a, b, _), race in self.races.items():
            for point in {a, b}:
                address = self.points[point].instr.address
                of[address] = of.get(address, 0) + race["bytes"]
        report.column("races", of, unit="bytes", about="bytes that other waves touch with nothing in between")


def numbered(rows: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """A number for each combination of these columns."""
    import numpy as np

    found = np.zeros(len(rows["byte"]), "i8")
    for name in names:
        values = np.unique(rows[name], return_inverse=True)[1].reshape(-1)
        found = np.unique(found * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].reshape(-1)
    return found
