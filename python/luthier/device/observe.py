"""Watching a kernel on the mock device: streams of events, snapshots of registers, single steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError
from .arguments import Packed, Place

if TYPE_CHECKING:
    import numpy

    from ..objects.code_object import CodeObject
    from ..views.annotation import Annotation
    from .module import Module
    from .results import RunResult

#: What a launch may be watched for.
EVENTS = ("instructions", "blocks", "memory")
#: Of a memory event's `kind`.
ACTIONS = ("load", "store", "atomic")
SPACES = ("global", "lds", "scratch", "scalar")

_INSTRUCTION = {
    "names": ["workgroup", "pc", "exec", "wave"], "formats": ["<u8", "<u8", "<u8", "<u4"], "offsets": [0, 8, 16, 24], "itemsize": 32,
}  # fmt: skip
#: Of :attr:`Trace.memory`.
MEMORY_EVENT = [
    ("workgroup", "u8"), ("pc", "u8"), ("address", "u8"), ("wave", "u4"), ("size", "u2"), ("lane", "u1"), ("kind", "u1"),
]  # fmt: skip
_WAVE = [("workgroup", "u8"), ("instructions", "u8"), ("wave", "u4"), ("lanes", "u4")]


@dataclass(frozen=True, repr=False)
class Registers:
    """A wave's registers at one moment. Values are raw bits."""

    #: s0 to s101.
    sgprs: numpy.ndarray
    #: One row of 64 lanes for each VGPR that the kernel has.
    vgprs: numpy.ndarray
    agprs: numpy.ndarray
    #: A bit for each lane.
    exec: int
    vcc: int
    m0: int
    scc: bool
    mode: int
    flat_scratch: int

    def __repr__(self) -> str:
        return f"<Registers: {len(self.sgprs)} SGPRs, {len(self.vgprs)} VGPRs, {len(self.agprs)} AGPRs, exec {self.exec:#x}>"

    @classmethod
    def of(cls, found: dict[str, Any]) -> Registers:
        import numpy

        def rows(data: bytes) -> numpy.ndarray:
            return numpy.frombuffer(data, "<u4").reshape(-1, 64)

        names = ("exec", "vcc", "m0", "scc", "mode", "flat_scratch")
        numbers: dict[str, Any] = {name: found[name] for name in names}
        sgprs = numpy.frombuffer(found["sgprs"], "<u4")
        return cls(sgprs=sgprs, vgprs=rows(found["vgprs"]), agprs=rows(found["agprs"]), **numbers)


@dataclass(frozen=True, repr=False)
class Snapshot:
    """All registers of a wave before the instruction at ``pc``, and the LDS of its workgroup."""

    workgroup: int
    wave: int
    pc: int
    registers: Registers
    lds: bytes

    def __repr__(self) -> str:
        return f"<Snapshot of workgroup {self.workgroup}, wave {self.wave} before {self.pc:#x}>"


