"""Two kernels side by side: of two code objects, two targets or two runs, aligned by what their instructions do."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.text import printable
from ..errors import ArgumentError
from .annotation_text import number

if TYPE_CHECKING:
    from ..device.results import RunResult
    from ..objects.kernel import Kernel
    from ..reports.report import Column

_HERE = Path(__file__).parent
#: Of text, as wide as a column gets.
_WIDTH = 58


@dataclass(frozen=True)
class Side:
    """A row's half."""

    address: int
    opcode: str
    text: str
    value: float | None


class Difference:
    """The instructions of two kernels in rows: equal, changed (the same opcode with other operands), or on one side only.

    ``columns`` are a column for each side, of :attr:`luthier.Report.columns`, or None: with both, the sums of both and the places
    where they differ most are told, too."""

    def __init__(self, left: Kernel, right: Kernel, columns: tuple[Column | None, Column | None] = (None, None)):
        self.left, self.right, self.columns = left, right, columns
        a, b = (_sides(kernel, column) for kernel, column in zip((left, right), columns))
        #: ``=``, ``~``, ``-`` (left only) or ``+`` (right only), and both halves.
        self.rows: list[tuple[str, Side | None, Side | None]] = []
        for _, i, j, k, m in SequenceMatcher(None, [s.opcode for s in a], [s.opcode for s in b], autojunk=False).get_opcodes():
            if j - i == m - k and all(x.opcode == y.opcode for x, y in zip(a[i:j], b[k:m])):
                self.rows += [("=" if x.text == y.text else "~", x, y) for x, y in zip(a[i:j], b[k:m])]
            else:
                self.rows += [("-", x, None) for x in a[i:j]] + [("+", None, y) for y in b[k:m]]

    def summary(self) -> list[tuple[str, Any, Any]]:
        """Registers, occupancy and instructions by category, of both."""
        rows: list[tuple[str, Any, Any]] = []
        facts = [_facts(kernel) for kernel in (self.left, self.right)]
        rows += [(name, facts[0][name], facts[1][name]) for name in facts[0]]
        counts = [Counter(i.category for i in kernel.instructions) for kernel in (self.left, self.right)]
        rows.append(("instructions", counts[0].total(), counts[1].total()))
        rows += [(f"  {name}", counts[0][name], counts[1][name]) for name in sorted({*counts[0], *counts[1]})]
        if any(self.columns):
            named = next(column for column in self.columns if column is not None)
            totals = [_total(column) for column in self.columns]
            rows.append((f"{named.title} ({named.unit})" if named.unit else named.title, totals[0], totals[1]))
        return rows

    def worst(self, most: int = 10) -> list[tuple[float, Side | None, Side | None]]:
        """The rows whose values differ, right less left; those that differ most come first."""
        if None in self.columns:
            return []
        values = [((b.value or 0 if b else 0) - (a.value or 0 if a else 0), a, b) for _, a, b in self.rows]
        return sorted((row for row in values if row[0]), key=lambda row: -abs(row[0]))[:most]

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""

        def half(side: Side | None) -> dict[str, Any] | None:
            return None if side is None else {"address": side.address, "text": side.text, "value": side.value}

        return {
            "version": 1,
            "kernels": [self.left.name, self.right.name],
            "targets": [self.left.target, self.right.target],
            "summary": [list(row) for row in self.summary()],
            "column": next((column.title for column in self.columns if column is not None), None),
            "worst": [{"change": change, "left": half(a), "right": half(b)} for change, a, b in self.worst()],
            "rows": [{"is": kind, "left": half(a), "right": half(b)} for kind, a, b in self.rows],
        }

    def text(self) -> str:
        """For a terminal."""
        lines = [f"{name:16} {a!s:>12} {b!s:>12}" for name, a, b in self.summary()] + [""]
        worst = self.worst()
        lines += [f"{change:>+14,.10g}  {_where(a or b)}" for change, a, b in worst] + [""] * bool(worst)
        for kind, a, b in self.rows:
            cells = ["" if side is None else f"{number(side.value):>10} {side.text}"[:_WIDTH] for side in (a, b)]
            lines.append(f"{cells[0]:{_WIDTH}} {kind if kind != '=' else ' '} {cells[1]}".rstrip())
        title = f"{self.left.name} ({self.left.target}) | {self.right.name} ({self.right.target})"
        return printable("\n".join([title, "", *lines])) + "\n"

    def html(self) -> str:
        """One page that needs nothing else."""
        colours = {"=": "", "~": "rgba(var(--hot),.15)", "-": "#f8514933", "+": "#2ea04333"}

        def cells(kind: str, side: Side | None) -> str:
            paint = f' style="background:{colours[kind]}"' if side is not None else ""
            told = (f"{side.address:#x}", number(side.value), side.text) if side is not None else ("", "", "")
            return "".join(f"<td{paint}>{html.escape(text)}</td>" for text in told)

        rows = "".join(f"<tr>{cells(kind, a)}{cells(kind, b)}</tr>" for kind, a, b in self.rows)
        summary = "".join(
            f"<tr><td>{html.escape(n)}</td><td>{html.escape(str(a))}</td><td>{html.escape(str(b))}</td></tr>"
            for n, a, b in self.summary()
        )
        worst = "".join(
            f"<tr><td>{change:+,.10g}</td><td>{html.escape(_where(a or b))}</td></tr>" for change, a, b in self.worst()
        )
        names = [f"{html.escape(k.name)} ({html.escape(k.target)})" for k in (self.left, self.right)]
        body = (
            f"<section><table><caption>both</caption><tr><th></th><th>{names[0]}</th><th>{names[1]}</th></tr>{summary}</table>"
            + (f"<table><caption>differs most</caption><tr><th>change</th><th></th></tr>{worst}</table>" if worst else "")
            + f"<table><caption>side by side</caption><tr><th></th><th></th><th>{names[0]}</th><th></th><th></th><th>{names[1]}</th></tr>{rows}</table></section>"
        )
        text = (_HERE / "report.html").read_text()
        style, script = (_HERE / "page.css").read_text(), (_HERE / "report.js").read_text()
        for name, content in (("TITLE", " | ".join(names)), ("STYLE", style), ("SCRIPT", script)):
            text = text.replace(f"{{{{{name}}}}}", content)
        return text.replace("{{BODY}}", body, 1)

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:640px;border:1px solid #8888" srcdoc="{html.escape(self.html())}"></iframe>'


