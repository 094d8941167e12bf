"""``luthier run``."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from typing import Any

from ..base.outputs import Output, Outputs
from ..device.mock_device import Device, Progress, finding_kinds
from ..device.results import RunResult
from ..device.sizes import dimensions
from ..errors import ArgumentError
from ..instrumenting.selection import listed
from ..objects.code_object import CodeObject
from ..reports.as_arrow import needed
from ..reports.files import write_tables
from ..tools import load
from . import faults
from .annotate_options import check_path
from .argspec import parse_argument, parse_dump, parse_number, parse_seconds, parse_sizes, parse_symbol
from .choose import kernel, one
from .ending import checked, status_of
from .finding_options import FindingOutputs, refuse
from .placing import placed_as
from .progress import Bar
from .work import aside, interruptible, warn_of_rejected


def main(args: Any) -> int:
    # What is cheap to check comes first.
    grid = None if args.grid is None else dimensions("--grid", parse_sizes("--grid", args.grid))
    blocks = None if args.blocks is None else dimensions("--blocks", parse_sizes("--blocks", args.blocks))
    block = dimensions("--block", parse_sizes("--block", args.block))
    cluster = None if args.cluster is None else dimensions("--cluster", parse_sizes("--cluster", args.cluster))
    strict = args.strict if args.strict_kinds is None else parse_kinds(args.strict_kinds)
    lds = parse_number("--lds", args.lds, "bytes")
    watchdog = None if args.watchdog is None else parse_number("--watchdog", args.watchdog, "instructions")
    timeout = None if args.timeout is None else parse_seconds("--timeout", args.timeout)
    if args.faults is not None:
        faults.check(args)
        faults.parse_faults(args.faults)
    dumps = [parse_dump(text) for text in args.dump]
    symbols = [parse_symbol(text) for text in args.symbol]
    code_object = one(args, args.kernel)
    args.kernel = kernel(code_object, args.kernel)
    values = [parse_argument(text) for text in args.arg]
    for index, _ in dumps:
        if index >= len(values) or not getattr(values[index], "shape", ()):
            raise ArgumentError(f"--dump {index}: argument {index} is not a buffer (they are numbered from 0)")
    if args.annotate is not None:
        check_path(args.annotate)
    if args.out is not None and args.out_format == "parquet":
        needed()
    select = listed(args.select)
    if select and not args.tool:
        raise ArgumentError("--select is about tools: give one with --tool")
    if not strict:
        refuse(args)
    launching: dict[str, Any] = {
        "grid": grid,
        "blocks": blocks,
        "block": block,
        "lds": lds,
        "cooperative": args.cooperative,
        "cluster": cluster,
        "schedule": args.schedule,
    }
    if args.faults is not None:
        return faults.main(args, code_object, _processor(code_object, args.target), values, launching)
    with aside(args.json == "-"):
        tools = [load(text) for text in args.tool]

    with Outputs() as outputs, aside(args.json == "-"):
        told = FindingOutputs(args, outputs)
        report = outputs.open(args.json) if args.json not in (None, "-") else None
        arrays = [(outputs.open(path), values[index]) for index, path in dumps]

        def work() -> tuple[Any, list[tuple[str, Any]]]:
            processor = _processor(code_object, args.target)
            device = Device(processor, watchdog=watchdog, timeout=timeout, progress=progressing.tell)
            how = placed_as(args, "raise" if args.on_rejected == "raise" else "report")
            module = device.load_alone(code_object, args.kernel, tools, how, select=select)
            for name, kind in symbols:
                module.read_symbol(name, kind or "uint8")  # complain before the run
            launch = partial(module.trace, events=["instructions"]) if args.annotate is not None else module.run
            result = launch(args.kernel, args=values, strict=strict, **launching)
            return result, [(name, _symbol(module, name, kind)) for name, kind in symbols]

        with Progressing() as progressing:
            watched, contents = interruptible(work)
        result: RunResult = getattr(watched, "result", watched)
        data = result.to_dict()
        if contents:
            data["symbols"] = dict(contents)
        verdict = told.policy.judge(result.findings, 1 if strict else 0)
        told.write(verdict)
        for stream, array in arrays:
            _save(stream, array)
        if report is not None:
            report.write((json.dumps(data, indent=1) + "\n").encode())
        outputs.commit()
    if args.annotate is not None:
        watched.annotate().save(args.annotate)
    if args.out is not None:
        write_tables(result.reports, args.out, args.out_format)
    if args.json == "-":
        print(json.dumps(data, indent=1))
    else:
        with aside(told.takes_stdout):
            _show(result, contents)
    told.show(verdict)
    seen = warn_of_rejected(code_object, data["instrumentation"], args.on_rejected)
    if strict:
        print(checked(1, len(result.findings)), file=sys.stderr)
    return status_of(0, not seen, verdict.failures)


def _processor(code_object: CodeObject, wanted: str | None) -> str:
    """What the mock device is: the processor of ``--target``, else the first that the code runs on."""
    named = (wanted or "").partition(":")[0]
    return named if named in code_object.devices else next(iter(code_object.devices), code_object.processor)


class Progressing:
    """Says on standard error that a long launch goes on: on a terminal with a bar, after a second or so; else with a line after
    10 seconds, 20, 40 and so on."""

    def __init__(self, first: float = 10):
        self._next = first
        self._bar = Bar("workgroups")

    def __enter__(self) -> Progressing:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def tell(self, progress: Progress) -> None:
        if self._bar.show(progress.workgroups, progress.of, f"{progress.instructions:,} instructions"):
            return
        if progress.seconds >= self._next:
            while progress.seconds >= self._next:
                self._next *= 2
            print(f"luthier: {progress}", file=sys.stderr, flush=True)


def _save(stream: Output, array: Any) -> None:
    import numpy

    memory = io.BytesIO()
    numpy.save(memory, array)
    stream.write(memory.getbuffer())


def _symbol(module: Any, name: str, kind: str | None) -> Any:
    if kind is not None:
        return module.read_symbol(name, kind).tolist()
    # Without a type: whole u64s, or else bytes.
    data = module.read_symbol_bytes(name)
    return module.read_symbol(name, "uint64" if data and len(data) % 8 == 0 else "uint8").tolist()


def parse_kinds(text: str) -> list[str]:
    """The kinds of ``--strict=KIND,...``."""
    kinds, known = [kind.strip() for kind in text.split(",")], finding_kinds()
    unknown = [kind for kind in kinds if kind not in ("all", *known)]
    if unknown:
        raise ArgumentError(f"--strict={text}: no kind {unknown[0]!r}; the kinds are all, or some of {', '.join(known)}")
    return kinds


def _show(result: RunResult, contents: list[tuple[str, Any]]) -> None:
    from .tables import show

    did = result.instrumentation
    rows = [
        ("kernel", result.kernel),
        ("target", result.module.code_object.target),
        ("grid, workgroup", f"{_sizes(result.grid)}, {_sizes(result.block)}"),
        ("workgroups, waves", f"{result.workgroups:,}, {result.waves:,}"),
        ("instructions", f"{result.instructions:,}"),
    ]
    if result.loaded.core.instrumented:
        rows.append(("  of the original", f"{result.app_instructions:,}"))
    if did:
        rows.append(("hooks placed", f"{did['points']:,} ({did['inserted_instructions']:,} instructions)"))
    rows.append(("seconds", f"{result.seconds:.4f}"))
    show("run", (), rows)
    for report in result.reports:
        for table in report.tables:
            show(table.title, table.headers, table.rows)
    left = [(name, n["rejected"], n["points"]) for name, n in did["tools"].items() if n["rejected"]] if did else []
    if left:
        show("not seen", ("tool", "insertions rejected", "made"), left)
    if contents:
        show("symbols", (), [(name, ", ".join(map(str, _flat(value)))) for name, value in contents])


def _flat(value: Any) -> list[Any]:
    return value if len(value) <= 64 else [*value[:64], f"... {len(value) - 64} more"]


def _sizes(sizes: tuple[int, int, int]) -> str:
    return " x ".join(map(str, sizes[: 3 if sizes[2] > 1 else 2 if sizes[1] > 1 else 1]))
