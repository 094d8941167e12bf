"""Who has called this package."""

from __future__ import annotations

import sys


def callers_level(*between: str) -> int:
    """Which of the callers of :func:`warnings.warn` is not this package, nor one of those that lie between."""
    level, frame = 1, sys._getframe(1)
    inside = (__name__.partition(".")[0], *between)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    return level