def difference_of_runs(left: RunResult, right: RunResult, column: str | None = None) -> Difference:
    """Two launches' kernels, with a column of the tools that watched both.

    :param left: one.
    :param right: the other.
    :param column: its title; the first that both have.
    :returns: both, side by side.
    :raises ArgumentError: where the two have no such column.
    """
    kernels = [result.module.code_object.kernel(result.kernel) for result in (left, right)]
    columns = [[c for report in result.reports for c in report.columns] for result in (left, right)]
    if column is not None and not all(columns):
        raise ArgumentError(f"there is no column {column}: one of the launches was watched by no tool that has columns")
    return Difference(kernels[0], kernels[1], common(columns[0], columns[1], column))


def common(left: Sequence[Column], right: Sequence[Column], title: str | None) -> tuple[Column | None, Column | None]:
    """The columns of a title, or of the first that both sides have; a side without any column has None. ArgumentError where sides
    have columns, and not this one."""
    named = [{column.title: column for column in reversed(side)} for side in (left, right)]
    some = [side for side in named if side]
    if not some and title is None:
        return None, None
    shared = [column.title for column in (left or right) if all(column.title in side for side in some)]
    if title is not None and title not in shared or not shared:
        raise ArgumentError(
            f"there is no column {title or 'that both have'}: there are {', '.join(dict.fromkeys(t for side in named for t in side)) or 'none'}"
        )
    chosen = title or shared[0]
    return named[0].get(chosen), named[1].get(chosen)


def _total(column: Column | None) -> float | str:
    """The sum of a column, or what is greatest in it, as its lines are made."""
    if column is None or not column.values:
        return ""
    return max(column.values.values()) if column.combine == "max" else sum(column.values.values())


def _where(side: Side | None) -> str:
    return "" if side is None else f"{side.address:#x} {side.text}"


def _sides(kernel: Kernel, column: Column | None) -> list[Side]:
    values = {} if column is None else column.values
    return [Side(i.address, i.opcode, i.text, values.get(i.address)) for i in kernel.instructions]


def _facts(kernel: Kernel) -> dict[str, Any]:
    row = next(row for row in kernel.code_object.core.kernel_table() if row["name"] == kernel.name)
    descriptor = kernel.code_object.descriptor(kernel.name)
    names = {"SGPRs": "sgprs", "VGPRs": "vgprs", "LDS": "lds", "scratch": "scratch", "code bytes": "code_size"}
    return {**{shown: row[name] for shown, name in names.items()}, "waves a SIMD": descriptor.occupancy}
