"""What can go wrong. Every error of this package is a :class:`LuthierError`; its text is one sentence that names the place.

The native module raises these same classes. :class:`HookError` is the one whose text has several lines: it quotes the
hook's source.
"""

from __future__ import annotations


class LuthierError(Exception):
    """The base of all of them."""


class LoadError(LuthierError):
    """A file that is not a code object we can use, or that is damaged."""


class LiftError(LuthierError):
    """Machine code that cannot be taken apart."""


class InstrumentError(LuthierError):
    """Hooks that cannot be placed."""


class DeviceError(LuthierError):
    """A launch that the mock device refuses or has to stop."""


class ArgumentError(LuthierError):
    """A value given to Luthier that it cannot use: a kernel argument, a grid, an option, a name."""


class ToolError(LuthierError):
    """A tool that cannot be loaded or that misuses the API."""


class InternalError(LuthierError):
    """A mistake in Luthier itself: please report it."""
