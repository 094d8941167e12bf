"""Tracebacks that show the user's code and leave this package's own calls out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

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
