"""The types of the hook language, what mixes with what, and numbers that are worth a try."""

from __future__ import annotations

import random

import numpy as np

INTS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "f32", "f64")
NUMBERS = (*INTS, *FLOATS)


def bits(kind: str) -> int:
    return int(kind[1:])


def dtype(kind: str) -> np.dtype:
    return np.dtype(bool) if kind == "bool" else np.dtype(f"{kind[0]}{bits(kind) // 8}")


def kind_of(array: np.ndarray) -> str:
    return f"{array.dtype.kind}{array.dtype.itemsize * 8}"


def limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(dtype(kind))
    return int(info.min), int(info.max)


def mix(a: np.dtype, b: np.dtype) -> np.dtype:
    """The type of an operation on both: the one that holds every value of the other. NumPy itself would take f64 for
    u32 with f32."""
    if a.kind == "f" or b.kind == "f":
        assert a.kind == b.kind == "f", f"{a} and {b} do not mix"
        return max(a, b, key=lambda one: one.itemsize)
    for one, other in ((a, b), (b, a)):
        inner, outer = np.iinfo(one), np.iinfo(other)
        if outer.min <= inner.min and inner.max <= outer.max:
            return other
    raise AssertionError(f"{a} and {b} do not mix")


def narrower(kind: str) -> list[str]:
    """The types that become ``kind`` where both meet."""
    if kind in FLOATS:
        return [one for one in FLOATS if bits(one) <= bits(kind)]
    low, high = limits(kind)
    return [one for one in INTS if low <= limits(one)[0] and limits(one)[1] <= high]


def edges(kind: str) -> list[float]:
    """Numbers at which something changes."""
    if kind in FLOATS:
        info = np.finfo(dtype(kind))
        large = [1024.0, 60000.0] if kind == "f16" else [2.0**20, 3e9]
        values = [0.0, -0.0, 0.5, 1.0, -1.5, *large, np.inf, -np.inf, np.nan]
        return [*values, float(info.smallest_subnormal) * 3, float(info.tiny), float(info.max)]
    low, high = limits(kind)
    return [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, high // 2, high - 1, high, low]


def number(kind: str, rng: random.Random) -> float:
    """One of the edges, or a number of any size."""
    if rng.random() < 0.5:
        return rng.choice(edges(kind))
    if kind in FLOATS:
        return rng.gauss(0, 100) * 2.0 ** rng.randint(-8, 8 if kind == "f16" else 40)
    low, high = limits(kind)
    size = 1 << rng.randint(1, bits(kind))
    return max(low, min(high, rng.randint(-size, size)))


def numbers(kind: str, count: int, rng: random.Random) -> np.ndarray:
    with np.errstate(over="ignore"):  # f16
        return np.array([number(kind, rng) for _ in range(count)], dtype(kind))
