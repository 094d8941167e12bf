"""Launches with buffers that lie side by side, overlap, are read-only, or are not there."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

import numpy as np

import luthier as lt

from .area import START, Area
from .values import BEFORE, BEHIND, contents, geometry

SHIFTS = (0, 0, 4, -4, 8, 60, 64, -64, 68, 128, 252, -252, 256, -256, 260, 1024, -1024, 2)
KINDS = [*["apart", "adjacent", "adjacent", "shifted", "shifted", "merged"] * 2, "hole", "gone", "never", *["goes on"] * 4]


@dataclass
class Layout:
    about: str
    arrays: list[np.ndarray | None]
    #: Where the kernel's three buffers begin.
    addresses: list[int]
    #: An array that the device does not have: it never had, or (``is_gone``) has no more.
    lost: int | None = None
    is_gone: bool = False

    def share(self, device: lt.Device) -> None:
        for number, array in enumerate(self.arrays):
            if self.is_gone or number != self.lost:
                device.share(array)
        if self.lost is not None:
            self.arrays[self.lost] = None


def lay(area: Area, items: int, block: int, of: random.Random) -> Layout:
    kind, whole = of.choice(KINDS), BEFORE + 4 * items + BEHIND
    if kind == "shifted":
        # All in one array: some numbers of bytes from where the first one is.
        array = area.take(2048 + whole + 2048, 4096)
        shifts = of.sample([0, of.choice(SHIFTS), of.choice(SHIFTS)], 3)
        return Layout(f"{kind} {shifts}", [array], [array.ctypes.data + 2048 + BEFORE + shift for shift in shifts])
    if kind == "goes on":
        return _goes_on(area, items, block, of)
    if kind == "merged":
        # Each array begins in the one before, so that the device has one piece of memory.
        sizes, gaps = [whole] * 3, [4096, *(-of.choice((4, 64, 1000, whole // 2, whole - 252)) for _ in range(2))]
    elif kind in ("adjacent", "hole"):
        # Some end before the last work-item's word; what comes next is the next one's.
        cut, behind = (0, 0, 0, 0, 4, 64, 100, 4 * (items // 2), 512), (0, 0, 4, 1, 2, 64)
        sizes = [max(BEFORE + 8, BEFORE + 4 * items - of.choice(cut) + of.choice(behind)) for _ in range(3)]
        gaps = [4096, 0, 0] if kind == "adjacent" else [4096, *of.choices((4, 8, 60, 1), k=2)]
    else:
        sizes, gaps = [BEFORE + 4 * items + of.choice((BEHIND, BEHIND, 0)) for _ in range(3)], [4096] * 3
    arrays = [area.take(size, gap) for size, gap in zip(sizes, gaps)]
    order = of.sample(range(3), 3)
    addresses = [arrays[number].ctypes.data + BEFORE for number in order]
    about = f"{kind} {order}"
    if of.random() < 0.15:
        fixed = of.randrange(3)
        arrays[fixed].flags.writeable = False
        about += f", {fixed} read-only"
    lost = of.randrange(3) if kind in ("gone", "never") else None
    return Layout(about, [*arrays], addresses, lost, kind == "gone")


def _goes_on(area: Area, items: int, block: int, of: random.Random) -> Layout:
    """A buffer that is two arrays: not all of what is known of the one need be so of the other."""
    # Some of them meet where a wave or a workgroup begins.
    waves, workgroups = 64 * of.randrange(items // 64 + 1), block * of.randrange(items // block + 1)
    whole, first = BEFORE + 4 * items + BEHIND, BEFORE + 4 * of.choice((of.randrange(items), waves, workgroups))
    arrays = [area.take(first, 4096), area.take(whole - first, of.choice((0, 0, 0, 4)))]
    arrays += [area.take(whole, 4096) for _ in range(2)]
    order = of.choice(([0, 2, 3], [2, 0, 3], [0, 0, 3], [0, 0, 3], [2, 0, 0], [2, 3, 0]))
    addresses = [arrays[number].ctypes.data + BEFORE for number in order]
    how = of.choice(("as it was", "read-only", "read-only", "read-only", "gone", "never"))
    arrays[1].flags.writeable = how != "read-only"
    lost = 1 if how in ("gone", "never") else None
    return Layout(f"goes on {order} behind {first}, {how}", [*arrays], addresses, lost, how == "gone")


def launch(module: lt.Module, device: lt.Device, area: Area, kernel: str, dimensions: int, of: random.Random) -> str:
    grid, block = geometry(of, dimensions)
    items = int(np.prod(grid))
    area.begin()
    layout = lay(area, items, int(np.prod(block)), of)
    # Through the area, as some arrays are not to be written.
    words = (area.next - START) // 4
    area.all(4 * words).view(np.uint32)[:] = contents(of, words)
    layout.share(device)
    many = of.choice((items, items, items - of.randrange(min(70, items)), of.randrange(items + 1)))
    sizes = [*block, 1, 1][:3]
    args = [np.uint64(address) for address in layout.addresses]
    args += [np.uint32(word) for word in (of.choice((0, 4, 8, 64, 3)), many, *sizes, *[*grid, 1][:2])]
    try:
        done = module.run(kernel, grid=tuple(grid), block=tuple(block), args=args)
        told = f"{done.instructions} instructions, {sorted(done.histogram.items())}"
    except lt.DeviceError as error:
        told = str(error)
    return f"{kernel}, {grid} of {block}, {many}, {layout.about}: {hashlib.md5(area.all(4 * words).tobytes()).hexdigest()[:8]}, {told}"
