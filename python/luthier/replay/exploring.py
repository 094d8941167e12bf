"""One case under many schedules: which outcomes there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..device.exploring import Explored, How, StaleRead
from ..device.exploring import Outcome as Seen
from ..device.exploring import explore as search
from ..errors import ArgumentError
from .case import Case
from .debugging import placed
from .running import Replayed, Way, replay

#: Instructions after which a workgroup is taken for one that never ends, unless the watchdog says fewer.
MOST = 1_000_000


@dataclass(kw_only=True)
class Outcome(Seen):
    """What one or more schedules lead to: the same memory, or a stop at the same instruction."""

    #: What the first one did.
    replayed: Replayed = field(repr=False)

    @staticmethod
    def of(schedule: str, count: int, did: Replayed, kinds: set[str], stale: Sequence[StaleRead] = ()) -> Outcome:
        """What ``count`` schedules lead to; this is the first of them."""
        return Outcome(schedule, count, did.stop, did.findings, kinds, list(stale), replayed=did)


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
    weak: bool = False,
) -> Explored[Outcome]:
    """Replays a case under ``count`` schedules, on one thread, so that each can be repeated: by ``"random"``, or as
    :class:`luthier.device.exploring.How` says. In ``weak`` memory they are by priorities."""
    if count < 1:
        raise ArgumentError(f"schedules: {count} is not a number of schedules")
    way = replace(way or Way(), threads=1)
    if way.tools or way.schedule is not None:
        raise ArgumentError("explore: tools and a schedule are for replay")
    if by != "random" or weak:
        by = "pct" if by == "random" else by
        return _chosen(case, way, How(by, count, seed, depth, preemptions, min(way.watchdog or MOST, MOST), weak))
    found: dict[object, Outcome] = {}
    for schedule in schedules(count, seed):
        did = replay(case, replace(way, schedule=schedule))
        outcome = found.setdefault(_key(did), Outcome.of(schedule, 0, did, set()))
        outcome.schedules += 1
        outcome.kinds.update(finding["kind"] for finding in did.findings)
    return Explored(sorted(found.values(), key=lambda outcome: -outcome.schedules), count)


def _chosen(case: Case, way: Way, how: How) -> Explored[Outcome]:
    """The case on one device, taken back after each schedule; what was found is replayed once."""
    there, launch = placed(case, way)
    found = search(there.device.core, there.module, launch, case.kernarg, how)
    outcomes = []
    for told in found.outcomes:
        did = replay(case, replace(way, schedule=told.schedule, watchdog=how.watchdog))
        outcomes.append(Outcome.of(told.schedule, told.schedules, did, told.kinds, told.stale))
    return Explored(outcomes, found.schedules, found.exhausted, found.choices)


def _key(did: Replayed) -> object:
    """What makes two outcomes one."""
    if did.stop is not None:
        return "stopped", did.stop.pc
    digest = hashlib.blake2b()
    for data in did.memory:
        digest.update(data)
    return digest.digest()
