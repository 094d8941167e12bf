"""The descriptor of a tensor that gfx1250's tensor data mover takes: the words D# of groups 0 to 3, as its ISA guide has
them, for the block that each wave moves."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ..errors import ArgumentError

_WORD = 0xFFFF_FFFF


def waves_of(block: Sequence[int], waves: int) -> list[int]:
    """How many waves share each dimension of a block: as many as are powers of two and find elements."""
    split, left = [1] * len(block), waves
    for axis, size in enumerate(block):
        while left > 1 and split[axis] * 2 <= size:
            split[axis] *= 2
            left //= 2
    return split


def descriptor(
    bits: int,
    block: Sequence[int],
    waves: int,
    pad_interval: int,
    pad_amount: int,
    shape: Sequence[int],
    strides: Sequence[int],
    base: int,
) -> bytes:
    """80 bytes: the tensor of ``shape`` (elements of ``bits`` bits, ``strides`` in elements, the last one 1) at ``base``, of
    which ``waves`` waves move ``block`` together. In LDS, ``pad_amount`` elements stay free behind each ``pad_interval``."""
    rank = len(block)
    if not 1 <= rank <= 5 or len(shape) != rank or len(strides) != rank:
        raise ArgumentError(f"a tensor descriptor of {len(shape)} sizes and {len(strides)} strides for a block of {rank}")
    for axis, stride in enumerate(strides):
        if not 0 <= stride < 1 << 48:
            raise ArgumentError(f"tensor descriptor: stride {axis} is {stride}, and has to fit 48 bits")
    # A single dimension is split evenly, others by powers of two.
    part = [-(-n // w) for n, w in zip(block, waves_of(block, waves))] if rank > 1 else [-(-block[0] // waves)]
    # From the innermost dimension on, as the descriptor counts them.
    sizes, steps, parts = list(shape)[::-1], list(strides)[::-1][1:], part[::-1]
    sizes += [0] * (5 - rank)
    steps += [0] * (4 - len(steps))
    parts += [0] * (5 - rank)
    interval, amount = pad_interval * bits // 32, pad_amount * bits // 32
    flags = (bits // 8).bit_length() - 1 << 16
    if interval > 0 and amount > 0:
        flags |= 1 << 20 | interval.bit_length() - 2 << 22 | amount - 1 << 25
    low = lambda i: steps[i] & _WORD  # noqa: E731
    high = lambda i: steps[i] >> 32 & 0xFFFF  # noqa: E731
    words = [
        # Group 0: one descriptor, LDS address (the kernel fills it in), address, type 2.
        1, 0, base, base >> 32 & 0x7FFF_FFFF | 1 << 31,
        # Group 1
        flags,
        sizes[0] << 16,
        sizes[0] >> 16 & 0xFFFF | sizes[1] << 16,
        sizes[1] >> 16 & 0xFFFF | parts[0] << 16,
        parts[1] & 0xFFFF | parts[2] << 16,
        low(0),
        high(0) | (steps[1] & 0xFFFF) << 16,
        steps[1] >> 16,
        # Group 2
        sizes[2], sizes[3], low(2), high(2) | parts[3] << 16,
        # Group 3
        low(3), high(3) | sizes[4] << 16, sizes[4] >> 16 & 0xFFFF | parts[4] << 16, 0,
    ]  # fmt: skip
    return struct.pack("<20I", *(word & _WORD for word in words))
