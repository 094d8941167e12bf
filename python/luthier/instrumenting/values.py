"""A tool's device variables: arrays and counters. What else hooks can be given is in :mod:`luthier.instrumenting.given`."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ToolError
from .homes import Home

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Self

    from ..lang import ElementType


#: Elements that are read at a time when all are.
_PIECE = 1 << 16


class Variable:
    """Memory on the device that belongs to a tool.

    As an attribute of a tool's class it stands for one variable of each instance. Once the tool is in use its symbol
    in the instrumented code object is ``TOOL.ATTRIBUTE``. Each module that the tool watches has the variable in memory of its
    own; what is read is what the variable began with and what has been added to that in all of them. :meth:`on` reads it on
    one device, or of one module, alone.
    """

    def __init__(self, size: int, align: int, init: bytes | None, name: str | None):
        #: What it begins with is ``init``, or zero.
        self.size, self.align, self.init, self.name = size, align, init, name
        #: The symbol in the instrumented code object that was made last, once there is one.
        self.symbol: str | None = None
        #: Where it is, and its symbol there.
        self._homes: list[tuple[Home, str]] = []

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name
        self._attribute = name

    def __get__(self, tool: Any, owner: type) -> Any:
        if tool is None:
            return self
        mine = self._fresh()
        mine._attribute = self._attribute
        tool.__dict__[self._attribute] = mine  # found before this descriptor from now on
        return mine

    def __getstate__(self) -> dict[str, Any]:
        # Another process has what is in it now, and no device.
        return {**vars(self), "init": self._bytes() if self._homes else self.init, "symbol": None, "_homes": []}

    def _fresh(self) -> Variable:
        raise NotImplementedError

    def live_in(self, home: Home, symbol: str) -> None:
        """From now on it is in this memory, too."""
        self._homes.append((home, symbol))

    @property
    def places(self) -> list[tuple[object, ...]]:
        """What has it: on the mock device, the device and the module."""
        return [home.of for home, _ in self._homes]

    def on(self, what: object) -> Self:
        """The variable as it is on one of the devices that the tool is in use on, or in one of the modules: to be read alone."""
        chosen = [(home, symbol) for home, symbol in self._homes if any(one is what for one in home.of)]
        if not chosen:
            raise ToolError(f"{self.name}.on({what!r}): the tool is not in use there")
        alone = object.__new__(type(self))
        vars(alone).update(vars(self))
        alone._homes = chosen
        return alone

    def _bytes(self) -> bytes:
        """What is in it now; before the tool is in use, what it starts with."""
        return self._part(0, self.size)

    def _part(self, start: int, size: int) -> bytes:
        """The same of some of its bytes, whole elements; no others are read."""
        if not self._homes:
            return self._began(start, size)
        parts = [home.read(symbol, start, size) for home, symbol in self._homes]
        return parts[0] if len(parts) == 1 else self._sum(self._began(start, size), parts)

    def _began(self, start: int, size: int) -> bytes:
        return self.init[start : start + size] if self.init else bytes(size)

    def _sum(self, began: bytes, parts: list[bytes]) -> bytes:
        """What ``began`` has become, given what it has become in each of several places."""
        raise NotImplementedError

    def _write(self, data: bytes) -> None:
        """Has it be this everywhere, and begin with this from now on."""
        for home, symbol in self._homes:
            home.write(symbol, 0, data)
        self.init = data


def added(began: numpy.ndarray, parts: list[numpy.ndarray]) -> numpy.ndarray:
    """Numbers, and what has been added to them in several places. Whole numbers wrap round, as the device's do."""
    import numpy

    total = began.copy()
    with numpy.errstate(all="ignore"):
        for part in parts:
            # What is as it was adds nothing, be it infinite.
            changed = part.view("u1").reshape(len(part), -1) != began.view("u1").reshape(len(began), -1)
            changed = changed.any(axis=1)
            total[changed] += part[changed] - began[changed]
    return total


