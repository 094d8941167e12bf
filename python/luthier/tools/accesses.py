"""What waves access: a record for each lane, in the order in which each wave does it. Tools derive from :class:`AccessTool`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.tools.waves import WaveTool, is_first

if TYPE_CHECKING:
    import numpy as np

    from luthier.device.arguments import Place

ACTIONS = ("load", "store", "atomic")
SPACES = ("flat", "global", "scratch", "lds", "gds", "buffer", "scalar")
#: Of a value's words, in front of them.
_NO_WORDS = (0, 0, 0, 0)
#: A record's ``place``: from which bit on it has the point's number, whether the lane is the first of its instruction's
#: execution, the wave's number in its workgroup (up to 32), and the lane's.
_POINT, _FIRST, _WAVE = 12, 11, 6
_MOST_POINTS = 1 << (32 - _POINT)


@dataclass(frozen=True)
class Point:
    """A place in memory that an instruction accesses, or a barrier."""

    instr: lt.Instruction
    #: Which of the instruction's places, from 0.
    number: int = 0
    #: In bytes, for each lane, of a scalar access for the wave. 0 of a barrier.
    size: int = 0
    #: Index into :data:`ACTIONS`.
    action: int = 0
    #: Index into :data:`SPACES`.
    space: int = 0
    #: Whether records have its value.
    has_value: bool = False


class Accesses:
    """Some records: an array for each column, made when it is asked for. ``launch`` is the number of the launch that they are
    all of, from 0; None in programs, whose launches may run side by side."""

    def __init__(self, raw: np.ndarray, points: Sequence[Point], launch: int | None, places: Sequence[Place] | None):
        self.raw, self.points, self.launch, self.places = raw, points, launch, places

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def point(self) -> np.ndarray:
        """The number of each record's point."""
        return self.raw["place"] >> _POINT

    @property
    def wave(self) -> np.ndarray:
        """In the workgroup, from 0."""
        return self.raw["place"] >> _WAVE & 31

    @property
    def lane(self) -> np.ndarray:
        """0 for scalar accesses."""
        return self.raw["place"] & 63

    @cached_property
    def execution(self) -> np.ndarray:
        """A number for each time that a wave has executed an instruction: records of one follow each other."""
        import numpy as np

        return np.cumsum(begins_execution(self.raw))

    def of_points(self, what: str) -> np.ndarray:
        """An attribute of each record's point: ``pc``, ``size``, ``action``, ``space``, ``has_value``."""
        import numpy as np

        told = [p.instr.address if what == "pc" else getattr(p, what) for p in self.points]
        kinds = {"pc": "u8", "size": "u2", "action": "u1", "space": "u1", "has_value": "?"}
        return np.array(told, kinds[what])[self.point]

    @cached_property
    def arguments(self) -> np.ndarray | None:
        """Index of the argument in whose array each access is, -1 for none; None where it is not known what is where."""
        import numpy as np

        if self.places is None:
            return None
        known = sorted(self.places, key=lambda place: place.address)
        starts = np.array([place.address for place in known], "u8")
        ends = np.array([place.address + place.size for place in known], "u8")
        numbers = np.array([*(place.index for place in known), -1], "i4")
        address = self.raw["address"]
        at = np.searchsorted(starts, address, "right").astype("i8") - 1
        inside = at >= 0
        inside[inside] = address[inside] < ends[at[inside]]
        for n, space in enumerate(SPACES):
            if space in ("scratch", "lds", "gds"):
                inside &= self.of_points("space") != n
        return numbers[np.where(inside, at, -1)]

    def columns(self) -> dict[str, Any]:
        """All that is known of each, as arrays of NumPy and, for text and what may be null, of pyarrow."""
        import numpy as np

        from luthier.reports.as_arrow import needed

        arrow = needed()
        found: dict[str, Any] = {
            "launch": arrow.nulls(len(self), "uint32") if self.launch is None else np.full(len(self), self.launch, "u4"),
            "workgroup_x": self.raw["x"],
            "workgroup_y": self.raw["yz"].astype("u2"),
            "workgroup_z": (self.raw["yz"] >> 16).astype("u2"),
            "wave": self.wave.astype("u1"),
            "lane": self.lane.astype("u1"),
            "pc": self.of_points("pc"),
            "address": self.raw["address"],
            "size": self.of_points("size"),
            "action": _words(arrow, self.of_points("action"), ACTIONS),
            "space": _words(arrow, self.of_points("space"), SPACES),
        }
        arguments = self.arguments
        missing = arguments < 0 if arguments is not None else None
        found["argument"] = arrow.nulls(len(self), "int32") if arguments is None else arrow.array(arguments, mask=missing)
        if "value" in (self.raw.dtype.names or ()):
            unknown = ~self.of_points("has_value")
            found["value"] = arrow.array(self.raw["value"], mask=unknown)
            found["value_high"] = arrow.array(self.raw["value_high"], mask=unknown)
        return found


