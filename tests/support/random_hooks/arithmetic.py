"""The language's arithmetic where NumPy's is another one, or is undefined: in Python's own integers, lane by lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _wrapped(values: list[int], to: np.dtype) -> np.ndarray:
    width = to.itemsize * 8
    return np.array([value % (1 << width) for value in values], f"u{to.itemsize}").view(to)


def _each(function: Callable[[int, int], int], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _wrapped([function(int(x), int(y)) for x, y in zip(a, b)], a.dtype)


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _each(lambda x, y: x // y if y else 0, a, b)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _each(lambda x, y: x % y if y else 0, a, b)


def shift_left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = a.dtype.itemsize * 8
    return _each(lambda x, n: x << n if 0 <= n < width else 0, a, b)


def shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    width = a.dtype.itemsize * 8
    return _each(lambda x, n: x >> (n if 0 <= n < width else width), a, b)


def _of_bits(function: Callable[[int, int], int], value: np.ndarray) -> np.ndarray:
    width = value.dtype.itemsize * 8
    return np.array([function(int(x) % (1 << width), width) for x in value], np.uint32)


def popcount(value: np.ndarray) -> np.ndarray:
    return _of_bits(lambda x, width: x.bit_count(), value)


def ctz(value: np.ndarray) -> np.ndarray:
    return _of_bits(lambda x, width: (x & -x).bit_length() - 1 if x else width, value)


def clz(value: np.ndarray) -> np.ndarray:
    return _of_bits(lambda x, width: width - x.bit_length(), value)


def convert(value: np.ndarray, to: np.dtype) -> np.ndarray:
    """Integers are cut off, floats rounded toward zero and held to the integer's range; a NaN becomes 0."""
    if value.dtype.kind != "f" or to.kind not in "iu":
        return value.astype(to)
    info = np.iinfo(to)
    low, high = int(info.min), int(info.max)
    values = np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    # Python compares floats with integers exactly; 2^64 - 1 is no float.
    return np.array([low if x <= low else high if x >= high else int(x) for x in values.tolist()], to)
