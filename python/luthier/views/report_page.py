"""Tools' results as one page of HTML: tables that can be searched and sorted, and plots as SVG."""

from __future__ import annotations

import html
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..reports.as_html import html_table
from ..reports.report import Plot, Report

_HERE = Path(__file__).parent
#: Rows of a table that a page shows; ``--out`` writes all.
ROWS = 5_000


def can_plot() -> bool:
    """Whether plots can be drawn."""
    return importlib.util.find_spec("vl_convert") is not None


def plot_svg(plot: Plot) -> str:
    """The picture. ArgumentError without vl-convert-python, and for a specification that it does not take."""
    if not can_plot():
        raise ArgumentError("plots need vl-convert-python: pip install 'luthier[report]'")
    import vl_convert  # type: ignore[import-not-found,unused-ignore]

    config = {"background": "transparent", "axis": {"labelColor": "#888", "titleColor": "#888", "gridColor": "#8884"},
              "legend": {"labelColor": "#888", "titleColor": "#888"}, "title": {"color": "#888"}}  # fmt: skip
    spec: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 640,
        "height": 320,
        **plot.spec,
    }
    spec["config"] = {**config, **spec.get("config", {})}
    try:
        return vl_convert.vegalite_to_svg(spec)
    except ValueError as error:
        raise ArgumentError(f"plot {plot.title!r}: {str(error).splitlines()[0]}") from None


def page(reports: Sequence[Report], title: str, names: Sequence[str] = ()) -> str:
    """The whole page; it needs nothing else, no network either. ``names`` are the reports' headings, else their tools' names; of
    several reports the page begins with links to them."""
    parts = []
    headings = [html.escape(name) for name in names or [report.tool for report in reports]]
    if len(reports) > 1:
        links = " · ".join(f'<a href="#report-{n}">{heading}</a>' for n, heading in enumerate(headings))
        parts.append(f"<section><nav>{links}</nav></section>")
    for number, (report, heading) in enumerate(zip(reports, headings, strict=True)):
        parts.append(f'<section id="report-{number}"><h2>{heading}</h2>')
        for plot in report.plots:
            if can_plot():
                parts.append(f"<figure><figcaption>{html.escape(plot.title)}</figcaption>{plot_svg(plot)}</figure>")
            else:
                parts.append(f'<p class="dim">{html.escape(plot.title)}: plots need vl-convert-python</p>')
        parts.append('<div class="tables">')
        for table in report.all_tables():
            headers = list(table.headers) or ["" for _ in (table.rows[0] if table.rows else ())]
            rows = [tuple("" if value is None else value for value in row) for row in table.rows[:ROWS]]
            parts.append(html_table(table.title, headers, rows))
            if len(table.rows) > ROWS:
                parts.append(f'<p class="dim">{len(table.rows) - ROWS:,} more rows: luthier run --out DIR writes all</p>')
        parts.append("</div></section>")
    text = (_HERE / "report.html").read_text()
    style, script = (_HERE / "page.css").read_text(), (_HERE / "report.js").read_text()
    for name, content in (("TITLE", html.escape(title)), ("STYLE", style), ("SCRIPT", script)):
        text = text.replace(f"{{{{{name}}}}}", content)
    return text.replace("{{BODY}}", "\n".join(parts), 1)