class Events:
    """Some events of one wave, as ``on_events`` of :meth:`luthier.Module.trace` hears of them, in the order in which they happened.
    Workgroups are numbered with x fastest, addresses are the code object's. The arrays are structured."""

    def __init__(self, seen: dict[str, Any], places: Sequence[Place] = ()):
        #: Where on the device the arguments' arrays are.
        self.places = list(places)
        self._seen = seen

    def __repr__(self) -> str:
        kinds = {name: len(getattr(self, name)) for name in ("instructions", "blocks", "memory")}
        kept = ", ".join(f"{count:,} {name} events" for name, count in kinds.items() if count)
        return f"<Events: {kept or 'no events'}, {len(self.snapshots)} snapshots>"

    def _array(self, name: str, dtype: Any) -> numpy.ndarray:
        import numpy

        return numpy.frombuffer(self._seen[name], numpy.dtype(dtype).newbyteorder("<"))

    @cached_property
    def instructions(self) -> numpy.ndarray:
        """``workgroup``, ``wave``, ``pc`` and ``exec`` before each instruction."""
        return self._array("instructions", _INSTRUCTION)

    @cached_property
    def blocks(self) -> numpy.ndarray:
        """The same at the beginning of each basic block (``kernel.blocks``) that a wave comes to: ``pc`` is its ``address``."""
        return self._array("blocks", _INSTRUCTION)

    @cached_property
    def memory(self) -> numpy.ndarray:
        """``workgroup``, ``wave``, ``pc``, ``lane``, ``address``, ``size`` in bytes and ``kind`` of each lane's access.

        ``kind & 3`` indexes :data:`ACTIONS`, ``kind >> 4`` :data:`SPACES`. Addresses in LDS are offsets.
        """
        return self._array("memory", MEMORY_EVENT)

    def memory_arguments(self) -> numpy.ndarray:
        """For each event of :attr:`memory`, which ``argument`` of the kernel has the address in its array (-1: none), and
        at which ``offset`` in bytes."""
        import numpy

        found = numpy.zeros(len(self.memory), [("argument", "i4"), ("offset", "u8")])
        found["argument"] = -1
        addresses, spaces = self.memory["address"], self.memory["kind"] >> 4
        for place in self.places:
            inside = (addresses >= place.address) & (addresses < place.address + place.size)
            inside &= (spaces == SPACES.index("global")) | (spaces == SPACES.index("scalar"))
            found["argument"][inside] = place.index
            found["offset"][inside] = addresses[inside] - place.address
        return found

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """In the order of workgroups, waves and time."""
        found = self._seen["snapshots"]
        return [Snapshot(s["workgroup"], s["wave"], s["pc"], Registers.of(s), s["lds"]) for s in found]


class Trace(Events):
    """What a watched launch did. Workgroups are numbered with x fastest, addresses are the code object's.

    The events are structured NumPy arrays; those of one wave are in the order in which they happened.
    """

    def __init__(self, result: RunResult, seen: dict[str, Any], places: Sequence[Place] = ()):
        super().__init__(seen, places)
        self.result = result
        #: Events beyond the limit, which were not kept.
        self.dropped: int = seen["dropped"]

    def __repr__(self) -> str:
        kinds = {name: len(getattr(self, name)) for name in ("instructions", "blocks", "memory")}
        kept = ", ".join(f"{count:,} {name} events" for name, count in kinds.items() if count)
        return f"<Trace of {self.result.kernel}: {len(self.waves):,} waves, {kept or 'counts only'}, {len(self.snapshots)} snapshots>"

    def _repr_html_(self) -> str:
        """For notebooks: the launch, and how much was seen of it."""
        from ..reports.as_html import html_table

        seen = [(name, len(getattr(self, name))) for name in ("waves", "instructions", "blocks", "memory", "snapshots")]
        return self.result._repr_html_() + html_table("trace", ("seen", "events"), [*seen, ("dropped", self.dropped)])

    @cached_property
    def waves(self) -> numpy.ndarray:
        """``workgroup``, ``wave``, ``instructions`` retired and ``lanes`` of each wave."""
        return self._array("waves", _WAVE)

    @cached_property
    def counts(self) -> dict[int, int]:
        """How often the instruction at each address was retired, by any wave."""
        return {int(pc): int(count) for pc, count in self._array("counts", [("pc", "u8"), ("count", "u8")])}

    def annotate(self, **options: Any) -> Annotation:
        """The kernel's source beside its assembly, with how often each instruction was retired, what the events say, and the
        columns of tools: see :class:`luthier.Annotation`, which ``options`` are keywords of."""
        from ..views.annotation import annotate_trace

        return annotate_trace(self, **options)

    def block_counts(self) -> dict[int, int]:
        """How often each basic block of the code object was entered, by its address."""
        return {address: self.counts.get(address, 0) for address in _blocks(self.result.loaded)}


def _blocks(loaded: CodeObject) -> list[int]:
    return [block.address for function in loaded.program.functions for block in function.blocks]


def request(
    loaded: CodeObject,
    events: Sequence[str],
    snapshots: Sequence[int],
    only: Sequence[int],
    limit: int,
    on_events: Callable[[Events], object] | None = None,
) -> tuple[Any, ...]:
    """What the native module is to watch for."""
    if on_events is not None:
        if not callable(on_events):
            raise ArgumentError(f"on_events={on_events!r}: expected a function of one argument, luthier.Events")
        if not events and not snapshots:
            raise ArgumentError("on_events: there is nothing to hear of: name events= or snapshots=")
        # None are kept.
        limit = sys.maxsize
    if isinstance(events, str):
        raise ArgumentError(f"events={events!r}: expected a list of {', '.join(EVENTS)}")
    unknown = [event for event in events if event not in EVENTS]
    if unknown:
        raise ArgumentError(f"there are no events {unknown[0]!r}; there are {', '.join(EVENTS)}")
    if limit < 0:
        raise ArgumentError(f"limit: {limit} is not a number of events")
    return list(events), list(snapshots), list(only), limit, _blocks(loaded) if "blocks" in events else []


