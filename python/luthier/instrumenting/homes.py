"""Where tools' variables are: memory of a device, the mock one's or a program's."""

from __future__ import annotations

import threading


class Home:
    """Memory of a device in which variables are, by symbol."""

    #: What the memory is of: a device and a module on it, for example. Variables are read for one of these alone.
    of: tuple[object, ...] = ()

    def read(self, symbol: str, start: int, size: int) -> bytes:
        """``size`` bytes of a variable, from byte ``start`` on."""
        raise NotImplementedError

    def write(self, symbol: str, start: int, data: bytes) -> None:
        """New contents for some of its bytes, from ``start`` on."""
        raise NotImplementedError


class Turn:
    """A lock. What is sent to another process has one of its own there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turn], tuple[()]]:
        return Turn, ()
