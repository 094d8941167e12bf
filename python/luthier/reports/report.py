"""What a tool says at the end."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Table:
    """Rows for people to read. Numbers are aligned to the right."""

    title: str
    headers: Sequence[str]
    rows: list[tuple[Any, ...]]


class Report:
    """One tool's results: :attr:`result` for programs (JSON), tables for people."""

    def __init__(self, tool: str):
        self.tool = tool
        self.tables: list[Table] = []
        self._result: Any = None

    def table(self, title: str, rows: Mapping[Any, Any] | Iterable[Any], headers: Sequence[str] = ()) -> None:
        """Adds a table. ``rows`` is a mapping (two columns) or an iterable of rows; a single value is a row of one."""
        if isinstance(rows, Mapping):
            rows = rows.items()
        listed = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in rows]
        width = max((len(row) for row in listed), default=0)
        for row in listed:
            if len(row) != width:
                raise ValueError(f"table {title!r}: a row of {len(row)} columns among rows of {width}")
        if headers and listed and len(headers) != width:
            raise ValueError(f"table {title!r}: {len(headers)} headers for {width} columns")
        self.tables.append(Table(title, list(headers), listed))

    def __repr__(self) -> str:
        return f"<Report {self.tool}: {', '.join(t.title for t in self.tables) or repr(self._result)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the tables."""
        return "".join(html_table(t.title, t.headers, t.rows) for t in self.tables)

    @property
    def result(self) -> Any:
        """What ``--json`` holds for the tool. If it was never set: the tables, by title."""
        if self._result is not None:
            return self._result
        return {t.title: dict(t.rows) if t.rows and len(t.rows[0]) == 2 else t.rows for t in self.tables}

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of HTML; numbers on the right."""

    def cell(value: Any, tag: str = "td") -> str:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = f"{value:,}" if number else str(value)
        style = ' style="text-align:right"' if number else ""
        return f"<{tag}{style}>{html.escape(text)}</{tag}>"

    lines = ["".join(cell(h, "th") for h in headers)] if headers else []
    lines += ["".join(cell(value) for value in row) for row in rows]
    return f"<table><caption>{html.escape(title)}</caption>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def plain(value: Any) -> Any:
    """``value`` as JSON can hold it: NumPy numbers and arrays become plain ones, keys become text."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "__index__"):
        return value.__index__()
    return str(value)
