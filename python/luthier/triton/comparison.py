"""One launch on several processors, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ArgumentError
from ..reports.as_html import html_table
from ..reports.report import Report
from ..tools.lds_conflicts import LdsConflicts
from ..tools.roofline import Roofline
from . import gpu, setup

_CATEGORIES = ("valu", "matrix", "salu", "vmem", "smem", "lds", "branch", "wait", "barrier", "message", "export", "other")


class Comparison:
    """What a launch was on each target. ``rows`` has a number of each for each name; None where it is not known."""

    def __init__(self, kernel: str, targets: Sequence[str], rows: list[tuple[Any, ...]]):
        self.kernel, self.targets, self.rows = kernel, list(targets), rows

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """``{target: {name: number}}``."""
        return {target: {row[0]: row[i + 1] for row in self.rows} for i, target in enumerate(self.targets)}

    def report(self) -> Report:
        """The same as a report: for ``to_arrow()``."""
        made = Report(self.kernel)
        made.table("comparison", self.rows, ("", *self.targets))
        return made

    def html(self) -> str:
        """One page that needs nothing else."""
        from ..views.report_page import page

        return page([self.report()], f"{self.kernel} on {', '.join(self.targets)}")

    def __str__(self) -> str:
        cells = [
            [str(v) if not isinstance(v, int) else f"{v:,}" for v in row] for row in [(self.kernel, *self.targets), *self.rows]
        ]
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(v.rjust(w) for v, w in zip(row[1:], widths[1:]))]).rstrip() for row in cells
        )

    def _repr_html_(self) -> str:
        return html_table(self.kernel, ("", *self.targets), self.rows)


def compare(call: Callable[[], object], targets: Sequence[str]) -> Comparison:
    """Makes a launch on each target, and says how they differ: ``compare(lambda: kernel[grid](x, y, n), ["gfx942", "gfx1201"])``.

    ``call`` is called once for each target, and its last launch is what counts; arrays are changed in place each time. Afterwards the GPU is
    chosen that was before. ArgumentError for a target that is none, and for a call that launches nothing."""
    if isinstance(targets, str) or not targets:
        raise ArgumentError(f"targets={targets!r}: expected a list of targets")
    before = gpu.current() if gpu.is_chosen() else None
    columns: list[dict[str, Any]] = []
    name = ""
    try:
        for target in targets:
            setup.install(target, findings="keep")
            setup.attach(LdsConflicts, Roofline)
            try:
                gpu.forget_last()
                call()
                result = gpu.last_result()
            finally:
                setup.detach(LdsConflicts, Roofline)
            if result is None:
                raise ArgumentError(f"compare: the call has launched nothing on {target}")
            name = result.kernel
            columns.append(_column(result))
    finally:
        if before is None:
            setup.uninstall()
        else:
            setup.install(before.processor, strict=before.strict, findings=before.findings, schedule=before.schedule)
    rows = [(name_, *(column[name_] for column in columns)) for name_ in columns[0]]
    return Comparison(name, targets, rows)


def _column(result: Any) -> dict[str, Any]:
    code_object, kernel = result.module.code_object, result.module.code_object.kernel(result.kernel)
    row = next(row for row in code_object.core.kernel_table() if row["name"] == result.kernel)
    static = Counter(i.category for i in kernel.instructions)
    roofline, conflicts = result.tools["roofline"], result.tools["lds_conflicts"]
    lost = conflicts.get("accesses")
    return {
        "waves": result.waves,
        "instructions retired": result.app_instructions,
        "instructions": sum(static.values()),
        **{f"  {name}": static[name] for name in _CATEGORIES},
        "SGPRs": row["sgprs"],
        "VGPRs": row["vgprs"],
        "scratch": row["scratch"],
        "LDS": row["lds"],
        "waves a SIMD by registers": code_object.descriptor(result.kernel).occupancy,
        "LDS cycles lost to conflicts": None if lost is None else sum(entry["conflicts"] for entry in lost.values()),
        "flops": sum(roofline["flops"].values()) if "flops" in roofline else None,
        "bytes of device memory": roofline["bytes"].get("device", 0) if "bytes" in roofline else None,
    }
