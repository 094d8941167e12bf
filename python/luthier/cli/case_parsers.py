"""The command line of recorded launches: ``capture``, ``replay``, ``explore`` and ``reduce``."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any, strict_kinds: str) -> None:
    """Adds the four commands. ``strict_kinds`` is what ``--strict=KIND,...`` is called for argparse."""

    def command(name: str, help: str, **more: Any) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(name, help=help, description=help, allow_abbrev=False, **more)
        return made

    def judged(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--strict", action="store_true", help="look for mistakes that hardware would hide")
        parser.add_argument(strict_kinds, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")
        parser.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
        parser.add_argument("--timeout", metavar="SECONDS", help="give up when a launch has taken so long")

    capture = command(
        "capture",
        "Record a launch of a running program, with all memory that it can reach, as a case file.",
        usage="luthier capture --kernel K [--launch N] [--mock TARGET] -o CASE -- APP ARGS",
    )
    capture.add_argument("--kernel", metavar="K", required=True, help="its name or a pattern, mangled or not")
    capture.add_argument("--launch", metavar="N", default="1", help="which launch of it, from 1 (the default)")
    capture.add_argument("--mock", metavar="TARGET[,N]", help="on mock GPUs, as of luthier trace")
    capture.add_argument("--rocm", metavar="PATH|7", help="as of luthier trace")
    capture.add_argument("--limit", metavar="BYTES", help="memory that the case has at most (1 GiB)")
    capture.add_argument("-o", "--output", metavar="CASE", required=True, help="the file to write")
    capture.set_defaults(app=[])

    replay = command("replay", "Run a recorded launch again, and compare what it leaves.")
    replay.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    replay.add_argument("--tool", metavar="TOOL", action="append", default=[], help="as for run")
    replay.add_argument("--schedule", metavar="S", help="how waves take turns: as of luthier run")
    replay.add_argument("--code", metavar="FILE", help="run the kernel of this code object on the case's memory")
    replay.add_argument("--as", metavar="TARGET", dest="processor", help="with --code, on this processor")
    replay.add_argument(
        "--against", metavar="FILE", help="run the case's code and this code object's, and name the store that differs first"
    )
    replay.add_argument(
        "--why", action="store_true", help="with --against: where the first word that differs comes from, on both sides"
    )
    replay.add_argument("--cooperative", action="store_true", help="all workgroups are under way together")
    replay.add_argument("--json", metavar="FILE", help="write what happened as JSON (- for standard output)")
    judged(replay)

    explore = command("explore", "Run a recorded launch under many schedules, and say which outcomes there are.")
    explore.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    explore.add_argument("--schedules", metavar="N", default="64", help="how many (64)")
    explore.add_argument("--seed", metavar="S", default="0", help="of the first random one (0)")
    explore.add_argument(
        "--by",
        choices=("usual", "order", "pct", "preemptions", "random"),
        default="usual",
        help="all orders of conflicting accesses, until there are no others (order); random priorities (pct); at most "
        "--preemptions interruptions (preemptions); long random turns (random); or order and then pct, half of the schedules each (usual)",
    )
    explore.add_argument(
        "--depth", metavar="D", default="3", help="of pct: how often the running wave loses its priority, and one (3)"
    )
    explore.add_argument("--preemptions", metavar="N", default="2", help="of preemptions: how many (2)")
    explore.add_argument(
        "--weak", action="store_true", help="memory answers as weakly as caches and stores under way let it (by pct)"
    )
    judged(explore)

    reduce = command("reduce", "Make a recorded launch smaller as long as its finding, or its fault, stays.")
    reduce.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    reduce.add_argument("--tries", metavar="N", default="400", help="replays at most (400)")
    reduce.add_argument("-o", "--output", metavar="CASE", required=True, help="the file to write")
    judged(reduce)
