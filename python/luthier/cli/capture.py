"""``luthier capture``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import Any

from ..agent.controller import Controller
from ..base.outputs import Outputs
from ..base.text import printable
from ..errors import ArgumentError
from ..instrumenting.selection import parse
from ..replay.case import LIMIT
from ..replay.program import Capture, Wanted
from . import trace
from .argspec import parse_number
from .rocm import choose, find


def main(args: Any) -> int:
    """Runs the program to its end, which is ours, and writes the case."""
    if not args.app:
        raise ArgumentError("nothing to run: luthier capture --kernel K -o CASE -- APP ARGS")
    found = None if args.rocm is None else find(args.rocm, os.environ)
    program = (found.which(args.app[0]) if found is not None else None) or shutil.which(args.app[0])
    if program is None:
        raise ArgumentError(f"{args.app[0]}: there is no such program")
    number = parse_number("--launch", args.launch, "a launch")
    if number < 1:
        raise ArgumentError("--launch: launches count from 1")
    limit = LIMIT if args.limit is None else parse_number("--limit", args.limit, "bytes")
    environment = dict(os.environ)
    if args.mock is not None:
        trace.check_devices(args.mock)
        options = dict.fromkeys(("memory", "cus", "threads", "watchdog", "copies", "strict_kinds"))
        flags = dict.fromkeys(("kfd", "apu", "log", "strict"), False)
        environment = trace.variables(
            argparse.Namespace(mock=args.mock, card=None, app=args.app, **options, **flags), environment
        )
    words = list(args.app)
    rocm, polls = choose(args.rocm, program, environment, args.mock is not None)
    if polls:
        trace.sleep_instead_of_polling(environment)
    if rocm is not None:
        program, words, environment = rocm.start(program, words, environment, trace._DRIVER)
    wanted = Wanted(args.app, args.kernel, number, limit)
    with Outputs() as outputs:
        out = outputs.open(args.output)
        with Controller(lambda: [Capture(wanted)], [parse(args.kernel)]) as controller:
            status = controller.run(program, words, environment)
        case = wanted.recorded()
        out.write(case.to_bytes())
        outputs.commit()
    print(printable(f"luthier: {args.output}: {repr(case).strip('<>')}"), file=sys.stderr)
    return status if status >= 0 else 128 - status
