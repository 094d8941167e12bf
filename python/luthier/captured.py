"""``lt.capture``: a launch of a program, recorded from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .errors import ArgumentError
from .replay.case import LIMIT, Case
from .replay.program import Capture, Wanted
from .traced import trace


def capture(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    kernel: str,
    *,
    launch: int = 1,
    mock: str | None = None,
    rocm: str | os.PathLike[str] | None = None,
    limit: int = LIMIT,
    env: Mapping[str, str] | None = None,
) -> Case:
    """Runs a HIP or HSA program, unchanged, to its end, and records a launch of a kernel.

    ``kernel`` is a name or a pattern, mangled or not; ``launch`` counts the launches of all such kernels, from 1. ``mock``
    and ``rocm`` are as for :func:`luthier.trace`. A case has at most ``limit`` bytes of memory. The program waits while
    memory is read, before the launch and after it. CaseError where there was no such launch, or it cannot be recorded: the
    file of the case is then not made. ``command`` and ``env`` are those of :func:`luthier.trace`.
    """
    if launch < 1:
        raise ArgumentError(f"launch: {launch} is not the number of a launch, which count from 1")
    words = [os.fspath(command)] if isinstance(command, (str, os.PathLike)) else [os.fspath(word) for word in command]
    wanted = Wanted(words, kernel, launch, limit)
    trace(words, [lambda: Capture(wanted)], mock=mock, rocm=rocm, select=[kernel], env=env)
    return wanted.recorded()
