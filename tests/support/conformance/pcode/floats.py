"""Binary floating point of any format, exactly: every result is computed as a whole number and rounded once.

Slow and plain on purpose: Python integers, one element at a time. Values are bit patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

NEAREST, UP, DOWN, ZERO = range(4)  # as MODE.fp_round has them


@dataclass(frozen=True)
class Format:
    """Widths of the exponent and of the fraction; ``kind`` is how finite values end: IEEE 754 (``ieee``), no infinity
    and one NaN at all ones (``ocp``, E4M3), no infinity and NaN at minus zero with one more of bias (``fnuz``), only
    finite values (``finite``)."""

    exponent: int
    fraction: int
    kind: str = "ieee"

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1 + (self.kind == "fnuz")

    @property
    def sign(self) -> int:
        return 1 << (self.exponent + self.fraction)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def quiet(self) -> int:
        return 1 << (self.fraction - 1)

    @property
    def nan(self) -> int:
        """The NaN of an invalid operation."""
        if self.kind == "fnuz":
            return self.sign
        return self.sign - 1 if self.kind == "ocp" else self.sign | self.infinity | self.quiet

    @property
    def largest(self) -> int:
        return {"ieee": self.infinity - 1, "ocp": self.sign - 2}.get(self.kind, self.sign - 1)

    def is_nan(self, x: int) -> bool:
        if self.kind == "finite":
            return False
        if self.kind == "fnuz":
            return x == self.sign
        magnitude = x & (self.sign - 1)
        return magnitude == self.sign - 1 if self.kind == "ocp" else magnitude > self.infinity

    def is_infinite(self, x: int) -> bool:
        return self.kind == "ieee" and x & (self.sign - 1) == self.infinity

    def is_denormal(self, x: int) -> bool:
        return 0 < x & (self.sign - 1) < 1 << self.fraction

    def split(self, x: int) -> tuple[int, int, int]:
        """Sign, significand and exponent of a finite value: ``(-1)^sign * significand * 2^exponent``."""
        raised = x >> self.fraction & ((1 << self.exponent) - 1)
        fraction = x & ((1 << self.fraction) - 1)
        if raised:
            fraction |= 1 << self.fraction
        return x >> (self.width - 1), fraction, max(raised, 1) - self.bias - self.fraction


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
BF8, FP8 = Format(5, 2), Format(4, 3, "ocp")
BF8_FNUZ, FP8_FNUZ = Format(5, 2, "fnuz"), Format(4, 3, "fnuz")
FP6, BF6, FP4 = Format(2, 3, "finite"), Format(3, 2, "finite"), Format(2, 1, "finite")


def pack(to: Format, mode: int, sign: int, significand: int, exponent: int, more: bool = False) -> int:
    """Rounds ``significand * 2^exponent``, plus something less than one unit of it if ``more``."""
    negative = to.sign if sign else 0
    if significand == 0 and not more:
        return 0 if to.kind == "fnuz" else negative
    if more:
        significand, exponent = significand << 2 | 1, exponent - 2
    lowest = 1 - to.bias - to.fraction
    unit = max(exponent + significand.bit_length() - 1 - to.fraction, lowest)
    shift = unit - exponent
    if shift <= 0:
        kept, rest, half = significand << -shift, 0, 1
    else:
        kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
    if mode == NEAREST:
        kept += rest > half or (rest == half and kept & 1 and shift > 0)
    elif rest and mode == (DOWN if sign else UP):
        kept += 1
    if kept >> (to.fraction + 1):
        kept, unit = kept >> 1, unit + 1
    if kept >> to.fraction == 0:
        return 0 if kept == 0 and to.kind == "fnuz" else negative | kept
    bits = (unit - lowest + 1 << to.fraction) | (kept & ((1 << to.fraction) - 1))
    if bits > to.largest:
        if to.kind != "ieee":
            return negative | to.largest if to.kind == "finite" else to.nan
        away = mode == NEAREST or mode == (DOWN if sign else UP)
        return negative | (to.infinity if away else to.largest)
    return negative | bits


def quieted(f: Format, x: int) -> int:
    return x | f.quiet if f.kind == "ieee" else x


def convert(source: Format, to: Format, mode: int, x: int, *, quiet: bool = True) -> int:
    """To another format. A NaN keeps the leading bits of its payload (and with ``quiet=False`` stays signalling)."""
    sign = x >> (source.width - 1)
    if source.is_nan(x):
        if to.kind != "ieee":
            return to.nan
        payload = x & ((1 << source.fraction) - 1)
        grow = to.fraction - source.fraction
        payload = payload << grow if grow >= 0 else payload >> -grow
        bits = (to.sign if sign else 0) | to.infinity | payload
        return bits | to.quiet if quiet or payload == 0 else bits
    if source.is_infinite(x):
        if to.kind != "ieee":
            return to.nan
        return (to.sign if sign else 0) | to.infinity
    return pack(to, mode, *source.split(x))


def scaled(source: Format, to: Format, x: int, scale: int, up: bool, random: int | None = None) -> int:
    """To another format, multiplied (``up``) or divided by the power of two whose biased exponent ``scale`` is; 255 makes
    a NaN. With a random number, its leading bits are added to those of the source's precision that are cut off."""
    sign = x >> (source.width - 1)
    negative = to.sign if sign else 0
    if scale == 255 or source.is_nan(x):
        return negative | to.largest if to.kind == "finite" else to.nan
    if source.is_infinite(x):
        if to.kind == "finite":
            return negative | to.largest
        return negative | to.infinity if to.kind == "ieee" else to.nan
    _, significand, exponent = source.split(x)
    exponent += scale - 127 if up else 127 - scale
    if random is not None and significand:
        grow = source.fraction + 1 - significand.bit_length()
        significand, exponent = significand << grow, exponent - grow
        cut = source.fraction - to.fraction
        below = max(1 - to.bias - (exponent + source.fraction), 0)
        kept = (significand >> below) + (random >> 32 - cut) >> cut
        return pack(to, NEAREST, sign, kept, exponent + below + cut)
    return pack(to, NEAREST, sign, significand, exponent)


