"""``luthier report``: one page of tools' results."""

from __future__ import annotations

import sys
from typing import Any

from ..base.outputs import Outputs
from ..base.text import printable
from ..reports.files import read_reports
from ..views.report_page import can_plot, page


def main(args: Any) -> int:
    found = [(path, report) for path in args.results for report in read_reports(path)]
    reports = [report for _, report in found]
    names = [f"{report.tool}: {path}" if len(args.results) > 1 else report.tool for path, report in found]
    plots = sum(len(report.plots) for report in reports)
    if plots and not can_plot():
        print(
            printable(f"luthier: warning: {plots} plots are left out: pip install 'luthier[report]' draws them"), file=sys.stderr
        )
    with Outputs() as outputs:
        outputs.open(args.output).write(page(reports, ", ".join(args.results), names).encode("utf-8", "backslashreplace"))
        outputs.commit()
    return 0
