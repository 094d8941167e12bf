"""Who does the jobs: threads of this machine, or a Dask cluster. Both keep isolated processes busy."""

from __future__ import annotations

import concurrent.futures
import itertools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ArgumentError
from .isolated import Isolated, LostError
from .jobs import Job, Work


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its value, or why there is none."""

    job: Job
    value: Any = None
    error: str | None = None
    #: The name of the exception, or ``Lost``.
    kind: str | None = None
    #: How often it was tried.
    tries: int = 1


@dataclass(frozen=True)
class Limits:
    """What a job may take."""

    #: Seconds.
    timeout: float | None = 300
    #: Bytes of address space of a process.
    memory: int | None = None
    #: How often a job is tried again whose process was lost.
    retries: int = 1


_here = threading.local()
_all: list[Isolated] = []
_guard = threading.Lock()


def do(job: Job, work: Work, limits: Limits) -> Outcome:
    """Does a job in this thread's process."""
    for tries in itertools.count(1):
        try:
            return Outcome(job, _isolated(limits.memory).run(job, work, limits.timeout), tries=tries)
        except LostError as error:
            if tries > limits.retries:
                return Outcome(job, None, str(error), "Lost", tries)
        except Exception as error:
            return Outcome(job, None, " ".join(str(error).split()), type(error).__name__, tries)
    raise AssertionError


def _isolated(memory: int | None) -> Isolated:
    if getattr(_here, "memory", ...) != memory:
        _here.memory, _here.process = memory, Isolated(memory)
        with _guard:
            _all.append(_here.process)
    process: Isolated = _here.process
    return process


class Schedule(Protocol):
    """Does jobs, several at a time."""

    def outcomes(self, jobs: Iterable[Job], work: Work, limits: Limits) -> Iterator[Outcome]:
        """As they are done, in any order."""
        ...

    def close(self) -> None:
        """Ends all processes."""
        ...


class Local:
    """Threads of this process, each with an isolated process."""

    def __init__(self, workers: int):
        self._workers = workers
        self._pool = concurrent.futures.ThreadPoolExecutor(workers, "luthier-batch")

    def outcomes(self, jobs: Iterable[Job], work: Work, limits: Limits) -> Iterator[Outcome]:
        """Few jobs are under way beyond those that are being done, so that memory is bounded."""
        waiting = iter(jobs)
        running = {self._pool.submit(do, job, work, limits) for job in itertools.islice(waiting, 2 * self._workers)}
        while running:
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            running |= {self._pool.submit(do, job, work, limits) for job in itertools.islice(waiting, len(done))}
            for future in done:
                yield future.result()

    def close(self) -> None:
        """Jobs under way are given up."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with _guard:
            processes, _all[:] = list(_all), []
        for process in processes:
            process.stop()


class Cluster:
    """Workers of a Dask cluster, which see the same files."""

    def __init__(self, address: str):
        try:
            from distributed import Client, as_completed  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise ArgumentError("--scheduler needs Dask, which is not here: pip install 'luthier[batch]'") from None
        self._as_completed = as_completed
        try:
            self._client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise ArgumentError(f"--scheduler {address}: {error}") from None

    def outcomes(self, jobs: Iterable[Job], work: Work, limits: Limits) -> Iterator[Outcome]:
        """A worker of the cluster that is lost has its jobs done by another one."""
        waiting = iter(jobs)
        threads: Any = self._client.nthreads()
        many = 4 * max(sum(threads.values()), 1)

        def submit(count: int) -> list[Any]:
            return [self._client.submit(do, job, work, limits, pure=False) for job in itertools.islice(waiting, count)]

        running = self._as_completed(submit(many))
        for future in running:
            for more in submit(1):
                running.add(more)
            yield future.result()

    def close(self) -> None:
        """The cluster goes on without us."""
        self._client.close()
