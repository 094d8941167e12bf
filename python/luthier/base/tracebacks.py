"""Tracebacks that show the user's code and leave this package's own calls out."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable, Sequence
from types import CodeType, TracebackType
from typing import Any, NoReturn, TypeVar, cast

from ..errors import InternalError, LuthierError

_F = TypeVar("_F", bound=Callable[..., Any])


def shortened(method: _F) -> _F:
    """Errors of this package that ``method`` raises show the calls of the user's code on the way, such as ``on_kernel``,
    and none of this package's own. Those of an InternalError stay, for its repair."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except InternalError:
            raise
        except LuthierError as error:
            raise error.with_traceback(_users(error.__traceback__)) from error.__cause__

    return cast(_F, call)


def raise_at(error: LuthierError, frames: Sequence[dict[str, Any]]) -> NoReturn:
    """Raises an error as if the source lines of a kernel had: ``frames`` has ``file``, ``line`` and ``function`` of each inlined call,
    the innermost first. What has raised it before is left out of its traceback."""
    __tracebackhide__ = True  # of pytest
    cause = error.__cause__
    error = error.with_traceback(None)
    code: CodeType | None = None
    space: dict[str, Any] = {"error": error, "cause": cause}
    for frame in frames:
        if frame["file"] and frame["line"]:
            # A statement at that place of that file, so that tracebacks show the line that is there.
            tree = ast.parse("raise error from cause" if code is None else "exec(code, space)")
            text = linecache.getline(frame["file"], frame["line"]).rstrip()
            for node in ast.walk(tree):
                if isinstance(node, (ast.stmt, ast.expr)):  # all of the line is what is meant
                    node.col_offset, node.end_col_offset = len(text) - len(text.lstrip()), len(text)
            here = compile(tree, frame["file"], "exec")
            space = {"error": error, "cause": cause, "code": code, "space": space}
            code = here.replace(co_firstlineno=frame["line"], co_name=frame["function"] or "kernel")
    if code is None:
        raise error from cause
    exec(code, space)
    raise AssertionError("the error was raised")


def _users(traceback: TracebackType | None) -> TracebackType | None:
    """The same without the frames of this package."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    shown: TracebackType | None = None
    for entry in reversed(frames):
        module = entry.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] != __name__.partition(".")[0]:
            shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shown