class DeviceArray(Variable):
    """``n`` elements of ``dtype`` (``lt.u8`` to ``lt.f64``) in device memory, zero at first or as ``init`` says.

    A hook receives it as ``lt.ptr[dtype]``; :meth:`at` passes the address of a later element. Afterwards it reads like a
    sequence, and :meth:`read` gives a NumPy array. ``name`` is that of its symbol; the attribute's without.
    """

    def __init__(self, dtype: ElementType, n: int, init: Any = None, *, name: str | None = None):
        from ..lang.types import SCALARS, Scalar

        if not isinstance(dtype, Scalar) or dtype not in SCALARS:
            raise ToolError(
                f"a DeviceArray of {dtype!r}: its elements are lt.u8 to lt.u64, lt.i8 to lt.i64, lt.f16, lt.f32 or lt.f64"
            )
        if n < 1:
            raise ToolError(f"a DeviceArray of {n} elements: it needs at least one")
        data = None
        if init is not None:
            import numpy

            data = numpy.ascontiguousarray(init, dtype.dtype).tobytes()
            if len(data) != n * dtype.size:
                raise ToolError(f"a DeviceArray of {n} {dtype} needs as many initial values, not {len(data) // dtype.size}")
        super().__init__(n * dtype.size, max(dtype.size, 8), data, name)
        #: The elements' type, of :mod:`luthier.lang.types`.
        self.dtype: Any = dtype
        #: How many there are.
        self.n: int = n
        #: The elements are numbers, which can be added up.
        self.is_numbers: bool = True

    def _fresh(self) -> DeviceArray:
        new = DeviceArray(self.dtype, self.n, name=self.name)
        new.init, new.align, new.is_numbers = self.init, self.align, self.is_numbers
        return new

    def _sum(self, began: bytes, parts: list[bytes]) -> bytes:
        import numpy

        if all(part == parts[0] for part in parts) and parts[0] == began:
            return began
        if not self.is_numbers:
            raise ToolError(
                f"{self.name} is in use in {len(parts)} modules and holds no numbers of one type that could be added up: read it of "
                f"one, {self.name}.on(device) or .on(module)"
            )
        kind = numpy.dtype(self.dtype.dtype)
        return added(numpy.frombuffer(began, kind), [numpy.frombuffer(part, kind) for part in parts]).tobytes()

    def at(self, index: int) -> Element:
        """The address of one element, as an argument of a hook. The hook is compiled once for all of them. ``index`` is the element's."""
        if not hasattr(index, "__index__") or not 0 <= index < self.n:
            raise ToolError(f"{self.name}.at({index}): the array has {self.n} elements")
        return Element(self, index.__index__() * self.dtype.size)

    def read(self) -> numpy.ndarray:
        """The values that are in device memory now."""
        import numpy

        return numpy.frombuffer(self._bytes(), self.dtype.dtype).copy()

    def write(self, values: Any) -> None:
        """New values, for all elements, in the memory of all devices (or to begin with, before the tool is in use)."""
        import numpy

        data = numpy.ascontiguousarray(values, self.dtype.dtype).tobytes()
        if len(data) != self.size:
            raise ToolError(f"{self.name}.write: {self.size} bytes are needed, not {len(data)}")
        self._write(data)

    def nonzero(self) -> dict[int, Any]:
        """Index and value of every element that is not zero."""
        found: dict[int, Any] = {}
        for first in range(0, self.n, _PIECE):
            values = self._elements(first, min(_PIECE, self.n - first))
            found.update((first + int(i), values[i].item()) for i in values.nonzero()[0])
        return found

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        """An element, or what NumPy gives for the index. Only the elements from the first to the last of these are read."""
        at = None
        if not isinstance(index, bool):
            with contextlib.suppress(TypeError):
                at = operator.index(index)
        if at is not None:
            if not -self.n <= at < self.n:
                raise IndexError(f"{self.name}[{at}]: the array has {self.n} elements")
            return self._elements(at % self.n, 1)[0].item()
        if isinstance(index, slice):
            chosen = range(self.n)[index]
            if not chosen:
                return self._elements(0, 0)
            first = min(chosen[0], chosen[-1])
            read = self._elements(first, max(chosen[0], chosen[-1]) + 1 - first)
            return read[:: chosen.step].copy() if chosen.step > 0 else read[::-1][:: -chosen.step].copy()
        found = self.read()[index]
        return found.item() if found.ndim == 0 else found

    def _elements(self, first: int, count: int) -> numpy.ndarray:
        """Some elements in a row."""
        import numpy

        size = self.dtype.size
        return numpy.frombuffer(self._part(first * size, count * size), self.dtype.dtype).copy()

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, self.n, _PIECE):
            yield from self._elements(first, min(_PIECE, self.n - first)).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.read() if dtype is None else self.read().astype(dtype)

    def _repr_html_(self) -> str:
        """For notebooks: its first values, and those that are not zero."""
        from ..reports.as_html import html_table

        values = self.read()
        other = [int(n) for n in values.nonzero()[0][:20]]
        facts = [("elements", self.n), ("not zero", int((values != 0).sum()))]
        return html_table(f"{self.name}: {self.dtype}[{self.n}]", (), facts) + html_table(
            "the first that are not zero", ("index", "value"), [(n, values[n].item()) for n in other]
        )

    def __repr__(self) -> str:
        return f"<DeviceArray {self.name}: {self.dtype}[{self.n}]>"


class Borrowed(DeviceArray):
    """A variable that a program has, and that hooks use where it is."""

    def address(self, where: Any) -> int:
        """Where it is on what the instrumented code object is loaded on."""
        raise NotImplementedError


@dataclass(frozen=True)
class Element:
    """The address of an element of a :class:`DeviceArray`."""

    array: DeviceArray
    offset: int


