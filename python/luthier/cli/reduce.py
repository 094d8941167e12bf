"""``luthier reduce``."""

from __future__ import annotations

from typing import Any

from ..base.outputs import Outputs
from ..base.text import printable
from ..replay.case import Case
from ..replay.reducing import reduce
from .argspec import parse_number
from .replay import way_of
from .work import interruptible


def main(args: Any) -> int:
    """Writes the smaller case."""
    case = Case.open(args.file)
    tries = parse_number("--tries", args.tries, "a number")
    with Outputs() as outputs:
        out = outputs.open(args.output)
        found = interruptible(lambda: reduce(case, way_of(args), tries=tries))
        out.write(found.case.to_bytes())
        outputs.commit()
    before, after = case.dispatch.grid, found.case.dispatch.grid
    print(
        printable(
            f"grid {before} is {after}, {case.size:,} bytes of memory are {found.case.size:,}, {found.removed:,} instructions do nothing"
        )
    )  # noqa: E501
    print(f"{found.tries:,} replays")
    return 0
