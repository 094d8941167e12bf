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
    """

    by: str = "usual"
    schedules: int = 64
    seed: int = 0
    depth: int = 3
    preemptions: int = 2
    #: A workgroup that runs more instructions is taken for one that never ends.
    watchdog: int = 1_000_000

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise ArgumentError(f"explore: by={self.by!r}: there are {', '.join(BY)}")
        if self.schedules < 1:
            raise ArgumentError(f"schedules: {self.schedules} is not a number of schedules")
        if not 0 <= self.seed < 1 << 64 or not 1 <= self.depth <= 1000 or not 0 <= self.preemptions < 1 << 32:
            raise ArgumentError(f"explore: seed={self.seed}, depth={self.depth} (1 to 1000), preemptions={self.preemptions}")
        if not 0 < self.watchdog < 1 << 64:
            raise ArgumentError(f"watchdog: {self.watchdog} is not a number of instructions")


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

    def __str__(self) -> str:
        what = f"stopped: {self.error}" if self.error is not None else "ends"
        found = f", findings: {', '.join(sorted(self.kinds))}" if self.kinds else ""
        return f"{self.schedules:,} schedule{'' if self.schedules == 1 else 's'} (the first is {self.schedule}): {what}{found}"


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
        return "\n".join([*map(str, self.outcomes), f"{many} under {self.schedules:,} schedules; {rest}"])


def explore(core: _core.Device, module: int, launch: Launch, kernarg: bytes, how: How) -> Explored[Outcome]:
    """Runs a launch under many schedules, one wave at a time, each from memory as it is, where it is left again.

    Memory does as it is told at once: these are outcomes of sequentially consistent interleavings.
    """
    if how.by != "usual":
        return _explored([_run(core, module, launch, kernarg, how, how.by, how.schedules)])
    first = _run(core, module, launch, kernarg, how, "order", max(how.schedules // 2, 1))
    if first["exhausted"] or how.schedules < 2:
        return _explored([first])
    return _explored([first, _run(core, module, launch, kernarg, how, "pct", how.schedules - how.schedules // 2)])


def _run(core: _core.Device, module: int, launch: Launch, kernarg: bytes, how: How, by: str, count: int) -> dict[str, Any]:
    number = how.preemptions if by == "preemptions" else how.seed
    return core.explore(module, launch, kernarg, (by, number, how.depth), count, how.watchdog)


def _explored(parts: list[dict[str, Any]]) -> Explored[Outcome]:
    """What several searches have found, as one."""
    found: dict[Any, Outcome] = {}
    for told in (outcome for part in parts for outcome in part["outcomes"]):
        findings = [Finding(finding) for finding in told["findings"]]
        made = Outcome(told["schedule"], 0, told["error"], findings)
        outcome = found.setdefault(told["key"], made)
        outcome.schedules += told["schedules"]
        outcome.kinds.update(told["kinds"])
    outcomes = sorted(found.values(), key=lambda outcome: -outcome.schedules)
    count = sum(part["schedules"] for part in parts)
    return Explored(outcomes, count, parts[0]["exhausted"], max(part["choices"] for part in parts))