class Counter(Variable):
    """A 64-bit count that each wave keeps in its own registers and adds to memory once, when it ends.

    A hook receives it as ``lt.counter`` and adds to it: ``count += n``. Afterwards ``int(tool.count)`` is the total. ``name``
    is that of its symbol; the attribute's without.
    """

    def __init__(self, *, name: str | None = None):
        super().__init__(8, 8, None, name)

    def _fresh(self) -> Counter:
        return Counter(name=self.name)

    def _sum(self, began: bytes, parts: list[bytes]) -> bytes:
        first = int.from_bytes(began, "little")
        total = first + sum(int.from_bytes(part, "little") - first for part in parts)
        return (total % (1 << 64)).to_bytes(8, "little")

    @property
    def value(self) -> int:
        return int.from_bytes(self._bytes(), "little")

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __repr__(self) -> str:
        return f"<Counter {self.name}>"


class Shared:
    """``n`` elements of ``dtype`` in LDS, which each workgroup has of its own: ``lt.shared(lt.u32, 64)``.

    They lie behind all LDS of the kernel, what a launch adds included, and are zero when a workgroup starts: its waves clear
    them together before anything else runs. A hook receives them as ``lt.ptr[dtype, "lds"]``. They have no barrier: what one
    wave is to see of another goes through atomics (``lt.atomic_add`` and its kin). A kernel whose LDS is full has its hooks
    rejected. As an attribute of a tool's class it stands for memory of each instance. ``name`` is what errors call it.
    """

    def __init__(self, dtype: ElementType, n: int, *, name: str | None = None):
        from ..lang.types import SCALARS, Scalar

        if not isinstance(dtype, Scalar) or dtype not in SCALARS:
            raise ToolError(
                f"lt.shared of {dtype!r}: its elements are lt.u8 to lt.u64, lt.i8 to lt.i64, lt.f16, lt.f32 or lt.f64"
            )
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n * dtype.size <= MOST_SHARED:
            raise ToolError(f"lt.shared(lt.{dtype}, {n!r}): it has at least one element, and {MOST_SHARED:,} bytes at most")
        #: The elements' type, of :mod:`luthier.lang.types`.
        self.dtype: Any = dtype
        #: How many there are.
        self.n: int = n
        self.name: str | None = name

    @property
    def size(self) -> int:
        """Bytes, up to where another one can begin."""
        return -(-self.n * self.dtype.size // 16) * 16

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name
        self._attribute = name

    def __get__(self, tool: Any, owner: type) -> Any:
        if tool is None:
            return self
        mine = Shared(self.dtype, self.n, name=self.name)
        tool.__dict__[self._attribute] = mine  # found before this descriptor from now on
        return mine

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"<Shared {self.name}: {self.dtype}[{self.n}]>"


#: As it is written in a tool.
shared = Shared

#: The most LDS of any processor.
MOST_SHARED = 320 << 10


class State:
    """A value that each wave, or each of its lanes, carries from one hook to the next: :class:`WaveState`, :class:`LaneState`.

    It is kept in registers that the kernel does not use, or in scratch above the kernel's own; it is zero when the wave
    starts. A hook at the kernel's entry can set it (:meth:`Kernel.insert_at_entry`), and one at its exit can store what it has
    become. As an attribute of a tool's class it stands for one state of each instance.

    A hook receives it as ``lt.inout[dtype]``, and reads and assigns it like a local variable. Given ``n``, it is a table of so
    many values, up to 16: a hook receives it as ``lt.inout[dtype, n]``, and reads and assigns its elements. An element with a
    number that the table does not have reads as zero, and takes no value.
    """

    #: Each lane has a value of its own.
    per_lane: bool

    def __init__(self, dtype: ElementType, n: int | None = None, *, name: str | None = None):
        from ..lang.types import MOST_ELEMENTS, SCALARS, Scalar

        if not isinstance(dtype, Scalar) or dtype not in SCALARS or dtype.bits < 16:
            raise ToolError(
                f"a {type(self).__name__} of {dtype!r}: it holds an lt.u16 to lt.u64, lt.i16 to lt.i64 or lt.f16 to lt.f64"
            )
        #: Its type, of :mod:`luthier.lang.types`.
        self.dtype: Any = dtype
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_ELEMENTS):
            raise ToolError(f"a {type(self).__name__} of {n!r} values: it holds 1 to {MOST_ELEMENTS}")
        #: How many values it holds, of a table.
        self.n: int | None = n
        self.name: str | None = name

    @property
    def parameter(self) -> str:
        """How a hook declares it."""
        return f"lt.inout[lt.{self.dtype}{'' if self.n is None else f', {self.n}'}]"

    @property
    def units(self) -> int:
        """Units of 32 bits of each value."""
        return max(1, self.dtype.bits // 32)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name
        self._attribute = name

    def __get__(self, tool: Any, owner: type) -> Any:
        if tool is None:
            return self
        mine = type(self)(self.dtype, self.n, name=self.name)
        tool.__dict__[self._attribute] = mine  # found before this descriptor from now on
        return mine

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.dtype}{'' if self.n is None else f'[{self.n}]'}>"


class WaveState(State):
    """A value that each wave carries, the same for all its lanes: an address, a clock, a count. See :class:`State`."""

    per_lane = False


class LaneState(State):
    """A value that each lane of a wave carries. Lanes that are off while a hook runs keep theirs. See :class:`State`."""

    per_lane = True
