"""``python -m short_kernels.run SORT SEED SEEDS KERNELS``: a line for each launch, of what it left in memory, counted or was refused for.

Lines of processes with different native code (``LUTHIER_NATIVE``) are the same.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import luthier as lt

from . import chased, placed, plain
from .area import Area
from .barriers import BARRIER_KINDS, BarrierKernel
from .generate import KINDS, Kernel, build
from .scalars import SCALAR_KINDS
from .shapes import ShapedKernel
from .streams import StreamKernel

#: A launch of a kernel, made for a grid of so many dimensions: what there is to say of it.
Launch = Callable[[str, int, random.Random], str]


@dataclass(frozen=True)
class Sort:
    """Kernels of a kind, the waves that have them, and how often each is launched."""

    kind: type[Kernel]
    waves: list[tuple[str, int]]
    launches: int
    #: Makes what launches them.
    launcher: Callable[[lt.Module, lt.Device], Launch]
    threads: int = 1
    #: Launches of several kernels take turns.
    mixed: bool = False


def _plain(module: lt.Module, device: lt.Device) -> Launch:
    return lambda kernel, dimensions, of: plain.launch(module, device, kernel, dimensions, of)


def _chased(how: chased.How) -> Callable[[lt.Module, lt.Device], Launch]:
    return lambda module, device: (
        lambda kernel, dimensions, of: chased.launch(module, device, _area(), kernel, dimensions, of, how)
    )


def _placed(module: lt.Module, device: lt.Device) -> Launch:
    return lambda kernel, dimensions, of: placed.launch(module, device, _area(), kernel, dimensions, of)


_AREA: list[Area] = []


def _area() -> Area:
    """The process's."""
    if not _AREA:
        _AREA.append(Area())
    return _AREA[0]


SORTS = {
    "plain": Sort(Kernel, KINDS, plain.LAUNCHES, _plain),
    "barriers": Sort(BarrierKernel, BARRIER_KINDS, plain.LAUNCHES, _plain),
    "scalars": Sort(ShapedKernel, SCALAR_KINDS, chased.LAUNCHES, _chased(chased.How()), mixed=True),
    "streams": Sort(StreamKernel, KINDS, placed.LAUNCHES, _placed, mixed=True),
    "placed": Sort(Kernel, KINDS, placed.LAUNCHES, _placed),
}


def turns(sort: Sort, names: dict[str, int], of: random.Random) -> Iterator[str]:
    """The kernels in the order in which they are launched."""
    order = [name for name in names for _ in range(sort.launches)]
    if sort.mixed:
        # Some four kernels at a time.
        some = 4 * sort.launches
        for first in range(0, len(order), some):
            yield from of.sample(order[first : first + some], len(order[first : first + some]))
    else:
        yield from order


def main(name: str, seed: int, seeds: int, kernels: int) -> None:
    sort = SORTS[name]
    for number in range(seed, seed + seeds):
        for processor, lanes in sort.waves:
            path, names = build(processor, lanes, number, kernels, sort.kind)
            device = lt.Device(processor, threads=sort.threads)
            launch = sort.launcher(device.load(path), device)
            of = random.Random(number)
            for kernel in turns(sort, names, of):
                print(f"{processor}, {lanes} lanes, seed {number},", launch(kernel, names[kernel], of))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