def begins_execution(records: np.ndarray) -> np.ndarray:
    """Which records are of the first lane of their instruction's execution."""
    return records["place"] >> _FIRST & 1


def _words(arrow: Any, indices: Any, words: Sequence[str]) -> Any:
    return arrow.DictionaryArray.from_arrays(indices.astype("i1"), arrow.array(words))


@lt.device
def lane_at(point: lt.u32, wave: lt.u32) -> lt.u32:
    return point << 12 | lt.u32(is_first()) << 11 | wave | lt.lane_id()


@lt.device
def is_recorded(stopped: lt.ptr[lt.u64], left_out: lt.ptr[lt.u64]) -> lt.bool_:
    # Whether the host still wants records: else the lanes that would have made one are counted.
    wanted = stopped[0] == 0
    if not wanted:
        lt.wave_atomic_add(left_out, lt.popcount(lt.exec_mask()))
    return wanted


@lt.device
def pair(low: lt.u32, high: lt.u32) -> lt.u64:
    return lt.u64(low) | lt.u64(high) << 32


class AccessTool(WaveTool):
    """A tool that hears of accesses: :meth:`on_accesses` gets them while kernels run.

    Watched are vector accesses of device memory, and as asked for those of LDS, scalar ones and scratch. ``unseen`` are the
    addresses of those that have no address of their own (images, typed buffers, tiles of tensors) or no width. Where records are
    ``limited``, the host can stop them: see :meth:`stop`.
    """

    #: Not 0 when the host wants no more records, and how many accesses were counted and not recorded.
    stopped = lt.DeviceArray(lt.u64, 1)
    left_out = lt.DeviceArray(lt.u64, 1)

    def __init__(
        self,
        *,
        lds: bool = True,
        scalar: bool = True,
        scratch: bool = True,
        values: bool = False,
        barriers: bool = False,
        limited: bool = False,
    ) -> None:
        super().__init__()
        if limited and values:
            raise lt.ToolError(f"{self.name}: values are recorded of all accesses or of none: first= goes without values=yes")
        self.limited, self.is_stopped = limited, False
        self.spaces = {"flat", "global", "buffer"}
        self.spaces |= {name for name, wanted in (("lds", lds), ("scalar", scalar), ("scratch", scratch)) if wanted}
        self.values, self.barriers = values, barriers
        self.points: list[Point] = []
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.unseen: set[int] = set()
        #: The launch under way, from 0, and where its arguments' arrays are, if that is known.
        self.launch = -1
        self.places: Sequence[Place] | None = None
        fields: dict[str, Any] = {"address": lt.u64, **({"value": lt.u64, "value_high": lt.u64} if values else {})}
        self.accesses = lt.Channel(1 << 19, name="accesses", **fields, x=lt.u32, yz=lt.u32, place=lt.u32)
        self.accesses.is_first = begins_execution

    @lt.hook
    def lanes(accesses: lt.channel, here: lt.inout[lt.u32, 3], address: lt.u64, point: lt.u32):
        lt.record(accesses, address, here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def lanes_in_range(accesses: lt.channel, here: lt.inout[lt.u32, 3], address: lt.u64, point: lt.u32):
        if lt.access_in_range():
            lt.record(accesses, address, here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def waves(accesses: lt.channel, here: lt.inout[lt.u32, 3], address: lt.u64, point: lt.u32):
        if is_first():
            lt.record(accesses, address, here[0], here[1], point << 12 | 1 << 11 | here[2])

    @lt.hook
    def lanes_limited(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        stopped: lt.ptr[lt.u64],
        left_out: lt.ptr[lt.u64],
        address: lt.u64,
        point: lt.u32,
    ):
        if is_recorded(stopped, left_out):
            lt.record(accesses, address, here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def lanes_in_range_limited(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        stopped: lt.ptr[lt.u64],
        left_out: lt.ptr[lt.u64],
        address: lt.u64,
        point: lt.u32,
    ):
        if lt.access_in_range():
            if is_recorded(stopped, left_out):
                lt.record(accesses, address, here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def waves_limited(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        stopped: lt.ptr[lt.u64],
        left_out: lt.ptr[lt.u64],
        address: lt.u64,
        point: lt.u32,
    ):
        if is_first():
            if is_recorded(stopped, left_out):
                lt.record(accesses, address, here[0], here[1], point << 12 | 1 << 11 | here[2])

    @lt.hook
    def lanes_valued(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        address: lt.u64,
        point: lt.u32,
        a: lt.u32,
        b: lt.u32,
        c: lt.u32,
        d: lt.u32,
    ):
        lt.record(accesses, address, pair(a, b), pair(c, d), here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def lanes_in_range_valued(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        address: lt.u64,
        point: lt.u32,
        a: lt.u32,
        b: lt.u32,
        c: lt.u32,
        d: lt.u32,
    ):
        if lt.access_in_range():
            lt.record(accesses, address, pair(a, b), pair(c, d), here[0], here[1], lane_at(point, here[2]))

    @lt.hook
    def waves_valued(
        accesses: lt.channel,
        here: lt.inout[lt.u32, 3],
        address: lt.u64,
        point: lt.u32,
        a: lt.u32,
        b: lt.u32,
        c: lt.u32,
        d: lt.u32,
    ):
        if is_first():
            lt.record(accesses, address, pair(a, b), pair(c, d), here[0], here[1], point << 12 | 1 << 11 | here[2])

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        self.begin_waves(kernel)
        for instr in (i for f in functions for i in f.instructions):
            if instr.memory_space is not None:
                self._watch(kernel, instr)
            elif self.barriers and instr.is_barrier and is_passed(instr):
                point = self._point(Point(instr))
                valued = _NO_WORDS if self.values else ()
                kernel.insert_after(instr, self._hook("waves"), self.accesses, self.here, *self._gate(), 0, point, *valued)

    def _watch(self, kernel: lt.Kernel, instr: lt.Instruction) -> None:
        is_scalar = instr.works_for == "wave"
        space = "scalar" if is_scalar else instr.memory_space
        assert space is not None
        if not instr.access_count or not instr.memory_width:
            self.unseen.add(instr.address)
            return
        # A transfer between memory and LDS has its place in memory first.
        is_transfer = instr.access_count == 2 and space != "lds"
        for number in range(instr.access_count):
            here = "lds" if is_transfer and number else space
            if here not in self.spaces:
                continue
            words, hook, insert = self._how(kernel, instr, number, here)
            size = instr.memory_width if is_transfer or instr.access_count == 1 else instr.memory_width // 2
            action = 2 if instr.is_atomic else 1 if instr.is_store and not instr.is_load else 0
            if is_transfer:
                action = int((not instr.is_load) != bool(number)) if instr.is_load != instr.is_store else number
            point = self._point(Point(instr, number, size, action, SPACES.index(here), words is not None))
            address = lt.Address() if instr.access_count == 1 else lt.Address(number)
            valued = (words or _NO_WORDS) if self.values else ()
            insert(instr, hook, self.accesses, self.here, *self._gate(), address, point, *valued)
            if is_scalar:
                kernel.insert_before(instr, self.idle, self.without_lanes)

    def _how(self, kernel: lt.Kernel, instr: lt.Instruction, number: int, space: str) -> tuple[Any, Any, Any]:
        """The words of the value, if there are any; the hook, and how to insert it."""
        name = "waves" if space == "scalar" else "lanes_in_range" if space == "buffer" else "lanes"
        words = value_words(instr, number) if self.values else None
        is_behind = words is not None and not instr.is_store
        insert = kernel.insert_after if is_behind else kernel.insert_before
        return words, self._hook(name), insert

    def _hook(self, name: str) -> Any:
        return getattr(self, f"{name}_valued" if self.values else f"{name}_limited" if self.limited else name)

    def _gate(self) -> tuple[lt.DeviceArray, ...]:
        return (self.stopped, self.left_out) if self.limited else ()

    def stop(self, is_stopped: bool = True) -> None:
        """From now on, give or take what is under way, accesses are counted and not recorded; or recorded again."""
        if is_stopped != self.is_stopped:
            self.is_stopped = is_stopped
            self.stopped.write([int(is_stopped)])

    def _point(self, point: Point) -> int:
        if len(self.points) >= _MOST_POINTS:
            raise lt.ToolError(f"{self.name}: more than {_MOST_POINTS:,} places are accessed: choose fewer kernels")
        self.points.append(point)
        return len(self.points) - 1

    def on_launch(self, launch: lt.Launch) -> None:
        super().on_launch(launch)
        self.launch += 1
        self.places = None if self.app is not None else tuple(launch.places())

    def on_records(self, channel: lt.Channel, records: np.ndarray) -> None:
        self.on_accesses(Accesses(records, self.points, None if self.app is not None else self.launch, self.places))

    def on_accesses(self, accesses: Accesses) -> None:
        """Called with some accesses, in the order in which their room in the channel was reserved: that of each wave's own."""


def is_passed(instr: lt.Instruction) -> bool:
    """Whether all waves of the workgroup have come to a barrier when this has been executed."""
    return instr.opcode == "s_barrier" or instr.opcode == "s_barrier_wait" and instr.operands[0].value == -1


def value_words(instr: lt.Instruction, number: int) -> tuple[Any, ...] | None:
    """The registers with the first 16 bytes of what is loaded, stored or given to an atomic operation at one of the places;
    None where lanes get what other lanes have loaded, or the data are no registers."""
    if "_tr" in instr.opcode or instr.access_count == 2 and instr.memory_space != "lds":
        return None
    is_two = instr.access_count == 2
    if instr.is_store:
        wanted = ("data1",) if is_two and number else ("vdata", "data", "data0", "sdata", "vsrc")
        found = [o for o in instr.operands if o.name in wanted and o.register]
    else:
        found = [o for o in instr.operands if o.name in ("vdst", "vdata", "sdst", "sdata") and o.is_written and o.register]
    if len(found) != 1 or found[0].register is None or found[0].register.index is None:
        return None
    register = found[0].register
    first = register.index or 0
    count = max((instr.memory_width or 4) // (2 if is_two else 1) // 4, 1)
    if is_two and not instr.is_store:
        first += number * count
    file = {"vgpr": "v", "agpr": "a", "sgpr": "s"}.get(register.file)
    if file is None or "d16_hi" in instr.opcode:
        return None
    return (*(lt.Reg(f"{file}{first + n}") for n in range(min(count, 4))), *_NO_WORDS[min(count, 4) :])
