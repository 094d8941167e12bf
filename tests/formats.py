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
