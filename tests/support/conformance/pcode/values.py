"""What a pseudocode expression yields: for every element (a lane, or a wave) a number of some type.

A value is a kind (``U``, ``I``: integers; ``B``: bits; ``F``, ``BF``, ``FP``: floating point), a width in bits, and
an array of bit patterns: ``uint64``, or Python integers where the type is wider than 64 bits. An array of length 1
stands for the same number everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import floats
from .syntax import PcodeError

FLOATS = {
    ("F", 16): floats.F16,
    ("F", 32): floats.F32,
    ("F", 64): floats.F64,
    ("BF", 16): floats.BF16,
    ("FP", 8): floats.FP8,
    ("BF", 8): floats.BF8,
    ("FP", 6): floats.FP6,
    ("BF", 6): floats.BF6,
    ("FP", 4): floats.FP4,
}


def choose_eight_bits(fnuz: bool) -> None:
    """Which of the two kinds of eight-bit formats the next evaluations mean."""
    FLOATS["FP", 8] = floats.FP8_FNUZ if fnuz else floats.FP8
    FLOATS["BF", 8] = floats.BF8_FNUZ if fnuz else floats.BF8


@dataclass(frozen=True)
class Value:
    kind: str
    width: int
    bits: np.ndarray

    @property
    def is_float(self) -> bool:
        return self.kind in ("F", "BF", "FP")

    @property
    def format(self) -> floats.Format:
        return FLOATS[self.kind, self.width]


def make(kind: str, width: int, bits: np.ndarray | int | list[int]) -> Value:
    """Bit patterns are cut to the width."""
    if isinstance(bits, int):
        bits = [bits]
    if width > 64:
        wide = np.empty(len(bits), object)
        limit = (1 << width) - 1
        wide[:] = [int(b) & limit for b in bits]
        return Value(kind, width, wide)
    if isinstance(bits, list) or bits.dtype == object:
        limit = (1 << width) - 1
        bits = np.array([int(b) & limit for b in bits], np.uint64)
    elif width < 64:
        bits = bits.astype(np.uint64) & np.uint64((1 << width) - 1)
    else:
        bits = bits.astype(np.uint64)
    return Value(kind, width, bits)


def typed(name: str) -> tuple[str, int] | None:
    """``f32`` is ("F", 32); None for what is not a type."""
    for prefix, kind in (("bf", "BF"), ("fp", "FP"), ("f", "F"), ("u", "U"), ("i", "I"), ("b", "B")):
        rest = name.removeprefix(prefix)
        if rest != name and rest.isdigit():
            return kind, int(rest)
    return None


def numbers(value: Value) -> list[int]:
    """As Python integers, signed for kind ``I``."""
    bits = [int(b) for b in value.bits]
    if value.kind != "I":
        return bits
    half, whole = 1 << (value.width - 1), 1 << value.width
    return [b - whole if b & half else b for b in bits]


def signed(value: Value) -> np.ndarray:
    """As ``int64``, sign-extended for kind ``I``. Up to 64 bits."""
    bits = value.bits.astype(np.uint64)
    if value.kind != "I" or value.width == 64:
        return bits.view(np.int64)
    half = np.uint64(1 << (value.width - 1))
    return ((bits ^ half) - half).view(np.int64)


def extended(value: Value, to: int = 64) -> np.ndarray:
    """As ``uint64`` or, if it or ``to`` is wider, as integers; sign-extended for kind ``I``."""
    if max(value.width, to) > 64:
        return np.array(numbers(value), object)
    return signed(value).view(np.uint64)


def retyped(value: Value, kind: str, width: int) -> Value:
    """``.u16``, ``.f32``, ...: the low bits taken as another type. Of a float of another width, its conversion."""
    if value.is_float and kind in ("F", "BF", "FP") and (value.kind, value.width) != (kind, width):
        return converted(value, kind, width, floats.NEAREST, quiet=False)
    if value.kind == kind and value.width == width:
        return value
    return make(kind, width, extended(value, width) if width > value.width else value.bits)


def converted(value: Value, kind: str, width: int, mode: int, *, quiet: bool = True) -> Value:
    """From one floating-point format to another."""
    source, to = value.format, FLOATS[kind, width]
    if source == to:
        return value
    if (value.kind, kind, width) == ("F", "F", 64) and source.kind == "ieee":  # exact but for NaNs, which hosts quieten
        with np.errstate(invalid="ignore"):
            host = value.bits.astype(f"u{value.width // 8}").view(f"f{value.width // 8}").astype(np.float64).view(np.uint64)
        for k in np.flatnonzero(nans(value)):
            host[k] = floats.convert(source, to, mode, int(value.bits[k]), quiet=quiet)
        return Value(kind, width, host)
    return make(kind, width, [floats.convert(source, to, mode, int(x), quiet=quiet) for x in value.bits])


def truth(value: Value) -> np.ndarray:
    """Not zero (a floating-point zero of either sign is false)."""
    if value.is_float:
        return (value.bits & np.uint64(value.format.sign - 1)) != 0
    return value.bits != 0


def boolean(flags: np.ndarray) -> Value:
    return Value("U", 1, np.atleast_1d(flags).astype(np.uint64))


def choose(flags: np.ndarray, yes: Value, no: Value) -> Value:
    """Element by element; the two are brought to one type first."""
    if (yes.kind, yes.width) != (no.kind, no.width):
        yes, no = unified(yes, no)
    if yes.width > 64:
        flags, a, b = np.broadcast_arrays(flags, yes.bits, no.bits)
        return Value(yes.kind, yes.width, np.where(flags, a, b))
    return Value(yes.kind, yes.width, np.where(flags, yes.bits, no.bits))


def unified(a: Value, b: Value) -> tuple[Value, Value]:
    width = max(a.width, b.width)
    if a.is_float and b.is_float:
        wide = a if a.width >= b.width else b
        return tuple(converted(x, wide.kind, wide.width, floats.NEAREST, quiet=False) for x in (a, b))
    if a.is_float != b.is_float:
        raise PcodeError("a choice between a number and a floating-point number")
    kind = "I" if a.kind == b.kind == "I" else "U"
    return make(kind, width, extended(a, width)), make(kind, width, extended(b, width))


def field(value: Value, low: np.ndarray, count: int) -> Value:
    """``count`` bits from bit ``low`` up, which may differ by element."""
    if value.width > 64:
        whole, low = np.broadcast_arrays(value.bits, low)
        return make("B", count, [int(b) >> int(s) for b, s in zip(whole, low)])
    low = low.astype(np.uint64)
    shifted = np.where(low < 64, value.bits >> np.minimum(low, np.uint64(63)), np.uint64(0))
    return make("B", count, shifted)


def with_field(value: Value, low: np.ndarray, count: int, part: Value) -> Value:
    """The value with a field replaced, widened if the field reaches beyond it."""
    width = max(value.width, int(low.max()) + count)
    if width > 64:
        hole = (1 << count) - 1
        bits, low, new = np.broadcast_arrays(value.bits, low, part.bits)
        made = [int(b) & ~(hole << int(s)) | (int(n) & hole) << int(s) for b, s, n in zip(bits, low, new)]
        return make(value.kind, width, made)
    low = low.astype(np.uint64)
    hole = np.uint64((1 << count) - 1)
    bits = (value.bits & ~(hole << low)) | ((part.bits.astype(np.uint64) & hole) << low)
    return make(value.kind, width, bits)


def ordered(value: Value) -> np.ndarray:
    """A float's place among its format's numbers, as ``int64``; zeros are equal. Meaningless for NaN."""
    sign = np.uint64(value.format.sign)
    magnitude = (value.bits & (sign - np.uint64(1))).view(np.int64)
    return np.where(value.bits & sign != 0, -magnitude, magnitude)


def nans(value: Value) -> np.ndarray:
    f = value.format
    if f.kind != "ieee":
        return np.array([f.is_nan(int(x)) for x in value.bits], bool)
    return (value.bits & np.uint64(f.sign - 1)) > np.uint64(f.infinity)


def signalling(value: Value) -> np.ndarray:
    return nans(value) & ((value.bits & np.uint64(value.format.quiet)) == 0)
