"""One case under many schedules: which outcomes there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..device.exploring import How
from ..device.exploring import explore as search
from ..errors import ArgumentError
from .case import Case
from .debugging import placed
from .running import Replayed, Way, replay

#: Instructions after which a workgroup is taken for one that never ends, unless the watchdog says fewer.
MOST = 1_000_000


@dataclass
class Outcome:
    """What one or more schedules lead to: the same memory, or a stop at the same instruction."""

    #: Those that lead to it; the first one repeats it.
    schedules: list[str]
    #: Of the first one.
    replayed: Replayed = field(repr=False)
    #: Kinds of findings under any of the schedules.
    kinds: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        many = len(self.schedules)
        what = f"stopped: {self.replayed.error}" if self.replayed.error is not None else "ends"
        found = f", findings: {', '.join(sorted(self.kinds))}" if self.kinds else ""
        return f"{many:,} schedule{'' if many == 1 else 's'} (the first is {self.schedules[0]}): {what}{found}"


@dataclass(frozen=True)
class Explored:
    """All outcomes that were seen, the most frequent first."""

    outcomes: list[Outcome]
    #: How many schedules were tried.
    schedules: int
    #: There are no other outcomes.
    exhausted: bool = False

    @property
    def is_deterministic(self) -> bool:
        """All schedules that were tried lead to one outcome. Others might not."""
        return len(self.outcomes) == 1


def schedules(count: int, seed: int) -> Iterator[str]:
    """``fair``, ``alternate``, and as many random ones as make up ``count``."""
    for number in range(count):
        yield ("fair", "alternate")[number] if number < 2 else f"random:{seed + number - 2}"


def explore(
    case: Case,
    count: int = 64,
    seed: int = 0,
    way: Way | None = None,
    *,
    by: str = "random",
    depth: int = 3,
    preemptions: int = 2,
) -> Explored:
    """Replays a case under ``count`` schedules, on one thread, so that each can be repeated: by ``"random"``, or as
    :class:`luthier.device.exploring.How` says."""
    if count < 1:
        raise ArgumentError(f"schedules: {count} is not a number of schedules")
    way = replace(way or Way(), threads=1)
    if way.tools or way.schedule is not None:
        raise ArgumentError("explore: tools and a schedule are for replay")
    if by != "random":
        return _chosen(case, way, How(by, count, seed, depth, preemptions, min(way.watchdog or MOST, MOST)))
    found: dict[object, Outcome] = {}
    for schedule in schedules(count, seed):
        did = replay(case, replace(way, schedule=schedule))
        outcome = found.setdefault(_key(did), Outcome([], did))
        outcome.schedules.append(schedule)
        outcome.kinds.update(finding["kind"] for finding in did.findings)
    return Explored(sorted(found.values(), key=lambda outcome: -len(outcome.schedules)), count)


def _chosen(case: Case, way: Way, how: How) -> Explored:
    """The case on one device, taken back after each schedule; what was found is replayed once."""
    there, launch = placed(case, way)
    found = search(there.device.core, there.module, launch, case.kernarg, how)
    outcomes = []
    for told in found.outcomes:
        did = replay(case, replace(way, schedule=told.schedule, watchdog=how.watchdog))
        outcomes.append(Outcome([told.schedule] * told.schedules, did, told.kinds))
    return Explored(outcomes, found.schedules, found.exhausted)


def _key(did: Replayed) -> object:
    """What makes two outcomes one."""
    if did.stop is not None:
        return "stopped", did.stop.pc
    digest = hashlib.blake2b()
    for data in did.memory:
        digest.update(data)
    return digest.digest()
