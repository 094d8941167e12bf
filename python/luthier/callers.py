"""Who has called this package."""

from __future__ import annotations

import sys


def callers_level() -> int:
    """Which of the callers of :func:`warnings.warn` is not this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level
