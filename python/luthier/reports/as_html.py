"""Tables as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of HTML; numbers on the right, numbers that are addresses as such."""
    import html

    addresses = {n for n, header in enumerate(headers) if header == "address"}

    def cell(value: Any, tag: str = "td", is_address: bool = False) -> str:
        if is_address and isinstance(value, int):
            value = f"{value:#x}"
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        text = "" if value is None else f"{value:,}" if number else str(value)
        style = ' style="text-align:right"' if number else ""
        return f"<{tag}{style}>{html.escape(text)}</{tag}>"

    lines = ["".join(cell(h, "th") for h in headers)] if headers else []
    count = len(lines)
    lines += ["".join(cell(value, is_address=n in addresses) for n, value in enumerate(row)) for row in rows]
    if headers and len(lines) == count:
        lines.append(f'<td colspan="{len(headers)}">none</td>')
    return f"<table><caption>{html.escape(title)}</caption>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
