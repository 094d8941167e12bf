"""The functions that the pseudocode calls without defining them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from . import floats
from .syntax import PcodeError
from .values import FLOATS, Value, boolean, converted, extended, make, nans, numbers, retyped, signalling

if TYPE_CHECKING:
    from .evaluate import Machine

Function = Callable[..., Value]


def _map(value: Value, kind: str, width: int, function: Callable[[int], int]) -> Value:
    return make(kind, width, [function(int(x)) for x in value.bits])


def _sign(m: Machine, x: Value) -> Value:
    return boolean(x.bits >> np.uint64(x.width - 1) != 0)


def _exponent(m: Machine, x: Value) -> Value:
    f = x.format
    return make("I", 32, x.bits >> np.uint64(f.fraction) & np.uint64((1 << f.exponent) - 1))


def _mantissa(m: Machine, x: Value) -> Value:
    """The value scaled into [0.5, 1), a zero as it is."""
    f = x.format

    def scaled(bits: int) -> int:
        sign, significand, _ = f.split(bits)
        return floats.pack(f, floats.NEAREST, sign, significand, -significand.bit_length()) if significand else bits

    return _map(x, x.kind, x.width, scaled)


def _abs(m: Machine, x: Value) -> Value:
    if x.is_float:
        return make(x.kind, x.width, x.bits & np.uint64(x.format.sign - 1))
    return make(x.kind, x.width, [abs(n) for n in numbers(x)])


def _rounded(mode: int) -> Function:
    def function(m: Machine, x: Value) -> Value:
        return m.watched(_map(x, x.kind, x.width, lambda bits: floats.integral(x.format, bits, mode)))

    return function


def _fract(m: Machine, x: Value) -> Value:
    """``x - floor(x)``."""
    f = x.format

    def function(bits: int) -> int:
        if f.is_nan(bits) or f.is_infinite(bits):
            return f.nan
        return floats.add(f, floats.NEAREST, bits, floats.integral(f, bits, floats.DOWN) ^ f.sign)

    return _map(x, x.kind, x.width, function)


def _is_even(m: Machine, x: Value) -> Value:
    f = x.format

    def even(bits: int) -> bool:
        return not (f.is_nan(bits) or f.is_infinite(bits)) and floats.whole(f, bits, floats.ZERO) % 2 == 0

    return boolean(np.array([even(int(b)) for b in x.bits]))


def _sqrt(m: Machine, x: Value) -> Value:
    mode = m.rounding(x)
    return m.watched(_map(x, x.kind, x.width, lambda bits: floats.sqrt(x.format, mode, bits)))


def _ldexp(m: Machine, x: Value, power: Value) -> Value:
    mode, f = m.rounding(x), x.format
    bits, powers = np.broadcast_arrays(x.bits, np.array(numbers(power), object))
    return m.watched(make(x.kind, x.width, [floats.ldexp(f, mode, int(b), int(p)) for b, p in zip(bits, powers)]))


def _fma(m: Machine, a: Value, b: Value, c: Value) -> Value:
    mode, f = m.rounding(a), a.format
    rows = zip(*np.broadcast_arrays(a.bits, b.bits, c.bits))
    return m.watched(make(a.kind, a.width, [floats.fma(f, mode, int(x), int(y), int(z)) for x, y, z in rows]))


def _signext(m: Machine, x: Value) -> Value:
    return make("I", 64, extended(retyped(x, "I", x.width)))


def _signext_from_bit(m: Machine, x: Value, count: Value) -> Value:
    """The low ``count`` bits sign-extended; of no bits, zero. Of more than there are, the value itself."""

    def function(bits: int, n: int) -> int:
        if n == 0:
            return 0
        n = min(n, x.width)
        bits &= (1 << n) - 1
        return bits - (1 << n) if bits >> (n - 1) else bits

    rows = zip(*np.broadcast_arrays(x.bits, count.bits))
    return make("I", x.width, [function(int(b), int(n)) for b, n in rows])


def _bit_count(m: Machine, x: Value) -> Value:
    return _map(x, "I", 32, int.bit_count)


def _float32(m: Machine, sign: Value, exponent: Value, fraction: Value) -> Value:
    s, e, f = (extended(part) for part in (sign, exponent, fraction))
    return make("F", 32, s << np.uint64(31) | e << np.uint64(23) | f)


def _normalized(low: int, high: int) -> Function:
    """To a fixed-point number with 1.0 at ``high``; out of range saturates, NaN is 0."""

    def function(m: Machine, x: Value) -> Value:
        f = x.format

        def bits(b: int) -> int:
            if f.is_nan(b):
                return 0
            if f.is_infinite(b):
                return low if b & f.sign else high
            sign, significand, exponent = f.split(b)
            scaled = floats.pack(floats.F64, floats.NEAREST, sign, significand * high, exponent)  # exact: 24 + 16 bits
            return min(max(floats.whole(floats.F64, scaled, floats.NEAREST), low), high)

        return _map(x, "I" if low < 0 else "U", 16, bits)

    return function


def _quiet(m: Machine, x: Value) -> Value:
    return make(x.kind, x.width, x.bits | np.uint64(x.format.quiet))


def _extreme(larger: bool) -> Function:
    """IEEE 754-2019 minimum and maximum, which the CDNA table calls without defining them."""

    def function(m: Machine, *values: Value) -> Value:
        f = values[0].format

        def pick(a: int, b: int) -> int:
            for x in (a, b):
                if f.is_nan(x):
                    return floats.quieted(f, x)
            first, second = (-(x & (f.sign - 1)) - 1 if x & f.sign else x for x in (a, b))
            return a if (first >= second if larger else first <= second) else b

        rows = zip(*np.broadcast_arrays(*(v.bits for v in values)))
        return m.watched(make(values[0].kind, values[0].width, [functools.reduce(pick, map(int, row)) for row in rows]))

    return function


NAMED: dict[str, Function] = {
    "v_minimum_f32": _extreme(False),
    "v_maximum_f32": _extreme(True),
    "v_minimum3_f16": _extreme(False),
    "v_maximum3_f16": _extreme(True),
    "sign": _sign,
    "exponent": _exponent,
    "mantissa": _mantissa,
    "abs": _abs,
    "floor": _rounded(floats.DOWN),
    "trunc": _rounded(floats.ZERO),
    "fract": _fract,
    "isEven": _is_even,
    "sqrt": _sqrt,
    "ldexp": _ldexp,
    "fma": _fma,
    "isNAN": lambda m, x: boolean(nans(x)),
    "isSignalNAN": lambda m, x: boolean(signalling(x)),
    "isQuietNAN": lambda m, x: boolean(nans(x) & ~signalling(x)),
    "cvtToQuietNAN": _quiet,
    "signext": _signext,
    "signext_from_bit": _signext_from_bit,
    "bitCount": _bit_count,
    "float32": _float32,
    "f32_to_snorm": _normalized(-32767, 32767),
    "f16_to_snorm": _normalized(-32767, 32767),
    "f32_to_unorm": _normalized(0, 65535),
    "f16_to_unorm": _normalized(0, 65535),
}

_CONVERSION = re.compile(r"(u|i|f|bf|fp)(\d+)_to_(u|i|f|bf|fp)(\d+)")


def conversion(name: str) -> Function | None:
    """``f32_to_i32`` and its like."""
    match = _CONVERSION.fullmatch(name)
    if not match:
        return None
    source, source_width = match[1].upper(), int(match[2])
    kind, width = match[3].upper(), int(match[4])

    def function(m: Machine, x: Value) -> Value:
        x = retyped(x, source, source_width)
        if source in "UI" and kind in "UI":
            if source_width < width:
                return make(kind, width, extended(x))
            low, high = (0, (1 << width) - 1) if kind == "U" else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            return make(kind, width, [min(max(n, low), high) for n in numbers(x)])
        if source in "UI":
            to = FLOATS[kind, width]
            mode = m.rounding_of(to)
            return make(kind, width, [floats.from_integer(to, mode, n) for n in numbers(x)])
        if kind in "UI":
            low, high = (0, (1 << width) - 1) if kind == "U" else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            return make(kind, width, [floats.to_integer(x.format, int(b), low, high) for b in x.bits])
        return m.watched(converted(x, kind, width, m.rounding_of(FLOATS[kind, width])))

    return function


_SCALED = re.compile(r"(f|bf|fp)(\d+)_to_(f|bf|fp)(\d+)_?(sr)?_?(scale)?")


def scaled_conversion(name: str) -> Function | None:
    """``f32_to_fp8_sr_scale`` and its like: the number, the random number if there is one, the scale."""
    match = _SCALED.fullmatch(name.lower())
    if not match:
        return None
    source, to = (match[1].upper(), int(match[2])), (match[3].upper(), int(match[4]))

    def function(m: Machine, x: Value, *others: Value) -> Value:
        x = retyped(x, *source)
        left = list(others)
        random = left.pop(0) if match[5] else None
        scale = left.pop(0) if match[6] else make("U", 8, 127)
        columns = np.broadcast_arrays(*(v.bits for v in (x, scale, random) if v is not None))
        up = source[1] < to[1]
        found = [
            floats.scaled(FLOATS[source], FLOATS[to], *map(int, r[:1]), int(r[1]), up, *map(int, r[2:])) for r in zip(*columns)
        ]
        return m.watched(make(*to, found))

    return function


def find(name: str) -> Function:
    function = NAMED.get(name) or conversion(name) or scaled_conversion(name)
    if not function:
        raise PcodeError(f"{name}() is not defined")
    return function
