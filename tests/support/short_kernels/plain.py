"""Launches of kernels that store where the next work-items' words are, too: on one worker."""

from __future__ import annotations

import hashlib
import random
import re

import numpy as np

import luthier as lt

from .values import BEFORE, BEHIND, contents, geometry


def launch(module: lt.Module, device: lt.Device, kernel: str, dimensions: int, of: random.Random) -> str:
    grid, block = geometry(of, dimensions)
    items = int(np.prod(grid))
    buffers = []
    for _ in range(3):
        # Some end where the last work-item's word does, or a little before that.
        exact = max(BEFORE + BEHIND, BEFORE + 4 * items - of.choice((0, 0, 0, 4 * of.randrange(70), 1)))
        buffers.append(device.alloc(of.choice([BEFORE + 4 * items + BEHIND] * 3 + [exact])))
    for buffer in buffers:
        words = len(buffer) // 4
        buffer[: 4 * words].view(np.uint32)[:] = contents(of, words)
    shift = of.choice((*[0] * 10, 1, 2))
    args = [np.uint64(buffer.ctypes.data + BEFORE + shift) for buffer in buffers]
    many = of.choice((items, items, items - of.randrange(min(70, items)), of.randrange(items + 1)))
    sizes = [*block, 1, 1][:3]
    args += [np.uint32(word) for word in (of.choice((0, 4, 8, 64, 3)), many, *sizes, *[*grid, 1][:2])]
    try:
        done = module.run(kernel, grid=tuple(grid), block=tuple(block), args=args)
        told = f"{done.instructions} instructions, {sorted(done.histogram.items())}"
    except lt.DeviceError as error:
        told = re.sub(r"0x[0-9a-f]{6,}", lambda found: place(int(found[0], 16), buffers), str(error)).replace(
            ": it was freed before", ""
        )
    sums = [hashlib.md5(buffer.tobytes()).hexdigest()[:8] for buffer in buffers]
    return f"{kernel}, {grid} of {block}, {many}: {' '.join(sums)}, {told}"


def place(address: int, buffers: list[np.ndarray]) -> str:
    """An address of this process, as it is called in all."""
    near = [(address - buffer.ctypes.data, n) for n, buffer in enumerate(buffers)]
    distance, number = min(near, key=lambda one: abs(one[0]))
    return f"buffer {number} {distance:+}" if abs(distance) < 1 << 16 else "elsewhere"
