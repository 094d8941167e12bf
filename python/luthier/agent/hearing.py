"""What an agent says, in its order: messages, and launches that the program does not wait for, which are in memory of their
own (crates/agent/src/ring.rs)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .wire import Wire, WireError, close

if TYPE_CHECKING:
    from .. import _core

#: What :meth:`_core.Ring.take` gives.
Entry: TypeAlias = "tuple[bool, int, int, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]"

#: Entries that are taken at a time. What else waits for the tools has its turn in between.
_MOST = 16
#: Seconds in which more launches are waited for before the agent has to send a message with the next one.
_LINGER = 0.001


class Hearing:
    """Hears one agent."""

    def __init__(self, wire: Wire, tell: Callable[[list[Entry]], None]):
        """``tell`` hands launches to the tools."""
        self._wire, self._tell = wire, tell
        self._ring: _core.Ring | None = None
        #: Messages that have come.
        self._said = 0

    def take_ring(self, file: int) -> None:
        """Launches will be in the memory of this file, which is closed. WireError if it is no memory of launches."""
        from .. import _core

        try:
            if self._ring is not None:
                raise ValueError("there is one already")
            self._ring = _core.Ring(file)
        except (OSError, ValueError) as error:
            raise WireError(f"no launches can be heard of: {error}") from None
        finally:
            os.close(file)

    def next(self) -> tuple[dict[str, Any], list[int]] | None:
        """The next message, with files that are the caller's to close, once the tools have heard of the launches before it; None
        at the end."""
        while True:
            ring = self._ring
            if ring is not None and not self._rests(ring):
                continue
            heard = self._wire.hear()
            if ring is not None:
                ring.wake()
            if heard is not None and heard[0]["message"] == "wake":
                close(heard[1])
                continue
            self._finish()
            self._said += 1
            return heard

    def answer(self) -> tuple[dict[str, Any], list[int]] | None:
        """A message while the agent does nothing but answer."""
        self._said += 1
        return self._wire.hear()

    def close(self) -> None:
        """Hears no more. The agent notices with the next launch, if not before."""
        self._wire.close()
        if self._ring is not None:
            self._ring.leave()
            self._ring = None

    def _rests(self, ring: _core.Ring) -> bool:
        """Tells of some launches; whether it is a message's turn."""
        entries = self._take(ring)
        if not entries:
            with _checked():
                return ring.sleep(self._said)
        self._tell(entries)
        return self._wire.speaks(0 if len(entries) == _MOST else _LINGER)

    def _finish(self) -> None:
        """Tells of the launches before a message that has come, or all that there are at the end: no more than there is room
        for, since a process may go on that nothing is to be heard of any more."""
        if self._ring is not None:
            for _ in range(self._ring.room // _MOST):
                entries = self._take(self._ring)
                if not entries:
                    break
                self._tell(entries)

    def _take(self, ring: _core.Ring) -> list[Entry]:
        with _checked():
            return ring.take(self._said, _MOST)


class _checked:
    """What another process has written may be nonsense."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, ValueError):
            raise WireError(f"launches are not told as agents do: {error}") from None
