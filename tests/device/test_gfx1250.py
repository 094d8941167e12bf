"""What gfx1250 has and no published table says: arithmetic on bf16 and dense matrix operations, by clang's builtins on
the mock device, against NumPy.

Of a matrix operation's layout, where along K an element is cannot be told from the result, as long as A and B agree;
Triton's kernels, which load A and B in their own way, say the rest.
"""

from __future__ import annotations

from types import SimpleNamespace

import compiled
import numpy as np
import proof
import pytest
from formats import BF8, FP8, check_product, codes, from_bf16

LANES = 32


def _run(kernel: str, *args: np.ndarray, threads: int = LANES) -> None:
    launch = SimpleNamespace(kernel=kernel, grid=(threads,), block=(LANES,), args=list(args))
    proof.run(compiled.code_object("gfx1250", target="gfx1250"), [launch], target="gfx1250")


def _rounded(x: np.ndarray) -> np.ndarray:
    """The nearest bf16, as f64; of two the even one."""
    with np.errstate(invalid="ignore", over="ignore"):
        exponent = np.maximum(np.frexp(np.where(np.isfinite(x), x, 0))[1] - 1, -126)
        unit = np.ldexp(1.0, exponent - 7)
        made = np.rint(x / unit) * unit
        return np.where(np.isfinite(x), np.where(np.abs(made) >= 2.0**128, np.copysign(np.inf, x), made), x)


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b rounded to bf16 once: the f64 sum is made odd where it is not exact, so that it cannot look like a tie."""
    with np.errstate(invalid="ignore"):
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        even = total.view(np.uint64) & np.uint64(1) == 0
        inexact = np.isfinite(total) & (error != 0) & even
        return _rounded(np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total))


SPECIAL = np.array(
    [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x8080, 0x3F80, 0xBF80, 0x3F81, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x7F81],
    np.uint16,
)


def _numbers(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Three operands: any bits, numbers close to each other, and special values in all pairs."""
    drawn = []
    for k in range(3):
        bits = rng.integers(0, 1 << 16, count).astype(np.uint16)
        bits[::2] = (rng.integers(0, 2, count // 2) << 15 | rng.integers(0x3E00, 0x4200, count // 2)).astype(np.uint16)
        pairs = np.tile(SPECIAL, len(SPECIAL)) if k == 0 else np.repeat(SPECIAL, len(SPECIAL))
        bits[: len(pairs)] = pairs if k < 2 else rng.permutation(pairs)
        drawn.append(bits)
    # Sums that nearly cancel, and addends far below a product that is a tie.
    a, b, c = drawn
    tail = slice(count - 2048, count)
    product = _rounded(from_bf16(a[tail]) * from_bf16(b[tail]))
    c[tail] = (product.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) ^ np.uint16(0x8000)
    last = slice(count - 1024, count)
    a[last] = 0x3FC0
    b[last] = 0x3F81 | rng.integers(0, 21, 1024) << 1
    c[last] = rng.integers(0, 2, 1024) << 15 | rng.integers(0, 0x3000, 1024)
    return drawn


def _swapped(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1, 2)[:, ::-1].reshape(-1)


def _same(got: np.ndarray, want: np.ndarray) -> None:
    """Values and signs; of NaNs only that they are."""
    got = from_bf16(got)
    wrong = ~((np.isnan(got) & np.isnan(want)) | ((got == want) & (np.signbit(got) == np.signbit(want))))
    assert not wrong.any(), [(int(k), got[k], want[k]) for k in np.flatnonzero(wrong)[:5]]


def _extreme(a: np.ndarray, b: np.ndarray, sign: float) -> np.ndarray:
    """The larger (smaller) number; a NaN loses, and zeros are told apart."""
    larger = (sign * a > sign * b) | ((a == b) & (np.signbit(b) if sign > 0 else np.signbit(a)))
    return np.where(np.isnan(a), b, np.where(np.isnan(b) | larger, a, b))


ARITHMETIC = {
    "add": lambda a, b, c: _sum(a, b),
    "sub": lambda a, b, c: _sum(a, -b),
    "mul": lambda a, b, c: _rounded(a * b),
    "fma": lambda a, b, c: _sum(a * b, c),
    "neg_fma": lambda a, b, c: _sum(-a * b, _swapped(c)),
    "max": lambda a, b, c: _extreme(a, b, 1.0),
    "min": lambda a, b, c: _extreme(a, b, -1.0),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_pairs_of_bf16(name: str) -> None:
    operands = _numbers(np.random.default_rng(len(name)), 1 << 14)
    out = np.zeros(1 << 14, np.uint16)
    _run(f"pair_{name}", *operands, out, threads=1 << 13)
    with np.errstate(invalid="ignore"):
        _same(out, ARITHMETIC[name](*map(from_bf16, operands)))


def test_one_bf16() -> None:
    a, b, c = _numbers(np.random.default_rng(9), 1 << 14)
    out = np.zeros(1 << 14, np.uint16)
    _run("single_add", a, b, c, out, threads=1 << 14)
    _same(out, _sum(from_bf16(a), from_bf16(b)))


def test_bf16_mixed_with_f32() -> None:
    """Where the product and the sum are exact in f64, so that NumPy's rounding to f32 is the only one."""
    rng = np.random.default_rng(10)
    a, b = ((rng.integers(0, 2, 4096) << 15 | rng.integers(0x3C00, 0x4400, 4096)).astype(np.uint16) for _ in range(2))
    c = rng.standard_normal(4096).astype(np.float32)
    out = np.zeros(4096, np.float32)
    _run("mixed", a, b, c, out, threads=4096)
    np.testing.assert_array_equal(out, (from_bf16(a) * from_bf16(b) + c).astype(np.float32))


F16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(float)
BF16 = from_bf16(np.arange(1 << 16))
TYPES = {"f16": (F16, 16), "bf16": (BF16, 16), "fp8": (FP8, 8), "bf8": (BF8, 8)}
EIGHT_BITS = [f"{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
DENSE = [
    "f32_16x16x4_f32", "f32_16x16x32_f16", "f32_16x16x32_bf16", "f16_16x16x32_f16", "bf16_16x16x32_bf16",
    "bf16f32_16x16x32_bf16", "i32_16x16x64_iu8",
    *(f"{result}_16x16x{k}_{kinds}" for result in ("f32", "f16") for k in (64, 128) for kinds in EIGHT_BITS),
]  # fmt: skip


def _operand(rng: np.random.Generator, kind: str, size: int, signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """A matrix (16, size) as it is stored, and what its elements mean."""
    if kind == "f32":
        stored = rng.standard_normal((16, size)).astype(np.float32)
        return stored, stored.astype(float)
    if kind == "iu8":
        stored = rng.integers(0, 256, (16, size)).astype(np.uint8)
        return stored, (stored.view(np.int8) if signed else stored).astype(float)
    table, bits = TYPES[kind]
    stored = codes(rng, table, (16, size)).astype(f"u{bits // 8}")
    return stored, table[stored]


def _lanes(stored: np.ndarray) -> np.ndarray:
    """Lane n has row n % 16; along K the halves of the wave have turns of 16 bytes, or of all that there is."""
    turn = min(16 // stored.itemsize, stored.shape[1] // 2)
    return np.ascontiguousarray(stored.reshape(16, -1, 2, turn).transpose(2, 0, 1, 3)).reshape(LANES, -1)


def _matrix(c: np.ndarray) -> np.ndarray:
    """Lane n has column n % 16 of eight rows."""
    return c.reshape(2, 16, 8).transpose(0, 2, 1).reshape(16, 16)


def _held(numbers: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype({"f32": np.float32, "f16": np.float16, "i32": np.int32}[kind])


def _meant(c: np.ndarray, kind: str) -> np.ndarray:
    return _matrix(from_bf16(c) if kind == "bf16" else c.astype(float))


@pytest.mark.parametrize("name", DENSE)
def test_products(name: str) -> None:
    rng = np.random.default_rng(len(name))
    result, shape, *kinds = name.split("_")
    c_kind, d_kind = ("f32", "bf16") if result == "bf16f32" else (result, result)
    (a, a_values), (b, b_values) = (
        _operand(rng, kind, int(shape.split("x")[2]), signed) for kind, signed in ((kinds[0], True), (kinds[-1], False))
    )
    c = _held(rng.standard_normal((LANES, 8)) * (1000 if result == "i32" else 1), c_kind)
    out = _held(np.zeros((LANES, 8)), d_kind)
    _run(f"wmma_{name}", _lanes(a), _lanes(b), c, out)
    start, got = _meant(c, c_kind), _meant(out, d_kind)
    check_product(d_kind, got, a_values, b_values.T, start)
