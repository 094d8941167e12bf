"""How people are told that a tool has failed."""

from __future__ import annotations

import traceback
from types import TracebackType

from ..errors import InternalError, LuthierError
from .text import printable


def told(error: BaseException) -> str:
    """A line for what a tool did wrong and this package has noticed, and for a tool that ends the process; a traceback for
    what went wrong in its own code. With the newline at its end."""
    if isinstance(error, SystemExit):
        return printable(f"luthier: error: a tool has called sys.exit({_code(error)}){_place(error)}") + "\n"
    if isinstance(error, LuthierError) and not isinstance(error, InternalError):
        if type(error).__name__ == "HookError":  # it quotes the source
            return printable(str(error)) + "\n"
        return printable(f"luthier: error: {' '.join(str(error).split())}") + "\n"
    return "".join(traceback.format_exception(error))


def _code(error: SystemExit) -> str:
    return "" if error.code is None else repr(error.code)


def _place(error: BaseException) -> str:
    """Where the tool has done it: the last place that is not Python's own."""
    found, at = "", error.__traceback__
    while at is not None:
        found, at = place(at), at.tb_next
    return found


def place(at: TracebackType) -> str:
    """`` in FILE:LINE``."""
    return f" in {at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
