"""The options of commands that read a code object, and of ``instrument``, which writes one."""

from __future__ import annotations

import argparse

from .. import annotate_options
from .options import container, one_entry, placing


def add_inspect(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--list", action="store_true", help="only the entries of the file")


def add_kernels(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    parser.add_argument("glob", metavar="GLOB", nargs="?", help="only those whose name, mangled or not, is of this pattern")
    parser.add_argument("--json", action="store_true", help="the list as JSON")


def add_disasm(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    parser.add_argument("--kernel", metavar="K", help="this kernel and the functions it reaches (default: everything); a pattern")


def add_annotate(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    annotate_options.add(parser)


def add_lift(parser: argparse.ArgumentParser) -> None:
    one_entry(parser)
    parser.add_argument(
        "--emit",
        choices=("text", "json", "dot", "mir"),
        default="text",
        help="text (the default), JSON, a graph for Graphviz, or LLVM MIR",
    )
    parser.add_argument("--kernel", metavar="K", help="this kernel and the functions it reaches (default: everything)")


def add_instrument(parser: argparse.ArgumentParser) -> None:
    container(parser)
    parser.add_argument("--tool", metavar="TOOL", action="append", required=True, help="as for run")
    parser.add_argument(
        "--entry", metavar="N", type=int, action="append", help="only this entry of a file that has several (may be repeated)"
    )
    parser.add_argument(
        "--kernel",
        metavar="K",
        action="append",
        help="only this kernel, or of a code object those of this pattern (may be repeated)",
    )
    placing(parser)
    parser.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="where it goes")
