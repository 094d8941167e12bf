"""Tables of constants: tuples and NumPy arrays from outside of a hook, whose elements it reads by number.

A table is what it was when the hook was checked. It lies in memory that nothing changes and is placed with the hook; an
element whose number is known is a constant and costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .errors import HookError, Span
from .types import SCALARS, Scalar, bool_, f32, i32, i64, u64
from .values import Value, as_type, constant, settle

#: Bytes of the largest table.
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class ConstantTable:
    """The numbers of a tuple or an array."""

    text: str
    of: Scalar
    #: Its length in each dimension.
    shape: tuple[int, ...]
    #: The numbers, the last dimension fastest.
    numbers: tuple[int | float | bool, ...]
    #: A tuple's numbers have no type of their own.
    untyped: bool

    @property
    def data(self) -> str:
        """All elements as they lie in memory, in hexadecimal digits."""
        return b"".join(self.of.raw_bits(n).to_bytes(self.of.size, "little") for n in self.numbers).hex()

    def element(self, span: Span, places: list[Value], number: int) -> Value:
        """The element at these places, one for each dimension; ``number`` is the table's in the tree."""
        if len(places) != len(self.shape):
            raise HookError(f"{self.text} has {len(self.shape)} dimensions: name one element, {self._example()}", span)
        for extent, place in zip(self.shape, places):
            if (
                place.untyped
                and not isinstance(place.const, int)
                or not place.untyped
                and getattr(place.type, "kind", "") != "int"
            ):
                raise HookError("an element has a number: an integer", place.span)
            if place.untyped and not 0 <= place.const < extent:
                raise HookError(f"{self.text} has {extent} elements, {place.const} is outside", place.span)
        if all(place.untyped for place in places):
            flat = 0
            for extent, place in zip(self.shape, places):
                flat = flat * extent + place.const
            known = constant(span, self.numbers[flat])
            return known if self.untyped or self.of == bool_ else as_type(known, self.of)
        listed = [[extent, settle(place).to_json()] for extent, place in zip(self.shape, places)]
        return Value(span, self.of, {"element": {"table": number, "places": listed}})

    def _example(self) -> str:
        return f"{self.text}[{', '.join('ijklmn'[: len(self.shape)])}]"


def is_table(found: Any) -> bool:
    """Whether a Python object is one whose elements a hook can read."""
    return isinstance(found, tuple) or hasattr(found, "__array_interface__") and getattr(found, "shape", ()) != ()


def table_of(found: Any, text: str, span: Span) -> ConstantTable:
    """The table that a tuple or an array is. Raises HookError if it holds anything but numbers."""
    return _of_tuple(found, text, span) if isinstance(found, tuple) else _of_array(found, text, span)


def _of_array(found: Any, text: str, span: Span) -> ConstantTable:
    import numpy

    array = numpy.asarray(found)
    native = array.dtype.newbyteorder("=")
    of = next((scalar for scalar in (*SCALARS, bool_) if scalar.dtype == native), None)
    if of is None:
        raise HookError(f"{text} has elements of dtype {array.dtype}, which no type of the hook language holds", span)
    if array.nbytes > MOST_BYTES:
        raise HookError(
            f"{text} has {array.nbytes:,} bytes, and a table of a hook {MOST_BYTES:,} at most: pass an lt.DeviceArray of the tool",
            span,
        )
    if not array.size:
        raise HookError(f"{text} has no elements", span)
    return ConstantTable(text, of, array.shape, tuple(array.astype(native).ravel().tolist()), False)


def _of_tuple(found: tuple[Any, ...], text: str, span: Span) -> ConstantTable:
    numbers = tuple(n.item() if type(n).__module__ == "numpy" and getattr(n, "shape", None) == () else n for n in found)
    odd = next((n for n in numbers if not isinstance(n, (bool, int, float))), None)
    if odd is not None:
        advice = ": make it a NumPy array" if isinstance(odd, (tuple, list)) else ""
        raise HookError(f"{text} holds a {type(odd).__name__}, and the table of a hook holds numbers{advice}", span)
    if not numbers:
        raise HookError(f"{text} has no elements", span)
    kinds = {bool if isinstance(n, bool) else type(n) for n in numbers}
    if bool in kinds and len(kinds) > 1:
        raise HookError(f"{text} holds truth values and numbers", span)
    if kinds == {bool}:
        of = bool_
    elif float in kinds:
        of = f32
        large = next((n for n in numbers if math.isfinite(n) and abs(n) > _LARGEST), None)
        if large is not None:
            raise HookError(f"{text} holds {large!r}, which does not fit f32: make it a NumPy array", span)
    else:
        fitting = (of for of in (i32, i64, u64) if of.low <= min(numbers) and max(numbers) <= of.high)
        chosen = next(fitting, None)
        if chosen is None:
            raise HookError(f"{text} holds numbers that no type of 64 bits holds together", span)
        of = chosen
    return ConstantTable(text, of, (len(numbers),), numbers, True)


#: The largest float of 32 bits.
_LARGEST = (2 - 2**-23) * 2.0**127
