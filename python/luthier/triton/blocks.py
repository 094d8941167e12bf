"""Tensors of a program, put together from the accesses of its lanes: by the address of each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from ..device.debug.arrays import dtype_of
from ..device.observe import ACTIONS, MEMORY_EVENT
from ..errors import ArgumentError, DeviceError
from .operations import Operation, Unknown, size_of

if TYPE_CHECKING:
    from ..device.arguments import Place
    from ..device.debug.stage import Stage

#: Accesses by instructions of a line that are looked at, of all programs.
_MOST = 1 << 20
#: Bytes of one access, of a scalar load the most.
_WIDEST = 64
#: Bytes that are read at once, whatever the lanes access of them.
_SPAN = 1 << 16
#: Spaces of memory events that are device memory.
_MEMORY = (0, 3)
_FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
_LANE = numpy.dtype([("wave", "i4"), ("lane", "i4")])


@dataclass(frozen=True, repr=False)
class Block:
    """A tensor that a program loads or stores: ``values`` is a masked array of the shape that it has in the source; what is masked
    off, or was not accessed, is masked. ``lanes`` says which ``wave`` of the workgroup and which ``lane`` of it has had each
    element first (-1: none). Both are None where the tensor cannot be put together, which ``note`` says."""

    #: What the source calls it; "" for none.
    name: str
    #: The array that it is of; None for memory of no argument.
    argument: str | None
    action: str
    iteration: int
    values: numpy.ma.MaskedArray | None
    lanes: numpy.ndarray | None
    note: str = ""

    def __repr__(self) -> str:
        what = f"{self.action} of {self.argument}{f', {self.name}' if self.name else ''}"
        return (
            f"<Block {what}: {self.note}>"
            if self.values is None
            else f"<Block {what}: {self.values.dtype}{list(self.values.shape)}>"
        )


@dataclass(frozen=True, repr=False)
class Elements:
    """Elements of an array that a program accesses: their ``offsets`` from the array's first one in memory, ascending, and the
    ``values`` that they had."""

    argument: str
    offsets: numpy.ndarray
    values: numpy.ndarray

    def at(self, offsets: Any) -> numpy.ma.MaskedArray:
        """Those at some offsets, in the shape of these; the others are masked."""
        wanted = numpy.asarray(offsets)
        if not len(self.offsets):
            return _nothing(wanted.shape, self.values.dtype)
        found = numpy.searchsorted(self.offsets, wanted).clip(0, len(self.offsets) - 1)
        return numpy.ma.MaskedArray(self.values[found], self.offsets[found] != wanted)

    def __repr__(self) -> str:
        return f"<Elements of {self.argument}: {len(self.offsets):,}>"


@dataclass(frozen=True)
class Bytes:
    """Bytes that were accessed, by address, and in the order of the accesses where that is the same."""

    address: numpy.ndarray
    value: numpy.ndarray
    #: Of the workgroup.
    wave: numpy.ndarray
    lane: numpy.ndarray
    #: Whether all accesses to the byte have had one value.
    same: numpy.ndarray

    def span(self, address: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The first access to the byte at each address, and the one behind the last."""
        return numpy.searchsorted(self.address, address, "left"), numpy.searchsorted(self.address, address, "right")


