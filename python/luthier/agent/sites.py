"""Where in a program calls stand: return addresses as functions and lines of its source.

Functions come from the symbols of the program's files, lines and inlined calls from their DWARF (versions 2 to 5, in the file
itself). Files are read when a stack is told, not when its call is heard of."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from .. import _core
from ..errors import LoadError

#: Files between a program and the functions that it calls.
_RUNTIME = re.compile(
    r"/(libamdhip64|libhsa-runtime64|libhsakmt|libhiprtc|libdtif|libc|libstdc\+\+|libpthread|ld-linux[^/]*)[.-][^/]*$"
)
#: HIP's headers, whose templates are inlined.
_HEADERS = re.compile(r"/hip/(\w+/)*\w+\.(h|hpp)$")
_AGENT = re.compile(r"/libluthier-agent[.-][^/]*$")


class _Mapping(NamedTuple):
    start: int
    end: int
    offset: int
    path: str


class _Place(NamedTuple):
    """A call, by where it comes back to."""

    address: int
    #: The file that has the code, and the call's place in it in bytes; empty where it is in none.
    path: str
    offset: int


@dataclass(frozen=True)
class Frame:
    """A function that a thread is in, and the call in it that leads on."""

    #: Its name, in C++ as far as DWARF or the linker's symbol has it; None where neither has one.
    function: str | None
    #: File and line of the call in the source; None and 0 without DWARF.
    file: str | None
    line: int
    #: The program or library, and the place in it in bytes; empty where the code is in no file.
    path: str
    offset: int
    #: Where the call comes back to, in the process.
    address: int

    @property
    def is_runtime(self) -> bool:
        """The code is that of AMD's runtime, its headers, or a library of the system's."""
        return _RUNTIME.search(self.path) is not None or self.file is not None and _HEADERS.search(self.file) is not None

    def __str__(self) -> str:
        if self.file is not None and self.line:
            at = f"{PurePath(self.file).name}:{self.line}"
        else:
            at = f"{PurePath(self.path).name}+{self.offset:#x}" if self.path else f"{self.address:#x}"
        return f"{at} in {self.function}" if self.function else at


class Stack:
    """What has led to a call."""

    def __init__(self, places: tuple[_Place, ...] = ()):
        self._places = places

    @functools.cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The functions, the innermost first, inlined ones too; empty where the stack is not known."""
        return tuple(frame for place in self._places for frame in _frames(place))

    @property
    def site(self) -> Frame | None:
        """The innermost frame that is not in AMD's runtime or a library of the system's; None where there is none."""
        return next((frame for frame in self.frames if not frame.is_runtime), None)

    def __str__(self) -> str:
        return "\n".join(map(str, self.frames))


class Sites:
    """The files that are mapped in a process, by address."""

    def __init__(self, pid: Callable[[], int]):
        self._pid = pid
        self._mappings: list[_Mapping] = []

    def stack(self, addresses: Iterable[int]) -> Stack:
        """The stack of return addresses, the innermost first, without frames of the agent's."""
        places = map(self._place, addresses)
        return Stack(tuple(place for place in places if not _AGENT.search(place.path)))

    def _place(self, address: int) -> _Place:
        # The call is in front of where it comes back to.
        mapping = self._at(address - 1)
        if mapping is None:
            self._mappings = _read_mappings(self._pid())
            mapping = self._at(address - 1)
        if mapping is None:
            return _Place(address, "", 0)
        return _Place(address, mapping.path, address - 1 - mapping.start + mapping.offset)

    def _at(self, address: int) -> _Mapping | None:
        i = bisect_right(self._mappings, address, key=lambda mapping: mapping.start)
        return self._mappings[i - 1] if i and address < self._mappings[i - 1].end else None


def _read_mappings(pid: int) -> list[_Mapping]:
    """The code that is mapped from files, in the order of addresses."""
    found = []
    try:
        with open(f"/proc/{pid}/maps", errors="surrogateescape") as file:
            for line in file:
                where, rights, offset, _, _, *path = line.rstrip("\n").split(maxsplit=5)
                if "x" in rights and path and path[0].startswith("/"):
                    start, end = (int(number, 16) for number in where.split("-"))
                    found.append(_Mapping(start, end, int(offset, 16), path[0]))
    except OSError:
        pass  # it has ended
    return found


@functools.lru_cache(maxsize=64)
def _host_file(path: str) -> _core.HostFile | None:
    try:
        return _core.HostFile(path)
    except (LoadError, UnicodeEncodeError):
        return None  # its functions are told by their places


def _frames(place: _Place) -> list[Frame]:
    host = _host_file(place.path) if place.path else None
    symbol = None if host is None else host.function(place.offset)
    name = None if symbol is None else _core.demangled(symbol)
    found = [] if host is None else host.frames(place.offset)
    rest = (place.path, place.offset, place.address)
    return [Frame(function or name, file, line, *rest) for function, file, line in found] or [Frame(name, None, 0, *rest)]
