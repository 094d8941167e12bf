"""``luthier completion``: what a shell sources to complete commands and options."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError


def main(args: Any) -> int:
    """Prints the script."""
    try:
        import shtab
    except ImportError:
        raise ArgumentError("completion is written by shtab, which is not here: pip install 'luthier[completion]'") from None
    from .parsers import build_parser

    print(shtab.complete(build_parser(), args.shell))
    return 0
