"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import IO

from .errors import ArgumentError


class Outputs:
    """Files that are written beside their places, and moved there together at the end.

    Opening one shows at once whether it can be written, before the work whose result it is to hold.
    """

    def __init__(self) -> None:
        # Stream, temporary name, name to have, permissions.
        self._files: list[tuple[IO[bytes], str, str | None, int]] = []

    def open(self, path: str, like: str | None = None) -> IO[bytes]:
        """A stream for the file that is to be at ``path``. It may be executed by whoever may read it if the file
        ``like`` can be executed."""
        executable = like is not None and os.access(like, os.X_OK)
        try:
            mode = os.stat(path).st_mode
        except OSError:
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode):
            raise ArgumentError(f"cannot write {path}: it is a directory")
        try:
            if not stat.S_ISREG(mode):  # a terminal, a pipe, /dev/null
                stream = open(path, "wb")  # noqa: SIM115
                self._files.append((stream, path, None, 0))
                return stream
            real = os.path.realpath(path)
            handle, name = tempfile.mkstemp(prefix=".luthier-", dir=os.path.dirname(real) or ".")
        except OSError as error:
            raise ArgumentError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
        stream = os.fdopen(handle, "wb")
        self._files.append((stream, name, real, 0o777 if executable else 0o666))
        return stream

    def commit(self) -> None:
        """Moves every file to its place."""
        umask = os.umask(0)
        os.umask(umask)
        for stream, name, path, mode in self._files:
            try:
                if path is not None:
                    os.fchmod(stream.fileno(), mode & ~umask)
                stream.close()
            except OSError as error:
                raise ArgumentError(f"cannot write {path or name}: {(error.strerror or str(error)).lower()}") from None
        for _, name, path, _ in self._files:
            if path is not None:
                os.replace(name, path)
        self._files.clear()

    def discard(self) -> None:
        """Removes what was not committed."""
        for stream, name, path, _ in self._files:
            stream.close()
            if path is not None and os.path.exists(name):
                os.unlink(name)
        self._files.clear()

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()
