"""Text for a terminal, whatever the files say that it is from."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, TextIO

#: What moves the cursor, colours, or turns the order of what follows; and what is no text. Lines and tabs stay.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with escapes (``\\x1b``) in place of characters that are none to look at."""
    return _UNFIT.sub(lambda match: _escape(ord(match[0])), text)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def wants_color(when: str = "auto", stream: TextIO | None = None) -> bool:
    """Whether standard output, or another stream, gets colours: ``always``, ``never``, or by itself on a terminal
    (https://no-color.org)."""
    if when != "auto":
        return when == "always"
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not is_plain and (sys.stdout if stream is None else stream).isatty()


def readable_json(data: Any, levels: int = 2) -> str:
    """JSON with a line for each entry of the outermost levels. (With ``indent``, json.dumps takes ten times as long.)"""
    import json

    if levels == 0 or not data or not isinstance(data, (dict, list)):
        return json.dumps(data)
    if isinstance(data, dict):
        entries = [f"{json.dumps({key: 0})[1:-4]}: {readable_json(value, levels - 1)}" for key, value in data.items()]
    else:
        entries = [readable_json(value, levels - 1) for value in data]
    start, end = "{}" if isinstance(data, dict) else "[]"
    lines = ",\n".join(entries).replace("\n", "\n ")
    return f"{start}\n {lines}\n{end}"
