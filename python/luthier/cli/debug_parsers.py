"""The command line of the debugger: ``debug`` and ``dap``."""

from __future__ import annotations

from typing import Any


def add(commands: Any, strict_kinds: str) -> None:
    """Adds the commands. ``strict_kinds`` is what ``--strict=KIND,...`` is called for argparse."""
    help = "Debug a kernel on the mock device: stop anywhere, go back, ask where a value comes from."
    debug = commands.add_parser(
        "debug",
        help=help,
        description=help,
        allow_abbrev=False,
        usage="luthier debug FILE --kernel K --block X --blocks X [--arg ARG ...] | CASE | --kernel K [--launch N] -- APP ARGS",
    )
    debug.add_argument("file", metavar="FILE", nargs="?", help="code object, or a case file of luthier capture")
    debug.add_argument("--launch", metavar="N", help="of a program: which launch of the kernel, from 1 (the default)")
    debug.add_argument("--mock", metavar="TARGET[,N]", help="of a program: on mock GPUs, as of luthier trace")
    debug.add_argument("--rocm", metavar="PATH|7", help="of a program: as of luthier trace")
    debug.add_argument("--limit", metavar="BYTES", help="of a program: memory that the launch can reach at most (1 GiB)")
    debug.add_argument("--target", metavar="T", help="which code object of a file that has several (gfx90a, gfx90a:xnack-)")
    debug.add_argument("--entry", metavar="N", help="which entry of a file that has several (luthier inspect --list)")
    debug.add_argument("--kernel", metavar="K", help="its name, or a pattern that fits no other")
    debug.add_argument("--grid", metavar="X[,Y,Z]", help="work-items in all")
    debug.add_argument("--blocks", metavar="X[,Y,Z]", help="workgroups in all")
    debug.add_argument("--block", metavar="X[,Y,Z]", help="work-items of a workgroup")
    debug.add_argument("--arg", metavar="ARG", action="append", default=[], help="as of luthier run, one for each argument")
    debug.add_argument("--lds", metavar="BYTES", default="0", help="dynamic LDS, added to what the kernel declares")
    debug.add_argument("--cooperative", action="store_true", help="all workgroups are under way together")
    debug.add_argument("--cluster", metavar="X[,Y,Z]", help="workgroups of a cluster (gfx1250)")
    debug.add_argument(
        "--schedule",
        metavar="S",
        help="how waves take turns: fair (the default), pct:SEED, pct:SEED:DEPTH:STEPS, choices:AT=WHICH,..., weak:SEED:... before one of these",
    )
    debug.add_argument("--strict", action="store_true", help="look for mistakes that hardware would hide, and stop at them")
    debug.add_argument(strict_kinds, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")
    debug.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
    debug.add_argument("--timeout", metavar="SECONDS", help="of a case: give up when the launch has taken so long")
    debug.add_argument(
        "-x",
        "--execute",
        metavar="COMMAND",
        dest="command_lines",
        action="append",
        default=[],
        help="run this first (repeatable)",
    )
    debug.set_defaults(app=[])
    debug.add_argument("--batch", action="store_true", help="end behind these; status 1 if the launch failed, or one of them")

    help = "Serve an editor the debugger, by the Debug Adapter Protocol on standard input and output."
    commands.add_parser("dap", help=help, description=help, allow_abbrev=False)
