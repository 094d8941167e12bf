"""One launch under many schedules, on the mock device: which outcomes there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import ArgumentError, DeviceError
from ..reports.findings import Finding

if TYPE_CHECKING:
    from .. import _core
    from .launching import Launch

#: What schedules are tried by.
BY = ("usual", "order", "pct", "preemptions")


@dataclass(frozen=True)
class How:
    """Which schedules are tried.

    ``by`` is ``"order"`` (all orders of conflicting accesses, until there are no others), ``"pct"`` (random priorities, from
    ``seed`` on; the running wave loses its own up to ``depth`` - 1 times), ``"preemptions"`` (all schedules that depart from the
    usual order at most ``preemptions`` times) or ``"usual"``: by order as far as half of the schedules go, and, where that
    is not all, the other half by priorities.

    With ``weak``, memory answers as weakly as caches and what is under way let it, by the same seeds: loads that may look
    into a cache may have old values, loads, atomics and stores may be done late and out of order, as far as LLVM's memory
    models and the waits and cache instructions of the kernel allow it. All schedules are by priorities then.
    """

    by: str = "usual"
    schedules: int = 64
    seed: int = 0
    depth: int = 3
    preemptions: int = 2
    #: A workgroup that runs more instructions is taken for one that never ends.
    watchdog: int = 1_000_000
    #: Memory answers as weakly as caches let it.
    weak: bool = False

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise ArgumentError(f"explore: by={self.by!r}: there are {', '.join(BY)}")
        if self.weak and self.by not in ("usual", "pct"):
            raise ArgumentError(f"explore: by={self.by!r} with weak=True: what memory answers is up to seeds, as by='pct'")
        if self.schedules < 1:
            raise ArgumentError(f"schedules: {self.schedules} is not a number of schedules")
        if not 0 <= self.seed < 1 << 64 or not 1 <= self.depth <= 1000 or not 0 <= self.preemptions < 1 << 32:
            raise ArgumentError(f"explore: seed={self.seed}, depth={self.depth} (1 to 1000), preemptions={self.preemptions}")
        if not 0 < self.watchdog < 1 << 64:
            raise ArgumentError(f"watchdog: {self.watchdog} is not a number of instructions")


#: Why a load had an older value, in words.
_WHY = {
    "cache": "the cache that it looked into still held that, and had not been invalidated since",
    "scalar-cache": "the scalar cache still held that, and had not been invalidated since",
    "passed": "it overtook an earlier load of its wave, which the wave had not waited for",
    "late": "the load was done late, behind that store of its own wave, which had not waited for it",
    "under-way": "the store had not arrived: its wave had not waited for it, or not written it back",
}


@dataclass(frozen=True)
class Access:
    """An instruction of a wave."""

    pc: int
    text: str
    workgroup: tuple[int, int, int]
    wave: int
    #: Where it is in the source, innermost call first: function, file, line and column.
    source: list[dict[str, Any]] = field(repr=False)

    def __str__(self) -> str:
        frame = self.source[0] if self.source else None
        line = f", {frame['file']}:{frame['line']}" if frame is not None and frame["file"] else ""
        return f"{self.text} at {self.pc:#x}{line} (wave {self.wave} of workgroup {self.workgroup})"


@dataclass(frozen=True)
class StaleRead:
    """A load that had an older value than another wave had stored, and that store; or one that was done late (``why`` is
    ``"late"``), and the store of its own wave that was done before it."""

    load: Access
    store: Access
    address: int
    #: ``"cache"``, ``"scalar-cache"``, ``"passed"``, ``"late"`` or ``"under-way"``.
    why: str

    def __str__(self) -> str:
        when = "behind" if self.why == "late" else "as it was before"
        return f"{self.load} read {self.address:#x} {when} {self.store}: {_WHY[self.why]}"


@dataclass
class Outcome:
    """What one or more schedules lead to: the same memory, or a stop for the same reason."""

    #: The first one; it repeats the outcome, with ``schedule=``.
    schedule: str
    #: How many lead to it.
    schedules: int
    #: Why the launch was stopped, if it was.
    error: DeviceError | None
    #: Of the first one.
    findings: list[Finding] = field(repr=False)
    #: Kinds of findings under any of them.
    kinds: set[str] = field(default_factory=set)
    #: Loads that had an older value than there was, with ``weak``, each pair of instructions once. Of the first one.
    stale: list[StaleRead] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        what = f"stopped: {self.error}" if self.error is not None else "ends"
        found = f", findings: {', '.join(sorted(self.kinds))}" if self.kinds else ""
        return f"{self.schedules:,} schedule{'' if self.schedules == 1 else 's'} (the first is {self.schedule}): {what}{found}"


#: Loads that had old values which are told in words, of each outcome.
_TOLD = 4

Kind = TypeVar("Kind", bound=Outcome)


@dataclass(frozen=True)
class Explored(Generic[Kind]):
    """All outcomes that were seen, the most frequent first."""

    outcomes: list[Kind]
    #: How many schedules were run.
    schedules: int
    #: There are no others.
    exhausted: bool = False
    #: Choices of the longest schedule; 0 where schedules were not made of choices.
    choices: int = 0

    @property
    def is_deterministic(self) -> bool:
        """All schedules that were tried lead to one outcome. Others might not, unless :attr:`exhausted`."""
        return len(self.outcomes) == 1

    @property
    def is_clean(self) -> bool:
        """One outcome, no stop, no finding."""
        return self.is_deterministic and self.outcomes[0].error is None and not self.outcomes[0].kinds

    def __str__(self) -> str:
        many = f"{len(self.outcomes):,} outcome{'' if len(self.outcomes) == 1 else 's'}"
        rest = "there are no others" if self.exhausted else "others were not tried"
        return "\n".join([*map(self.told, self.outcomes), f"{many} under {self.schedules:,} schedules; {rest}"])

    def told(self, outcome: Kind) -> str:
        """An outcome in words; where there are several, with loads that had old values."""
        stale = outcome.stale if not self.is_deterministic or outcome.error is not None else []
        rest = [f"  and {len(stale) - _TOLD} more"] if len(stale) > _TOLD else []
        return "\n".join([str(outcome), *(f"  {read}" for read in stale[:_TOLD]), *rest])


def explore(core: _core.Device, module: int, launch: Launch, kernarg: bytes, how: How) -> Explored[Outcome]:
    """Runs a launch under many schedules, one wave at a time, each from memory as it is, where it is left again.

    Unless ``how.weak``, memory does as it is told at once: these are outcomes of sequentially consistent interleavings.
    """
    if how.weak:
        return _explored([_run(core, module, launch, kernarg, how, "pct", how.schedules)])
    if how.by != "usual":
        return _explored([_run(core, module, launch, kernarg, how, how.by, how.schedules)])
    first = _run(core, module, launch, kernarg, how, "order", max(how.schedules // 2, 1))
    if first["exhausted"] or how.schedules < 2:
        return _explored([first])
    return _explored([first, _run(core, module, launch, kernarg, how, "pct", how.schedules - how.schedules // 2)])


def _run(core: _core.Device, module: int, launch: Launch, kernarg: bytes, how: How, by: str, count: int) -> dict[str, Any]:
    number = how.preemptions if by == "preemptions" else how.seed
    return core.explore(module, launch, kernarg, (by, number, how.depth), count, how.watchdog, how.weak)


def _explored(parts: list[dict[str, Any]]) -> Explored[Outcome]:
    """What several searches have found, as one."""
    found: dict[Any, Outcome] = {}
    for told in (outcome for part in parts for outcome in part["outcomes"]):
        findings = [Finding(finding) for finding in told["findings"]]
        made = Outcome(told["schedule"], 0, told["error"], findings, stale=_stale(told["stale"]))
        outcome = found.setdefault(told["key"], made)
        outcome.schedules += told["schedules"]
        outcome.kinds.update(told["kinds"])
    outcomes = sorted(found.values(), key=lambda outcome: -outcome.schedules)
    count = sum(part["schedules"] for part in parts)
    return Explored(outcomes, count, parts[0]["exhausted"], max(part["choices"] for part in parts))


def _stale(told: list[dict[str, Any]]) -> list[StaleRead]:
    """Those that caches explain come first: of the others there may be many."""

    def access(did: dict[str, Any]) -> Access:
        x, y, z = did["workgroup"]
        return Access(did["pc"], did["text"], (x, y, z), did["wave"], did["source"])

    reads = [StaleRead(access(one["load"]), access(one["store"]), one["address"], one["why"]) for one in told]
    return sorted(reads, key=lambda read: list(_WHY).index(read.why))
