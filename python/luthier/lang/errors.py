"""What goes wrong in a hook, shown where it is in the source."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import LuthierError

#: What of a tree has a place in the source.
Node: TypeAlias = "ast.expr | ast.stmt | ast.arg"


@dataclass(frozen=True)
class Span:
    """A place in a source file: ``line`` counts from 1, ``col`` and ``end`` are character columns from 0."""

    file: str
    line: int
    col: int
    end: int | None = None


class HookError(LuthierError):
    """A hook that cannot be compiled.

    ``message`` is the sentence alone; ``file``, ``line`` and ``col`` (from 1) say where; ``str()`` adds the source
    line with the offending text underlined::

        tool.py:12:13: error: u32 and i32 have no common type: convert one of them
           12 |     total = a + b
              |             ^~~~~
    """

    def __init__(self, message: str, span: Span | None = None):
        super().__init__(message)
        self.message = message
        self.span = span
        self.file = span.file if span else None
        self.line = span.line if span else None
        self.col = span.col + 1 if span else None
        #: All that the compiler says, of a hook that is not written in Python.
        self.diagnostics: str | None = None

    @classmethod
    def at(cls, message: str, file: str, line: int, col: int) -> HookError:
        """The same from a position that counts both from 1, as the compiler reports it. Line 0 means nowhere."""
        return cls(message, Span(file, line, max(col - 1, 0)) if line else None)

    def __str__(self) -> str:
        if self.span is None:
            return self.message
        head = f"{self.file}:{self.line}:{self.col}: error: {self.message}"
        source = linecache.getline(self.span.file, self.span.line).rstrip("\n")
        if not source:
            return head
        # A tab keeps its width when the gap before the caret repeats it.
        gap = "".join("\t" if c == "\t" else " " for c in source[: self.span.col])
        end = self.span.end if self.span.end is not None else self.span.col + 1
        tail = "~" * (min(end, len(source)) - self.span.col - 1)
        return f"{head}\n{self.line:>5} | {source}\n      | {gap}^{tail}"
