"""Caches: how far apart uses of a line are, and what a card's caches hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

#: Card: processor, bytes of a line, and bytes of each cache from the wave outwards: the vector cache of a compute unit (L0 on
#: RDNA), then those that more and more of them share. Of AMD's data sheets and white papers.
CARDS: dict[str, tuple[str, int, dict[str, int]]] = {
    "MI100": ("gfx908", 64, {"L1": 16 << 10, "L2": 8 << 20}),
    "MI210": ("gfx90a", 64, {"L1": 16 << 10, "L2": 8 << 20}),
    "MI300X": ("gfx942", 128, {"L1": 32 << 10, "L2": 4 << 20, "Infinity Cache": 256 << 20}),
    "RX 6900 XT": ("gfx1030", 128, {"L0": 16 << 10, "L1": 128 << 10, "L2": 4 << 20, "Infinity Cache": 128 << 20}),
    "RX 7900 XTX": ("gfx1100", 128, {"L0": 32 << 10, "L1": 256 << 10, "L2": 6 << 20, "Infinity Cache": 96 << 20}),
    "RX 9070 XT": ("gfx1201", 128, {"L0": 32 << 10, "L2": 8 << 20, "Infinity Cache": 64 << 20}),
}


def stack_distances(uses: np.ndarray) -> np.ndarray:
    """Of each use of a line (any integers, in the order of time): how many other lines were used since that line's last use;
    -1 for a first use. A cache of N lines that puts out the least recently used one has the line if that is below N."""
    import numpy as np

    count = len(uses)
    before = np.full(count, -1, "i8")
    order = np.argsort(uses, kind="stable")
    again = uses[order[1:]] == uses[order[:-1]]
    before[order[1:][again]] = order[:-1][again]
    # Between two uses each other line counts once: not those uses whose own last use is in between as well.
    found = np.arange(count) - before - 1 - _greater_before(before)
    found[before < 0] = -1
    return found


def _greater_before(values: np.ndarray) -> np.ndarray:
    """Of each value how many in front of it are greater, by merging: halves of twice the length in each round."""
    import numpy as np

    count = len(values)
    found = np.zeros(count, "i8")
    shifted = values.astype("i8") + 1  # from 0
    room = int(shifted.max(initial=0)) + 1
    index = np.arange(count)
    half = 1
    while half < count:
        pair, is_right = index // (2 * half), index // half % 2 == 1
        keys = pair * room + shifted
        left = np.sort(keys[~is_right])
        # Left halves of earlier pairs are whole: only the right one's own pair has greater ones at its end.
        ends = np.minimum((pair[is_right] + 1) * half, len(left))
        found[is_right] += ends - np.searchsorted(left, keys[is_right], "right")
        half *= 2
    return found
