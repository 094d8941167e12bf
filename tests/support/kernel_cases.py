"""Launch recipes for the kernels in tests/kernels: inputs, geometry, and what NumPy says the result is.

A recipe is a list of launches of one code object, run one after the other in the same loaded module. The arrays of
`args` stand for device buffers and hold the results afterwards; `check` compares them, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N = 700  # two workgroups and a ragged third


@dataclass
class Launch:
    kernel: str
    grid: tuple[int, ...]  # work-items
    block: tuple[int, ...]
    args: list  # NumPy arrays (buffers) and NumPy scalars
    check: Callable[[list], None]


def _equal(index: int, want: np.ndarray) -> Callable[[list], None]:
    def check(args: list) -> None:
        got = args[index]
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))

    return check


def _simple(kernel: str, inputs: list, want: np.ndarray, n: int = N) -> list[Launch]:
    """One work-item per element: inputs, then the output buffer, then the element count."""
    args = [*inputs, np.zeros_like(want), np.uint32(n)]
    return [Launch(kernel, (768,), (256,), args, _equal(len(inputs), want))]


def vecadd(rng):
    a, b = rng.standard_normal((2, N)).astype(np.float32)
    return _simple("vecadd", [a, b], a + b)


def saxpy(rng):
    n, grid = 1000, 384
    # Multiples of 2**-10: product and sum are exact in f64, so the cast is the one rounding that an FMA makes.
    x, y = (rng.integers(-(1 << 20), 1 << 20, (2, n)) / 1024).astype(np.float32)
    alpha = np.float32(1.7)
    want = (np.float64(alpha) * x.astype(np.float64) + y.astype(np.float64)).astype(np.float32)
    args = [alpha, x, y.copy(), np.uint32(n), np.uint32(grid)]
    return [Launch("saxpy", (grid,), (128,), args, _equal(2, want))]


def reduce(rng):
    data = rng.integers(-1000, 1000, N).astype(np.int32)
    want = np.array([part.sum(dtype=np.int32) for part in np.split(np.pad(data, (0, 768 - N)), 3)], np.int32)
    args = [data, np.zeros(3, np.int32), np.uint32(N)]
    return [Launch("reduce", (768,), (256,), args, _equal(1, want))]


def matmul(rng):
    n = 48
    a, b = (rng.integers(-8, 8, (n, n)).astype(np.float32) for _ in "ab")  # small integers: every order sums exactly
    args = [a, b, np.zeros((n, n), np.float32), np.uint32(n)]
    return [Launch("matmul", (n, n), (16, 16), args, _equal(2, a @ b))]


def histogram(rng):
    data = rng.integers(0, 1 << 20, N).astype(np.uint32)
    want = np.bincount(data & 63, minlength=64).astype(np.uint32)
    args = [data, np.zeros(64, np.uint32), np.uint32(N)]
    return [Launch("histogram", (768,), (256,), args, _equal(1, want))]


def _collatz_steps(value: int) -> int:
    steps = 0
    while value > 1:
        value = 3 * value + 1 if value & 1 else value // 2
        steps += 1
    return steps


def collatz(rng):
    data = rng.integers(0, 5000, N).astype(np.uint32)
    return _simple("collatz", [data], np.array([_collatz_steps(int(v)) for v in data], np.uint32))


def _mix(a, b):
    a = a ^ (b * np.uint32(0x9E3779B9))
    return ((a << np.uint32(13)) | (a >> np.uint32(19))) + b


def _words(rng, n: int = N, rows: int = 1):
    data = rng.integers(0, 1 << 32, (rows, n), dtype=np.uint64).astype(np.uint32)
    return data if rows > 1 else data[0]


def call(rng):
    a, b = _words(rng, rows=2)
    want = _mix(_mix(a, b), a) + _mix(b, np.arange(N, dtype=np.uint32))
    return _simple("call", [a, b], want)


def pointer(rng):
    which = rng.integers(0, 3, N).astype(np.uint32)
    a, b = _words(rng, rows=2)
    return _simple("pointer", [which, a, b], np.choose(which, [a + b, a * b, a ^ b]))


def scratch(rng):
    n = 150
    data = rng.integers(-999, 999, (n, 16)).astype(np.int32)
    args = [data, np.zeros_like(data), np.uint32(n)]
    return [Launch("scratch", (192,), (64,), args, _equal(1, np.sort(data, axis=1)))]


def half(rng):
    n = 700
    a = rng.standard_normal(n).astype(np.float16)
    b = (rng.standard_normal(n) + 3).astype(np.float16)
    packed = a * b + b
    low = (a.astype(np.float32) / b.astype(np.float32)).astype(np.float16)
    high = np.where(a < b, a - b, b * a)
    want = packed + np.where(np.arange(n) % 2 == 0, low, high)
    args = [a, b, np.zeros(n, np.float16), np.uint32(n)]
    return [Launch("half_math", (384,), (128,), args, _equal(2, want))]


def double(rng):
    a, b = rng.standard_normal((2, N)) * 100
    return _simple("double_math", [a, b], a / b + np.sqrt(a * a + b * b) - a.astype(np.int32))


def wide(rng):
    a = rng.integers(-(1 << 62), 1 << 62, N)
    b = rng.integers(1, 1 << 40, N) * rng.choice([-1, 1], N)
    a[:8] = [0, 1, -1, 7, 1 << 40, -(1 << 40), (1 << 62) - 1, -(1 << 62)]
    quotient = np.array([abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)])
    result = (a * b) ^ quotient
    result = result + (a - quotient * b)
    shifted = (a.view(np.uint64) >> (b & 63).view(np.uint64)).view(np.int64)
    result = result ^ (shifted + (a << (b & 31)) + (a >> 5))
    return _simple("wide", [a, b], np.where(a < b, result, ~result))


def choose(rng):
    which = rng.integers(0, 18, N).astype(np.uint32)
    x = _words(rng)
    x[::50] = 0
    u = np.uint32
    at = np.arange(N)
    ones = np.array([int(v).bit_count() for v in x], u)
    trailing = np.array([(int(v) & -int(v)).bit_length() - 1 if v else 99 for v in x], u)
    cases = [
        x + u(1), x * u(3), x ^ u(0x5555), x >> u(3), x << u(7), ~x, x // u(7), x % u(11), x - which[(at + 1) % N],
        x | u(0xFF00), x & u(0x0FF0), x[(at + 5) % N], x * x, ones, trailing, (x << u(16)) | (x >> u(16)),
        np.full(N, 0xDEAD, u), np.full(N, 0xDEAD, u),
    ]  # fmt: skip
    return _simple("choose", [which, x], np.choose(which, cases))


def table(rng):
    data = _words(rng)
    primes = np.array([p for p in range(2, 132) if all(p % d for d in range(2, p))], np.uint32)
    assert len(primes) == 32
    return _simple("table", [data], primes[data & 31] * np.uint32(3))


def pair(rng):
    data = rng.integers(0, 1000, N).astype(np.uint32)
    want = np.array([1000 + data.sum()], np.uint32)
    return [
        Launch("accumulate", (768,), (256,), [data, np.uint32(N)], lambda args: None),
        Launch("publish", (64,), (64,), [np.zeros(1, np.uint32)], _equal(0, want)),
    ]


CASES: dict[str, Callable] = {
    f.__name__: f
    for f in (
        vecadd, saxpy, reduce, matmul, histogram, collatz, call, pointer, scratch, half, double, wide, choose, table, pair,
    )
}  # fmt: skip


def launches(name: str, seed: int = 0) -> list[Launch]:
    """A fresh set of launches of tests/kernels/NAME.hip with reproducible inputs."""
    return CASES[name](np.random.default_rng(seed))
