"""``luthier explore``."""

from __future__ import annotations

from typing import Any

from ..base.text import printable
from ..replay.case import Case
from ..replay.exploring import explore
from .argspec import parse_number
from .replay import way_of
from .run import interruptible


def main(args: Any) -> int:
    """Says which outcomes there are. Status 1 for several, for a stop, and for findings."""
    case = Case.open(args.file)
    count, seed = (parse_number(f"--{name}", getattr(args, name), "a number") for name in ("schedules", "seed"))
    found = interruptible(lambda: explore(case, count, seed, way_of(args)))
    for outcome in found.outcomes:
        print(printable(str(outcome)))
    if found.is_deterministic:
        print(f"one outcome under {found.schedules:,} schedules; others were not tried")
    else:
        print(f"{len(found.outcomes):,} outcomes under {found.schedules:,} schedules: `luthier replay --schedule S` repeats each")
    bad = any(outcome.replayed.stop is not None or outcome.kinds for outcome in found.outcomes)
    return 0 if found.is_deterministic and not bad else 1
