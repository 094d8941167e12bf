"""What a launch did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..reports.as_html import html_table
from ..reports.as_json import plain
from ..reports.findings import Finding
from ..reports.report import Report

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject
    from ..views.annotation import Annotation
    from ..views.difference import Difference
    from .launching import Launch
    from .module import Module
    from .observe import Trace


@dataclass(repr=False)
class RunResult:
    """What one launch did. Arrays among the arguments hold their new contents already."""

    module: Module
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    #: The arguments as given.
    args: list[Any]
    #: Instructions that waves retired, all of them ...
    instructions: int
    #: ... and those that are the original kernel's.
    app_instructions: int
    #: How long the device computed.
    seconds: float
    workgroups: int
    waves: int
    #: Instructions retired by mnemonic.
    histogram: dict[str, int]
    #: The same for the original kernel's instructions.
    app_histogram: dict[str, int]
    #: What strict mode found wrong; empty when all is well.
    findings: list[Finding] = field(default_factory=list)
    #: Which of the module's variants the launch was for.
    variant: str = "original"
    #: Workgroups of a cluster, if the launch said so.
    cluster: tuple[int, int, int] | None = None
    #: Makes the launch once more, watched: what :meth:`trace` calls.
    again: Callable[[Sequence[Any]], Trace] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, module: Module, launch: Launch, variant: str, report: dict[str, Any]) -> RunResult:
        """What ``launch`` of a kernel of ``module`` did, for the ``variant`` of that name. What the device's ``report`` has becomes
        the result's own: to hand on each part took longer."""
        made = cls.__new__(cls)
        made.__dict__ = report
        made.module, made.kernel, made.grid, made.block = module, launch.kernel, launch.grid, launch.block
        made.args, made.variant, made.cluster = list(launch.args), variant, launch.cluster
        return made

    @property
    def loaded(self) -> CodeObject:
        """What ran."""
        return self.module.runs(self.variant, self.kernel).loaded

    @property
    def instrumentation(self) -> dict[str, Any] | None:
        """What was done for the variant; of a launch of the original, what was done for those that it is beside (docs/report.md)."""
        own = self.module.variants[self.variant].instrumentation
        return self.module.instrumentation if own is None else own

    @cached_property
    def reports(self) -> list[Report]:
        """The tools' reports, as of when they are first asked for."""
        return self.module.reports()

    @property
    def tools(self) -> dict[str, Any]:
        """Each tool's result, by name."""
        return {report.tool: report.result for report in self.reports}

    def __repr__(self) -> str:
        found = f", {len(self.findings)} findings" if self.findings else ""
        sizes = f"{self.workgroups:,} workgroups, {self.waves:,} waves"
        return f"<RunResult {self.kernel} on {self.module.device.processor}: {sizes}, {self.instructions:,} instructions{found}>"

    def _repr_html_(self) -> str:
        """For notebooks: the launch, the findings, and the tools' tables."""
        facts = [
            ("kernel", self.kernel),
            ("target", self.module.code_object.target),
            ("workgroups", self.workgroups),
            ("waves", self.waves),
            ("instructions", self.instructions),
            ("seconds", f"{self.seconds:.4f}"),
        ]
        parts = [html_table("run", (), facts)]
        if self.findings:
            parts.append(html_table("findings", (), [(str(finding),) for finding in self.findings]))
        return "".join(parts) + "".join(report._repr_html_() for report in self.reports)

    def annotate(self, **options: Any) -> Annotation:
        """The kernel's source beside its assembly, with the columns of the tools that watched it: see
        :class:`luthier.Annotation`, which ``options`` are keywords of."""
        from ..views.annotation import annotate_result

        return annotate_result(self, **options)

    def difference(self, other: RunResult, column: str | None = None) -> Difference:
        """This launch's kernel beside another launch's, instruction by instruction, with a column of the tools that watched both.

        :param other: a launch of the same kernel or of another, of any code object and target.
        :param column: a column's title; the first that both have.
        :returns: what can be shown in a notebook, and has ``text()``, ``html()`` and ``to_dict()`` (docs/annotate.md).
        :raises ArgumentError: where the two have no such column.
        """
        from ..views.difference import difference_of_runs

        return difference_of_runs(self, other, column)

    def trace(
        self, *, events: Sequence[str] = (), snapshots: Sequence[int] = (), only: Sequence[int] = (), limit: int = 1 << 22
    ) -> Trace:
        """Makes the launch once more, with the same arguments and tools, and says what happened on the way. Arrays begin with what
        they hold now.

        :param events: any of ``"instructions"``, ``"blocks"`` and ``"memory"``.
        :param snapshots: addresses of instructions before which registers are copied.
        :param only: the addresses that events come from; all without.
        :param limit: events of a kind that each of the device's threads keeps.
        :returns: the events, the snapshots, and the result of the new launch.
        :raises ArgumentError: for events that there are not.
        :raises DeviceError: as the launch itself.
        """
        if self.again is None:
            raise ArgumentError(f"this launch of {self.kernel} cannot be made again from here")
        return self.again((events, snapshots, only, limit))

    def to_dict(self) -> dict[str, Any]:
        """What ``luthier run --json`` writes (docs/report.md)."""
        return {
            "kernel": self.kernel,
            "target": self.module.code_object.target,
            "variant": self.variant,
            "dispatch": {
                "grid": list(self.grid),
                "workgroup": list(self.block),
                "workgroups": self.workgroups,
                "waves": self.waves,
            },
            "emulator": {
                "instructions": self.instructions,
                "app_instructions": self.app_instructions,
                "seconds": self.seconds,
                "histogram": self.histogram,
                "app_histogram": self.app_histogram,
                "findings": self.findings,
            },
            "tools": plain(self.tools),
            "reports": [report.to_dict() for report in self.reports],
            "instrumentation": self.instrumentation,
        }
