"""Annotated code as one page of HTML that needs nothing else.

The code of each function is in the page, compressed, and is unpacked and drawn when it is opened: so pages of
libraries with thousands of kernels open at once.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .annotation_text import heats, number
from .graph import Node, svg

if TYPE_CHECKING:
    from .annotation import Annotation

_HERE = Path(__file__).parent


def page(annotation: Annotation) -> str:
    """The whole page."""
    functions = [annotation.function(f) for f in annotation.functions]
    # Drawing takes a millisecond for each dozen blocks.
    from .annotation import GRAPH_LIMIT

    drawn = sum(len(f["blocks"]) for f in functions) <= GRAPH_LIMIT
    facts = {
        "title": annotation.title,
        "target": annotation.code_object.target,
        "live": annotation.live,
        "columns": [{"title": c.title, "unit": c.unit, "combine": c.combine, "about": c.about} for c in annotation.columns],
        "kernels": annotation.kernels,
        "functions": [
            {"name": f["name"], "kind": f["kind"], "instructions": len(f["instructions"]["text"]), "total": _total(f)}
            for f in functions
        ],
        "files": {key: entry["path"] for key, entry in annotation.files(functions).items()},
        "drawn": drawn,
    }
    parts = [_packed("about", facts)]
    parts += [_packed(f"file{key}", entry["text"]) for key, entry in annotation.files(functions).items()]
    for i, function in enumerate(functions):
        function["graph"] = _graph(function) if drawn else None
        parts.append(_packed(f"function{i}", function))
    text = (_HERE / "annotation.html").read_text()
    for name, content in (
        ("TITLE", html.escape(annotation.title)),
        ("STYLE", (_HERE / "page.css").read_text() + (_HERE / "annotation.css").read_text()),
        ("SCRIPT", (_HERE / "annotation.js").read_text()),
    ):
        text = text.replace(f"{{{{{name}}}}}", content, 1)
    return text.replace("{{DATA}}", "\n".join(parts), 1)


def _packed(name: str, data: Any) -> str:
    """Compressed JSON, in an element that browsers leave alone."""
    packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode("utf-8", "backslashreplace"), 3)
    return f'<script type="application/octet-stream" id="{name}">{base64.b64encode(packed).decode()}</script>'


def _total(function: dict[str, Any]) -> float:
    """How hot a function is: the sum of the first column."""
    return sum(value or 0 for value in function["values"][0]) if function["values"] else 0


def _graph(function: dict[str, Any]) -> str:
    texts, blocks = function["instructions"]["text"], function["blocks"]
    hottest: list[float | None] = [
        max((function["values"][0][i] or 0 for i in range(b["first"], b["first"] + b["count"])), default=0)
        if function["values"]
        else None
        for b in blocks
    ]
    heat = heats(hottest)
    nodes = []
    for i, block in enumerate(blocks):
        lines = [block["label"][:40], f"{block['count']} instructions", texts[block["first"] + block["count"] - 1][:34]]
        if hottest[i] is not None:
            lines.insert(1, number(hottest[i]))
        nodes.append(Node(lines, heat[i] if function["values"] else None, str(i)))
    return svg(nodes, [block["successors"] for block in blocks])
