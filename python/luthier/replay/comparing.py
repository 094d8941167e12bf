"""One case, two code objects: which store is the first whose bytes differ in memory afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .case import Case
from .running import Difference, Replayed, Way, difference, replay

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject

#: Of a memory event's kind: the lower bits of what reads only, and what space its upper bits say.
_LOAD, _GLOBAL = 0, 0


@dataclass(frozen=True)
class Store:
    """The access that has written a byte last."""

    pc: int
    #: Of the grid, x fastest.
    workgroup: int
    wave: int
    lane: int
    address: int
    #: Bytes.
    size: int
    #: The instruction, and where in the source it is, innermost call first.
    text: str
    source: tuple[Any, ...]

    def __str__(self) -> str:
        line = f" at {self.source[0].file}:{self.source[0].line}" if self.source else ""
        return f"pc {self.pc:#x} ({self.text}){line}, workgroup {self.workgroup} wave {self.wave} lane {self.lane}"


@dataclass(frozen=True)
class Compared:
    """What two code objects have made of one case."""

    first: Replayed
    second: Replayed
    #: Region by region; empty if both leave the same memory, or if one was stopped.
    differences: list[Difference]
    #: Of the first byte that differs: what has written it last; None where nothing has.
    stores: tuple[Store | None, Store | None] = (None, None)

    @property
    def is_same(self) -> bool:
        """Both have left the same memory, or both were stopped."""
        return not self.differences and (self.first.error is None) == (self.second.error is None)


def compare(case: Case, code: CodeObject, way: Way | None = None, events: int = 1 << 24) -> Compared:
    """Runs the case's own code and another code object's kernel of the same name on the same memory, and compares what they
    leave. ``events``: how many accesses of each thread are kept to find stores."""
    way = way or Way()
    first, second = replay(case, way), replay(case, replace(way, code=code))
    if first.error is not None or second.error is not None:
        return Compared(first, second, [])
    pairs = zip(case.regions, first.memory, second.memory)
    differences = [d for region, one, other in pairs if (d := difference(region, one, other)) is not None]
    if not differences:
        return Compared(first, second, [])
    address = differences[0].address
    watched = replace(way, events=events, strict=False)
    stores = (
        last_store(replay(case, watched), case.code_object, address),
        last_store(replay(case, replace(watched, code=code)), code, address),
    )
    return Compared(first, second, differences, stores)


def last_store(replayed: Replayed, code: CodeObject, address: int) -> Store | None:
    """What has written the byte at an address last, of the events that a replay has kept."""
    events = replayed.events
    assert events is not None
    writes = (events["kind"] & 3 != _LOAD) & (events["kind"] >> 4 == _GLOBAL)
    covers = (events["address"] <= address) & (address < events["address"] + events["size"])
    found = events[writes & covers]
    if not len(found):
        return None
    event = found[-1]
    pc = int(event["pc"])
    inst = next((inst for inst in code.instructions if inst.address == pc), None)
    text, source = ("", ()) if inst is None else (inst.text, tuple(inst.source))
    return Store(
        pc,
        int(event["workgroup"]),
        int(event["wave"]),
        int(event["lane"]),
        int(event["address"]),
        int(event["size"]),
        text,
        source,
    )
