"""``python -m short_kernels.run KIND SEED SEEDS KERNELS``: a line for each launch, of what it left in memory, counted or was refused for.

Lines of processes with different native code (``LUTHIER_NATIVE``) are the same.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys

import numpy as np

import luthier as lt

from .barriers import BARRIER_KINDS, BarrierKernel
from .generate import KINDS, Kernel, build

#: Bytes before what a buffer's address leads to, for negative offsets, and behind it.
BEFORE, BEHIND = 512, 4096
LAUNCHES = 2
#: Kernels, and the waves that have them, by the name of the kind.
SORTS = {"plain": (Kernel, KINDS), "barriers": (BarrierKernel, BARRIER_KINDS)}
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


def main(sort: str, seed: int, seeds: int, kernels: int) -> None:
    kind, waves = SORTS[sort]
    for number in range(seed, seed + seeds):
        for processor, lanes in waves:
            path, names = build(processor, lanes, number, kernels, kind)
            device = lt.Device(processor, threads=1)
            module = device.load(path)
            of = random.Random(number)
            for kernel, dimensions in names.items():
                for _ in range(LAUNCHES):
                    print(f"{processor}, {lanes} lanes, seed {number},", launch(module, device, kernel, dimensions, of))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
