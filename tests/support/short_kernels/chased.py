"""Launches of kernels that load through addresses which they find in memory."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

import numpy as np

import luthier as lt

from .area import Area
from .pointers import TABLE
from .values import BEFORE, BEHIND, contents, geometry

#: Addresses that lead to nothing.
NOWHERE = (0, 8, 0x1234_5678_9ABC, (1 << 64) - 4)


@dataclass(frozen=True)
class How:
    """``many``: the launch has enough workgroups for native code to begin in its middle. ``refused``: some addresses lead to nothing."""

    many: bool = False
    refused: bool = True


def launch(module: lt.Module, device: lt.Device, area: Area, kernel: str, dimensions: int, of: random.Random, how: How) -> str:
    grid, block = geometry(of, dimensions)
    if how.many:
        waves, axis = -(-int(np.prod(block)) // 32), of.randrange(dimensions)
        layers = np.prod([-(-n // size) for n, size in zip(grid, block)]) * block[axis] // grid[axis] or 1
        grid[axis] += block[axis] * -(-4000 // (waves * int(layers)))
    items = int(np.prod(grid))
    area.begin()
    whole = BEFORE + 4 * items + BEHIND
    numbers, own, table = (area.take(whole, of.choice((256, 4096, 65536))) for _ in range(3))
    for buffer in (numbers, own, table):
        buffer[: whole // 4 * 4].view(np.uint32)[:] = contents(of, whole // 4)
    leads = numbers.ctypes.data + BEFORE + 4 * np.array([of.randrange(64) for _ in range(TABLE)], np.uint64)
    if of.random() < 0.2:
        leads[of.randrange(TABLE)] += of.randrange(1, 4)
    if how.refused and of.random() < 0.6:
        end = numbers.ctypes.data + whole
        for _ in range(of.choice((1, 1, 2, 4))):
            leads[of.randrange(TABLE)] = of.choice((*NOWHERE, end, end - 4, numbers.ctypes.data - 4))
    table[BEFORE : BEFORE + 8 * TABLE].view(np.uint64)[:] = leads
    many = of.choice((items, items, items - of.randrange(min(70, items)), of.randrange(items + 1)))
    sizes = [*block, 1, 1][:3]
    args = [np.uint64(device.share(buffer) + BEFORE) for buffer in (numbers, own, table)]
    args += [np.uint32(word) for word in (of.choice((0, 4, 8, 64, 3)), many, *sizes, *[*grid, 1][:2])]
    before = [buffer.tobytes() for buffer in (numbers, table)]
    about = f"{kernel}, {grid} of {block}, {many}"
    try:
        done = module.run(kernel, grid=tuple(grid), block=tuple(block), args=args)
        told = f"{done.instructions} instructions, {sorted(done.histogram.items())}"
    except lt.DeviceError as error:
        if not how.refused:
            return f"{about}: refused, {str(error).splitlines()[0]}"
        told = str(error)
    if [buffer.tobytes() for buffer in (numbers, table)] != before:
        told = f"stored to what it does not store to; {told}"
    return f"{about}: {hashlib.md5(own.tobytes()).hexdigest()[:8]}, {told}"
