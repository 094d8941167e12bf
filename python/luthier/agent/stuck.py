"""Tools' code that does not come back, once the user wants the program to end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING

from ..instrumenting.tool import Tool

if TYPE_CHECKING:
    from .process import Process

#: Seconds that such code may go on.
_PATIENCE = 1.0


class Stuck:
    """Gives processes up in which a tool's call has lasted too long since :meth:`look` was called first."""

    def __init__(self, served: Callable[[], Iterable[tuple[Process, threading.Thread]]]):
        self._served = served
        #: The calls that there were, with the time when each was seen first.
        self._seen: dict[Process, tuple[FrameType, float]] = {}
        self.given_up = False

    def look(self) -> None:
        now = time.monotonic()
        for process, thread in self._served():
            frame = call_of_a_tool(thread)
            known = self._seen.get(process)
            if frame is None or process.given_up:
                self._seen.pop(process, None)
            elif known is None or known[0] is not frame:
                self._seen[process] = frame, now
            elif now - known[1] >= _PATIENCE:
                tool = _tool(frame)
                assert tool is not None
                at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                process.give_up(tool, frame.f_code.co_name, at)
                self.given_up = True


def call_of_a_tool(thread: threading.Thread) -> FrameType | None:
    """The method of a tool that a thread has called, if it is in one."""
    frame = sys._current_frames().get(thread.ident or 0)
    found = None
    while frame is not None:
        found = found if _tool(frame) is None else frame
        frame = frame.f_back
    return found


def _tool(frame: FrameType) -> Tool | None:
    """Whose method a frame is of, if it is of a tool's."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return first if isinstance(first, Tool) else None
