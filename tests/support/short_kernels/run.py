"""``python -m short_kernels.run SORT SEED SEEDS KERNELS``: a line for each launch, of what it left in memory, counted or was refused for.

Lines of processes with different native code (``LUTHIER_NATIVE``) are the same.
"""

from __future__ import annotations

import os
import random
import sys

import luthier as lt

from .generate import build
from .sorts import SORTS, Sort


def turns(sort: Sort, names: dict[str, int], of: random.Random) -> list[str]:
    """The kernels in the order in which they are launched."""
    order = [name for name in names for _ in range(sort.launches)]
    if not sort.mixed:
        return order
    # Some four kernels at a time.
    some = 4 * sort.launches
    pieces = [order[first : first + some] for first in range(0, len(order), some)]
    return [name for piece in pieces for name in of.sample(piece, len(piece))]


def main(name: str, seed: int, seeds: int, kernels: int) -> None:
    sort = SORTS[name]
    # What others are compared with, one worker has done.
    threads = 1 if os.environ.get("LUTHIER_NATIVE") == "0" else sort.threads
    for number in range(seed, seed + seeds):
        for processor, lanes in sort.waves:
            path, names = build(processor, lanes, number, kernels, sort.kind)
            device = lt.Device(processor, threads=threads)
            launch = sort.launcher(device.load(path), device)
            of = random.Random(number)
            for kernel in turns(sort, names, of):
                print(f"{processor}, {lanes} lanes, seed {number},", launch(kernel, names[kernel], of))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
