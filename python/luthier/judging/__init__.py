"""Judging a kernel that a person or a program wrote, against a reference in NumPy or torch: :func:`judge`."""

from __future__ import annotations

from .cases import Case, Code
from .compare import Tolerance
from .outcome import Judgement, Row
from .questions import judge

__all__ = ["Case", "Code", "Judgement", "Row", "Tolerance", "judge"]
