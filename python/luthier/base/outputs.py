"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Protocol

from ..errors import ArgumentError


class Writes(Protocol):
    """What writes its bytes to a file by itself."""

    def write_to(self, descriptor: int) -> None:
        """Writes them to the file that is open with this number. OSError if it cannot be written."""


class Output:
    """One of them."""

    def __init__(self, stream: IO[bytes], path: str):
        self._stream = stream
        self._path = path

    def write(self, data: bytes | memoryview | Writes) -> None:
        with _named(self._path):
            if isinstance(data, (bytes, memoryview)):
                self._stream.write(data)
            else:
                self._stream.flush()
                data.write_to(self._stream.fileno())


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """An error in here is one of the file that is to be at ``path``."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


@dataclass
class _File:
    #: As given, where it is for now, and where it is to be (None: it is there), with which permissions.
    path: str
    name: str
    real: str | None
    mode: int
    stream: IO[bytes] | None = None


class Outputs:
    """Files that are written beside their places, and moved there together at the end.

    Opening one shows at once whether it can be written, before the work whose result it is to hold.
    """

    def __init__(self) -> None:
        self._files: list[_File] = []

    def open(self, path: str, like: str | None = None) -> Output:
        """The file that is to be at ``path``. Users who may read it may execute it if the file ``like`` can be executed."""
        try:
            mode = os.stat(path).st_mode
        except OSError:
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode):
            raise ArgumentError(f"cannot write {path}: it is a directory")
        real = os.path.realpath(path) if stat.S_ISREG(mode) else None  # else a terminal, a pipe, /dev/null
        name = path if real is None else os.path.join(os.path.dirname(real) or ".", f".luthier-{os.urandom(8).hex()}")
        executable = like is not None and os.access(like, os.X_OK)
        file = _File(path, name, real, 0o777 if executable else 0o666)
        # Known before it is there: a signal may come at any time.
        self._files.append(file)
        with _named(path):
            flags = os.O_WRONLY | os.O_CLOEXEC | (os.O_TRUNC if real is None else os.O_CREAT | os.O_EXCL)
            file.stream = os.fdopen(os.open(name, flags, 0o600), "wb")
        return Output(file.stream, path)

    def commit(self) -> None:
        """Moves every file to its place."""
        umask = os.umask(0)
        os.umask(umask)
        for file in self._files:
            if file.stream is not None:
                with _named(file.path):
                    if file.real is not None:
                        os.fchmod(file.stream.fileno(), file.mode & ~umask)
                    file.stream.close()
        for file in self._files:
            if file.real is not None:
                os.replace(file.name, file.real)
        self._files.clear()

    def discard(self) -> None:
        """Removes what was not committed."""
        for file in self._files:
            if file.stream is not None:
                with contextlib.suppress(OSError):  # what it could not write before, it cannot write now
                    file.stream.close()
            if file.real is not None:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(file.name)
        self._files.clear()

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()
