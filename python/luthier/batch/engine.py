"""A batch: finds the jobs, has them done, and writes the results down."""

from __future__ import annotations

import os
import pickle
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError, LuthierError
from .jobs import Job, Work, candidates
from .results import Results
from .schedule import Cluster, Limits, Local, Outcome, Schedule

#: A part of the results is written, too, after this many kernels or seconds.
_KERNELS, _SECONDS = 20_000, 30.0


@dataclass(frozen=True)
class Progress:
    """How far a batch is."""

    done: int
    of: int
    errors: int
    seconds: float

    def __str__(self) -> str:
        rate = self.done / self.seconds if self.seconds > 0 else 0.0
        return f"{self.done:,} of {self.of:,} code objects, {self.errors:,} errors, {rate:.1f} a second"


@dataclass(frozen=True)
class Summary:
    """What a batch has done."""

    #: Code objects of this run, those that an earlier run had done already, and errors among all.
    done: int
    before: int
    errors: int
    kernels: int
    seconds: float


def schedule(workers: int | None = None, scheduler: str | None = None) -> Schedule:
    """The cluster at an address, or ``workers`` processes here: one for each core unless told."""
    if scheduler is not None:
        return Cluster(scheduler)
    return Local(workers or len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Batch:
    """What to do with which files, and where the results go."""

    work: Work
    paths: Sequence[str | os.PathLike[str]]
    out: str | os.PathLike[str]
    limits: Limits = Limits()
    #: At most this many code objects: the first, or a sample that the seed decides.
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    #: Code objects whose rows are errors are done again.
    redo_errors: bool = False
    #: Code objects whose results are written down together.
    part: int = 500

    def run(self, by: Schedule, progress: Callable[[Progress], object] | None = None) -> Summary:
        """Does what an earlier run into the same folder has left, ``by`` processes or a cluster; ``progress`` is called after each code
        object. ArgumentError for paths that are not there and folders that
        cannot be used; what goes wrong with a code object is in its row."""
        begun = time.monotonic()
        files = sorted(set(candidates([os.path.abspath(path) for path in self.paths])))
        if self.limit is not None and self.sample is None:
            files = files[: self.limit]  # each has a row at least
        results = Results(self.out, self._what())
        if self.redo_errors:
            results.forget_errors()
        before = results.done()
        writer = _Writer(results, self.part)
        jobs = []
        # A file that cannot be listed has a row of its own.
        for outcome in by.outcomes([job for job in files if job not in before], self.work, self.limits):
            if outcome.error is not None:
                writer.add(outcome)
            else:
                jobs += [Job(outcome.job.path, outcome.job.member, entry) for entry, _, _ in outcome.value]
        jobs = self._chosen(sorted(jobs))
        left = [job for job in jobs if job not in before]
        for outcome in by.outcomes(left, self.work, self.limits):
            writer.add(outcome)
            if progress is not None:
                progress(Progress(writer.objects, len(left), writer.errors, time.monotonic() - begun))
        writer.flush()
        errors = results.table("objects")
        all_errors = 0 if "error" not in errors.column_names else len(errors) - errors["error"].null_count
        return Summary(writer.objects, len(before), all_errors, writer.kernels, time.monotonic() - begun)

    def _what(self) -> dict[str, Any]:
        work = self.work
        return {"action": work.action, "tools": list(work.tools), "target": work.target, "kernel": work.kernel}

    def _chosen(self, jobs: list[Job]) -> list[Job]:
        if self.sample is not None and self.sample < len(jobs):
            jobs = sorted(random.Random(self.seed).sample(jobs, self.sample))
        return jobs if self.limit is None else jobs[: self.limit]


class _Writer:
    """Collects outcomes and writes them in parts."""

    def __init__(self, results: Results, part: int):
        self._results, self._part = results, part
        self._objects: list[dict[str, Any]] = []
        self._kernels: list[dict[str, Any]] = []
        self._written = time.monotonic()
        self.objects = self.errors = self.kernels = 0

    def add(self, outcome: Outcome) -> None:
        """Takes an outcome in."""
        job = outcome.job
        key = {"path": job.path, "member": job.member, "entry": job.entry}
        totals, kernels = outcome.value if outcome.error is None else ({"target": None}, [])
        ends: dict[str, Any] = {"tries": outcome.tries, "error": None, "error_kind": None}
        if outcome.error is not None:
            ends |= {"error": outcome.error, "error_kind": outcome.kind}
        self._objects.append({**key, **totals, **ends})
        self._kernels += [{**key, "target": totals["target"], **kernel} for kernel in kernels]
        self.objects += 1
        self.kernels += len(kernels)
        self.errors += outcome.error is not None
        if len(self._objects) >= self._part or len(self._kernels) >= _KERNELS or time.monotonic() - self._written > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what has come together."""
        self._results.add(self._objects, self._kernels)
        self._objects, self._kernels, self._written = [], [], time.monotonic()


def map(
    function: Callable[..., Any],
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    target: str = "*",
    workers: int | None = None,
    scheduler: str | None = None,
    timeout: float | None = 300,
    retries: int = 1,
    memory: int | None = None,
) -> Iterator[tuple[Job, Any, LuthierError | None]]:
    """Calls a function with each :class:`luthier.CodeObject` of files, folders, wheels and archives, in other processes.

    Gives, in any order, the job, what the function returned (which has to be pickled), and the error: None, or a
    LuthierError that says what the function raised, or that the process crashed or took longer than ``timeout`` seconds.
    Functions of ``__main__`` and lambdas travel by value where cloudpickle is there (``pip install 'luthier[batch]'``).

    :param function: is called with each :class:`luthier.CodeObject`; what it returns has to be pickled.
    :param paths: files, folders, wheels and archives.
    :param target: a pattern for processors.
    :param workers: the number of processes; one for each core.
    :param scheduler: the address of a Dask cluster in their place.
    :param timeout: seconds for a code object; None for any time.
    :param retries: how often a job is tried again whose process was lost.
    :param memory: the most bytes of a process.
    :returns: an iterator of job, value and error; the work begins when it is first asked.
    :raises ArgumentError: for paths that are not there, and functions that cannot be pickled.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    work = Work("map", target=target, function=_pickled(function))
    limits = Limits(timeout, memory, retries)
    files = sorted(set(candidates([os.path.abspath(path) for path in given])))
    return _map(files, work, limits, schedule(workers, scheduler))


def _map(files: Iterable[Job], work: Work, limits: Limits, by: Schedule) -> Iterator[tuple[Job, Any, LuthierError | None]]:
    with closing(by):
        jobs = []
        for outcome in by.outcomes(files, work, limits):
            if outcome.error is not None:
                yield outcome.job, None, LuthierError(outcome.error)
            else:
                jobs += [Job(outcome.job.path, outcome.job.member, entry) for entry, _, _ in outcome.value]
        for outcome in by.outcomes(sorted(jobs), work, limits):
            error = None if outcome.error is None else LuthierError(outcome.error)
            yield outcome.job, outcome.value, error


def _pickled(function: Callable[..., Any]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-not-found, unused-ignore]

        data: bytes = cloudpickle.dumps(function)
        return data
    except ImportError:
        pass
    except Exception as error:
        raise ArgumentError(f"the function cannot be pickled: {error}") from None
    if getattr(function, "__module__", None) == "__main__":
        raise ArgumentError("a function of __main__ travels by cloudpickle, which is not here: pip install 'luthier[batch]'")
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise ArgumentError(f"the function cannot be pickled: {error}") from None
