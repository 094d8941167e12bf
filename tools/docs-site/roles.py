"""Docstrings name other objects by Sphinx's roles (:class:`X`): on the site they are code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|mod|data|exc):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Changes the text of every docstring when it is read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            text = _ROLE.sub(lambda found: f"`{found[1].removeprefix('luthier.')}`", obj.docstring.value)
            obj.docstring.value = text.replace("``", "`")
