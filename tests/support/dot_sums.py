"""Sums of products as the dot product units of RDNA3 and RDNA4 have been measured to form them, in Python's integers.

What they do, and who measured it, says crates/emulator/src/fp/dot/mod.rs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A sign, an exponent, a fraction."""

    exponent: int
    fraction: int
    infinite: bool = True

    @property
    def sign(self) -> int:
        return 1 << (self.exponent + self.fraction)

    @property
    def most(self) -> int:
        return (1 << self.exponent) - 1

    def kind(self, code: int) -> str:
        """``number``, ``infinity`` or ``nan``."""
        magnitude = code & (self.sign - 1)
        if not self.infinite:
            return "nan" if magnitude == self.sign - 1 else "number"
        infinity = self.most << self.fraction
        return "number" if magnitude < infinity else "infinity" if magnitude == infinity else "nan"

    def parts(self, code: int, *, flushes: bool) -> tuple[bool, int, int]:
        """Sign, significand, and the exponent of a normal number's first place."""
        field, fraction = code >> self.fraction & self.most, code & (1 << self.fraction) - 1
        significand = fraction | 1 << self.fraction if field else 0 if flushes and self.exponent == 8 else fraction
        return bool(code & self.sign), significand, max(field, 1) - (self.most >> 1)


F16, BF16, F32 = Format(5, 10), Format(8, 7), Format(8, 23)
FP8, BF8 = Format(4, 3, infinite=False), Format(5, 2)

#: What NaNs among the factors, and what invalid operations become.
NANS = {F32: (0xFFC00A3D, 0xFFC00000), BF16: (0xFFFD, 0xFFC0), F16: (0xFE3D, 0xFE00)}


def _units(significand: int, place: int, last: int) -> int:
    return significand << place - last if place >= last else significand >> last - place


def _round_even(significand: int, shift: int) -> int:
    if shift <= 0:
        return significand << -shift
    kept, rest, half = significand >> shift, significand & (1 << shift) - 1, 1 << shift - 1
    return kept + (rest > half or rest == half and kept & 1)


def _packed(total: int, last: int, result: Format, *, flushes: bool, saturates: bool) -> int:
    f = F32 if result is BF16 else result
    magnitude, least = abs(total), 1 - (f.most >> 1)
    if not magnitude:
        return 0
    exponent = magnitude.bit_length() - 1 + last
    if f is F32 and flushes:
        rounded = _round_even(magnitude, magnitude.bit_length() - 24)
        if exponent + (rounded >> 24) < least:
            return 0
    exponent = max(exponent, least)
    code = _round_even(magnitude, exponent - f.fraction - last) + (exponent - least << f.fraction)
    if code == 0:
        return 0
    code = min(code, f.most << f.fraction) | (f.sign if total < 0 else 0)
    if saturates and f is F16 and f.kind(code) == "infinity":
        code -= 1
    return code >> 16 if result is BF16 else code


def dot(
    generation: int,
    factors: tuple[Format, Format],
    result: Format,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    *,
    group: int = 2,
    saturates: bool = False,
) -> int:
    """The sum of ``c`` and the products of ``a`` and ``b``, as generation 11 or 12 has it: codes in, a code out."""
    old = generation == 11
    nan, invalid = NANS[result]
    if factors[0].fraction < 4:
        invalid = nan
    infinities, wrong = set(), False
    terms: list[tuple[bool, int, int]] = []
    for x, y in zip(a, b, strict=True):
        kinds = factors[0].kind(x), factors[1].kind(y)
        if "nan" in kinds:
            return nan
        (xs, xm, xe), (ys, ym, ye) = (f.parts(code, flushes=old) for f, code in zip(factors, (x, y), strict=True))
        if "infinity" in kinds:
            wrong |= (kinds[0] == "number" and not xm) or (kinds[1] == "number" and not ym)
            infinities.add(xs != ys)
        terms.append((xs != ys, xm * ym, xe + ye))
    if wrong or len(infinities) == 2:
        return invalid
    negative, significand, exponent = result.parts(c, flushes=old)
    if result.kind(c) == "nan":
        return c | 1 << result.fraction - 1
    if result.kind(c) == "infinity":
        infinities.add(negative)
    if infinities:
        return invalid if len(infinities) == 2 else result.most << result.fraction | result.sign * infinities.pop()
    # C has a significand of 24 bits, normal if f32 has it so.
    significand, top = significand << 23 - result.fraction, 24
    while significand and significand.bit_length() < top and exponent > -126:
        significand, exponent = significand << 1, exponent - 1
    floor = -14 if result is F16 else None if old else -126
    candidates = ([exponent] if significand else []) + ([] if floor is None else [floor])
    precision = factors[0].fraction + factors[1].fraction
    places = [max(candidates) - 26] if candidates else []
    places += [e - 24 for _, m, e in terms if m]
    if not places or not significand and not any(m for _, m, _ in terms):
        return 0
    last = max(places)
    if old:
        total = _units(significand, exponent - 23, last)
        for opposite, m, e in ((s != negative, m, e) for s, m, e in terms):
            magnitude = _units(m, e - precision, last)
            total += ~magnitude if opposite else magnitude
        total = -total if negative else total
    else:
        total = _units(-significand if negative else significand, exponent - 23, last)
        if not _units(significand, exponent - 23, last) and floor is not None and last > floor:
            total = 0
        for first in range(0, len(terms), group):
            some = terms[first : first + group]
            own = max((e - 24 for _, m, e in some if m), default=last)
            total += _units(sum(_units(-m if s else m, e - precision, own) for s, m, e in some), own, last)
    return _packed(total, last, result, flushes=old, saturates=saturates)