@dataclass(frozen=True)
class Recorded:
    """What one workgroup has accessed by some instructions, in order: events as of :data:`luthier.device.observe.MEMORY_EVENT`, and
    the bytes that were there behind each."""

    events: numpy.ndarray
    data: numpy.ndarray
    _bytes: dict[str | None, Bytes] = field(default_factory=dict)

    def bytes_of(self, action: str | None) -> Bytes:
        """Those of one action, or of all."""
        if action not in self._bytes:
            which = numpy.ones(len(self.events), bool) if action is None else self.events["kind"] & 3 == ACTIONS.index(action)
            self._bytes[action] = _bytes(self.events[which], self.data[which])
        return self._bytes[action]

    def arguments(self, places: dict[str, Place]) -> list[tuple[str | None, str]]:
        """The arrays that were accessed, and how."""
        found = [
            (_named(int(event["address"]), places), ACTIONS[int(event["kind"]) & 3])
            for event in self.events[numpy.unique(self.events["pc"], return_index=True)[1]]
        ]
        return list(dict.fromkeys(found))

    def elements(self, place: Place, argument: str, given: Any, action: str | None) -> Elements:
        """The elements of an array, as they were the last time each was accessed."""
        if action is not None and action not in ACTIONS:
            raise ArgumentError(f"action={action!r}: {', '.join(ACTIONS)}, or None for any")
        dtype = dtype_of(given) or numpy.dtype("u1")
        found = self.bytes_of(action)
        offset = found.address.astype("i8") - place.address
        inside = (offset >= 0) & (offset < place.size)
        last = numpy.append(offset[1:] != offset[:-1], True)[: len(offset)]
        offset, value = offset[inside & last], found.value[inside & last]
        numbers, counts = numpy.unique(offset // dtype.itemsize, return_counts=True)
        if (counts != dtype.itemsize).any():
            raise ArgumentError(f"{argument}: parts of elements of type {dtype} are accessed: see each wave's registers")
        return Elements(argument, numbers, numpy.ascontiguousarray(value).view(dtype))


def _nothing(shape: tuple[int, ...], dtype: numpy.dtype) -> numpy.ma.MaskedArray:
    return numpy.ma.MaskedArray(numpy.zeros(shape, dtype), numpy.ones(shape, bool))


def _named(address: int, places: dict[str, Place]) -> str | None:
    return next((name for name, place in places.items() if place.address <= address < place.address + place.size), None)


def _bytes(events: numpy.ndarray, data: numpy.ndarray) -> Bytes:
    sizes = events["size"].astype("i8")
    which = numpy.repeat(numpy.arange(len(events)), sizes)
    within = numpy.arange(len(which)) - numpy.repeat(numpy.cumsum(sizes) - sizes, sizes)
    address = events["address"].astype("i8")[which] + within
    order = numpy.argsort(address, kind="stable")
    address, which, value = address[order], which[order], data[which, within][order]
    same = numpy.ones(len(address), bool)
    if len(address):
        starts = numpy.flatnonzero(numpy.append(True, address[1:] != address[:-1]))
        equal = numpy.minimum.reduceat(value, starts) == numpy.maximum.reduceat(value, starts)
        same = numpy.repeat(equal, numpy.diff(numpy.append(starts, len(address))))
    return Bytes(address, value, events["wave"][which].astype("i4"), events["lane"][which].astype("i4"), same)


def record(stage: Stage, group: int, addresses: Sequence[int]) -> Recorded:
    """What a workgroup accesses by the instructions at these addresses, in all of the launch, which is left where it stands.
    ArgumentError for more accesses than are looked at, DeviceError where the launch cannot be taken back."""
    if stage.is_weak:
        raise ArgumentError("in weak memory it is not known what a load saw: give a schedule without weak:")
    here, last, core = stage.event, stage.last, stage.core
    if not here:  # a launch that has not begun is at no distance from its beginning
        core.resume(1, None, [], [], False)
    stage.goto(max(here - 1, 0))
    stage.last = last
    began = [event for wave in range(64) if (event := core.event_of(group, wave, 0)) is not None]
    events, data, seen = [], [], False
    core.hold_calls()
    try:
        stage.goto(min(began, default=here))
        for _ in range(_MOST):
            told = core.resume(None, None, list(addresses), [], False)
            if told["why"] != "address":
                break
            if told["wave"][0] == group:
                seen = True
                made: numpy.ndarray = numpy.frombuffer(core.accesses(), numpy.dtype(MEMORY_EVENT).newbyteorder("<"))
                made = made[numpy.isin(made["kind"] >> 4, _MEMORY)]
                events.append(made)
                data.append(_read(stage, made))
            elif seen and all(wave.group != group for wave in stage.waves):
                break
        else:
            raise ArgumentError(f"the line is executed more than {_MOST:,} times, which are too many to be looked at")
    except DeviceError:
        pass  # the launch cannot go on: what it has accessed up to there counts
    finally:
        stage.goto(here)
        stage.last = last
        core.go_on_with_calls()
    none = numpy.zeros(0, numpy.dtype(MEMORY_EVENT).newbyteorder("<"))
    return Recorded(numpy.concatenate([none, *events]), numpy.concatenate([numpy.zeros((0, _WIDEST), "u1"), *data]))


def _read(stage: Stage, events: numpy.ndarray) -> numpy.ndarray:
    """The bytes of some accesses, as memory has them now."""
    found = numpy.zeros((len(events), _WIDEST), "u1")
    if not len(events):
        return found
    address, size = events["address"].astype("i8"), events["size"].astype("i8")
    first, end = int(address.min()), int((address + size).max())
    if end - first <= _SPAN:
        try:
            data = numpy.frombuffer(stage.read(first, end - first), "u1")
        except DeviceError:
            pass  # not all between is memory
        else:
            within = numpy.arange(_WIDEST)
            places = (address[:, None] - first + within).clip(0, len(data) - 1)
            return numpy.where(within < size[:, None], data[places], 0).astype("u1")
    for number, (at, count) in enumerate(zip(address.tolist(), size.tolist())):
        found[number, :count] = numpy.frombuffer(stage.read(at, count), "u1")
    return found


def put_together(
    made: Operation, own: Sequence[Operation], recorded: Recorded, places: dict[str, Place], given: dict[str, Any]
) -> Block:
    """The tensor of one load or store: ``own`` are all that the program makes at that line, in order."""
    refused = lambda note, argument=None: Block(made.name, argument, made.action, made.iteration, None, None, note)  # noqa: E731
    unknown = next((value for value in (made.addresses, made.mask) if isinstance(value, Unknown)), None)
    if isinstance(made.addresses, Unknown) or isinstance(made.mask, Unknown):
        return refused(
            f"its addresses are not known: they are made {unknown.why if unknown else ''}; elements() has what it accesses"
        )
    addresses, mask = numpy.broadcast_arrays(made.addresses, made.mask)
    size, wanted = size_of(made.element), addresses[mask]
    argument = _named(int(wanted[0]), places) if wanted.size else None
    if size is None:
        return refused(f"elements of type {made.element} are not known", argument)
    others = [other for other in own if other.action == made.action]
    if any(isinstance(other.addresses, Unknown) or isinstance(other.mask, Unknown) for other in others):
        return refused("what else the line accesses is not known; elements() has it", argument)
    total, before, known = numpy.zeros(wanted.shape, int), numpy.zeros(wanted.shape, int), True
    for other in others:
        places_of, on = numpy.broadcast_arrays(other.addresses, other.mask)  # type: ignore[arg-type]
        has = numpy.isin(wanted, places_of[on])
        known = known and other is not made
        total, before = total + has, before + (has & known)
    table = recorded.bytes_of(made.action)
    values, there = numpy.zeros((*wanted.shape, size), "u1"), numpy.ones(wanted.shape, bool)
    lanes = numpy.full(wanted.shape, -1, _LANE) if wanted.size else numpy.zeros(0, _LANE)
    for byte in range(size):
        first, behind = table.span(wanted + byte)
        there &= behind > first
        at = first.clip(0, max(len(table.address) - 1, 0))
        if not len(table.address):
            break
        for number in numpy.flatnonzero(there & ~table.same[at]):
            one = _occurrence(table, slice(first[number], behind[number]), int(before[number]), int(total[number]))
            if one is None:
                return refused(
                    "an element was accessed more than once with different values, and which of them is meant cannot be told",
                    argument,
                )
            at[number] = one
        values[:, byte] = table.value[at]
        if not byte:
            lanes["wave"], lanes["lane"] = table.wave[at], table.lane[at]
    lanes[~there] = (-1, -1)
    dtype = _dtype(made.element, size, given.get(argument or ""))
    result = _nothing(mask.shape, dtype)
    result[mask] = numpy.ma.MaskedArray(numpy.ascontiguousarray(values).view(dtype).reshape(wanted.shape), ~there)
    held = numpy.full(mask.shape, -1, _LANE)
    held[mask] = lanes
    return Block(made.name, argument, made.action, made.iteration, result, held)


def _occurrence(table: Bytes, which: slice, before: int, total: int) -> int | None:
    """Of all accesses to a byte the one that has ``before`` others before it in its lane, if each lane has made ``total``."""
    lanes = table.wave[which].astype("i8") * 64 + table.lane[which]
    _, counts = numpy.unique(lanes, return_counts=True)
    if (counts != total).any():
        return None
    own = numpy.flatnonzero(lanes == lanes[0]) + which.start
    other = [numpy.flatnonzero(lanes == lane)[before] + which.start for lane in numpy.unique(lanes)]
    return int(own[before]) if len({int(table.value[one]) for one in other}) == 1 else None


def _dtype(element: str, size: int, given: Any) -> numpy.dtype:
    if element in _FLOATS:
        return numpy.dtype(_FLOATS[element])
    own = dtype_of(given)
    if own is not None and own.itemsize == size and (element[0] != "i" or own.kind in "iub"):
        return own
    return numpy.dtype(f"{'i' if element[0] == 'i' else 'u'}{size}")
