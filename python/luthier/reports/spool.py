"""What the processes of ``luthier check`` and of pytest's workers write down: launches that were judged, and findings.

Each process has a file of its own in the folder that ``LUTHIER_FINDINGS`` names: a line with the number of launches, which
is overwritten in place, and a line of JSON for each finding. A process that is killed leaves what it has found so far.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

#: Names the folder.
VARIABLE = "LUTHIER_FINDINGS"
_COUNT = 20
#: Findings of a process that are written down; all are counted.
_MOST = 10_000


class Spool:
    """This process's file. A forked child begins one of its own."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._process = -1
        self._launches = self._findings = 0

    def add(self, findings: Iterable[Mapping[str, Any]]) -> None:
        """A launch was judged. Without the variable nothing is kept. An OSError names the file that cannot be written."""
        folder = os.environ.get(VARIABLE)
        if not folder:
            return
        if self._process != os.getpid():
            self._open(Path(folder))
        assert self._file is not None
        lines = []
        for finding in findings:
            self._findings += 1
            if self._findings <= _MOST:
                lines.append(json.dumps({**finding, "process": self._process}) + "\n")
        if lines:
            os.write(self._file, "".join(lines).encode())
        self._launches += 1
        os.pwrite(self._file, self._head(), 0)

    def _open(self, folder: Path) -> None:
        self._process, self._launches, self._findings = os.getpid(), 0, 0
        path = folder / f"{self._process}-{os.urandom(4).hex()}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(self._file, self._head())

    def _head(self) -> bytes:
        return f"{self._launches:{_COUNT}} {self._findings:{_COUNT}}\n".encode()


_spool = Spool()


def add(findings: Iterable[Mapping[str, Any]]) -> None:
    """Writes down that this process has judged a launch, and what was found, if another process collects it."""
    if VARIABLE in os.environ:
        _spool.add(findings)


def collect(folder: str | os.PathLike[str]) -> tuple[list[dict[str, Any]], int, int]:
    """The findings of all files of a folder, and how many launches and findings there were, written down or not."""
    findings: list[dict[str, Any]] = []
    launches = found = 0
    for path in sorted(Path(folder).iterdir()):
        head, _, rest = path.read_bytes().partition(b"\n")
        if not head:  # of a process that was killed while it began
            continue
        here, made = map(int, head.split())
        launches += here
        found += made
        for line in rest.splitlines():
            with contextlib.suppress(ValueError):  # of a process that was killed while it wrote
                findings.append(json.loads(line))
    return findings, launches, found
