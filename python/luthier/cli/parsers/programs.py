"""The options of commands that run programs."""

from __future__ import annotations

import argparse

from ..finding_options import add as add_findings
from ..perfetto import add_perfetto
from .options import checking, strict


def add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mock", metavar="TARGET[,N]", help="the processor of the mock GPUs, and how many")
    parser.add_argument(
        "--as",
        metavar="CARD",
        dest="card",
        help="mock GPUs as large as a card: MI300X, 'RX 7900 XTX'; MI300X:CPX is one of each die",
    )
    parser.add_argument("--rocm", metavar="PATH|7", help="run on the ROCm in a folder; 7: the one of `make setup-rocm7`")
    parser.add_argument(
        "--preload",
        action="append",
        default=[],
        metavar="LIB",
        help="a library that is loaded into the program before its own, a HIP tool module for example (repeatable)",
    )
    parser.add_argument(
        "--tool", action="append", default=[], metavar="T", help="a tool, or FILE.py[:CLASS], for kernels as they are launched"
    )
    add_perfetto(parser, "launches", "launches, copies and calls")
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="K[,grid=X[xYxZ]][,first=N][,every=N][,process=P]",
        help="only kernels of this name or pattern, and of their launches those of a size, the first, or every Nth (repeatable)",
    )
    checking(parser)
    parser.add_argument("--no-wait", action="store_true", help="launches run as they are until their kernel is instrumented")
    parser.add_argument("--json", metavar="F", help="what the tools say, and what --strict finds, goes there as JSON")
    parser.add_argument(
        "--serve",
        metavar="F",
        help="start nothing: write what a shell is to set for programs to F (- for standard output), and wait",
    )
    parser.add_argument("--no-follow", action="store_true", help="leave the program's children alone")
    parser.add_argument(
        "--functions",
        metavar="PATTERN",
        nargs="?",
        const="*",
        help="only list the functions of HSA and HIP that tools can hear of",
    )
    parser.add_argument("--memory", metavar="SIZE", help="memory of each GPU (16G)")
    parser.add_argument("--cus", metavar="N", help="compute units of each GPU (8)")
    parser.add_argument("--threads", metavar="N", help="workers of a launch (one for each core)")
    parser.add_argument(
        "--schedule",
        metavar="S",
        help="how the waves of a launch take turns: fair (the default), alternate, random:SEED; only the first uses several workers",
    )
    parser.add_argument(
        "--copies",
        metavar="WHO",
        help="driver: HIP's copies and fills are done natively (the default); kernels: by HIP's kernels",
    )
    parser.add_argument(
        "--apu", action="store_true", help="one device that shares the host's memory, without checks of addresses"
    )
    strict(parser)
    add_findings(parser)
    parser.add_argument("--watchdog", metavar="N", help="give a kernel up when one workgroup has run N instructions")
    parser.add_argument("--kfd", action="store_true", help="the program looks for the kernel's driver itself, as rocminfo does")
    parser.add_argument("--log", action="store_true", help="say what is asked of the driver, and each packet")
    parser.add_argument("app", metavar="APP ARGS", nargs=argparse.REMAINDER, help="the program and its arguments")


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mock", metavar="TARGET[,N]", help="HIP and HSA programs run on mock GPUs, as with luthier trace")
    parser.add_argument("--triton", metavar="TARGET", help="Triton's kernels run on this mock device")
    strict(parser, "as without it")
    parser.add_argument(
        "--report", metavar="FILE.json", dest="reports", action="append", default=[],
        help="what --format json=FILE of an earlier run wrote is judged too (repeatable)",
    )  # fmt: skip
    add_findings(parser)
    parser.add_argument("app", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")
    parser.set_defaults(strict=True)
