"""What commands that compute for long have in common: where a tool's words go, how an interrupt ends them, and what is said of
insertions that were left out. It imports little, so that they start soon."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..base.text import printable

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject


T = TypeVar("T")


def aside(is_json: bool) -> AbstractContextManager[Any]:
    """Where standard output is to hold JSON and nothing else: what tools print meanwhile goes to standard error."""
    return contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext()


def warn_of_rejected(code_object: CodeObject, did: dict[str, Any] | None, on_rejected: str) -> bool:
    """One line on standard error about what could not be inserted. False if nothing of a tool was, and that is an error."""
    if not did or not did["rejected"] or on_rejected != "warn":
        return True
    from ..instrumenting.planning import not_placed, rejections

    nothing = not_placed(code_object, did)
    print(
        printable(f"luthier: {f'error: {nothing}' if nothing else f'warning: {rejections(code_object, did)}'}"), file=sys.stderr
    )
    return nothing is None


def interruptible(work: Callable[[], T]) -> T:
    """The result of ``work()``, which runs in another thread: native code would not notice Ctrl-C in this one.

    After an interrupt the process must end without waiting for that thread.
    """
    begun = Begun(work)
    try:
        return begun.result()
    except BaseException:
        if begun.is_going_on:  # a signal's
            _Interrupted.pending = True
        raise


class Begun(Generic[T]):
    """``work()``, which another thread has begun."""

    def __init__(self, work: Callable[[], T]):
        self._work = work
        self._done: list[tuple[bool, Any]] = []
        self._thread = threading.Thread(target=self._call, daemon=True)
        self._thread.start()

    def _call(self) -> None:
        try:
            self._done.append((True, self._work()))
        except BaseException as error:
            self._done.append((False, error))

    @property
    def is_going_on(self) -> bool:
        """Whether there is no result yet."""
        return self._thread.is_alive()

    def result(self) -> T:
        """Waits for the result, or raises what the work did. Signal handlers run meanwhile."""
        while self._thread.is_alive():
            self._thread.join(0.5)
        ok, value = self._done[0]
        if not ok:
            raise value
        return cast(T, value)


class _Interrupted:
    """Set when a thread is still computing at an interrupt."""

    pending = False


def exit_now(status: int) -> None:
    """Ends the process when a computation that is not waited for is still going on."""
    if _Interrupted.pending:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
