"""Channels: records that hooks make, and that the host reads while the kernel runs."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ToolError
from ..lang.records import CLOSED, DROPPED, HEAD, LEAST, PRINTED, RECORDS, TAIL, WHEN_FULL, Printed, RecordShape, is_name
from ..lang.types import SCALARS, Scalar, bool_
from .homes import Home, Turn
from .values import Variable

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Self

    from .tool import Tool

#: Records that are read at a time.
_PIECE = 1 << 16
#: Positions come round after this many.
_ROUND = 1 << 32
#: Seconds between two looks at a channel in which nothing was.
_SHORTEST, _LONGEST = 0.0002, 0.005


class Channel(Variable):
    """A way for records from hooks to the host: ``lt.Channel(1 << 16, when_full="wait", address=lt.u64, lane=lt.u32)``.

    A hook has a parameter of type ``lt.channel`` for it, and puts records in with ``lt.record(channel, ...)``, whose values
    are those of the fields, in their order. :meth:`luthier.Tool.on_records` gets them while the kernel runs. ``capacity`` is
    the room for records that have not been read, in records; it is rounded up to a power of two. ``when_full`` says what
    becomes of records that find no room: with ``"wait"`` the wave waits for the host and none is lost; with ``"drop"`` they
    are left out, and counted in :attr:`dropped`; with ``"overwrite"`` they take the place of the oldest, and the host reads
    when the kernel is over: the last ``capacity`` records. ``name`` is the variable's; that of the attribute without.
    """

    def __init__(self, capacity: int, when_full: str = "wait", *, name: str | None = None, **fields: Any):
        if not hasattr(capacity, "__index__") or not 0 < capacity.__index__() <= 1 << 31:
            raise ToolError(f"a Channel with room for {capacity!r} records: it is a number from 1")
        if when_full not in WHEN_FULL:
            raise ToolError(f"a Channel's when_full={when_full!r}: one of {', '.join(WHEN_FULL)}")
        if not fields:
            raise ToolError("a Channel needs the fields of its records: lt.Channel(1024, address=lt.u64)")
        if name is not None and not isinstance(name, str):
            raise ToolError("a Channel's field cannot be called name")
        kinds = {field: bool_ if kind is bool else kind for field, kind in fields.items()}
        for field, kind in kinds.items():
            if not is_name(field):
                raise ToolError(f"a Channel's field {field!r}: a name without an underscore in front")
            if not isinstance(kind, Scalar) or kind not in (*SCALARS, bool_):
                raise ToolError(f"a Channel's field {field}={kind!r}: its type is one of lt.u8 to lt.f64, or bool")
        room = 1 << (max(capacity.__index__(), LEAST) - 1).bit_length()
        self.shape = RecordShape(tuple(kinds.items()), room, when_full)
        if self.shape.size >= 1 << 32:
            raise ToolError(f"a Channel of {room:,} records has {self.shape.size:,} bytes: at most {_ROUND - 1:,} are possible")
        super().__init__(self.shape.size, 64, None, name)
        #: Which records are the first of a wave's execution of a hook, where its hooks tell so in a field: records of one execution
        #: then never come in two calls of :meth:`luthier.Tool.on_records`. It counts for places where the tool comes afterwards.
        self.is_first: Callable[[numpy.ndarray], numpy.ndarray] | None = None
        #: Where its records come from: a ring in each place where it is.
        self.rings: list[Ring] = []
        #: Records of rings that another process had.
        self._before = _Numbers()

    @property
    def capacity(self) -> int:
        """Room, in records; of each module that the tool watches."""
        return self.shape.capacity

    @property
    def received(self) -> int:
        """How many records the host has read."""
        return self._before.received + sum(ring.numbers.received for ring in self.rings)

    @property
    def unfinished(self) -> int:
        """How many were begun and never finished, as the program was killed."""
        return self._before.unfinished + sum(ring.numbers.unfinished for ring in self.rings)

    @property
    def dropped(self) -> int:
        """How many records were lost: dropped by hooks, or overwritten before they were read."""
        return self._before.dropped + sum(ring.dropped for ring in self.rings)

    def _fresh(self) -> Channel:
        fresh = Channel(self.capacity, self.shape.when_full, name=self.name, **dict(self.shape.fields))
        fresh.is_first = self.is_first
        return fresh

    def live_in(self, home: Home, symbol: str) -> None:
        """From now on records come from the symbol ``symbol`` of ``home``, too."""
        super().live_in(home, symbol)
        self.rings.append(Ring(self.shape, home, symbol, self.is_first))

    def on(self, what: object) -> Self:
        """The channel's numbers on ``what``, one of the devices, or of one of the modules."""
        alone = super().on(what)
        alone.rings = [ring for ring in self.rings if any(one is what for one in ring.home.of)]
        alone._before = _Numbers()
        return alone

    def __getstate__(self) -> dict[str, Any]:
        # Not the rings, which are read, but how many records that were.
        numbers = _Numbers(self.received, self.unfinished, self.dropped)
        return {**vars(self), "init": None, "symbol": None, "_homes": [], "rings": [], "_before": numbers}

    def __repr__(self) -> str:
        return f"<Channel {self.name}: {self.shape}>"


