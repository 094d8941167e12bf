"""What happens when a signal asks the process to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """A signal that ends the process was received: files that are not finished are removed on the way out."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def raise_on_termination() -> None:
    """From now on such signals raise :class:`Terminated`, unless other code has taken them or wants them ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def _raise(number: int, _frame: Any) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # once is enough: cleaning up is not to be interrupted
    raise Terminated(number)


def raise_again(error: BaseException) -> None:
    """A signal was raised and did not end the process: the next one like it raises, too."""
    if isinstance(error, Terminated) and threading.current_thread() is threading.main_thread():
        signal.signal(error.number, _raise)


def end(number: int) -> NoReturn:
    """Ends the process as the signal does by default, so that the sender sees what they asked for."""
    print(f"luthier: terminated by {signal.Signals(number).name}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
