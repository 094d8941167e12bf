"""Small number formats: what each code means, from the specifications of the Open Compute Project and of AMD; and how far
a matrix product in them may be from the exact one."""

from __future__ import annotations

import numpy as np


def _values(exponent: int, fraction: int, bias: int, top: str) -> np.ndarray:
    """The number of each code."""
    codes = np.arange(1 << (1 + exponent + fraction))
    e, f = codes >> fraction & ((1 << exponent) - 1), codes & ((1 << fraction) - 1)
    magnitude = np.where(e == 0, f * 2.0 ** (1 - bias - fraction), (f / 2**fraction + 1) * 2.0 ** (e - bias))
    sign = codes >> (exponent + fraction)
    values = np.where(sign, -magnitude, magnitude)
    largest = (1 << (exponent + fraction)) - 1
    if top == "one nan":
        values[codes & largest == largest] = np.nan
    elif top == "ieee":
        values[e == (1 << exponent) - 1] = np.nan  # infinities too: they are not used here
    elif top == "fnuz":
        values[largest + 1] = np.nan
    return values


FP8, BF8 = _values(4, 3, 7, "one nan"), _values(5, 2, 15, "ieee")
FP8_FNUZ, BF8_FNUZ = _values(4, 3, 8, "fnuz"), _values(5, 2, 16, "fnuz")
FP6, BF6, FP4 = _values(2, 3, 1, ""), _values(3, 2, 3, ""), _values(2, 1, 1, "")
#: Without a sign: gfx1250's.
E5M3 = _values(5, 3, 15, "one nan")[:256]
#: By the names that instructions have for them, with the bits of the fraction and the least exponent of a normal number.
SMALL = {
    "fp8": (FP8, 3, -6),
    "bf8": (BF8, 2, -14),
    "e5m3": (E5M3, 3, -14),
    "fp6": (FP6, 3, 0),
    "bf6": (BF6, 2, -2),
    "fp4": (FP4, 1, 0),
}


def codes(rng: np.random.Generator, table: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Codes of numbers that are not too far apart."""
    usable = np.flatnonzero(np.isfinite(table) & (np.abs(table) <= 16) & (np.abs(table) >= 1 / 64))
    return rng.choice(usable, shape)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """The numbers of bf16 codes."""
    with np.errstate(invalid="ignore"):
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(float)


def check_product(kind: str, got: np.ndarray, a: np.ndarray, b: np.ndarray, start: np.ndarray) -> None:
    """``got`` is ``a @ b + start`` in results of ``kind``: exact for integers; of floats what the roundings of an f32 sum
    may lose, and one to the result's format."""
    want = a @ b + start
    if kind == "i32":
        np.testing.assert_array_equal(got, want)
        return
    size = np.abs(a) @ np.abs(b) + np.abs(start)
    lost = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}[kind]
    assert (np.abs(got - want) <= size * 2.0**-20 + np.abs(want) * lost).all()


def meant(bits: np.ndarray, kind: str) -> np.ndarray:
    """The numbers that f32, f16, bf16 or small codes are, as f64, infinities included."""
    with np.errstate(invalid="ignore"):
        if kind == "f32":
            return bits.astype(np.uint32).view(np.float32).astype(float)
        if kind == "f16":
            return bits.astype(np.uint16).view(np.float16).astype(float)
    if kind == "bf16":
        return from_bf16(bits)
    values = SMALL[kind][0][bits]
    return np.where(bits & 0x7F == 0x7C, np.copysign(np.inf, 0.5 - (bits >> 7)), values) if kind == "bf8" else values


def widened(x: np.ndarray, kind: str, saturates: bool) -> np.ndarray:
    """The nearest code of f32, f16 or bf16 (a NaN for NaNs); what becomes too large is the largest if it saturates."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "f32":
            return x.astype(np.float32).view(np.uint32)
        fraction, least, largest = {"f16": (10, -14, 65504.0), "bf16": (7, -126, 2.0**127 * (2 - 2.0**-7))}[kind]
        unit = np.ldexp(1.0, np.maximum(np.frexp(np.where(np.isfinite(x), x, 0))[1] - 1, least) - fraction)
        near = np.where(np.isfinite(x), np.rint(x / unit) * unit, x)
        over = np.isfinite(x) & (np.abs(near) > largest)
        near = np.where(over, np.copysign(largest if saturates else np.inf, x), near)
        if kind == "f16":
            return near.astype(np.float16).view(np.uint16).astype(np.uint32)
        return near.astype(np.float32).view(np.uint32) >> 16


def narrowed(x: np.ndarray, kind: str, saturates: bool, source: int, random: np.ndarray | None = None) -> np.ndarray:
    """The codes of numbers: to nearest even, or with random numbers, whose leading bits are added to what a number of
    ``source`` bits of fraction has more than its code. -1 stands for any NaN."""
    table, fraction, least = SMALL[kind]
    sign = len(table) // 2 if kind != "e5m3" else 0
    magnitudes = table[: sign or 256]
    largest = int(np.flatnonzero(np.isfinite(magnitudes))[-1])
    size = np.abs(np.where(np.isfinite(x), x, 0))
    exponent = np.maximum(np.frexp(size)[1] - 1, least)
    if random is None:
        steps = np.rint(np.ldexp(size, fraction - exponent))
    else:
        cut = source - fraction
        whole = np.floor(np.ldexp(size, source - exponent))
        steps = np.floor((whole + (random.astype(np.uint64) >> np.uint64(32 - cut)).astype(float)) / 2.0**cut)
    near = np.where(np.isinf(x), np.inf, np.ldexp(steps, exponent - fraction))
    over = near > magnitudes[largest]
    codes = np.searchsorted(magnitudes[: largest + 1], np.minimum(near, magnitudes[largest]))
    assert (magnitudes[codes] == np.minimum(near, magnitudes[largest])).all()
    if kind in ("fp8", "bf8", "e5m3") and not saturates:
        codes = np.where(over, 0x7C if kind == "bf8" else -1, codes)
    codes = np.where(codes < 0, codes, codes | np.where(np.signbit(x), sign, 0))
    if kind in ("fp8", "bf8", "e5m3"):
        return np.where(np.isnan(x), -1, codes)
    return np.where(np.isnan(x), largest | np.where(np.signbit(x), sign, 0), codes)