@dataclass
class _Numbers:
    """How many records of a ring the host has read, were begun and never finished, and were lost."""

    received: int = 0
    unfinished: int = 0
    dropped: int = 0


class Ring:
    """A channel's memory in one place, and how far the host has read."""

    def __init__(
        self,
        shape: RecordShape,
        home: Home,
        symbol: str,
        is_first: Callable[[numpy.ndarray], numpy.ndarray] | None = None,
    ):
        self._shape, self.home, self.symbol = shape, home, symbol
        self._is_first = is_first
        #: The records of an execution that may have more.
        self._held: list[numpy.ndarray] = []
        #: Up to which position the host has read, and how many positions were reserved, as of its last look.
        self._head = self._tail = 0
        #: Of these ``dropped`` are those that others have taken the place of before they were read.
        self.numbers = _Numbers()

    @property
    def dropped(self) -> int:
        """How many were lost."""
        return int(struct.unpack("<Q", self._part(DROPPED, 8))[0]) + self.numbers.dropped

    def take(self, at_end: bool) -> Iterator[numpy.ndarray]:
        """The records that are there and were not read yet, in the order in which their room was reserved. ``at_end``: no
        kernel runs; what was reserved and is not there will not come."""
        if self._is_first is None:
            yield from self._pieces(at_end)
            return
        for records in self._pieces(at_end):
            # Another one begins: the ones before it have all their records.
            starts = self._is_first(records).nonzero()[0]
            if len(starts):
                yield from self._release(records[: starts[-1]])
                records = records[starts[-1] :]
            self._held.append(records)
        if at_end:
            yield from self._release()

    def _release(self, *more: numpy.ndarray) -> Iterator[numpy.ndarray]:
        """What was held, and this behind it."""
        import numpy

        parts, self._held = [part for part in (*self._held, *more) if len(part)], []
        if parts:
            yield numpy.concatenate(parts)

    def _pieces(self, at_end: bool) -> Iterator[numpy.ndarray]:
        """The records of :meth:`take` as they are read: an execution's may be in two pieces."""
        capacity = self._shape.capacity
        now = struct.unpack("<I", self._part(TAIL, 4))[0]
        self._tail += (now - self._tail) % _ROUND
        if self._shape.when_full == "overwrite":
            if not at_end:
                return
            self.numbers.dropped += max(self._tail - self._head - capacity, 0)
            self._head = max(self._head, self._tail - capacity)
        last = min(self._tail, self._head + capacity)
        while self._head < last:
            first = self._head % capacity
            count = min(last - self._head, capacity - first, _PIECE)
            records, done = self._piece(first, count, at_end)
            self._head += done
            self.home.write(self.symbol, HEAD, struct.pack("<I", self._head % _ROUND))
            self.numbers.received += len(records)
            if len(records):
                yield records
            if done < count:
                return

    def close(self) -> None:
        """The host reads no more: waves that wait go on, and what they record is lost."""
        self.home.write(self.symbol, CLOSED, struct.pack("<I", 1))

    def _part(self, start: int, size: int) -> bytes:
        return self.home.read(self.symbol, start, size)

    def _piece(self, first: int, count: int, at_end: bool) -> tuple[numpy.ndarray, int]:
        """Records of slots in a row, and how many slots are done with."""
        import numpy

        _, stamp, size = self._shape.places
        expected = (self._head // self._shape.capacity + 1) * self._shape.capacity % _ROUND
        place = RECORDS + first * size

        def stamps(data: bytes) -> numpy.ndarray:
            kind = numpy.dtype({"names": ["stamp"], "formats": ["<u4"], "offsets": [stamp], "itemsize": size})
            return numpy.frombuffer(data, kind)["stamp"] == expected

        there = stamps(self._part(place, count * size))
        if not at_end:
            count = count if there.all() else int(there.argmin())
        # What has a stamp is all there, and so is read behind it.
        data = self._part(place, count * size)
        records = numpy.frombuffer(data, self._shape.dtype)
        if at_end and not there.all():
            records = records[there]
            self.numbers.unfinished += count - len(records)
        return records, count


class Printing(Channel):
    """The channel of ``lt.printf``."""

    def __init__(self) -> None:
        super().__init__(PRINTED.capacity, PRINTED.when_full, name="printf", **dict(PRINTED.fields))
        #: By the numbers that records have.
        self.texts: dict[int, Printed] = {}

    @classmethod
    def of(cls, tool: Tool, texts: dict[int, Printed]) -> Printing:
        """The tool's; from now on it knows these texts."""
        found: Printing = vars(tool).get("_printing") or cls()
        tool.__dict__["_printing"] = found
        for number, text in texts.items():
            if found.texts.setdefault(number, text) != text:
                raise ToolError(f"{tool.name}: two texts of lt.printf have the same number: change one of them")
        return found

    def show(self, records: numpy.ndarray) -> None:
        """Writes what they say to standard output."""
        values = [records[name].tolist() for name, _ in PRINTED.fields]
        out = [self.texts[number].show(tuple(bits)) for number, *bits in zip(*values, strict=True)]
        sys.stdout.write("".join(out))
        sys.stdout.flush()


@dataclass(frozen=True)
class Source:
    """A ring whose records a tool gets."""

    tool: Tool
    channel: Channel
    ring: Ring

    def deliver(self, at_end: bool, heard: bool) -> int:
        """Gives the tool the records that are there, unless they are not to be heard; how many they were."""
        number = 0
        # One tool may have rings on several devices, each with a reader of its own.
        with vars(self.tool).setdefault("_hearing", Turn()):
            for records in self.ring.take(at_end):
                number += len(records)
                if not heard:
                    continue
                if isinstance(self.channel, Printing):
                    self.channel.show(records)
                else:
                    self.tool.on_records(self.channel, records)
        return number


def sources_of(tools: Iterable[Tool], home: Home) -> list[Source]:
    """The rings of tools' channels in a place."""
    found = [(tool, one) for tool in tools for one in tool.variables() if isinstance(one, Channel)]
    return [Source(tool, one, ring) for tool, one in found for ring in one.rings if ring.home is home]


class Reader:
    """Reads channels, while kernels run from a thread of its own, so that no kernel waits for the one that has launched it.

    The thread looks at the channels within ``run``, so that others who hold what that takes can :meth:`read`, too. What a tool
    raises is in :attr:`error`; its records are read and thrown away from then on.
    """

    def __init__(self, sources: Sequence[Source], run: Callable[[Callable[[], None]], None] | None = None):
        self._sources = list(sources)
        self._run = run or (lambda work: work())
        self._ends = threading.Event()
        self._error: BaseException | None = None
        #: Once there is something to read.
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        """While this lasts, kernels run."""
        self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self.stop()
        self.read(True)
        if kind is None and self._error is not None:
            raise self._error

    def add(self, sources: Sequence[Source]) -> None:
        """Reads these, too."""
        self._sources += sources
        self.start()

    def start(self) -> None:
        """Begins, if there are channels."""
        if self._sources and self._thread is None:
            self._thread = threading.Thread(target=self._look, name="luthier channels", daemon=True)
            self._thread.start()

    def read(self, at_end: bool) -> int:
        """Reads what is there; how many records that was."""
        return sum(self._read(source, at_end) for source in list(self._sources))

    def finish(self, home: Home) -> None:
        """No kernel puts records there any more: reads the rest of them."""
        done = [source for source in self._sources if source.ring.home is home]
        self._sources = [source for source in self._sources if source.ring.home is not home]
        for source in done:
            self._read(source, True)

    def _read(self, source: Source, at_end: bool) -> int:
        if self._error is None:
            try:
                return source.deliver(at_end, True)
            except BaseException as error:
                self._error = error
        return source.deliver(at_end, False)

    def close(self) -> None:
        """Ends the thread; kernels that go on wait for no host."""
        self.stop()
        for source in self._sources:
            source.ring.close()

    def stop(self) -> None:
        """Ends the thread."""
        self._ends.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def error(self) -> BaseException | None:
        """What a tool has raised."""
        return self._error

    def _look(self) -> None:
        wait = _SHORTEST
        while not self._ends.wait(wait):
            try:
                found: list[int] = []
                self._run(lambda: found.append(self.read(False)))  # noqa: B023  # it is called here
                wait = _SHORTEST if any(found) else min(wait * 2, _LONGEST)
            except BaseException as error:  # of the memory's: nothing can be read any more
                self._error = self._error or error
                return
