"""A parser that says what is wrong in one line, and what may have been meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Raises :class:`Usage` where argparse would write its usage and leave."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            what = action.metavar or action.dest
            raise Usage(f"{what} {value}: invalid choice{_meant(str(value), names)} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As of argparse, but that the parser of a command says itself what it does not know."""
        self._words = list(args or ())
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return known, unknown

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        meant = _meant(unknown[0].partition("=")[0], self._options())
        raise Usage(f"unrecognized arguments: {' '.join(unknown)}{meant} (see {self.prog} --help)")

    def _options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]

    def error(self, message: str) -> NoReturn:
        # An argument that is missing may be there under a name that is not quite right.
        unknown = [word for word in self._words if word.startswith("--") and word.partition("=")[0] not in self._options()]
        if "required" in message and unknown and unknown[0] != "--":
            self._refuse(unknown)
        raise Usage(f"{message} (see {self.prog} --help)")


class Usage(Exception):
    """A command line that cannot be meant. Its text is one line."""


def _meant(word: str, names: Sequence[str]) -> str:
    """``: did you mean NAME?``, or all names where none is near."""
    import difflib

    close = difflib.get_close_matches(word, names, 1, 0.6)
    if close:
        return f": did you mean {close[0]}?"
    return "" if word.startswith("-") or not names else f": choose from {', '.join(names)}"
