"""What there is to do: files, members of archives, and the code objects in them."""

from __future__ import annotations

import io
import mmap
import os
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError

_AMDGPU = 224
_BUNDLES = (b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")
#: A member of an archive is read whole; larger ones are an error.
_MOST = 4 << 30


@dataclass(frozen=True, order=True)
class Job:
    """A code object: entry ``entry`` of a file, or of a member of an archive. ``entry`` -1 stands for the list of entries."""

    path: str
    member: str = ""
    entry: int = -1

    def __str__(self) -> str:
        member = f"!{self.member}" if self.member else ""
        return f"{self.path}{member}" + (f" entry {self.entry}" if self.entry >= 0 else "")


@dataclass(frozen=True)
class Work:
    """What is done with each code object; it travels to other processes by value."""

    #: ``count``, ``lift``, ``instrument``, ``check``, ``run``, or ``map``.
    action: str
    #: Texts of ``--tool``.
    tools: tuple[str, ...] = ()
    #: A pattern for processors.
    target: str = "*"
    #: A pattern for kernels' names, mangled or not.
    kernel: str = "*"
    #: Where instrumented objects are written, if anywhere.
    out: str | None = None
    #: Of ``run``: the file with the function ``launch``.
    launches: str | None = None
    #: Of ``map``: the function, pickled.
    function: bytes | None = field(default=None, repr=False)


def candidates(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Job]:
    """The files with code in these files and folders, and the members of archives that are named or found. A file that is
    named is one whatever it holds; of a folder's only those with code. ArgumentError for a path that is not there."""
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for file in sorted(p for p in path.rglob("*") if p.is_file() and not p.is_symlink()):
                yield from _members(str(file)) if _is_archive(file) else _alone(file)
        elif not path.exists():
            raise ArgumentError(f"{path}: no such file or directory")
        elif _is_archive(path):
            yield from _members(str(path))
        else:
            yield Job(str(path))


def _alone(file: Path) -> Iterator[Job]:
    try:
        with open(file, "rb") as stream:
            if not stream.read(1):
                return
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                is_code = _has_code(content[:64], content)
    except (OSError, ValueError):
        is_code = True  # that it cannot be read is told in its row
    if is_code:
        yield Job(str(file))


def _has_code(head: bytes, content: Any) -> bool:
    """Whether a file may hold code objects, by its first bytes, or a section that fat binaries have."""
    if head.startswith(_BUNDLES):
        return True
    if not head.startswith(b"\x7fELF"):
        return False
    return int.from_bytes(head[18:20], "little") == _AMDGPU or content.find(b".hip_fatbin") >= 0


def _is_archive(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path) or _is_tar(path)
    except OSError:
        return False


def _is_tar(path: Path) -> bool:
    name = path.name
    return name.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz")) and tarfile.is_tarfile(path)


def _members(path: str) -> Iterator[Job]:
    """The members with code. An archive that is damaged is one job, whose row says so."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and _has_code_inside(archive.open(info)):
                        yield Job(path, info.filename)
        else:
            with tarfile.open(path) as tar:
                for member in tar:
                    stream = tar.extractfile(member) if member.isfile() else None
                    if stream is not None and _has_code_inside(stream):
                        yield Job(path, member.name)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError):
        yield Job(path, "?")


def _has_code_inside(stream: Any) -> bool:
    """The same of a member, read in pieces."""
    with stream:
        head = stream.read(64)
        if not head.startswith(b"\x7fELF"):
            return head.startswith(_BUNDLES)
        if int.from_bytes(head[18:20], "little") == _AMDGPU:
            return True
        before = b""
        while piece := stream.read(1 << 20):
            if b".hip_fatbin" in before + piece:
                return True
            before = piece[-16:]
        return False


def content(job: Job) -> bytes | str:
    """What a job's file holds: its path, or the bytes of a member of an archive."""
    if not job.member:
        return job.path
    try:
        return _read_member(job)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, KeyError, RuntimeError, NotImplementedError) as error:
        raise ArgumentError(f"{job}: the archive cannot be read: {error}") from None


def _read_member(job: Job) -> bytes:
    if zipfile.is_zipfile(job.path):
        with zipfile.ZipFile(job.path) as archive:
            _check_size(job, archive.getinfo(job.member).file_size)
            return archive.read(job.member)
    with tarfile.open(job.path) as tar:
        member = tar.getmember(job.member)
        _check_size(job, member.size)
        stream = tar.extractfile(member) or io.BytesIO()
        with stream:
            return stream.read()


def _check_size(job: Job, size: int) -> None:
    if size > _MOST:
        raise ArgumentError(f"{job}: {size:,} bytes are more than a member of an archive may have ({_MOST:,})")
