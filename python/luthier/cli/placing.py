"""How tools' hooks are placed, as options of the command line have it."""

from __future__ import annotations

from typing import Any

from ..instrumenting.options import Instrumenting, OnRejected


def placed_as(args: Any, on_rejected: OnRejected) -> Instrumenting:
    """What a command's options say; a command need not have all."""
    bodies = args.bodies or Instrumenting.bodies
    return Instrumenting(args.check, on_rejected, getattr(args, "calling_convention", False), bodies)
