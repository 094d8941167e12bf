"""The options of ``luthier annotate``, and of other commands that annotate."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError


def add(parser: Any) -> None:
    """The options of the command."""
    parser.add_argument("--kernel", metavar="K", help="this kernel, or those of this pattern, and what they reach (default: all)")
    parser.add_argument("-o", "--output", metavar="OUT", help="a file: .html, .json or .txt (default: text on standard output)")
    parser.add_argument("--format", choices=("html", "json", "text"), help="html, json or text, whatever the file's name")
    parser.add_argument(
        "--with", metavar="RESULT.json", dest="results", action="append", default=[],
        help="columns of the tools in what luthier run --json wrote (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--source",
        metavar="OLD=NEW",
        action="append",
        default=[],
        help="where sources are whose paths begin with OLD (repeatable)",
    )
    parser.add_argument(
        "--diff", metavar="FILE", help="beside a kernel of this file: the one of --diff-kernel, or of the same name"
    )
    parser.add_argument("--diff-kernel", metavar="K", help="the other kernel, of the same file without --diff")
    parser.add_argument(
        "--diff-with", metavar="RESULT.json", dest="diff_results", action="append", default=[],
        help="as --with, for the other side: of another run of the same kernel without --diff (repeatable)",
    )  # fmt: skip
    parser.add_argument("--column", metavar="TITLE", help="of two kernels: the column to compare (the first that both have)")
    live = parser.add_mutually_exclusive_group()
    live.add_argument("--live", action="store_true", default=None, help="live registers, for more than 100,000 instructions too")
    live.add_argument("--no-live", action="store_false", dest="live", help="no live registers")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours (auto: on a terminal)")


def check_path(path: str) -> str:
    """A name of ``--annotate``, which says the format."""
    if not path.lower().endswith((".html", ".htm", ".json", ".txt", ".s")):
        raise ArgumentError(f"--annotate {path}: its name ends in none of .html, .json and .txt")
    return path