def fma(f: Format, mode: int, a: int, b: int, c: int, scale: int = 0) -> int:
    """``(a * b + c) * 2^scale``, rounded once."""
    for x in (a, b, c):
        if f.is_nan(x):
            return quieted(f, x)
    product_sign = (a ^ b) >> (f.width - 1)
    if f.is_infinite(a) or f.is_infinite(b):
        zero = (a if f.is_infinite(b) else b) & (f.sign - 1) == 0
        if zero or (f.is_infinite(c) and c >> (f.width - 1) != product_sign):
            return f.nan
        return (f.sign if product_sign else 0) | f.infinity
    if f.is_infinite(c):
        return c
    (_, sa, ea), (_, sb, eb), (c_sign, sc, ec) = f.split(a), f.split(b), f.split(c)
    exponent = min(ea + eb, ec)
    total = (sa * sb << ea + eb - exponent) * (-1 if product_sign else 1) + (sc << ec - exponent) * (-1 if c_sign else 1)
    if total == 0:
        exact_zero_sign = product_sign if product_sign == c_sign else int(mode == DOWN)
        return f.sign if exact_zero_sign else 0
    return pack(f, mode, int(total < 0), abs(total), exponent + scale)


def one(f: Format) -> int:
    return f.bias << f.fraction


def add(f: Format, mode: int, a: int, b: int) -> int:
    if f.is_nan(a) or f.is_nan(b):
        return quieted(f, a if f.is_nan(a) else b)
    return fma(f, mode, one(f), a, b)


def multiply(f: Format, mode: int, a: int, b: int) -> int:
    return fma(f, mode, a, b, (a ^ b) & f.sign)


def divide(f: Format, mode: int, a: int, b: int) -> int:
    for x in (a, b):
        if f.is_nan(x):
            return quieted(f, x)
    sign = (a ^ b) & f.sign
    a_zero, b_zero = a & (f.sign - 1) == 0, b & (f.sign - 1) == 0
    if (a_zero and b_zero) or (f.is_infinite(a) and f.is_infinite(b)):
        return f.nan
    if f.is_infinite(a) or b_zero:
        return sign | f.infinity
    if a_zero or f.is_infinite(b):
        return sign
    (_, sa, ea), (_, sb, eb) = f.split(a), f.split(b)
    up = f.fraction + 3 + sb.bit_length()
    quotient, rest = divmod(sa << up, sb)
    return pack(f, mode, int(sign != 0), quotient, ea - eb - up, rest != 0)


def sqrt(f: Format, mode: int, a: int) -> int:
    if f.is_nan(a):
        return quieted(f, a)
    if a & (f.sign - 1) == 0:
        return a
    if a & f.sign:
        return f.nan
    if f.is_infinite(a):
        return a
    _, significand, exponent = f.split(a)
    up = 2 * f.fraction + 4
    up += (exponent - up) & 1
    root = isqrt(significand << up)
    return pack(f, mode, 0, root, (exponent - up) // 2, root * root != significand << up)


def from_integer(to: Format, mode: int, value: int) -> int:
    return pack(to, mode, int(value < 0), abs(value), 0)


def to_integer(f: Format, x: int, low: int, high: int, mode: int = ZERO) -> int:
    """NaN is 0; what does not fit saturates."""
    if f.is_nan(x):
        return 0
    if f.is_infinite(x):
        return low if x & f.sign else high
    return min(max(whole(f, x, mode), low), high)


def whole(f: Format, x: int, mode: int) -> int:
    """A finite value as a whole number, rounded."""
    sign, significand, exponent = f.split(x)
    if exponent >= 0:
        kept = significand << exponent
    else:
        shift = min(-exponent, significand.bit_length() + 2)
        kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
        if mode == NEAREST:
            kept += rest > half or (rest == half and kept & 1)
        elif rest and mode == (DOWN if sign else UP):
            kept += 1
    return -kept if sign else kept


def integral(f: Format, x: int, mode: int) -> int:
    """Rounded to a whole number, in the format; a zero keeps its sign."""
    if f.is_nan(x):
        return quieted(f, x)
    if f.is_infinite(x):
        return x
    return (x & f.sign) | pack(f, ZERO, 0, abs(whole(f, x, mode)), 0)


def ldexp(f: Format, mode: int, x: int, power: int) -> int:
    if f.is_nan(x):
        return quieted(f, x)
    if f.is_infinite(x):
        return x
    sign, significand, exponent = f.split(x)
    return pack(f, mode, sign, significand, exponent + max(min(power, 20_000), -20_000))


def to_python(f: Format, x: int) -> float:
    """As a Python float (formats up to 64 bits are exact; NaN loses its payload)."""
    if f.is_nan(x):
        return float("nan")
    if f.is_infinite(x):
        return float("-inf") if x & f.sign else float("inf")
    sign, significand, exponent = f.split(x)
    value = float(significand) * 2.0 ** max(exponent, -1074) if exponent >= -1074 else 0.0
    return -value if sign else value
