"""A case: one launch of a kernel with all that it needs, and what came of it, in one file.

The file is a ZIP archive. ``case.json`` describes the launch; the other members are Zstandard frames: the code object
(``object``), the explicit arguments (``kernarg``), and of each region of memory what the launch found (``N.before``) and
what it left (``N.after``, if that is something else). :data:`SCHEMA` is the version of all this.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from .. import _core
from ..errors import CaseError, LuthierError

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject

SCHEMA = "luthier-case/1"
#: Bytes of memory that a case has at most, unless told.
LIMIT = 1 << 30
#: Bytes of ``case.json``, and regions, that are read at most.
_LONGEST, _MOST_REGIONS = 64 << 20, 1 << 20
_ADDRESSES = 1 << 64


@dataclass(frozen=True)
class Region:
    """Memory that the launch can reach."""

    #: On the device, of the first byte.
    address: int
    size: int
    #: Kernels may write it.
    writable: bool
    #: What it is, for messages: ``argument 0 'x'``.
    what: str
    #: A segment of the code object.
    is_of_object: bool
    #: What the launch found.
    before: bytes = field(repr=False)
    #: What it left; None where that is the same.
    after: bytes | None = field(default=None, repr=False)

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def left(self) -> bytes:
        """What is there afterwards."""
        return self.before if self.after is None else self.after


@dataclass(frozen=True)
class Dispatch:
    """How the kernel was launched. Sizes are in work-items, those of a cluster in workgroups."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    #: Bytes of dynamic LDS.
    lds: int = 0
    cooperative: bool = False
    cluster: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Case:
    """One launch. Two cases are equal if all their bytes are."""

    processor: str
    kernel: str
    dispatch: Dispatch
    #: The code object's file, and the address of its vaddr 0.
    data: bytes = field(repr=False)
    base: int
    #: The explicit arguments.
    kernarg: bytes = field(repr=False)
    regions: tuple[Region, ...] = field(repr=False)
    #: Why the launch was stopped, if it was: then no region has an ``after``.
    error: str | None = None
    #: Where it comes from: ``program``, ``launch`` (its number), ``version`` of Luthier.
    origin: dict[str, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def code_object(self) -> CodeObject:
        """The code object."""
        from ..objects.code_object import CodeObject

        return CodeObject(_core.CodeObject.parse(self.data), None)

    @property
    def size(self) -> int:
        """Bytes of all regions."""
        return sum(region.size for region in self.regions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file ``path``: whole, or not at all. ArgumentError where it cannot be written."""
        from ..base.outputs import Outputs

        with Outputs() as outputs:
            outputs.open(os.fspath(path)).write(self.to_bytes())
            outputs.commit()

    def to_bytes(self) -> bytes:
        """The file's bytes: the same case gives the same bytes."""
        import io

        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:

            def add(name: str, data: bytes) -> None:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)

            add("case.json", (json.dumps(self._described(), indent=1, sort_keys=True) + "\n").encode())
            add("object", _core.compress(self.data))
            add("kernarg", _core.compress(self.kernarg))
            for number, region in enumerate(self.regions):
                add(f"{number}.before", _core.compress(region.before))
                if region.after is not None:
                    add(f"{number}.after", _core.compress(region.after))
        return out.getvalue()

    def _described(self) -> dict[str, Any]:
        regions = [
            {
                "address": region.address,
                "size": region.size,
                "writable": region.writable,
                "what": region.what,
                "is_of_object": region.is_of_object,
                "changed": region.after is not None,
            }
            for region in self.regions
        ]
        return {
            "schema": SCHEMA,
            "processor": self.processor,
            "kernel": self.kernel,
            "dispatch": asdict(self.dispatch),
            "object": {"base": self.base, "size": len(self.data)},
            "kernarg": len(self.kernarg),
            "regions": regions,
            "error": self.error,
            "origin": self.origin,
        }

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Case:
        """Reads the file ``path``. CaseError for one that is no case, is damaged, or is of another version."""
        try:
            with open(path, "rb") as file:
                return cls.read(file, os.fspath(path))
        except OSError as error:
            raise CaseError(f"cannot read {os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None

    @classmethod
    def read(cls, file: IO[bytes], name: str = "the case") -> Case:
        """As :meth:`open`, of a ``file`` that is open; errors call it ``name``."""
        try:
            with zipfile.ZipFile(file) as archive:
                return _Reader(archive).case()
        except _Damaged as error:
            raise CaseError(f"{name} cannot be used as a case: {error}") from None
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise CaseError(f"{name} is no case file, or is damaged: {error}") from None

    def with_regions(self, regions: tuple[Region, ...]) -> Case:
        """The same launch with the memory ``regions``."""
        return replace(self, regions=regions)

    def __repr__(self) -> str:
        of = f", {self.error}" if self.error else ""
        return f"<Case of {self.kernel} on {self.processor}: grid {self.dispatch.grid}, {len(self.regions)} regions of {self.size:,} bytes{of}>"


class _Damaged(Exception):
    """Why a file is no case."""


class _Reader:
    """Reads what a file says, and believes none of it."""

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive

    def case(self) -> Case:
        told = self._json()
        if told.get("schema") != SCHEMA:
            raise _Damaged(f"its schema is {told.get('schema')!r}, and this version reads {SCHEMA}")
        dispatch, found = _of(told, "dispatch", dict), _of(told, "object", dict)
        cluster = dispatch.get("cluster")
        regions = _of(told, "regions", list)
        if len(regions) > _MOST_REGIONS:
            raise _Damaged(f"it has {len(regions)} regions")
        error = told.get("error")
        if error is not None and not isinstance(error, str):
            raise _Damaged("`error` is no text")
        return Case(
            processor=_of(told, "processor", str),
            kernel=_of(told, "kernel", str),
            dispatch=Dispatch(
                _sizes(dispatch, "grid"),
                _sizes(dispatch, "block"),
                _number(dispatch, "lds", 1 << 32),
                _of(dispatch, "cooperative", bool),
                None if cluster is None else _sizes(dispatch, "cluster"),
            ),
            data=self._bytes("object", _number(found, "size", 1 << 40)),
            base=_number(found, "base", _ADDRESSES),
            kernarg=self._bytes("kernarg", _number(told, "kernarg", 1 << 20)),
            regions=tuple(self._region(number, region) for number, region in enumerate(regions)),
            error=error,
            origin=_of(told, "origin", dict),
        )

    def _json(self) -> dict[str, Any]:
        try:
            if self._archive.getinfo("case.json").file_size > _LONGEST:
                raise _Damaged("case.json is too long")
            told = json.loads(self._archive.read("case.json"))
        except KeyError:
            raise _Damaged("it has no case.json") from None
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise _Damaged("case.json is no JSON") from None
        if not isinstance(told, dict):
            raise _Damaged("case.json is no object")
        return told

    def _region(self, number: int, told: Any) -> Region:
        if not isinstance(told, dict):
            raise _Damaged(f"region {number} is no object")
        address, size = _number(told, "address", _ADDRESSES), _number(told, "size", 1 << 48)
        after = self._bytes(f"{number}.after", size) if _of(told, "changed", bool) else None
        before = self._bytes(f"{number}.before", size)
        what, is_of_object = _of(told, "what", str), _of(told, "is_of_object", bool)
        return Region(address, size, _of(told, "writable", bool), what, is_of_object, before, after)

    def _bytes(self, member: str, size: int) -> bytes:
        try:
            info = self._archive.getinfo(member)
        except KeyError:
            raise _Damaged(f"it has no {member}") from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise _Damaged(f"{member} is compressed twice")
        try:
            return _core.decompress(self._archive.read(info), size)
        except LuthierError as error:
            raise _Damaged(f"{member}: {error}") from None


def _of(told: dict[str, Any], key: str, kind: Callable[..., Any]) -> Any:
    value = told.get(key)
    if type(value) is not kind:
        raise _Damaged(f"`{key}` is {value!r:.60}, and no {getattr(kind, '__name__', kind)}")
    return value


def _number(told: dict[str, Any], key: str, limit: int) -> int:
    value: int = _of(told, key, int)
    if not 0 <= value < limit:
        raise _Damaged(f"`{key}` is {value}")
    return value


def _sizes(told: dict[str, Any], key: str) -> tuple[int, int, int]:
    values = told.get(key)
    if not isinstance(values, list) or len(values) != 3 or any(type(v) is not int or not 0 < v < 1 << 32 for v in values):
        raise _Damaged(f"`{key}` is {values!r:.60}, and not three sizes")
    return values[0], values[1], values[2]
