"""Options that several commands have."""

from __future__ import annotations

import argparse

#: `--strict=KIND,...`, under another name for argparse, which would take a word behind a plain `--strict` for kinds.
STRICT_KINDS = "--strict-kinds"


def container(parser: argparse.ArgumentParser) -> None:
    """A file with code, which may have several code objects."""
    parser.add_argument("file", metavar="FILE", help="code object, host binary with HIP code, or offload bundle")
    parser.add_argument("--target", metavar="T", help="which code object of a file that has several (gfx90a, gfx90a:xnack-)")


def one_entry(parser: argparse.ArgumentParser) -> None:
    """A file with code, and which of its code objects the command takes."""
    container(parser)
    parser.add_argument("--entry", metavar="N", help="which entry of a file that has several (luthier inspect --list)")


def strict(
    parser: argparse.ArgumentParser, about: str = "look for mistakes that hardware would hide; exit status 1 if any"
) -> None:
    """``--strict`` and ``--strict=KIND,...``."""
    parser.add_argument("--strict", action="store_true", help=about)
    parser.add_argument(STRICT_KINDS, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")


def checking(parser: argparse.ArgumentParser) -> None:
    """How much of what placement did is proven, and where hooks stand."""
    which = parser.add_mutually_exclusive_group()
    every = "prove every placement with the splice checker (default: all of a small plan, of others a sample)"
    which.add_argument("--check", action="store_true", default=None, help=every)
    which.add_argument("--no-check", action="store_false", dest="check", help="prove none")
    parser.add_argument(
        "--bodies",
        choices=("in-place", "called", "choose"),
        help="where hooks' code stands: at each place, once in each function and called, or called where that is smaller at "
        "little cost (the default)",
    )


def placing(parser: argparse.ArgumentParser) -> None:
    """How hooks are placed, and what follows where one cannot be."""
    checking(parser)
    parser.add_argument(
        "--calling-convention",
        action="store_true",
        help="place hooks as calls by the C calling convention, registers spilled: dearer, for comparison",
    )
    parser.add_argument(
        "--on-rejected",
        choices=("raise", "warn", "report"),
        default="warn",
        help="what to do if something cannot be inserted: stop, leave it out and say so in a line (the default), or in "
        "the JSON only",
    )
