"""``luthier batch``: the same work over thousands of code objects."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import Any

from ..errors import ArgumentError
from .argspec import parse_number, parse_seconds
from .progress import Bar

#: Seconds between two lines about how far a batch is.
_TOLD = 10.0


def main(args: Any) -> int:
    """Does what an earlier run into the same folder has left; status 1 where a code object was an error."""
    from ..batch.engine import Batch, Progress, schedule
    from ..batch.jobs import Work
    from ..batch.schedule import Limits
    from ..tools import load

    if args.action in ("instrument", "check") and not args.tool:
        args.tool = ["instr_count"] if args.action == "check" else []
        if not args.tool:
            raise ArgumentError("batch instrument needs a tool: --tool T")
    if args.action == "run" and args.launches is None:
        raise ArgumentError("batch run needs --launches FILE.py, with a function launch(kernel) that gives a launch's keywords")
    for text in args.tool:
        load(text)  # complain here
    work = Work(
        args.action,
        tuple(args.tool),
        args.target or "*",
        args.kernel or "*",
        f"{args.out}/instrumented" if args.write else None,
        args.launches,
    )
    timeout = parse_seconds("--timeout", args.timeout)
    memory = None if args.memory is None else parse_number("--memory", args.memory, "megabytes") << 20
    limits = Limits(timeout, memory, parse_number("--retries", args.retries, "times"))
    sample, seed = _sample(args.sample)
    batch = Batch(
        work,
        args.paths,
        args.out,
        limits,
        None if args.limit is None else parse_number("--limit", args.limit, "code objects"),
        sample,
        seed,
        args.redo_errors,
        max(parse_number("--part", args.part, "code objects"), 1),
    )
    workers = None if args.workers is None else parse_number("--workers", args.workers, "processes")
    if workers == 0:
        raise ArgumentError("--workers 0: at least one process")
    told = time.monotonic()

    def tell(progress: Progress) -> None:
        nonlocal told
        if bar.show(progress.done, progress.of, f"{progress.errors:,} errors"):
            return
        if time.monotonic() - told >= _TOLD:
            told = time.monotonic()
            print(f"luthier: {progress}", file=sys.stderr, flush=True)

    with closing(schedule(workers, args.scheduler)) as by, Bar("code objects") as bar:
        summary = batch.run(by, tell)
    before = f", {summary.before:,} done before" if summary.before else ""
    rate = summary.done / summary.seconds if summary.seconds else 0.0
    print(
        f"luthier: {summary.done:,} code objects, {summary.kernels:,} kernels in {summary.seconds:.1f} s "
        f"({rate:.1f} a second){before}; {summary.errors:,} errors; results in {args.out}"
    )
    return 1 if summary.errors else 0


def _sample(text: str | None) -> tuple[int | None, int]:
    """The number and seed of ``--sample N[:SEED]``."""
    if text is None:
        return None, 0
    number, _, seed = text.partition(":")
    return parse_number("--sample", number, "code objects"), parse_number("--sample", seed or "0", "as a seed")
