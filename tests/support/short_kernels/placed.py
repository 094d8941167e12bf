"""Launches with buffers that lie side by side, overlap, are read-only, or are not there."""

from __future__ import annotations

import hashlib
import random

import numpy as np

import luthier as lt

from .area import START, Area
from .values import BEFORE, BEHIND, contents, geometry

SHIFTS = (0, 0, 4, -4, 8, 60, 64, -64, 68, 128, 252, -252, 256, -256, 260, 1024, -1024, 2)
KINDS = [*["apart", "adjacent", "adjacent", "shifted", "shifted", "merged"] * 2, "hole", "gone", "never"]


def lay(area: Area, items: int, of: random.Random) -> tuple[list[np.ndarray], list[int], str]:
    """Arrays to be shared, three addresses for the kernel, and how it was done."""
    kind = of.choice(KINDS)
    about, whole = kind, BEFORE + 4 * items + BEHIND
    if kind == "shifted":
        # All in one array: some numbers of bytes from where the first one is.
        array = area.take(2048 + whole + 2048, 4096)
        shifts = [0, of.choice(SHIFTS), of.choice(SHIFTS)]
        of.shuffle(shifts)
        return [array], [array.ctypes.data + 2048 + BEFORE + shift for shift in shifts], f"{kind} {shifts}"
    if kind == "merged":
        # Each array begins in the one before, so that the device has one piece of memory.
        arrays = [area.take(whole, 4096)]
        arrays += [area.take(whole, -of.choice((4, 64, 1000, whole // 2, whole - 252))) for _ in range(2)]
    else:
        # Some end before the last work-item's word; what comes next is the next one's.
        gaps = {"adjacent": (0,), "hole": (4, 8, 60, 1)}.get(kind, (4096,))
        cut = (0, 0, 0, 0, 4, 64, 100, 4 * (items // 2), 512) if kind in ("adjacent", "hole") else (0,)
        behind = (0, 0, 4, 1, 2, 64) if kind in ("adjacent", "hole") else (BEHIND, 0)
        size = lambda: max(BEFORE + 8, BEFORE + 4 * items - of.choice(cut) + of.choice(behind))  # noqa: E731
        arrays = [area.take(size(), of.choice(gaps) if number else 4096) for number in range(3)]
    order = of.sample(range(3), 3)
    if of.random() < 0.15:
        fixed = of.randrange(3)
        arrays[fixed].flags.writeable = False
        about += f", {fixed} read-only"
    return arrays, [arrays[number].ctypes.data + BEFORE for number in order], f"{about} {order}"


def launch(module: lt.Module, device: lt.Device, area: Area, kernel: str, dimensions: int, of: random.Random) -> str:
    grid, block = geometry(of, dimensions)
    items = int(np.prod(grid))
    area.begin()
    arrays, addresses, about = lay(area, items, of)
    # Through the area, as some arrays are not to be written.
    words = (area.next - START) // 4
    area.all(4 * words).view(np.uint32)[:] = contents(of, words)
    lost = of.randrange(3)
    for number, array in enumerate(arrays):
        if "never" not in about or number != lost:
            device.share(array)
    if "gone" in about:
        # The device has had it, and has it no more.
        arrays[lost] = array = None  # type: ignore[call-overload]
    many = of.choice((items, items, items - of.randrange(min(70, items)), of.randrange(items + 1)))
    sizes = [*block, 1, 1][:3]
    args = [np.uint64(address) for address in addresses]
    args += [np.uint32(word) for word in (of.choice((0, 4, 8, 64, 3)), many, *sizes, *[*grid, 1][:2])]
    try:
        done = module.run(kernel, grid=tuple(grid), block=tuple(block), args=args)
        told = f"{done.instructions} instructions, {sorted(done.histogram.items())}"
    except lt.DeviceError as error:
        told = str(error)
    return f"{kernel}, {grid} of {block}, {many}, {about}: {hashlib.md5(area.all(4 * words).tobytes()).hexdigest()[:8]}, {told}"
