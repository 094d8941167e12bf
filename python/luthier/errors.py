"""What can go wrong. Every error of this package is a :class:`LuthierError`; its text is one sentence that names the place.

The native module raises these same classes. :class:`HookError` is the one whose text has several lines: it quotes the
hook's source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class LuthierError(Exception):
    """The base of all of them."""


class LoadError(LuthierError):
    """A file that is not a code object we can use, or that is damaged."""


class LinkError(LuthierError):
    """Something that the mock loader cannot load, define, link or find."""


class FinalizedError(LinkError):
    """Loading, defining or finalizing after ``finalize()``, or asking before it for what only it settles."""


class DuplicateSymbolError(LinkError):
    """Two strong definitions of one name for one agent, or an external defined twice."""


class UnresolvedSymbolError(LinkError):
    """References that nothing defines: all of them, by name, in ``symbols``."""

    #: The undefined names, in the order of the objects that need them.
    symbols: list[str]


class RelocationError(LinkError):
    """A relocation record that cannot be applied: its type, its place or its value."""


class LiftError(LuthierError):
    """Machine code that cannot be taken apart."""


class InstrumentError(LuthierError):
    """Code that cannot be instrumented."""


class RejectedError(InstrumentError):
    """Insertions that cannot be made, with ``on_rejected="raise"``: all of them, each with its reason, in ``rejected``."""

    #: ``point``, ``address``, ``kind`` and ``reason`` of each, as in ``instrumentation["rejected"]`` of a code object.
    rejected: list[dict[str, Any]]


class NothingInsertedError(RejectedError):
    """Nothing of a tool could be inserted, with ``on_rejected="warn"``: it would say 0 about what it has not seen."""


class RejectedWarning(UserWarning):
    """Insertions that could not be made were left out (``on_rejected="warn"``)."""


class DeviceError(LuthierError):
    """A launch that the mock device refuses or has to stop. Of an instruction that cannot go on, attributes tell where;
    they are None, or empty, of other errors."""

    #: The kernel's name.
    kernel: str | None = None
    #: The instruction's address, as the code object states it.
    pc: int | None = None
    workgroup: tuple[int, int, int] | None = None
    wave: int | None = None
    lane: int | None = None
    #: The address on the device that cannot be reached.
    address: int | None = None
    #: Where the instruction is in the source, innermost call first: ``function``, ``file``, ``line``, ``column``.
    source: list[dict[str, Any]] = []


class CaseError(LuthierError):
    """A recorded launch that cannot be made, read or replayed: its file is damaged, or its memory cannot be had."""


class StrictError(LuthierError):
    """What strict mode found, where findings are to be errors: all of them in ``findings``."""

    findings: list[dict[str, Any]]

    def __init__(self, message: str, findings: Sequence[dict[str, Any]] = ()):
        super().__init__(message)
        self.findings = list(findings)


class FindingWarning(UserWarning):
    """What strict mode found in a launch that another library began, as Triton does."""


class ArgumentError(LuthierError):
    """A value given to Luthier that it cannot use: a kernel argument, a grid, an option, a name."""


class ToolError(LuthierError):
    """A tool that cannot be loaded or that misuses the API."""


class InternalError(LuthierError):
    """A mistake in Luthier itself: please report it."""


class LaunchWarning(UserWarning):
    """A launch that can run and is probably not what was meant."""
