"""``luthier annotate``: source beside assembly, as text, HTML or JSON."""

from __future__ import annotations

import json
from typing import Any

from ..base.text import wants_color
from ..errors import ArgumentError
from ..reports.files import read_reports
from ..views.annotation import Annotation, tools_columns
from .choose import kernels, one
from .tables import paged


def main(args: Any) -> int:
    code_object = one(args, args.kernel)
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


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old:
        raise ArgumentError(f"--source {text}: expected OLD=NEW")
    return old, new
