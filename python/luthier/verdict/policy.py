"""Which findings count."""

from __future__ import annotations

import enum
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..errors import ArgumentError
from .baseline import Baseline
from .identity import exact, stable
from .suppressions import Rule, Suppressions

FAIL_ON, SUPPRESS, BASELINE = "LUTHIER_FAIL_ON", "LUTHIER_SUPPRESS", "LUTHIER_BASELINE"


class Standing(str, enum.Enum):
    """What a finding does to the status."""

    #: It makes the command fail.
    FAILS = "fails"
    #: Its kind is not among those of ``--fail-on``.
    TOLD = "told"
    #: The baseline has it.
    KNOWN = "known"
    #: A suppression is about it.
    SUPPRESSED = "suppressed"


@dataclass(frozen=True)
class Judged:
    """A finding, and what the policy makes of it."""

    finding: Mapping[str, Any]
    #: The same after changes elsewhere in the source (:func:`luthier.verdict.identity.stable`).
    id: str
    standing: Standing
    #: In how many launches, processes or runs it was found.
    times: int = 1
    #: What suppresses it.
    rule: Rule | None = None


@dataclass(frozen=True)
class Verdict:
    """What was found in how many launches, and what counts of it."""

    launches: int
    judged: list[Judged]
    #: Findings that were made and not written down: each process keeps its first 10,000.
    unwritten: int = 0
    #: Suppressions that are expired, and those that fitted nothing.
    expired: list[Rule] = field(default_factory=list)
    unused: list[Rule] = field(default_factory=list)

    def of(self, *standings: Standing) -> list[Judged]:
        """Those of some standings, in the order in which they were found."""
        return [judged for judged in self.judged if judged.standing in standings]

    @property
    def failures(self) -> int:
        """How many findings make the command fail. What was not written down does, since nothing can be said for it."""
        return len(self.of(Standing.FAILS)) + self.unwritten

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings of each kind, whatever their standing."""
        return dict(sorted(Counter(judged.finding["kind"] for judged in self.judged).items()))


@dataclass(frozen=True)
class Policy:
    """What the user wants to fail for."""

    #: Kinds; None for all of them.
    fail_on: frozenset[str] | None = None
    suppressions: Suppressions = field(default_factory=Suppressions)
    baseline: Baseline = field(default_factory=Baseline)

    @classmethod
    def of(
        cls,
        fail_on: str | None = None,
        suppress: Sequence[str | os.PathLike[str]] = (),
        baseline: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Policy:
        """The policy of options, and of the environment where there are none: ``LUTHIER_FAIL_ON``, ``LUTHIER_SUPPRESS`` (paths
        with ``:`` between them) and ``LUTHIER_BASELINE``. ArgumentError for files that cannot be used and kinds that there
        are not."""
        told = os.environ if environment is None else environment
        fail_on = fail_on if fail_on is not None else told.get(FAIL_ON) or None
        files = list(suppress) or [path for path in told.get(SUPPRESS, "").split(os.pathsep) if path]
        known = baseline if baseline is not None else told.get(BASELINE) or None
        return cls(_kinds(fail_on), Suppressions.load(files), Baseline() if known is None else Baseline.load(known))

    def judge(self, findings: Iterable[Mapping[str, Any]], launches: int, found: int | None = None) -> Verdict:
        """What becomes of findings, those that are the same made one. ``found`` is how many there were, where not all were
        written down."""
        same: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        total = 0
        for finding in findings:
            total += 1
            same.setdefault(exact(finding), []).append(finding)
        left = Counter(self.baseline.counts)
        judged = [self._judge(group, left) for group in same.values()]
        used = {judged.rule for judged in judged}
        rules = self.suppressions.rules
        return Verdict(
            launches,
            judged,
            unwritten=max((found or 0) - total, 0),
            expired=[rule for rule in rules if rule.is_expired],
            unused=[rule for rule in rules if not rule.is_expired and rule not in used],
        )

    def _judge(self, group: list[Mapping[str, Any]], left: Counter[str]) -> Judged:
        finding, identity = group[0], stable(group[0])
        times = sum(each.get("times", 1) for each in group)  # one of an earlier report may stand for several
        if (rule := self.suppressions.of(finding)) is not None:
            return Judged(finding, identity, Standing.SUPPRESSED, times, rule)
        if left[identity]:
            left[identity] -= 1
            return Judged(finding, identity, Standing.KNOWN, times)
        fails = self.fail_on is None or finding["kind"] in self.fail_on
        return Judged(finding, identity, Standing.FAILS if fails else Standing.TOLD, times)


def _kinds(text: str | None) -> frozenset[str] | None:
    if text is None or text == "all":
        return None
    if text == "none":
        return frozenset()
    kinds, known = [kind.strip() for kind in text.split(",")], _core.finding_kinds()
    for kind in kinds:
        if kind not in known:
            raise ArgumentError(f"--fail-on {text}: no kind {kind!r}: all, none, or some of {', '.join(known)}")
    return frozenset(kinds)
