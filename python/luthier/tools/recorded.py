"""What tools find out of all accesses of a launch: a row for each byte that a wave touches, workgroup after workgroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.tools.accesses import ACTIONS, SPACES, Accesses, AccessTool
from luthier.tools.lanes import incomplete, place_of

if TYPE_CHECKING:
    import numpy as np

    from luthier.agent.launches import AppLaunch

LOAD, STORE, ATOMIC = range(len(ACTIONS))


class RecordedTool(AccessTool):
    """A tool that keeps the accesses of each launch, up to ``most``, and looks at them when it is over: :meth:`look`. The others are
    counted."""

    #: In programs launches run one at a time, so that records are known to be of one.
    holds = True

    def __init__(self, most: int, **wanted: bool) -> None:
        super().__init__(scalar=False, scratch=False, limited=True, **wanted)
        if most < 1:
            raise lt.ToolError(f"{self.name}: most={most}: a number of accesses from 1")
        self.most = most
        self.counted = self.looked_at = self.held = 0
        self.kept: list[Accesses] = []
        #: Launches of programs that are under way, and whether there were several at a time.
        self.under_way = 0
        self.is_mixed = False

    def on_launch(self, launch: lt.Launch) -> None:
        if self.app is None:
            self.settle()
        super().on_launch(launch)

    def on_begin(self, launch: AppLaunch) -> None:
        self.under_way += 1
        self.is_mixed |= self.under_way > 1

    def on_complete(self, launch: AppLaunch) -> None:
        for ring in self.accesses.rings:
            for records in ring.take(True):
                self.on_records(self.accesses, records)
        self.settle()
        self.under_way -= 1

    def on_accesses(self, accesses: Accesses) -> None:
        self.counted += len(accesses)
        part = Accesses(accesses.raw[: max(self.most - self.held, 0)], accesses.points, accesses.launch, accesses.places)
        if len(part):
            self.kept.append(part)
            self.held += len(part)
        if self.held >= self.most:
            self.stop()

    def settle(self) -> None:
        """Looks at what there is."""
        if self.held:
            self.looked_at += self.held
            self.look(self.kept)
            self.kept, self.held = [], 0
        self.stop(False)

    @property
    def all_accesses(self) -> int:
        """How many there were, those among them that were not recorded any more."""
        return self.counted + int(self.left_out[0])

    def look(self, parts: list[Accesses]) -> None:
        """Looks at a launch's accesses, in the order in which each wave has made them."""

    def told(self, report: Any) -> bool:
        """Settles; whether there is a result."""
        self.settle()
        if self.is_mixed:
            why = "launches of the kernel ran side by side in several queues: their accesses cannot be told apart"
            report.result = {"not_counted": {"insertions": 0, "why": why}}
            report.table(self.name, [("not counted", why)])
        return not self.is_mixed and not incomplete(self, report)

    def where(self, point: int) -> dict[str, str]:
        """An access, for people."""
        instr = self.points[point].instr
        return {"pc": f"{instr.address:#x}", "text": instr.text, "line": place_of(instr)}


def touched(parts: list[Accesses]) -> dict[str, np.ndarray]:
    """A row for each byte that an access touches: ``group`` (a number for each workgroup), ``wave``, ``lane``, ``epoch`` (barriers
    that the wave has passed), ``point``, ``action``, ``is_lds``, ``byte`` (its address), ``argument`` and ``time`` (its place in the
    order of the records). Barriers are no rows."""
    import numpy as np

    raw = np.concatenate([part.raw for part in parts])
    points = parts[0].points
    whole = Accesses(raw, points, parts[0].launch, parts[0].places)
    group = raw["yz"].astype("u8") << np.uint64(32) | raw["x"]
    size, wave = whole.of_points("size").astype("i8"), whole.wave
    # Barriers that a wave has passed, counted in its own order.
    order = np.lexsort((wave, group))  # which is stable
    is_barrier = (size[order] == 0).astype("i8")
    starts = np.ones(len(order), bool)
    starts[1:] = (group[order][1:] != group[order][:-1]) | (wave[order][1:] != wave[order][:-1])
    passed = np.cumsum(is_barrier)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    epoch = np.empty(len(order), "i8")
    epoch[order] = passed - (passed - is_barrier)[first]
    arguments = whole.arguments
    row = np.repeat(np.arange(len(raw)), size)
    within = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    columns = {
        "group": np.unique(group, return_inverse=True)[1].reshape(-1), "wave": wave, "lane": whole.lane, "epoch": epoch, "point": whole.point,
        "action": whole.of_points("action"), "is_lds": whole.of_points("space") == SPACES.index("lds"),
        "argument": np.full(len(raw), -1) if arguments is None else arguments, "time": np.arange(len(raw)),
    }  # fmt: skip
    return {**{name: values[row] for name, values in columns.items()}, "byte": raw["address"][row].astype("i8") + within}
