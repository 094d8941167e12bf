"""Where insertions go, and what is inserted: the numbers that cross to the native module with each of them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from .._core import Function

ENTRY, BEFORE, INSTEAD, AFTER, EDGE = range(5)
HOOK, ASSEMBLY, NOTHING = range(3)

#: An insertion: address, successor, priority, number of the hook or the assembly, number of the arguments, number of the
#: tool, place, body. crates/python/src/instrument.rs reads it.
RECORD = struct.Struct("<QQiIIHBB")
#: Where in it the number of the tool is, in two bytes.
ORDER = 28


class Place(NamedTuple):
    """At the instruction (or function) at an address; ``to`` is the successor of an edge."""

    where: int
    address: int
    to: int = 0


class Inserts(Protocol):
    """What takes insertions: they are a tool's, in a kernel, and have numbers."""

    def insert(self, tool: Any, kernel: str, place: Place, hook: Any, args: tuple[Any, ...], priority: int) -> int: ...
    def insert_lengths(
        self, tool: Any, kernel: str, functions: list[Function], hook: Any, args: tuple[Any, ...], after: bool
    ) -> None: ...
    def insert_assembly(self, tool: Any, kernel: str, place: Place, text: str, priority: int) -> int: ...
    def remove(self, tool: Any, kernel: str, place: Place) -> int: ...
