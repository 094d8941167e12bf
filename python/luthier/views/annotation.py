"""Source beside assembly, with columns of numbers: the data behind ``luthier annotate``."""

from __future__ import annotations

import json
import linecache
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.outputs import Outputs
from ..columns import columns as columns_of
from ..errors import ArgumentError, LoadError
from ..objects.code_object import CodeObject
from ..reports.report import Column, Report

if TYPE_CHECKING:
    from .. import _core
    from ..device.observe import Trace
    from ..device.results import RunResult
    from ..reports.findings import Finding

#: Live registers of at most this many instructions are computed without being asked for: it takes about a second.
LIVE_LIMIT = 100_000
#: At most this many blocks are drawn as graphs.
GRAPH_LIMIT = 5_000
FORMATS = {"html": (".html", ".htm"), "json": (".json",), "text": (".txt", ".s")}


class Annotation:
    """A code object's functions with their blocks, loops and source lines, live registers, and columns of numbers.

    ``kernels`` are those to show, with the functions that they reach; all without. ``columns`` are tools'
    (:attr:`luthier.Report.columns`). ``live`` says whether live registers are computed: None where there are at most 100,000
    instructions. ``sources`` replaces the beginnings of paths of source files: ``{"/build": "/home/me/src"}``.

    >>> lt.Annotation("vecadd.hsaco", kernels=["vecadd"]).save("vecadd.html")

    ``title`` is what stands on top.
    """

    def __init__(
        self,
        source: Any,
        *,
        kernels: Iterable[str] | None = None,
        columns: Sequence[Column] = (),
        live: bool | None = None,
        sources: dict[str, str] | None = None,
        title: str | None = None,
    ):
        self.code_object = CodeObject.of(source)
        self.columns = _distinct(columns)
        self._kernels = None if kernels is None else [self.code_object.kernel(name).name for name in kernels]
        self._sources = dict(sources or {})
        program = self.code_object.program
        if self._kernels is None:
            self.functions: list[_core.Function] = program.functions
        else:
            reached = {f.address: f for name in self._kernels for f in program.select(name)}
            self.functions = [f for f in program.functions if f.address in reached]
        #: What is on top of it.
        self.title = title or self.code_object.path or "code object"
        count = sum(len(f.instructions) for f in self.functions)
        #: Whether live registers are in it.
        self.live = count <= LIVE_LIMIT if live is None else live

    @cached_property
    def kernels(self) -> list[dict[str, Any]]:
        """Registers, LDS, scratch and occupancy of each kernel."""
        rows = []
        for row in self.code_object.core.kernel_table():
            if self._kernels is not None and row["name"] not in self._kernels:
                continue
            descriptor = self.code_object.core.descriptor(row["name"])
            rows.append({**row, "occupancy": None if descriptor is None else descriptor.occupancy})
        return rows

    def function(self, function: _core.Function) -> dict[str, Any]:
        """One function: instructions as lists of equal length, blocks, loops."""
        program = self.code_object.program
        wanted = ["address", "block", "file", "line"] + (["live_sgprs", "live_vgprs", "live_agprs"] if self.live else [])
        instructions = function.instructions
        try:
            found = columns_of(instructions, *wanted)
        except LoadError:  # damaged debug information
            found = columns_of(instructions, *(name for name in wanted if name not in ("file", "line")))
        addresses = found["address"].tolist()
        lines = program.disasm(function).split("\n")
        texts = [line[1 : line.rfind("//")].rstrip() for line in lines if line.startswith("\t")]
        assert len(texts) == len(addresses), function.name
        data: dict[str, Any] = {
            "name": function.name,
            "kind": function.kind,
            "address": function.address,
            "instructions": {
                "address": addresses,
                "text": texts,
                "file": found["file"].tolist() if "file" in found else [-1] * len(addresses),
                "line": found["line"].tolist() if "line" in found else [0] * len(addresses),
            },
        }
        for name in wanted[4:]:
            data["instructions"][name] = found[name].tolist()
        data["values"] = [[column.values.get(a) for a in addresses] for column in self.columns]
        blocks = list(function.blocks)
        number = {block.address: i for i, block in enumerate(blocks)}
        names = [line.partition(":")[0] for line in lines if line.startswith(".") and ":" in line]
        first = {a: i for i, a in enumerate(addresses)}
        loops: dict[int, dict[str, Any]] = {}
        data["blocks"] = []
        for i, block in enumerate(blocks):
            loop, inside = block.loop, []
            while loop is not None:
                header = loop.header.address
                loops.setdefault(header, {"header": number.get(header, i), "depth": loop.depth})
                inside.append(header)
                loop = loop.parent
            data["blocks"].append(
                {
                    "address": block.address,
                    "label": function.name
                    if i == 0
                    else names[i - 1]
                    if len(names) == len(blocks) - 1
                    else f"{block.address:#x}",
                    "first": first[block.address],
                    "count": len(block.instructions),
                    "successors": [number[s.address] for s in block.successors if s.address in number],
                    "loops": inside[::-1],
                    "ends": block.terminator,
                }
            )
        order = {header: i for i, header in enumerate(sorted(loops))}
        data["loops"] = [loops[header] for header in order]
        for block_data in data["blocks"]:
            block_data["loops"] = [order[header] for header in block_data["loops"]]
        return data

    def file_text(self, path: str) -> list[str] | None:
        """The lines of a source file, where it is there. ``path`` is as the debug information has it."""
        for old, new in self._sources.items():
            if path.startswith(old):
                path = new + path[len(old) :]
                break
        return [line.rstrip("\n") for line in linecache.getlines(path)] or None

    def files(self, functions: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The source files that these functions come from, by number: path and lines."""
        numbers = sorted({n for f in functions for n in set(f["instructions"]["file"]) if n >= 0})
        paths = self.code_object.program.source_files if numbers else []
        return {str(n): {"path": paths[n], "text": self.file_text(paths[n])} for n in numbers}

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it (docs/annotate.md)."""
        functions = [self.function(f) for f in self.functions]
        return {
            "version": 1,
            "title": self.title,
            "target": self.code_object.target,
            "columns": [
                {"title": c.title, "unit": c.unit, "combine": c.combine, "about": c.about} for c in self.columns
            ],
            "kernels": self.kernels,
            "functions": functions,
            "files": self.files(functions),
        }  # fmt: skip

    def text(self, color: bool = False) -> str:
        """For a terminal, with ``color`` in colours."""
        from .annotation_text import text

        return text(self.to_dict(), color)

    def html(self) -> str:
        """One page that needs nothing else, no network either."""
        from .annotation_page import page

        return page(self)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes it to the file ``path``: as HTML, JSON or text, by ``format`` or by the file's name."""
        name = os.fspath(path)
        chosen = format or next((f for f, ends in FORMATS.items() if name.lower().endswith(ends)), None)
        if chosen not in FORMATS:
            how = f"format={format!r}" if format else f"{name}: its name ends in none of .html, .json and .txt; format="
            raise ArgumentError(f"{how}: html, json or text")
        with Outputs() as outputs:
            output = outputs.open(name)
            made = self.html() if chosen == "html" else self.text() if chosen == "text" else json.dumps(self.to_dict()) + "\n"
            output.write(made.encode("utf-8", "backslashreplace"))
            outputs.commit()

    def __repr__(self) -> str:
        return f"<Annotation of {self.title}: {len(self.functions)} functions, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame."""
        import html

        return f'<iframe style="width:100%;height:640px;border:1px solid #8888" srcdoc="{html.escape(self.html())}"></iframe>'


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """The columns; what several tools tell alike is there once."""
    found: list[Column] = []
    for column in columns:
        if not any((c.title, c.unit, c.values) == (column.title, column.unit, column.values) for c in found):
            found.append(column)
    return found


def tools_columns(reports: Iterable[Report]) -> list[Column]:
    """The columns of some tools' reports."""
    return [column for report in reports for column in report.columns]


def annotate_result(result: RunResult, **options: Any) -> Annotation:
    """A launch's kernel, with the columns of its tools and what strict mode found."""
    columns = [*tools_columns(result.reports), *findings_columns(result.findings)]
    return _annotation(result, columns, options)


def annotate_trace(trace: Trace, **options: Any) -> Annotation:
    """A watched launch's kernel: beside that, what the device has seen."""
    result = trace.result
    columns = [*trace_columns(trace), *tools_columns(result.reports), *findings_columns(result.findings)]
    return _annotation(result, columns, options)


def _annotation(result: RunResult, columns: list[Column], options: dict[str, Any]) -> Annotation:
    told = {"kernels": [result.kernel], "title": f"{result.kernel} on {result.module.device.processor}", **options}
    return Annotation(result.module.code_object, columns=columns, **told)


def findings_columns(findings: Sequence[Finding]) -> list[Column]:
    """How often strict mode found something at each instruction; no column without findings."""
    counts: dict[int, float] = {}
    for finding in findings:
        at = finding["original_pc"] if finding["original_pc"] is not None else finding["pc"]
        counts[at] = counts.get(at, 0) + finding["count"]
    about = "findings of strict mode, one for each lane"
    return [Column("findings", counts, "", "sum", about)] if counts else []


def trace_columns(trace: Trace) -> list[Column]:
    """What the device has seen of a launch: instructions retired, and lanes and bytes where these events were asked for."""
    origin = _origins(trace)

    def by_origin(counts: dict[int, float]) -> dict[int, float]:
        made: dict[int, float] = {}
        for pc, n in counts.items():
            at = origin.get(pc, pc)
            if at is not None:
                made[at] = made.get(at, 0) + n
        return made

    made = [Column("executed", by_origin(dict(trace.counts)), "waves", "max", "how often waves retired the instruction")]
    if len(trace.instructions):
        import numpy

        pcs, at = numpy.unique(trace.instructions["pc"], return_inverse=True)
        lanes = numpy.zeros(len(pcs), "i8")
        masks = trace.instructions["exec"]
        bits = numpy.unpackbits(numpy.ascontiguousarray(masks).astype("<u8").view("u1").reshape(-1, 8), axis=1).sum(1)
        numpy.add.at(lanes, at, bits)
        values = {int(pc): int(n) for pc, n in zip(pcs, lanes)}
        made.append(Column("lanes", by_origin(dict(values)), "lanes", "max", "active lanes, over all waves"))
    if len(trace.memory):
        import numpy

        pcs, at = numpy.unique(trace.memory["pc"], return_inverse=True)
        sizes = numpy.zeros(len(pcs), "i8")
        numpy.add.at(sizes, at, trace.memory["size"].astype("i8"))
        values = {int(pc): int(n) for pc, n in zip(pcs, sizes)}
        made.append(Column("bytes", by_origin(dict(values)), "bytes", "sum", "bytes read and written in memory"))
    return made


def _origins(trace: Trace) -> dict[int, int | None]:
    """Where the application has the instructions of an instrumented object; None for inserted ones."""
    loaded = trace.result.loaded
    if not loaded.core.instrumented:
        return {}
    found = loaded.columns("address", "origin")
    return {
        int(a): None if o == 2**64 - 1 else int(o) for a, o in zip(found["address"].tolist(), found["origin"].tolist()) if a != o
    }
