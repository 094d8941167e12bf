"""The formats of floats that matrix operations take: what number a code is, and which codes are infinite or NaNs."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Special:
    """A code ``x`` is infinite or a NaN if ``(x ^ flip) & mask >= infinite_from``, a NaN if it is ``>= nan_from``."""

    flip: int
    mask: int
    infinite_from: int
    nan_from: int


@dataclass(frozen=True)
class Format:
    """A sign, an exponent and a fraction, with denormals."""

    bits: int
    fraction: int
    bias: int
    #: None where each code is a finite number.
    special: Special | None = None
    is_signed: bool = True

    def number(self, code: int) -> float:
        """What a code is."""
        special = self.special
        sign = -1.0 if self.is_signed and code >> (self.bits - 1) & 1 else 1.0
        if special is not None:
            told = (code ^ special.flip) & special.mask
            if told >= special.nan_from:
                return math.nan
            if told >= special.infinite_from:
                return sign * math.inf
        magnitude = code & (1 << self.bits - self.is_signed) - 1
        exponent, fraction = magnitude >> self.fraction, magnitude & (1 << self.fraction) - 1
        if exponent == 0:
            return sign * math.ldexp(fraction, 1 - self.bias - self.fraction)
        return sign * math.ldexp(fraction + (1 << self.fraction), exponent - self.bias - self.fraction)


@dataclass(frozen=True)
class Power(Format):
    """A power of two, the scale of a block (E8M0)."""

    def number(self, code: int) -> float:
        return math.nan if code == 0xFF else math.ldexp(1.0, code - self.bias)


def _ieee(bits: int, fraction: int) -> Format:
    exponent = bits - 1 - fraction
    infinity = (1 << exponent) - 1 << fraction
    return Format(bits, fraction, (1 << exponent - 1) - 1, Special(0, (1 << bits - 1) - 1, infinity, infinity + 1))


#: The one NaN of AMD's own formats of 8 bits is what would be their negative zero.
_FNUZ = Special(0x7F, 0xFF, 0xFF, 0xFF)

FORMATS = {
    "f64": _ieee(64, 52),
    "f32": _ieee(32, 23),
    "f16": _ieee(16, 10),
    "bf16": _ieee(16, 7),
    "bf8": _ieee(8, 2),
    "fp8": Format(8, 3, 7, Special(0, 0x7F, 0x7F, 0x7F)),
    "fp8 fnuz": Format(8, 3, 8, _FNUZ),
    "bf8 fnuz": Format(8, 2, 16, _FNUZ),
    "fp6": Format(6, 3, 1),
    "bf6": Format(6, 2, 3),
    "fp4": Format(4, 1, 1),
    "e8m0": Power(8, 0, 127, is_signed=False),
    "e5m3": Format(8, 3, 15, Special(0, 0xFF, 0xFF, 0xFF), is_signed=False),
}
FORMATS["e4m3"] = FORMATS["fp8"]

_CODES = {64: ("<Q", "<d"), 32: ("<I", "<f"), 16: ("<H", "<e")}


def number(kind: str, code: int) -> float:
    """What a code of a kind of floats is."""
    if kind == "bf16":
        return float(struct.unpack("<f", struct.pack("<I", code << 16))[0])
    form = FORMATS[kind]
    if form.bits in _CODES:
        packed, unpacked = _CODES[form.bits]
        return float(struct.unpack(unpacked, struct.pack(packed, code))[0])
    return form.number(code)
