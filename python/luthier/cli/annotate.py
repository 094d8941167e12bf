"""``luthier annotate``: source beside assembly, as text, HTML or JSON."""

from __future__ import annotations

import json
import os
from typing import Any

from ..base.outputs import Outputs
from ..base.text import wants_color
from ..errors import ArgumentError
from ..objects.code_object import CodeObject
from ..reports.files import read_reports
from ..views.annotation import Annotation, tools_columns
from ..views.difference import Difference, common
from .choose import kernel, kernels, one
from .tables import paged


def main(args: Any) -> int:
    code_object = one(args, args.kernel)
    if args.diff is not None or args.diff_kernel is not None or args.diff_results:
        return _difference(args, code_object)
    sources = dict(_pair(text) for text in args.source)
    columns = [column for path in args.results for column in tools_columns(read_reports(path))]
    names = None if args.kernel is None else kernels(code_object, args.kernel)
    annotation = Annotation(code_object, kernels=names, columns=columns, live=args.live, sources=sources)
    if args.output is not None and args.output != "-":
        annotation.save(args.output, args.format)
        return 0
    chosen = args.format or "text"
    if chosen == "text":
        with paged():
            print(annotation.text(wants_color(args.color)), end="")
    else:
        print(annotation.html() if chosen == "html" else json.dumps(annotation.to_dict()))
    return 0


def _difference(args: Any, code_object: CodeObject) -> int:
    """Two kernels side by side."""
    if args.kernel is None:
        raise ArgumentError("--diff: name the kernel with --kernel")
    left = code_object.kernel(kernel(code_object, args.kernel))
    wanted = args.diff_kernel or left.name
    other = code_object if args.diff is None else CodeObject.open(args.diff, kernel=wanted)
    columns = [[c for path in paths for c in tools_columns(read_reports(path))] for paths in (args.results, args.diff_results)]
    difference = Difference(left, other.kernel(kernel(other, wanted)), common(columns[0], columns[1], args.column))
    ends = os.path.splitext(args.output or "")[1].lower()
    chosen = args.format or {".html": "html", ".htm": "html", ".json": "json"}.get(ends, "text")
    made = (
        difference.html()
        if chosen == "html"
        else difference.text()
        if chosen == "text"
        else json.dumps(difference.to_dict()) + "\n"
    )
    if args.output in (None, "-"):
        print(made, end="")
        return 0
    with Outputs() as outputs:
        outputs.open(args.output).write(made.encode("utf-8", "backslashreplace"))
        outputs.commit()
    return 0


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old:
        raise ArgumentError(f"--source {text}: expected OLD=NEW")
    return old, new
