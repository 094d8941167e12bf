"""Annotated code for a terminal."""

from __future__ import annotations

from typing import Any

from ..base.text import printable

_RESET, _DIM, _BOLD = "\x1b[0m", "\x1b[2m", "\x1b[1m"
#: From cool to hot, of 256 colours.
_HEAT = (None, 180, 215, 208, 202, 196)


def text(data: dict[str, Any], color: bool) -> str:
    """``Annotation.to_dict()`` as text: source lines as comments in front of their instructions, columns on the left."""
    lines = [_kernel(kernel) for kernel in data["kernels"]]
    for function in data["functions"]:
        lines += ["", *_function(data, function, color)]
    return "\n".join([f"; {printable(data['title'])}: {data['target']}", *lines]) + "\n"


def _kernel(kernel: dict[str, Any]) -> str:
    occupancy = "" if kernel["occupancy"] is None else f", {kernel['occupancy']} waves a SIMD by its registers"
    registers = f"{kernel['sgprs']} SGPRs, {kernel['vgprs']} VGPRs"
    return printable(f"; {kernel['name']}: {registers}, {kernel['lds']} bytes of LDS, {kernel['scratch']} of scratch{occupancy}")


def heats(values: list[float | None]) -> list[float]:
    """From 0 to 1, the most being 1."""
    most = max((value for value in values if value is not None), default=0)
    return [0.0 if not value or most <= 0 else max(value, 0) / most for value in values]


def number(value: float | None) -> str:
    """As a column shows it."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _function(data: dict[str, Any], function: dict[str, Any], color: bool) -> list[str]:
    instructions, values = function["instructions"], function["values"]
    titles = [column["title"] for column in data["columns"]]
    cells = [[number(value) for value in column] for column in values]
    if "live_vgprs" in instructions:
        titles.append("live v")
        cells.append([str(n) for n in instructions["live_vgprs"]])
    widths = [max([len(title), *map(len, column)]) for title, column in zip(titles, cells)]
    heat = heats(values[0]) if values else [0.0] * len(instructions["text"])
    margin = " " * (sum(widths) + 2 * len(widths))
    dim, bold, reset = (_DIM, _BOLD, _RESET) if color else ("", "", "")
    made = ["".join(title.rjust(width) + "  " for title, width in zip(titles, widths)).rstrip()] if titles else []
    before = None
    for block in function["blocks"]:
        depth = len(block["loops"])
        loop = f"  ; loop of depth {depth}" if depth else ""
        made.append(f"{margin}{bold}{printable(block['label'])}:{reset}{loop}")
        for i in range(block["first"], block["first"] + block["count"]):
            source = (instructions["file"][i], instructions["line"][i])
            if source != before and source[0] >= 0 and source[1] > 0:
                before = source
                made.append(f"{margin}{'  ' * depth}{dim}; {_source(data, *source)}{reset}")
            tint = _HEAT[min(int(heat[i] * 5.999), 5)] if color else None
            left = "".join(column[i].rjust(width) + "  " for column, width in zip(cells, widths))
            line = f"{left}{'  ' * depth}  {instructions['text'][i]}"
            made.append(f"\x1b[38;5;{tint}m{line}{reset}" if tint else line)
    return made


def _source(data: dict[str, Any], file: int, line: int) -> str:
    known = data["files"][str(file)]
    words = known["text"][line - 1].strip() if known["text"] and line <= len(known["text"]) else ""
    return printable(f"{known['path'].rpartition('/')[2]}:{line}  {words}".rstrip())
