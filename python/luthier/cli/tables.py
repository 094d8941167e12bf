"""Tables on a terminal."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from ..base.text import printable

#: Between columns.
_GAP = "   "
#: No column of text gets narrower.
_LEAST = 8


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """What is printed meanwhile goes through the user's pager, on a terminal."""
    if not sys.stdout.isatty():
        yield
        return
    import io
    import pydoc

    text = io.StringIO()
    # Tables are as wide as the terminal that the pager shows them on.
    columns = str(shutil.get_terminal_size().columns)
    os.environ.setdefault("COLUMNS", columns)
    with contextlib.redirect_stdout(text):
        yield
    pydoc.pager(text.getvalue())


def show(title: str, headers: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Prints a table; numbers on the right. Text that is too long for the terminal, or for COLUMNS, goes on in the next line;
    files and other programs get whole lines."""
    count = max((len(row) for row in rows), default=len(headers))
    right = [any(isinstance(row[i], (int, float)) for row in rows) for i in range(count)]
    texts = [[_text(value) for value in row] for row in rows]
    wholes = [list(headers), *texts] if headers else texts
    widths = [max((len(row[i]) for row in wholes), default=0) for i in range(count)]
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        _narrow(widths, right, shutil.get_terminal_size().columns - len(_GAP) * (count - 1) - 1)
    lines = [printable(title), ""]
    if headers:
        lines += _lines(headers, widths, right)
        lines.append(" " + "-" * (sum(widths) + len(_GAP) * (count - 1)))
    for row in texts:
        lines += _lines(row, widths, right)
    if headers and not texts:
        lines.append(" none")
    print("\n".join(lines), end="\n\n")


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else printable(str(value)).replace("\n", "\\n")


def _narrow(widths: list[int], right: list[bool], room: int) -> None:
    """Takes from the widest columns of text what is too much for the output."""
    able = [i for i, is_number in enumerate(right) if not is_number]
    while sum(widths) > room and able:
        widest = max(able, key=lambda i: widths[i])
        if widths[widest] <= _LEAST:
            return
        second = max((widths[i] for i in able if i != widest), default=0)
        widths[widest] = max(widths[widest] - (sum(widths) - room), min(second, widths[widest] - 1), _LEAST)


def _lines(row: Sequence[str], widths: list[int], right: list[bool]) -> list[str]:
    """A row, in as many lines as its longest cell needs."""
    cells = [_pieces(text, width) for text, width in zip(row, widths)]
    made = []
    for pieces in zip_longest(*cells, fillvalue=""):
        padded = [p.rjust(w) if r else p.ljust(w) for p, w, r in zip(pieces, widths, right)]
        made.append((" " + _GAP.join(padded)).rstrip())
    return made


def _pieces(text: str, width: int) -> list[str]:
    """A cell's text in lines, which end behind a space, a comma or a slash where that leaves none of them half empty."""
    pieces = []
    while len(text) > width:
        end = max(text.rfind(" ", 0, width + 1), text.rfind("/", 0, width) + 1, text.rfind(",", 0, width) + 1)
        end = end if 2 * end > width else width
        pieces.append(text[:end])
        text = text[end:].lstrip(" ")
    return [*pieces, text]
