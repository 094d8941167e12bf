"""The options of commands about recorded launches, and of the debugger."""

from __future__ import annotations

import argparse

from .options import strict


def judged(parser: argparse.ArgumentParser) -> None:
    strict(parser, "look for mistakes that hardware would hide")
    parser.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
    parser.add_argument("--timeout", metavar="SECONDS", help="give up when a launch has taken so long")


def add_capture(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="K", required=True, help="its name or a pattern, mangled or not")
    parser.add_argument("--launch", metavar="N", default="1", help="which launch of it, from 1 (the default)")
    parser.add_argument("--mock", metavar="TARGET[,N]", help="on mock GPUs, as of luthier trace")
    parser.add_argument("--rocm", metavar="PATH|7", help="as of luthier trace")
    parser.add_argument("--limit", metavar="BYTES", help="memory that the case has at most (1 GiB)")
    parser.add_argument("-o", "--output", metavar="CASE", required=True, help="the file to write")
    parser.set_defaults(app=[])


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    parser.add_argument("--tool", metavar="TOOL", action="append", default=[], help="as for run")
    parser.add_argument("--schedule", metavar="S", help="how waves take turns: as of luthier run")
    parser.add_argument("--code", metavar="FILE", help="run the kernel of this code object on the case's memory")
    parser.add_argument("--as", metavar="TARGET", dest="processor", help="with --code, on this processor")
    parser.add_argument(
        "--against", metavar="FILE", help="run the case's code and this code object's, and name the store that differs first"
    )
    parser.add_argument(
        "--why", action="store_true", help="with --against: where the first word that differs comes from, on both sides"
    )
    parser.add_argument("--cooperative", action="store_true", help="all workgroups are under way together")
    parser.add_argument("--json", metavar="FILE", help="write what happened as JSON (- for standard output)")
    judged(parser)


def add_explore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    parser.add_argument("--schedules", metavar="N", default="64", help="how many (64)")
    parser.add_argument("--seed", metavar="S", default="0", help="of the first random one (0)")
    parser.add_argument(
        "--by",
        choices=("usual", "order", "pct", "preemptions", "random"),
        default="usual",
        help="all orders of conflicting accesses, until there are no others (order); random priorities (pct); at most "
        "--preemptions interruptions (preemptions); long random turns (random); or order and then pct, half of the schedules each (usual)",
    )
    parser.add_argument(
        "--depth", metavar="D", default="3", help="of pct: how often the running wave loses its priority, and one (3)"
    )
    parser.add_argument("--preemptions", metavar="N", default="2", help="of preemptions: how many (2)")
    parser.add_argument(
        "--weak", action="store_true", help="memory answers as weakly as caches and stores under way let it (by pct)"
    )
    judged(parser)


def add_reduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="CASE", help="a case file, of luthier capture")
    parser.add_argument("--tries", metavar="N", default="400", help="replays at most (400)")
    parser.add_argument("-o", "--output", metavar="CASE", required=True, help="the file to write")
    judged(parser)


def add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="code object, or a case file of luthier capture")
    parser.add_argument("--launch", metavar="N", help="of a program: which launch of the kernel, from 1 (the default)")
    parser.add_argument("--mock", metavar="TARGET[,N]", help="of a program: on mock GPUs, as of luthier trace")
    parser.add_argument("--rocm", metavar="PATH|7", help="of a program: as of luthier trace")
    parser.add_argument("--limit", metavar="BYTES", help="of a program: memory that the launch can reach at most (1 GiB)")
    parser.add_argument("--target", metavar="T", help="which code object of a file that has several (gfx90a, gfx90a:xnack-)")
    parser.add_argument("--entry", metavar="N", help="which entry of a file that has several (luthier inspect --list)")
    parser.add_argument("--kernel", metavar="K", help="its name, or a pattern that fits no other")
    parser.add_argument("--grid", metavar="X[,Y,Z]", help="work-items in all")
    parser.add_argument("--blocks", metavar="X[,Y,Z]", help="workgroups in all")
    parser.add_argument("--block", metavar="X[,Y,Z]", help="work-items of a workgroup")
    parser.add_argument("--arg", metavar="ARG", action="append", default=[], help="as of luthier run, one for each argument")
    parser.add_argument("--lds", metavar="BYTES", default="0", help="dynamic LDS, added to what the kernel declares")
    parser.add_argument("--cooperative", action="store_true", help="all workgroups are under way together")
    parser.add_argument("--cluster", metavar="X[,Y,Z]", help="workgroups of a cluster (gfx1250)")
    parser.add_argument(
        "--schedule",
        metavar="S",
        help="how waves take turns: fair (the default), pct:SEED, pct:SEED:DEPTH:STEPS, choices:AT=WHICH,..., weak:SEED:... before one of these",
    )
    strict(parser, "look for mistakes that hardware would hide, and stop at them")
    parser.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
    parser.add_argument("--timeout", metavar="SECONDS", help="of a case: give up when the launch has taken so long")
    parser.add_argument(
        "-x",
        "--execute",
        metavar="COMMAND",
        dest="command_lines",
        action="append",
        default=[],
        help="run this first (repeatable)",
    )
    parser.set_defaults(app=[])
    parser.add_argument("--batch", action="store_true", help="end behind these; status 1 if the launch failed, or one of them")
