"""``luthier run --faults``: many runs of a launch, each with one bit flipped."""

from __future__ import annotations

import json
from typing import Any

from ..base.outputs import Outputs
from ..errors import ArgumentError
from ..objects.code_object import CodeObject
from ..reports.files import write_tables
from ..views.annotation import Annotation
from .argspec import parse_number
from .progress import Bar
from .tables import show

#: What is about one launch with tools, and not about many.
_OTHERS = ("tool", "select", "strict", "strict_kinds", "dump", "symbol", "watchdog", "timeout")


def parse_faults(text: str) -> tuple[int, int]:
    """Runs and seed of ``--faults N[:SEED]``."""
    number, _, seed = text.partition(":")
    return parse_number("--faults", number, "runs"), parse_number("--faults", seed or "0", "as a seed")


def check(args: Any) -> None:
    """Refuses options that a campaign has no use for."""
    for name in _OTHERS:
        if getattr(args, name):
            option = "--strict" if name == "strict_kinds" else f"--{name}"
            raise ArgumentError(f"--faults runs the launch many times, without tools: {option} is for one launch")


def main(args: Any, code_object: CodeObject, processor: str, values: list[Any], launch: dict[str, Any]) -> int:
    """Runs the campaign and tells it; status 0, whatever became of the runs."""
    from ..tools.fault_inject import campaign
    from .work import aside, interruptible

    runs, seed = parse_faults(args.faults)

    def fresh() -> list[Any]:
        return [value.copy() if getattr(value, "shape", ()) else value for value in values]

    with Outputs() as outputs, aside(args.json == "-"):
        stream = outputs.open(args.json) if args.json not in (None, "-") else None
        with Bar("runs") as bar:
            found = interruptible(
                lambda: campaign(
                    processor,
                    code_object,
                    args.kernel,
                    fresh,
                    runs=runs,
                    seed=seed,
                    progress=lambda done, of: bar.show(done, of, ""),
                    **launch,
                )
            )
        about = {"kernel": args.kernel, "target": code_object.target, "seed": seed}
        data = json.dumps({**about, **found.to_dict()}, indent=1)
        if stream is not None:
            stream.write(f"{data}\n".encode())
        outputs.commit()
    if args.annotate is not None:
        Annotation(code_object, kernels=[args.kernel], columns=found.report.columns).save(args.annotate)
    if args.out is not None:
        write_tables([found.report], args.out, args.out_format)
    if args.json == "-":
        print(data)
        return 0
    for table in found.report.tables:
        show(table.title, table.headers, table.rows)
    return 0
