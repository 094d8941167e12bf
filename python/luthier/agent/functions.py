"""Functions of HSA and HIP that can be wrapped, and what they take."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import ToolError


@dataclass(frozen=True)
class Parameter:
    """One of a function's parameters. functions.txt says what kinds there are."""

    name: str
    kind: str
    #: Which of the call's 8-byte words it is, or begins with.
    word: int


@dataclass(frozen=True)
class Function:
    """A function, as functions.txt has it."""

    number: int
    #: ``core``, ``amd`` or ``image`` for HSA's tables, ``hip`` for HIP.
    part: str
    name: str
    #: The kind of the result.
    returns: str
    #: All words of a call.
    words: int
    parameters: tuple[Parameter, ...]

    @property
    def is_hip(self) -> bool:
        return self.part == "hip"

    def word(self, parameter: str) -> int:
        """The first word of a parameter."""
        return next(p.word for p in self.parameters if p.name == parameter)


def _lines() -> list[str]:
    text = (Path(__file__).parent / "functions.txt").read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


@cache
def count() -> int:
    """How many there are."""
    return len(_lines())


@cache
def functions() -> tuple[Function, ...]:
    """All, by number."""
    found: list[Function] = []
    for line in _lines():
        part, name, returns, stack, rest = line.split(" ", 4)
        pieces = re.findall(r"(\w+)@(\d+) ([\w:]+)", rest)
        parameters = tuple(Parameter(n, kind, int(word)) for n, word, kind in pieces)
        # Registers that nothing is in are words too, if the wrapper has them: it always has all six.
        found.append(Function(len(found), part, name, returns, 6 + int(stack), parameters))
    return tuple(found)


@cache
def by_name() -> dict[str, Function]:
    """All, by name."""
    return {function.name: function for function in functions()}


def named(patterns: Iterable[str], hip: bool) -> list[Function]:
    """HIP's functions, or HSA's, with these names or patterns."""
    if isinstance(patterns, str):
        raise ToolError(f"functions to wrap: expected a list of names and patterns, not {patterns!r}")
    found: dict[int, Function] = {}
    for pattern in patterns:
        some = [f for f in functions() if f.is_hip == hip and fnmatch.fnmatchcase(f.name, pattern)]
        if not some:
            which = "HIP" if hip else "HSA"
            raise ToolError(f"{pattern}: {which} has no such function that can be wrapped")
        found.update((f.number, f) for f in some)
    return list(found.values())
