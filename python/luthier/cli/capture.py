"""``luthier capture``."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..agent.controller import Controller
from ..base.outputs import Outputs
from ..base.text import printable
from ..errors import ArgumentError
from ..instrumenting.selection import parse
from ..replay.case import LIMIT, Case
from ..replay.program import Capture, Wanted
from .argspec import parse_number
from .mock_gpus import MockGpus, Program


def captured(args: Any) -> tuple[Case, int]:
    """Runs the program to its end: the launch that was asked for, and the program's status."""
    number = 1 if args.launch is None else parse_number("--launch", args.launch, "a launch")
    if number < 1:
        raise ArgumentError("--launch: launches count from 1")
    limit = LIMIT if args.limit is None else parse_number("--limit", args.limit, "bytes")
    started = Program.on(MockGpus.of(args), args.app, os.environ, rocm=args.rocm)
    wanted = Wanted(args.app, args.kernel, number, limit)
    with Controller(lambda: [Capture(wanted)], [parse(args.kernel)]) as controller:
        status = controller.run(started.path, started.words, started.environment)
    return wanted.recorded(), status


def main(args: Any) -> int:
    """Runs the program to its end, which is ours, and writes the case."""
    if not args.app:
        raise ArgumentError("nothing to run: luthier capture --kernel K -o CASE -- APP ARGS")
    with Outputs() as outputs:
        out = outputs.open(args.output)
        case, status = captured(args)
        out.write(case.to_bytes())
        outputs.commit()
    print(printable(f"luthier: {args.output}: {repr(case).strip('<>')}"), file=sys.stderr)
    return status if status >= 0 else 128 - status
