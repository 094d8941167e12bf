"""Signals that come while a program runs under tools."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Seconds between two looks at a program that is to end.
_LOOK = 0.1


class Waiting:
    """Waits for signals, in the main thread. Python sees one that comes right before a call that waits only after that call,
    which may be never: here it ends the wait."""

    def __enter__(self) -> Waiting:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._before)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float | None = None) -> None:
        """Waits until a signal has come that is handled here, or for ``seconds``."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        poll.poll(None if seconds is None else seconds * 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)


class ProgramSignals:
    """What a terminal sends comes to the program as well, so that it decides; what is sent to this process alone is handed on.
    What is handed on and comes before there is a program is kept for it."""

    _OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT)
    _HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    #: Of all of them, those that mostly end a program.
    _ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        #: The user wants the program to end.
        self.is_to_end = False
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}
        for number in (*self._OF_TERMINALS, *self._HANDED_ON):
            handler = signal.getsignal(number)
            # What is ignored is to be ignored by the program too.
            if handler is not None and handler is not signal.SIG_IGN:
                self._before[number] = handler
                signal.signal(number, self._come)

    def _come(self, number: int, _frame: Any) -> None:
        self.is_to_end |= number in self._ENDING
        if number in self._OF_TERMINALS:
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)

    def wait(self, child: subprocess.Popen[bytes], look: Callable[[], None] | None = None) -> int:
        """From now on there is a program; waits for its end, and gives its status. ``look`` is called now and then once
        the user wants the program to end."""
        with Waiting() as waiting:
            handler = signal.signal(signal.SIGCHLD, lambda *_: None)
            try:
                self._child = child
                for number in self._early:
                    child.send_signal(number)
                while (status := child.poll()) is None:
                    if look is not None and self.is_to_end:
                        look()
                        waiting.wait(_LOOK)
                    else:
                        waiting.wait()
                return status
            finally:
                signal.signal(signal.SIGCHLD, handler or signal.SIG_DFL)

    def restore(self) -> None:
        """As it was."""
        for number, handler in self._before.items():
            signal.signal(number, handler)


def run(program: str, words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a program to its end; gives its status, which is negative for a signal."""
    signals, child = ProgramSignals(), None
    try:
        child = subprocess.Popen(words, executable=program, env=environment, close_fds=False)
        return signals.wait(child)
    except BaseException:
        if child is not None:
            child.kill()
            child.wait()
        raise
    finally:
        signals.restore()
