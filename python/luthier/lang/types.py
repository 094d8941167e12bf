"""The types of the hook language, which are also the element types of device variables.

=====================  =====================================================================================
``u8 u16 u32 u64``     unsigned integers; arithmetic wraps around
``i8 i16 i32 i64``     signed integers, two's complement; arithmetic wraps around
``f16 f32 f64``        IEEE floats
``bool``               Python's own name, for annotations: ``flag: bool``
``ptr[T]``             address of a ``T`` in global memory
``ptr[T, "lds"]``      ... in the workgroup's LDS; also ``"scratch"`` (per lane) and ``"const"`` (read only)
``counter``            a 64-bit count of the wave's own, kept in registers: ``count += n``
``inout[T]``           an application register, or a value that waves or lanes carry, which the hook may change
``inout[T, n]``        a table of ``n`` values that waves or lanes carry: ``last[0] = x``
``channel``            an ``lt.Channel`` of the tool, for ``lt.record``
=====================  =====================================================================================
"""

from __future__ import annotations

import operator
import struct
from dataclasses import dataclass
from typing import Any

SPACES = ("global", "lds", "scratch", "const")


class Type:
    """A type of the hook language. Two types are the same when they are equal."""

    name: str

    def __repr__(self) -> str:
        return self.name

    def to_json(self) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Scalar(Type):
    """A number or a truth value. ``lt.u32(x)`` inside a hook converts ``x``."""

    name: str
    kind: str  # "int", "float" or "bool"
    bits: int
    signed: bool = False

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return max(self.bits // 8, 1)

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    @property
    def dtype(self):
        """The NumPy type with the same representation."""
        import numpy

        return numpy.dtype(
            "bool" if self.kind == "bool" else f"{'f' if self.kind == 'float' else 'i' if self.signed else 'u'}{self.size}"
        )

    def to_json(self) -> str:
        return self.name

    def raw_bits(self, value: int | float | bool) -> int:
        """The bits that hold ``value``; raises TypeError or OverflowError if it is not one of this type's values."""
        if self.kind == "float":
            if not isinstance(value, (int, float)):
                raise TypeError(f"{value!r} is not a number")
            packed = struct.pack({16: "<e", 32: "<f", 64: "<d"}[self.bits], float(value))
            return int.from_bytes(packed, "little")
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{value!r} is not an integer") from None
        if not self.low <= number <= self.high:
            raise OverflowError(f"{number} does not fit {self.name} ({self.low} to {self.high})")
        return number & ((1 << self.bits) - 1)

    def __call__(self, value):
        raise TypeError(f"lt.{self.name}(...) converts a value inside a hook; outside, use NumPy or a plain number")


@dataclass(frozen=True, repr=False)
class Pointer(Type):
    """The address of elements of one type in one address space."""

    to: Scalar
    space: str = "global"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"ptr[{self.to}]" if self.space == "global" else f'ptr[{self.to}, "{self.space}"]'

    def to_json(self) -> Any:
        return {"ptr": {"to": self.to.to_json(), "space": self.space}}

    def __call__(self, value):
        raise TypeError("lt.ptr[T](address) makes a pointer inside a hook")


@dataclass(frozen=True, repr=False)
class Array(Type):
    """A local array, one per lane."""

    of: Scalar
    length: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"array({self.of}, {self.length})"

    def to_json(self) -> Any:
        return {"array": {"of": self.of.to_json(), "len": self.length}}


@dataclass(frozen=True, repr=False)
class Counter(Type):
    """A wave's own 64-bit count. It reads as a ``u64``."""

    name: str = "counter"

    def to_json(self) -> str:
        return "counter"


@dataclass(frozen=True, repr=False)
class InOut(Type):
    """A parameter whose last value goes back to the register it came from."""

    of: Scalar

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"inout[{self.of}]"

    def to_json(self) -> Any:
        return {"inout": self.of.to_json()}


@dataclass(frozen=True, repr=False)
class Table(Type):
    """A parameter of several values that a wave, or each of its lanes, carries from hook to hook."""

    of: Scalar
    length: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"inout[{self.of}, {self.length}]"


#: Elements of a table: all of them are in registers while the hook runs.
MOST_ELEMENTS = 16


@dataclass(frozen=True, repr=False)
class ChannelType(Type):
    """A channel of the tool's, for ``lt.record``. A hook is compiled for the channel that it is given first."""

    name: str = "channel"

    def to_json(self) -> Any:
        return {"ptr": {"to": "u32", "space": "global"}}


class _PointerMaker:
    def __getitem__(self, key) -> Pointer:
        to, space = key if isinstance(key, tuple) else (key, "global")
        if to is bool:
            to = bool_
        if not isinstance(to, Scalar):
            raise TypeError(f"lt.ptr[...] needs an element type such as lt.u32, not {to!r}")
        if space not in SPACES:
            raise TypeError(f"unknown address space {space!r}: one of {', '.join(SPACES)}")
        return Pointer(to, space)


class _InOutMaker:
    def __getitem__(self, key) -> InOut | Table:
        of, length = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if not isinstance(of, Scalar) or of.bits not in (16, 32, 64):
            raise TypeError(f"lt.inout[...] needs a type of 16, 32 or 64 bits, not {of!r}")
        if length is None:
            return InOut(of)
        if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MOST_ELEMENTS:
            raise TypeError(f"lt.inout[lt.{of}, n] has 1 to {MOST_ELEMENTS} elements, not {length!r}")
        return Table(of, length)


u8, u16, u32, u64 = (Scalar(f"u{n}", "int", n) for n in (8, 16, 32, 64))
i8, i16, i32, i64 = (Scalar(f"i{n}", "int", n, True) for n in (8, 16, 32, 64))
f16, f32, f64 = (Scalar(f"f{n}", "float", n, True) for n in (16, 32, 64))
bool_ = Scalar("bool", "bool", 1)
counter = Counter()
channel = ChannelType()
ptr = _PointerMaker()
inout = _InOutMaker()

SCALARS = (u8, u16, u32, u64, i8, i16, i32, i64, f16, f32, f64)


def array(of: Scalar, length: int):
    """``a = lt.array(lt.u32, 8)`` inside a hook: eight zeros, an array for each lane."""
    raise TypeError("lt.array(type, length) declares a local array inside a hook")


def widens(source: Type, to: Type) -> bool:
    """Whether every value of ``source`` is one of ``to``, so that no cast has to be written."""
    if source == to:
        return True
    if isinstance(source, Pointer) and isinstance(to, Pointer):
        return source.to == to.to and source.space == "global" and to.space == "const"
    if not (isinstance(source, Scalar) and isinstance(to, Scalar)) or source.kind != to.kind:
        return False
    if source.kind == "float":
        return source.bits <= to.bits
    return source.kind == "int" and to.low <= source.low and source.high <= to.high


def common(a: Type, b: Type) -> Type | None:
    """The smallest type that both widen to without a change of value, among the two themselves."""
    return b if widens(a, b) else a if widens(b, a) else None
