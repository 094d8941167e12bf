"""The forms in which a verdict can be had."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .policy import Verdict

_HOME = {"text": "text", "json": "as_json", "sarif": "sarif", "github": "github", "junit": "junit"}
#: Names for ``--format``.
FORMATS = tuple(_HOME)


def render(verdict: Verdict, form: str) -> str:
    """The verdict in one of :data:`FORMATS`."""
    text: str = importlib.import_module(f".{_HOME[form]}", __package__).render(verdict)
    return text
