"""Numbers that are in memory before a launch, and sizes of grids."""

from __future__ import annotations

import random

import numpy as np

#: Bytes before what a buffer's address leads to, for negative offsets, and behind it.
BEFORE, BEHIND = 512, 4096
BITS = np.array(
    [0, 1, 3, 0x3F800000, 0x80000000, 0x7F800000, 0x7FC00001, 0x7F800001, 0x807FFFFF, 0x7F7FFFFF, ~0 & 0xFFFFFFFF], np.uint32
)


def geometry(of: random.Random, dimensions: int) -> tuple[list[int], list[int]]:
    """Work-items of the grid, and of a workgroup; the last workgroups need not be whole."""
    blocks = [[1, 31, 33, 64, 65, 100, 128, 256, 1000]], [[3, 16, 20, 32, 64], [1, 2, 5]], [[3, 8, 16], [1, 2, 5], [1, 2, 3]]
    groups = [[2, 3, 20, 40]], [[2, 5, 32], [1, 2, 5]], [[2, 5], [1, 4], [1, 3]]
    block = [of.choice(sizes) for sizes in blocks[dimensions - 1]]
    whole = [size * of.choice(counts) for size, counts in zip(block, groups[dimensions - 1])]
    missing = [of.choice((0, of.randrange(size))) for size in block]
    return [items - less for items, less in zip(whole, missing)], block


def contents(of: random.Random, words: int) -> np.ndarray:
    numbers = np.random.default_rng(of.getrandbits(32))
    kinds = [
        lambda: numbers.integers(0, 1 << 32, words, dtype=np.uint32),
        lambda: numbers.standard_normal(words).astype(np.float32).view(np.uint32),
        lambda: numbers.integers(0, 100, words, dtype=np.uint32),
        lambda: numbers.choice(BITS, words),
    ]
    return of.choice(kinds)()
