"""A drawing."""

from __future__ import annotations

import os

from ..base.outputs import Outputs


class Drawing:
    """A picture as SVG."""

    def __init__(self, svg: str):
        self.svg = svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file: whole, or not at all."""
        with Outputs() as outputs:
            outputs.open(os.fspath(path)).write(self.svg.encode())
            outputs.commit()

    def _repr_svg_(self) -> str:
        return self.svg
