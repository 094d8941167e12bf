"""kernel_args: the arguments of each launch, decoded. Nothing is inserted."""

from __future__ import annotations

from typing import Any

import luthier as lt
from luthier.reports.as_json import plain


class KernelArgs(lt.Tool):
    """``{"launches": [{"kernel", "grid", "block", "args": [...]}]}``: arrays as ``{"array": dtype, "shape", "bytes"}``, numbers as
    they are. ``most=N`` keeps the first N launches and counts the others under ``"more"``. Launches of programs
    (``luthier trace``) and of Triton bring no arguments here: ``"args"`` is null."""

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.launches: list[dict[str, Any]] = []
        self.more = 0

    def on_launch(self, launch: lt.Launch) -> None:
        if len(self.launches) >= self.most:
            self.more += 1
            return
        given = getattr(launch, "args", None)
        args = [_told(value) for value in given] if given else None
        grid, block = (list(getattr(launch, name)) for name in ("grid", "block"))
        self.launches.append({"kernel": launch.kernel, "grid": grid, "block": block, "args": args})

    def on_exit(self, report: lt.Report) -> None:
        report.result = {"launches": self.launches, "more": self.more}
        rows = []
        for at in self.launches:
            args = "not known" if at["args"] is None else ", ".join(_text(value) for value in at["args"])
            rows.append((at["kernel"], "x".join(map(str, at["grid"])), "x".join(map(str, at["block"])), args))
        report.table("kernel_args", rows, ("kernel", "grid", "workgroup", "arguments"))


def _told(value: Any) -> Any:
    if getattr(value, "shape", ()) or hasattr(value, "data_ptr"):
        return {"array": str(value.dtype), "shape": list(value.shape), "bytes": int(value.nbytes)}
    return {"bytes": bytes(value).hex()} if isinstance(value, (bytes, bytearray)) else plain(value)


def _text(value: Any) -> str:
    if isinstance(value, dict) and "array" in value:
        return f"{value['array']}[{'x'.join(map(str, value['shape']))}]"
    return "null" if value is None else str(value)
