"""``--perfetto FILE``: the tool that draws the timeline, by what is drawn."""

from __future__ import annotations

import argparse
from typing import Any


class _Draw(argparse.Action):
    """Adds a tool to those of ``--tool``."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if "," in values:
            parser.error(f"{option_string} {values}: the file's name cannot have a comma")
        namespace.tool = [*namespace.tool, f"{self.const}:perfetto={values}"]


def add_perfetto(parser: argparse.ArgumentParser, tool: str, what: str) -> None:
    """Gives a command with ``--tool`` the option."""
    about = f"a timeline of {what} for https://ui.perfetto.dev: --tool {tool}:perfetto=FILE"
    parser.add_argument("--perfetto", metavar="FILE", action=_Draw, const=tool, default=argparse.SUPPRESS, help=about)
