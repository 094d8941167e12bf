"""RDNA4's matrix operations and transposing loads: clang's builtins on the mock device, against NumPy.

Layouts are written here once more, from AMD's matrix instruction calculator; sums of floats are compared within what 24
bits (or those of the result) lose, and with :mod:`dot_sums` bit by bit. For the loads, see :func:`test_transposing_loads`.
"""

from __future__ import annotations

from types import SimpleNamespace

import compiled
import dot_sums
import numpy as np
import proof
import pytest
from formats import BF8, FP8, check_product, codes, from_bf16

BF16 = from_bf16(np.arange(1 << 16))
F16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(float)
SIGNED = {8: np.arange(256).astype(np.int8).astype(float), 4: (np.arange(16) ^ 8) - 8.0}
#: What each type's codes mean, and how many bits they have. Of integers A's are signed, B's are not.
TYPES = {"f16": (F16, 16), "bf16": (BF16, 16), "fp8": (FP8, 8), "bf8": (BF8, 8), "iu8": (None, 8), "iu4": (None, 4)}


def _dense(wave: int, bits: int, size: int, k: int) -> tuple[int, int]:
    """Sixteen lanes and element of each lane, for element k of a row of A, or of a column of B."""
    if wave == 32:
        if bits == 16:
            return k // 4 % 2, k // 8 * 4 + k % 4
        return (k // 16, k % 16) if size == 32 else (k // 8, k % 8)
    if bits == 16:
        return k // 8 % 2 * 2 + k // 4 % 2, k % 4
    if bits == 8:
        return k // 4 % 2 * 2 + k // 8 % 2, k % 4
    return (k // 8 % 2 * 2 + k // 16 % 2, k % 8) if size == 32 else (k // 8, k % 8)


def _sparse_b(wave: int, bits: int, size: int, k: int) -> tuple[int, int]:
    """The same for the B of a sparse operation."""
    if wave == 32:
        if bits == 16:
            return k // 8 % 2, k // 16 * 8 + k % 8
        return (k // 32, k % 32) if size == 64 else (k // 16, k % 16)
    if bits == 16:
        return k // 8, k % 8
    return (k // 16 % 2 * 2 + k // 32, k % 16) if size == 64 else (k // 8 % 2 * 2 + k // 16, k % 8)


def _registers(matrix: np.ndarray, wave: int, bits: int, words: int, place) -> np.ndarray:
    """A matrix (16, k) of codes in the lanes' registers."""
    size = matrix.shape[1]
    lanes = np.zeros((wave, words * 32 // bits), np.uint64)
    for k in range(size):
        part, element = place(wave, bits, size, k)
        lanes[16 * part : 16 * part + 16, element] = matrix[:, k]
    per_word = 32 // bits
    shifted = lanes.reshape(wave, words, per_word) << (bits * np.arange(per_word, dtype=np.uint64))
    return shifted.sum(axis=2, dtype=np.uint64).astype(np.uint32)


def _row(wave: int, lane: int, register: int) -> int:
    """The row of a result's register."""
    return 8 * (lane // 16) + register if wave == 32 else 8 * (lane // 16 % 2) + 4 * (lane // 32) + register


def _matrix(c: np.ndarray, wave: int) -> np.ndarray:
    out = np.zeros((16, 16), c.dtype)
    for lane in range(wave):
        for register in range(c.shape[1]):
            out[_row(wave, lane, register), lane % 16] = c[lane, register]
    return out


def _operand(rng: np.random.Generator, kind: str, shape: tuple[int, ...], signed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Codes, and what they mean."""
    table, bits = TYPES[kind]
    if table is None:
        drawn = rng.integers(0, 1 << bits, shape)
        return drawn, (SIGNED[bits][drawn] if signed else drawn.astype(float))
    drawn = codes(rng, table, shape)
    return drawn, table[drawn]


def _result(rng: np.random.Generator, kind: str, wave: int) -> np.ndarray:
    """What the result is added to, in lanes."""
    shape = (wave, 256 // wave)
    if kind == "i32":
        return rng.integers(-1000, 1000, shape).astype(np.int32)
    numbers = rng.standard_normal(shape).astype(np.float32)
    return {"f32": numbers, "f16": numbers.astype(np.float16), "bf16": (numbers.view(np.uint32) >> 16).astype(np.uint16)}[kind]


def _numbers(c: np.ndarray, kind: str) -> np.ndarray:
    return from_bf16(c) if kind == "bf16" else c.astype(float)


def _check(kind: str, wave: int, before: np.ndarray, after: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """``a`` is (16, k), ``b`` (16 columns, k). Results of 16 bits, which are rounded in every step, are not near enough."""
    if kind in ("f16", "bf16"):
        return
    start, got = (_matrix(_numbers(c, kind), wave) for c in (before, after))
    check_product(kind, got, a, b.T, start)


def _sums(name: str, before: np.ndarray, a: np.ndarray, b: np.ndarray, met: np.ndarray) -> np.ndarray:
    """``before`` and the products of codes: of stored element s of a row of ``a`` with element ``met[row, s]`` of every
    column (row of ``b``), as the hardware sums them: two registers' worth in a step, one in a group."""
    result, _, a_kind, b_kind, bits = _parts(name)
    factors, group = (FORMATS[a_kind], FORMATS[b_kind]), 32 // bits
    out = before.copy()
    for row, column in np.ndindex(16, 16):
        c = int(before[row, column])
        for first in range(0, 16, 2 * group):
            step = slice(first, first + 2 * group)
            c = dot_sums.dot(
                12, factors, FORMATS[result], a[row, step].tolist(), b[column, met[row, step]].tolist(), c, group=group
            )
        out[row, column] = c
    return out


def _exactly(name: str, wave: int, before: np.ndarray, after: np.ndarray, *operands: np.ndarray) -> None:
    kind = np.uint32 if before.dtype == np.float32 else np.uint16
    start, got = (_matrix(c.view(kind), wave) for c in (before, after))
    np.testing.assert_array_equal(got, _sums(name, start, *operands))


def _run(target: str, wave: int, kernel: str, *args: np.ndarray) -> None:
    launch = SimpleNamespace(kernel=kernel, grid=(wave,), block=(wave,), args=list(args))
    flags = ("-mwavefrontsize64", "-DWAVE64") if wave == 64 else ()
    proof.run(compiled.code_object("rdna4", target=target, flags=flags), [launch], target=target)


FORMATS = {kind: getattr(dot_sums, kind.upper()) for kind in ("f32", "f16", "bf16", "fp8", "bf8")}
DENSE = [
    "f32_16x16x16_f16", "f32_16x16x16_bf16", "f16_16x16x16_f16", "bf16_16x16x16_bf16", "f32_16x16x16_fp8_fp8",
    "f32_16x16x16_fp8_bf8", "f32_16x16x16_bf8_fp8", "f32_16x16x16_bf8_bf8", "i32_16x16x16_iu8", "i32_16x16x16_iu4",
    "i32_16x16x32_iu4",
]  # fmt: skip
SPARSE = [
    "f32_16x16x32_f16", "f32_16x16x32_bf16", "f16_16x16x32_f16", "bf16_16x16x32_bf16", "f32_16x16x32_fp8_fp8",
    "f32_16x16x32_fp8_bf8", "f32_16x16x32_bf8_fp8", "f32_16x16x32_bf8_bf8", "i32_16x16x32_iu8", "i32_16x16x32_iu4",
    "i32_16x16x64_iu4",
]  # fmt: skip


def _parts(name: str) -> tuple[str, int, str, str, int]:
    """Type of the result, size of K, types of A and B, and their bits."""
    result, shape, *kinds = name.split("_")
    return result, int(shape.split("x")[2]), kinds[0], kinds[-1], TYPES[kinds[0]][1]


@pytest.mark.parametrize("wave", (32, 64))
@pytest.mark.parametrize("name", DENSE)
def test_products(name: str, wave: int) -> None:
    rng = np.random.default_rng(len(name))
    result, size, a_kind, b_kind, bits = _parts(name)
    a, a_values = _operand(rng, a_kind, (16, size), signed=True)
    b, b_values = _operand(rng, b_kind, (16, size), signed=False)
    words = max(16 * size * bits // (32 * wave), 1)
    sides = [_registers(x, wave, bits, words, _dense) for x in (a, b)]
    before = _result(rng, result, wave)
    after = before.copy()
    if result != "i32":
        _run("gfx1201", wave, name, *sides, after)
    else:
        # Nothing is large enough to be limited unless it starts there.
        limits = np.where(rng.integers(0, 2, before.shape), np.int32(2**31 - 1), np.int32(-(2**31)))
        limited = limits.copy()
        _run("gfx1201", wave, name, *sides, after, limited)
        want = _matrix(limits, wave).astype(float)
        # The sum is limited after each half of the products (measured: bjacob/goc).
        for half in np.arange(size).reshape(-1, 2, 8).swapaxes(0, 1).reshape(2, -1):
            want = np.clip(want + a_values[:, half] @ b_values[:, half].T, -(2**31), 2**31 - 1)
        np.testing.assert_array_equal(_matrix(limited, wave), want)
    _check(result, wave, before, after, a_values, b_values)
    if result != "i32":
        _exactly(name, wave, before, after, a, b, np.tile(np.arange(16), (16, 1)))


@pytest.mark.parametrize("wave", (32, 64))
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_products(name: str, wave: int) -> None:
    rng = np.random.default_rng(len(name))
    result, size, a_kind, b_kind, bits = _parts(name)
    stored, values = _operand(rng, a_kind, (16, size // 2), signed=True)
    b, b_values = _operand(rng, b_kind, (16, size), signed=False)
    a_words, b_words = (max(16 * n * bits // (32 * wave), 1) for n in (size // 2, size))
    sides = [_registers(stored, wave, bits, a_words, _dense), _registers(b, wave, bits, b_words, _sparse_b)]
    # As many bits of indices as a lane has elements, twice; of the parts the first and the last are used.
    used = 2 * a_words * 32 // bits
    index = np.zeros(wave, np.uint64)
    expanded, mets = [], []
    for shift in dict.fromkeys((0, 32 - used)):
        a, met = np.zeros((16, size)), np.zeros((16, size // 2), int)
        for row in range(16):
            for q in range(size // 4):
                picks = np.sort(rng.permutation(4)[:2])
                met[row, 2 * q : 2 * q + 2] = 4 * q + picks
                a[row, 4 * q + picks] = values[row, 2 * q : 2 * q + 2]
                part, element = _dense(wave, bits, size // 2, 2 * q)
                index[row + 16 * part] |= np.uint64(int(picks[0] | picks[1] << 2) << shift + 2 * element)
        expanded.append(a)
        mets.append(met)
    before = [_result(rng, result, wave) for _ in range(2)]
    after = [c.copy() for c in before]
    _run("gfx1201", wave, f"sparse_{name}", *sides, index.astype(np.uint32), *after)
    for k in range(2):
        _check(result, wave, before[k], after[k], expanded[k % len(expanded)], b_values)
        if result != "i32":
            _exactly(name, wave, before[k], after[k], stored, b, mets[k % len(mets)])


def test_transposing_loads() -> None:
    """Of a matrix (16, 16) in memory, each lane gets half a column: the fragment that a matrix operation wants.

    The addresses that lanes give for that were found on gfx1201 by trial, for elements of 16 and of 8 bits: with others,
    columns would be torn apart.
    """
    rng = np.random.default_rng(7)
    halves, bytes_ = rng.permutation(256).astype(np.uint16).reshape(16, 16), rng.integers(0, 256, (16, 16), np.uint8)
    lane = np.arange(32)
    wide_at = (8 * (lane // 16) + lane % 8) * 32 + lane // 8 % 2 * 16
    narrow_at = 512 + (lane // 8 * 4 + lane % 4) * 16 + lane // 4 % 2 * 8
    memory = np.frombuffer(halves.tobytes() + bytes_.tobytes(), np.uint8).copy()
    wide, narrow = np.zeros((32, 8), np.uint16), np.zeros((32, 8), np.uint8)
    _run("gfx1201", 32, "transposed", memory, wide_at.astype(np.uint32), narrow_at.astype(np.uint32), wide, narrow)
    for got, matrix in ((wide, halves), (narrow, bytes_)):
        want = [matrix[8 * (n // 16) : 8 * (n // 16) + 8, n % 16] for n in lane]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("wave", (32, 64))
def test_signals(wave: int) -> None:
    """One wave of four is told that it was the first to signal; afterwards no wave has."""
    first, state = np.zeros(3, np.uint32), np.zeros(4 * wave, np.uint32)
    launch = SimpleNamespace(kernel="signals", grid=(4 * wave,), block=(4 * wave,), args=[first, state])
    flags = ("-mwavefrontsize64", "-DWAVE64") if wave == 64 else ()
    proof.run(compiled.code_object("rdna4", target="gfx1201", flags=flags), [launch], target="gfx1201")
    # Every lane of the first wave adds one.
    np.testing.assert_array_equal(first, [wave] * 3)
    # Signals in bits 22 to 16, members in 10 to 4, valid.
    np.testing.assert_array_equal(state & 0x7FF, 4 << 4 | 1)
