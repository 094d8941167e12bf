"""What judging has found out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: What is asked of each launch, in the order of the table.
CHECKS = {
    "runs": "the kernel runs to its end, and is one",
    "right": "outputs are the reference's within the tolerance",
    "strict": "strict mode finds nothing",
    "writes all": "every element of the outputs is written",
    "reads no output": "results do not depend on what outputs held before",
    "writes only outputs": "other buffers stay as they were",
    "deterministic": "results are the same bits under every schedule",
    "not remembered": "other values in the same buffers give other results",
    "not constant": "results depend on the inputs",
    "special values": "NaN and infinity give what the reference gives",
    "own work": "the kernel does not call the reference",
}


@dataclass(frozen=True)
class Row:
    """One check of one case that failed, or could not be made."""

    check: str
    target: str
    size: Any
    dtype: str
    seed: int
    schedule: str
    #: What was found.
    why: str

    def __str__(self) -> str:
        return f"{self.check}: {self.target}, size {self.size}, {self.dtype}, seed {self.seed}, {self.schedule}: {self.why}"


@dataclass
class Judgement:
    """The result of :func:`luthier.judge`; true if all is well."""

    #: What failed.
    failures: list[Row] = field(default_factory=list)
    #: How often each check was made.
    made: Counter[str] = field(default_factory=Counter)
    #: The greatest error of all launches, in ulps.
    ulps: float | None = None
    #: By target, of the launches under the first schedule: instructions that waves retired.
    instructions: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    tolerance: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing failed, and something was run."""
        return not self.failures and self.launches > 0

    def __bool__(self) -> bool:
        return self.ok

    def failed(self, check: str) -> list[Row]:
        """The failures of a check."""
        return [row for row in self.failures if row.check == check]

    def table(self) -> list[tuple[str, int, int, str]]:
        """For each check its name, how often it was made, how often it failed, and the first failure."""
        rows = []
        for check in CHECKS:
            failed = self.failed(check)
            first = "" if not failed else f"{failed[0].target}, size {failed[0].size}, {failed[0].dtype}: {failed[0].why}"
            rows.append((check, self.made[check], len(failed), first))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """What ``luthier judge --json`` writes, by the schema judgement.schema.json."""
        checks = [
            {"check": check, "asks": CHECKS[check], "made": made, "failed": failed} for check, made, failed, _ in self.table()
        ]
        return {
            "luthier-judgement": 1,
            "ok": self.ok,
            "launches": self.launches,
            "tolerance": self.tolerance,
            "ulps": self.ulps,
            "instructions": self.instructions,
            "checks": checks,
            "failures": [{**row.__dict__, "size": _plain(row.size)} for row in self.failures],
        }

    def __repr__(self) -> str:
        bad = sorted({row.check for row in self.failures})
        return f"<Judgement: {'ok' if self.ok else 'not ' + ', '.join(bad) if bad else 'nothing ran'}, {self.launches} launches>"


def _plain(size: Any) -> Any:
    return list(size) if isinstance(size, Sequence) and not isinstance(size, str) else size
