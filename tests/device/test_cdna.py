"""What CDNA3 and CDNA4 have beyond CDNA2: clang's builtins on the mock device, against NumPy.

Layouts and formats are written here once more, from AMD's matrix instruction calculator and the Open Compute Project's
specifications; sums are compared within what 24 bits lose.
"""

from __future__ import annotations

from types import SimpleNamespace

import compiled
import numpy as np
import proof
import pytest
from formats import BF6, BF8, BF8_FNUZ, FP4, FP6, FP8, FP8_FNUZ, codes


def _packed(lanes: np.ndarray, bits: int, words: int) -> np.ndarray:
    """The elements of each lane, one after the other."""
    out = np.zeros((64, words), np.uint32)
    for lane, elements in enumerate(lanes):
        number = sum(int(code) << bits * k for k, code in enumerate(elements))
        out[lane] = [number >> 32 * k & 0xFFFFFFFF for k in range(words)]
    return out


def _gathered(matrix: np.ndarray, per_lane: int, bits: int, words: int, piece: int = 0) -> np.ndarray:
    """Rows (of A, or columns of B) of a matrix (m, k) in lanes; in pieces handed out in turns, or each lane's at once."""
    m, k = matrix.shape
    groups, piece = 64 // m, piece or per_lane
    lanes = np.zeros((64, per_lane), np.int64)
    for at in range(k):
        lanes[np.arange(m) + m * (at // piece % groups), at // (piece * groups) * piece + at % piece] = matrix[:, at]
    return _packed(lanes, bits, words)


def _result(c: np.ndarray, m: int) -> np.ndarray:
    """The matrix from each lane's registers."""
    c = c.reshape(64, -1)
    out = np.zeros((m, m))
    for lane in range(64):
        for r in range(c.shape[1]):
            row = 8 * (r // 4) + 4 * (lane // 32) + r % 4 if m == 32 else 4 * (lane // 16) + r
            out[row, lane % m] = c[lane, r]
    return out


def _run(name: str, target: str, kernel: str, *args: np.ndarray) -> None:
    launch = SimpleNamespace(kernel=kernel, grid=(64,), block=(64,), args=list(args))
    proof.run(compiled.code_object(name, target=target), [launch], target=target)


def _close(c: np.ndarray, m: int, a: np.ndarray, b: np.ndarray) -> None:
    """``a`` is (m, k), ``b`` (columns, k)."""
    limit = np.abs(a) @ np.abs(b).T * 2.0**-20
    assert (np.abs(_result(c, m) - a @ b.T) <= limit).all()


def test_eight_bits():
    rng = np.random.default_rng(1)
    a, b = codes(rng, BF8_FNUZ, (32, 16)), codes(rng, FP8_FNUZ, (32, 16))
    c = np.zeros((64, 16), np.float32)
    _run("cdna3", "gfx942", "eight_bits", _gathered(a, 8, 8, 2), _gathered(b, 8, 8, 2), c)
    _close(c, 32, BF8_FNUZ[a], FP8_FNUZ[b])


def test_nineteen_bits():
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((16, 8)).astype(np.float32) for _ in "ab")
    c = np.zeros((64, 4), np.float32)
    lanes = [_gathered(x.view(np.uint32), 2, 32, 2) for x in (a, b)]
    _run("cdna3", "gfx942", "nineteen_bits", *lanes, c)
    _close(c, 16, *((x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float) for x in (a, b)))


def test_sparse():
    rng = np.random.default_rng(3)
    stored, b = codes(rng, FP8_FNUZ, (16, 32)), codes(rng, FP8_FNUZ, (16, 64))
    picks = np.sort([[rng.permutation(4)[:2] for _ in range(16)] for _ in range(16)])  # row, group of four, which two
    a = np.zeros((16, 64))
    index = np.zeros(64, np.uint32)
    for row in range(16):
        for q in range(16):
            a[row, 4 * q + picks[row, q]] = FP8_FNUZ[stored[row, 2 * q : 2 * q + 2]]
            lane, nibble = row + 16 * (q // 4), q % 4
            index[lane] |= int(picks[row, q, 0] | picks[row, q, 1] << 2) << 16 + 4 * nibble
    c = np.zeros((64, 4), np.float32)
    _run("cdna3", "gfx942", "sparse", _gathered(stored, 8, 8, 2), _gathered(b, 16, 8, 4), index, c)
    _close(c, 16, a, FP8_FNUZ[b])


def _nearest(table: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The nearest number of a format, of two equally near the one with the even code."""
    codes = np.flatnonzero(np.isfinite(table))
    distance = np.abs(table[codes][None, :] - x[:, None])
    best = distance.min(axis=1, keepdims=True)
    order = np.where(distance == best, codes & 1, 2)
    return table[codes[order.argmin(axis=1)]]


def test_narrowing_to_eight_bits():
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal(64) * 2.0 ** rng.integers(-9, 7, 64) for _ in "xy")
    x, y = x.astype(np.float32), y.astype(np.float32)
    codes, back = np.zeros(64, np.uint32), np.zeros((64, 4), np.float32)
    _run("cdna3", "gfx942", "narrow", x, y, codes, back)
    for k, (table, numbers) in enumerate(((FP8_FNUZ, x), (FP8_FNUZ, y), (BF8_FNUZ, x), (BF8_FNUZ, y))):
        np.testing.assert_array_equal(back[:, k], _nearest(table, numbers))
        np.testing.assert_array_equal(table[codes >> 8 * k & 255], back[:, k])


@pytest.mark.parametrize(
    ("kernel", "m", "k", "a_format", "b_format", "bytes_"),
    [("scaled_16", 16, 128, (FP8, 8), (FP4, 4), (1, 2)), ("scaled_32", 32, 64, (BF6, 6), (BF8, 8), (3, 0))],
)
def test_scaled(kernel, m, k, a_format, b_format, bytes_):
    rng = np.random.default_rng(k)
    sides, registers, scales = [], [], []
    for (table, bits), byte in zip((a_format, b_format), bytes_):
        side = codes(rng, table, (m, k))
        exponents = rng.integers(120, 134, (m, k // 32))
        sides.append(table[side] * np.repeat(2.0 ** (exponents - 127), 32, axis=1))
        registers.append(_gathered(side, 32, bits, 8, piece=16 if bits == 8 else 32))
        word = rng.integers(0, 1 << 32, 64, np.uint32) & np.uint32(~(0xFF << 8 * byte) & 0xFFFFFFFF)
        scales.append(word | (exponents.T.reshape(-1) << 8 * byte).astype(np.uint32))
    c = np.zeros((64, m * m // 64), np.float32)
    _run("cdna4", "gfx950", kernel, *registers, *scales, c)
    _close(c, m, *sides)


def test_narrowing_to_four_and_six_bits():
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((64, 32)) * 3).astype(np.float32)
    scale = (2.0 ** rng.integers(-3, 4, 64)).astype(np.float32)
    four, back, six = np.zeros(64, np.uint32), np.zeros((64, 2), np.float32), np.zeros((64, 32), np.float32)
    _run("cdna4", "gfx950", "narrow", x, scale, four, back, six)
    want = np.stack([_nearest(FP4, x[:, k] / scale) for k in range(2)], axis=1)
    np.testing.assert_array_equal(back, want * scale[:, None])
    np.testing.assert_array_equal(FP4[np.stack([four >> 16 & 15, four >> 20 & 15], axis=1)], want)
    np.testing.assert_array_equal(four & 0xFF00FFFF, 0x11001111)
    # The two sources alternate in the packed result.
    turns = np.stack([x[:, :16], x[:, 16:]], axis=2).reshape(64, 32)
    want = np.stack([_nearest(FP6, turns[:, k] / scale) * scale for k in range(32)], axis=1)
    np.testing.assert_array_equal(six, want)


def test_exchanges():
    x, y = np.arange(64, dtype=np.uint32), np.arange(64, 128, dtype=np.uint32)
    got = x.copy(), y.copy()
    _run("cdna4", "gfx950", "exchange", *got)
    # By 16 within each 32, then by 32: a transposition of 4 by 2 blocks, twice.
    a, b = x.reshape(4, 16), y.reshape(4, 16)
    a, b = np.stack([a[0], b[0], a[2], b[2]]), np.stack([a[1], b[1], a[3], b[3]])
    a, b = np.stack([a[0], a[1], b[0], b[1]]), np.stack([a[2], a[3], b[2], b[3]])
    np.testing.assert_array_equal(got[0], a.reshape(-1))
    np.testing.assert_array_equal(got[1], b.reshape(-1))
