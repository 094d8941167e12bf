"""Launches of the program's, as tools see them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..device.launching import Launch
from ..errors import ToolError

if TYPE_CHECKING:
    from .hearing import Entry
    from .loaded import Loaded, Watched
    from .process import Process

#: A dispatch packet: header, setup, block, reserved, grid, private, group, kernel object, kernarg, reserved, signal.
_PACKET = struct.Struct("<HH3HH3IIIQQQQ")


def hear_of(process: Process, entries: list[Entry]) -> None:
    """Tells the tools of a process of launches and of ends of launches, which the process does not wait for."""
    for is_end, slot, number, first, second, packet, grid, block in entries:
        watched = process.watched(slot)
        if is_end:
            watched.completed(number, first, second)
        else:
            is_possible = watched.why is None
            fate = Fate("full" if is_possible else "original", [], False, is_possible)
            watched.launched(AppLaunch.of(watched, number, first, second, packet, grid, block, fate))
        if process.given_up is not None:
            break  # a tool has not come back in time


def sizes(packet: list[int]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block of a packet."""
    fields = _PACKET.unpack(struct.pack("<8Q", *packet))
    return fields[6:9], fields[2:5]


@dataclass(slots=True)
class Fate:
    """What becomes of a launch."""

    #: ``full`` or ``original``, and the packet's words as long as tools may change them.
    variant: str
    packet: list[int]
    #: Tools may still say.
    is_open: bool
    #: There is an instrumented kernel.
    is_possible: bool = True
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class AppLaunch(Launch):
    """A launch in a process of the program."""

    #: Counts the launches of the process.
    number: int = 0
    gpu: int = 0
    #: The code object that the kernel is in.
    object: Loaded | None = None
    #: The dispatch packet's 8 words.
    packet: tuple[int, ...] = ()
    #: The address of the HSA queue that it was put into.
    queue: int = 0
    #: The number of the thread that put it there, as the kernel knows it.
    thread: int = 0
    #: What tools decide, and what is known later.
    fate: Fate = field(default_factory=lambda: Fate("full", [], False), repr=False, compare=False)

    @staticmethod
    def of(
        watched: Watched,
        number: int,
        queue: int,
        thread: int,
        packet: tuple[int, ...],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        fate: Fate,
    ) -> AppLaunch:
        """A launch of a kernel. Every launch of a program may come by here: the parts are put where they are kept, in a tenth of the
        time that it takes to go through a frozen class."""
        made = AppLaunch.__new__(AppLaunch)
        own = made.__dict__
        own["kernel"], own["grid"], own["block"], own["number"] = watched.name, grid, block, number
        own["gpu"], own["object"], own["packet"] = watched.object.gpu, watched.object, packet
        own["queue"], own["thread"], own["fate"] = queue, thread, fate
        return made

    @property
    def start(self) -> int | None:
        """When it began, in nanoseconds of the runtime's clock; in ``on_complete``, if it is known."""
        return self.fate.start

    @property
    def end(self) -> int | None:
        """When it ended."""
        return self.fate.end

    @property
    def kernarg(self) -> int:
        """The address of its arguments."""
        return self.packet[5]

    def is_instrumented(self, variant: str = "full") -> bool:
        """Whether the launch runs this variant of the kernel, ``full`` or ``original``, as things stand."""
        return self.fate.variant == _variant(variant)

    @property
    def can_be_instrumented(self) -> bool:
        """There is an instrumented kernel that it can run."""
        return self.fate.is_possible

    def override(self, variant: str) -> None:
        """Has this launch run the kernel with all that the tools insert, ``full``, or the ``original``. For tools with
        ``decides = True``: the launches of others do not wait."""
        fate = self._open()
        if _variant(variant) == "full" and not self.can_be_instrumented:
            raise ToolError(f"kernel {self.kernel}: there is only the original: nothing was inserted")
        fate.variant = variant

    def change(
        self,
        grid: tuple[int, int, int] | None = None,
        block: tuple[int, int, int] | None = None,
        kernarg: int | None = None,
        private: int | None = None,
        group: int | None = None,
    ) -> None:
        """Changes the dispatch packet: sizes in work-items, the arguments' address, bytes of scratch of a work-item and of
        LDS of a workgroup. For tools with ``decides = True``."""
        fate = self._open()
        fields = list(_PACKET.unpack(struct.pack("<8Q", *fate.packet)))
        for at, values in ((6, grid), (2, block)):
            if values is not None:
                fields[at : at + 3] = values
        for at, value in ((9, private), (10, group), (12, kernarg)):
            if value is not None:
                fields[at] = value
        try:
            fate.packet = list(struct.unpack("<8Q", _PACKET.pack(*fields)))
        except struct.error as error:
            raise ToolError(f"kernel {self.kernel}: no dispatch packet holds that: {error}") from None

    def read(self, address: int, size: int) -> bytes:
        """Memory of the process, the arguments for example."""
        if self.object is None:
            raise ToolError("the launch is not of a process")
        return self.object.read_memory(address, size)

    def _open(self) -> Fate:
        if not self.fate.is_open:
            raise ToolError(
                f"kernel {self.kernel}: the launch is under way; a tool with `decides = True` can change it in on_launch"
            )
        return self.fate


def _variant(name: str) -> str:
    if name not in ("full", "original"):
        raise ToolError(f"variant {name!r}: a kernel has the variants `full` and `original`")
    return name
