"""``luthier explore``."""

from __future__ import annotations

from typing import Any

from ..base.text import printable
from ..replay.case import Case
from ..replay.exploring import explore
from .argspec import parse_number
from .replay import way_of
from .work import interruptible


def main(args: Any) -> int:
    """Says which outcomes there are. Status 1 for several, for a stop, and for findings."""
    case = Case.open(args.file)
    names = ("schedules", "seed", "depth", "preemptions")
    count, seed, depth, most = (parse_number(f"--{name}", getattr(args, name), "a number") for name in names)
    found = interruptible(
        lambda: explore(case, count, seed, way_of(args), by=args.by, depth=depth, preemptions=most, weak=args.weak)
    )
    for outcome in found.outcomes:
        for line in found.told(outcome).splitlines():
            print(printable(line))
    many = "one outcome" if found.is_deterministic else f"{len(found.outcomes):,} outcomes"
    rest = "there are no others" if found.exhausted else "others were not tried"
    repeat = (
        "" if found.is_deterministic else "; `luthier replay --schedule S` repeats each, `luthier debug --schedule S` stops in it"
    )
    print(f"{many} under {found.schedules:,} schedules; {rest}{repeat}")
    bad = any(outcome.error is not None or outcome.kinds for outcome in found.outcomes)
    return 0 if found.is_deterministic and not bad else 1