class Session:
    """A launch that goes on only when it is told to, one instruction of one wave at a time.

    Workgroups run one after the other. ``finish`` (or the end of a ``with`` block) brings the buffers back.
    """

    def __init__(self, module: Module, kernel: str, core: _core.Session, packed: Packed):
        self.module = module
        self.kernel = kernel
        self._core = core
        self._packed: Packed | None = packed

    @property
    def workgroup(self) -> tuple[int, int, int] | None:
        """The workgroup under way; None when the launch is over."""
        return self._core.workgroup

    @property
    def waves(self) -> list[WaveView]:
        """The waves of that workgroup."""
        return [WaveView(self, number) for number in range(self._core.waves)]

    @property
    def instructions(self) -> int:
        """Retired so far, by all waves."""
        return self._core.instructions

    def step(self, wave: int | None = None, count: int = 1) -> None:
        """``count`` instructions of a wave, or of each wave of the workgroup in turns.

        A wave that waits at a barrier for others, or has ended, stays where it is. When the last wave of a workgroup
        ends, the next workgroup begins.
        """
        workgroup = self.workgroup
        for _ in range(count):
            for number in range(self._core.waves) if wave is None else (wave,):
                if self.workgroup != workgroup:
                    return
                self._go(partial(self._core.step, number))

    def run_to(self, pc: int, limit: int = 1 << 32) -> WaveView | None:
        """Runs all waves in turns until one is about to execute the instruction at ``pc``; None if none gets there
        within ``limit`` instructions."""
        wave = self._go(lambda: self._core.run_to(pc, limit))
        return None if wave is None else WaveView(self, wave)

    def _go(self, on: Callable[[], Any]) -> Any:
        """Goes on, and shows what was printed."""
        try:
            return on()
        finally:
            self.module.device.printer.flush()

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes of device memory at ``address`` as the kernel sees it, scratch included."""
        return self._core.read(address, size)

    @property
    def lds(self) -> bytes:
        """The LDS of the workgroup."""
        return self._core.lds()

    def __repr__(self) -> str:
        where = "over" if self.workgroup is None else f"workgroup {self.workgroup}, {self._core.waves} waves"
        return f"<Session of {self.kernel}: {where}, {self.instructions:,} instructions>"

    def _repr_html_(self) -> str:
        """For notebooks: where its waves are."""
        from ..reports.as_html import html_table

        waves = [(wave.number, wave.state, f"{wave.pc:#x}", wave.retired) for wave in self.waves]
        return html_table(repr(self)[1:-1], ("wave", "state", "next", "instructions"), waves)

    def finish(self) -> None:
        """Ends the session where it is: the arguments' buffers are copied back and given up."""
        if self._packed is not None:
            packed, self._packed = self._packed, None
            try:
                packed.fetch(self.module.device.core)
            finally:
                packed.free(self.module.device.core)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()


@dataclass(frozen=True, repr=False)
class WaveView:
    """A wave of a session's workgroup."""

    session: Session
    number: int

    @property
    def pc(self) -> int:
        """Address of the instruction that it executes next."""
        return self.session._core.pc(self.number)

    @property
    def state(self) -> str:
        """``ready``, ``barrier`` or ``ended``."""
        return self.session._core.state(self.number)

    @property
    def retired(self) -> int:
        """Instructions that it has retired."""
        return self.session._core.retired(self.number)

    @property
    def registers(self) -> Registers:
        """Its registers now."""
        return Registers.of(self.session._core.registers(self.number))

    def __repr__(self) -> str:
        return f"<WaveView {self.number} of workgroup {self.session.workgroup}: {self.state} at {self.pc:#x}>"

    def step(self, count: int = 1) -> None:
        """See :meth:`Session.step`."""
        self.session.step(self.number, count)
