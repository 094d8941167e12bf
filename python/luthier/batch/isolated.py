"""A process that does jobs for a thread, and may crash or hang without harm."""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .jobs import Job, Work

_SIZE = struct.Struct("<Q")
#: Of what the process wrote on standard error.
_SHOWN = 400


class LostError(Exception):
    """The process was lost over a job: it crashed, or it was stopped because it took too long."""


class Isolated:
    """The process. It is started when it is needed, and anew after it was lost."""

    def __init__(self, memory: int | None = None):
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, job: Job, work: Work, timeout: float | None) -> Any:
        """What :func:`luthier.batch.actions.run` gives in the process. An exception there is raised here; LostError where the
        process is lost, with the reason."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        until = None if timeout is None else time.monotonic() + timeout
        try:
            data = pickle.dumps((job, work))
            process.stdin.write(_SIZE.pack(len(data)) + data)
            process.stdin.flush()
            (size,) = _SIZE.unpack(self._read(_SIZE.size, until))
            is_well, value = pickle.loads(self._read(size, until))
        except TimeoutError:
            self.stop()
            raise LostError(f"it took longer than {timeout:g} seconds") from None
        except (OSError, EOFError):
            raise LostError(self._why()) from None
        except BaseException:
            self.stop()
            raise
        if not is_well:
            raise value
        return value

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            # The folder that has the package, wherever this one was imported from.
            root = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join([root, *([os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else [])])
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable, "-m", "luthier.batch.worker", str(self._memory or 0)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        return self._process

    def _read(self, size: int, until: float | None) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        file = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(file, select.POLLIN)
        data = bytearray()
        while len(data) < size:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0 or not poll.poll(None if left is None else left * 1000):
                raise TimeoutError
            piece = os.read(file, min(size - len(data), 1 << 20))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _why(self) -> str:
        """How the process ended, and the last line that it wrote."""
        assert self._process is not None
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        try:
            how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        except ValueError:
            how = f"was killed by signal {-status}"
        self.stop()
        return f"its process {how}" + (f": {last[:_SHOWN]}" if last else "")

    def stop(self) -> None:
        """Ends the process and all that it has started."""
        if self._process is None:
            return
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()
        self._errors.close()
        self._process = None
