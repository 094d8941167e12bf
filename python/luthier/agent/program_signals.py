"""Signals that come while a program runs under tools."""

from __future__ import annotations

import signal
import subprocess
from typing import Any


class ProgramSignals:
    """What a terminal sends comes to the program as well, so that it decides; what is sent to this process alone is handed on.
    What is handed on and comes before there is a program is kept for it."""

    _OF_TERMINALS = (signal.SIGINT, signal.SIGQUIT)
    _HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

    def __init__(self) -> None:
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
        if number in self._OF_TERMINALS:
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)

    def go_to(self, child: subprocess.Popen[bytes]) -> None:
        """From now on there is a program."""
        self._child = child
        for number in self._early:
            child.send_signal(number)

    def restore(self) -> None:
        """As it was."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
