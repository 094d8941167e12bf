"""What the mock driver's processes write down: how many launches there were, and what strict mode found.

The file has no name and stays when its processes have ended, however that was; crates/driver/src/account.rs says what is in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..reports.findings import Finding

#: How the driver finds the file.
VARIABLE = "LUTHIER_MOCK_ACCOUNT"
_MAGIC = b"luthier1"
_ROWS = 1024
#: A row: for the file magic and number of processes, for a process its number, launches, checked launches and findings.
_ROW = struct.Struct("<4Q")
#: ``struct flock``: type, whence, start, length, process.
_LOCK = struct.Struct("@hhqqi")
#: Seconds in which processes may end that are there when the program has ended.
_GRACE = 5


@dataclass(frozen=True)
class Row:
    """A process that has opened the mock driver."""

    pid: int
    #: Kernels that ran, HIP's own for copies and fills among them where the driver does not do that itself.
    launches: int
    #: Of the program's own, how many strict mode has looked at.
    checked: int
    findings: int


class Account:
    """The file, as long as this is entered."""

    def __enter__(self) -> Account:
        self._file = os.memfd_create("luthier-account", os.MFD_CLOEXEC)
        os.ftruncate(self._file, _ROWS * _ROW.size)
        os.pwrite(self._file, _MAGIC, 0)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment in which processes find the file."""
        return {**environment, VARIABLE: f"/proc/{os.getpid()}/fd/{self._file}"}

    def wait(self, seconds: float = _GRACE) -> int | None:
        """Waits until no process writes any more; gives one that still does then."""
        until = time.monotonic() + seconds
        while (pid := self._writer()) is not None and time.monotonic() < until:
            time.sleep(0.01)
        return pid

    def _writer(self) -> int | None:
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _LOCK.unpack(fcntl.fcntl(self._file, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else pid

    @property
    def rows(self) -> list[Row]:
        """The processes, in the order in which they came. Those for which there was no room are in the last."""
        table = os.pread(self._file, _ROWS * _ROW.size, 0)
        processes = _ROW.unpack_from(table)[1]
        rows = [_ROW.unpack_from(table, _ROW.size * row) for row in range(1, min(processes, _ROWS - 1) + 1)]
        return [Row(*row) for row in rows]

    @property
    def findings(self) -> list[Finding]:
        """What strict mode has found, in the order in which it did; of each process the first 10,000."""
        text, at = b"", _ROWS * _ROW.size
        while piece := os.pread(self._file, 1 << 20, at + len(text)):
            text += piece
        found = []
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # of a process that was killed while it wrote
                found.append(Finding(json.loads(line)))
        return found

    def result(self) -> dict[str, Any]:
        """What ``luthier trace --json`` has of it."""
        rows = self.rows
        return {
            "launches": sum(row.checked for row in rows),
            "found": sum(row.findings for row in rows),
            "findings": self.findings,
        }
