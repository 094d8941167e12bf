"""Operands worth trying: special values of each type in all pairs, and random ones of several distributions."""

from __future__ import annotations

import itertools
import re

import numpy as np

from .targets import Operand

_F32 = (
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x3F800000,
    0xBF800000, 0x3F000000, 0xBF000000, 0x3FC00000, 0x40000000, 0xC0000000, 0x40490FDB, 0x3EFFFFFF, 0x4B000001,
    0x4EFFFFFF, 0x4F000000, 0xCF000000, 0x4F7FFFFF, 0x4F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
    0x7FC00000, 0xFFC12345, 0x7F800001, 0xFFA00000, 0x477FE000, 0x33000000, 0x38800000, 0x387FC000,
)  # fmt: skip
_F16 = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x3800, 0xB800, 0x3E00, 0x4000,
    0xC000, 0x37FF, 0x6401, 0x77FF, 0x7800, 0xF800, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE12, 0x7C01, 0xFD00,
)  # fmt: skip
_BF16 = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3F00, 0x4049, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
    0x7FC0, 0xFFC1, 0x7F81,
)  # fmt: skip
_F64 = (
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
    0x0010000000000000, 0x8010000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FE0000000000000,
    0xBFE0000000000000, 0x3FF8000000000000, 0x3FDFFFFFFFFFFFFF, 0x4340000000000001, 0x41DFFFFFFFC00000,
    0x41E0000000000000, 0xC1E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0x47EFFFFFE0000000,
    0x47F0000000000000, 0x36A0000000000000, 0x3690000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000012345, 0x7FF0000000000001,
)  # fmt: skip
_U32 = (
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000,
    0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE,
    0xFFFFFFFF, 0x00100000, 0x00200010, 0x00400000, 0xAAAAAAAA,
)  # fmt: skip
_U64 = (
    0, 1, 2, 31, 32, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
    0x8000000000000001, 0xFFFFFFFF00000000, 0xFFFFFFFFFFFFFFFE, 0xFFFFFFFFFFFFFFFF, 0xAAAAAAAAAAAAAAAA,
)  # fmt: skip
_U16 = (0, 1, 2, 3, 7, 8, 15, 16, 17, 0x7F, 0x80, 0xFF, 0x100, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF)
_U8 = (0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 12, 13, 8, 9)
_SPECIALS = {("F", 32): _F32, ("F", 16): _F16, ("BF", 16): _BF16, ("F", 64): _F64}
_INTEGERS = {64: _U64, 32: _U32, 16: _U16, 8: _U8, 4: tuple(range(16))}
_FORMAT = re.compile(r"NUM_(?:PK(\d+)_)?(BF|FP|F|U|I|B|M)(\d+)")


def element(operand: Operand) -> tuple[int, str, int]:
    """How many parts an operand has, of which kind, how wide."""
    match = _FORMAT.fullmatch(operand.format)
    if not match:
        return 1, "B", operand.bits
    return int(match[1] or 1), match[2], int(match[3])


def specials(kind: str, width: int) -> tuple[int, ...]:
    return _SPECIALS.get((kind, width)) or _INTEGERS.get(width) or _U32


def _random_parts(rng: np.random.Generator, kind: str, width: int, count: int) -> np.ndarray:
    """Uniform bits, numbers near each other, small integers and specials, mixed."""
    bits = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False) >> np.uint64(64 - min(width, 64))
    kinds = rng.integers(0, 4, count)
    table = np.array(specials(kind, width), np.uint64)
    bits = np.where(kinds == 0, table[rng.integers(0, len(table), count)], bits)
    if (kind, width) in _SPECIALS:
        fraction = {("F", 32): 23, ("F", 16): 10, ("BF", 16): 7, ("F", 64): 52}[kind, width]
        raised = {("F", 32): 127, ("F", 16): 15, ("BF", 16): 127, ("F", 64): 1023}[kind, width]
        near = rng.integers(raised - 4, raised + 5, count).astype(np.uint64) << np.uint64(fraction)
        sign = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(width - 1)
        low = bits & np.uint64((1 << fraction) - 1)
        low = np.where(rng.integers(0, 2, count) == 0, low & ~np.uint64((1 << fraction // 2) - 1), low)
        return np.where(kinds == 1, sign | near | low, bits)
    small = rng.integers(0, 80, count).astype(np.uint64)
    bytes_ = bits & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = np.where(kinds == 1, small, np.where((kinds == 2) & (rng.integers(0, 3, count) == 0), bytes_, bits))
    return bits & np.uint64((1 << min(width, 64)) - 1)


def fill(rng: np.random.Generator, operands: list[Operand], count: int) -> list[np.ndarray]:
    """For each operand an array (count, words) of ``uint32``. All pairs of specials come first, as far as they fit in
    half of the elements (chosen at random where they do not); bits that the operand does not use are random."""
    shapes = [element(operand) for operand in operands]
    parts: list[np.ndarray] = []
    pairs = [specials(kind, width) for _, kind, width in shapes[:2]]
    product = np.array(list(itertools.product(*pairs)), np.uint64).reshape(-1, len(pairs))
    if len(product) > count // 2:
        product = product[rng.permutation(len(product))[: count // 2]]
    made = []
    for index, (operand, (pieces, kind, width)) in enumerate(zip(operands, shapes)):
        words = rng.integers(0, 1 << 32, (count, operand.words), np.uint32, endpoint=False)
        parts = [_random_parts(rng, kind, width, count) for _ in range(pieces)]
        if index < 2 and len(product):
            parts[0][: len(product)] = product[:, index]
        elif index >= 2:
            table = np.array(specials(kind, width), np.uint64)
            parts[0][: len(product)] = table[rng.integers(0, len(table), len(product))]
        raw = words.view(np.uint8).reshape(count, -1)
        if width >= 8:
            for piece, values in enumerate(parts):
                size = width // 8
                if size > 8:
                    continue
                raw[:, piece * size : (piece + 1) * size] = values.view(np.uint8).reshape(count, 8)[:, :size]
        made.append(words)
    return made
