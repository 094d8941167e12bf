"""Tables as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of HTML; numbers on the right."""

    def cell(value: Any, tag: str = "td") -> str:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = "" if value is None else f"{value:,}" if number else str(value)
        style = ' style="text-align:right"' if number else ""
        return f"<{tag}{style}>{html.escape(text)}</{tag}>"

    lines = ["".join(cell(h, "th") for h in headers)] if headers else []
    lines += ["".join(cell(value) for value in row) for row in rows]
    return f"<table><caption>{html.escape(title)}</caption>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
