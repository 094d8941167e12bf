"""Tables on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..text import printable


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """What is printed meanwhile goes through the user's pager, on a terminal."""
    if not sys.stdout.isatty():
        yield
        return
    import io
    import pydoc

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        yield
    pydoc.pager(text.getvalue())


def show(title: str, headers: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Prints a table; numbers on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=printable(title), title_justify="left", box=box.SIMPLE, show_header=bool(headers), pad_edge=False)
    width = max((len(row) for row in rows), default=len(headers))
    for i in range(width):
        right = any(isinstance(row[i], (int, float)) for row in rows)
        table.add_column(headers[i] if headers else "", justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) and not isinstance(v, bool) else printable(str(v)) for v in row))
    Console(markup=False, highlight=False).print(table)
