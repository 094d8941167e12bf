"""For hooks: the least and the greatest of all values that lanes bring to a place in memory.

What is there is looked at first, by an atomic operation of one lane that changes nothing: few values are new extremes, and
atomic operations of one place take turns. A load in its place would race with the atomic operations of other waves.
"""

from __future__ import annotations

import luthier as lt
from luthier.tools.waves import is_first


@lt.device
def known(place: lt.ptr[lt.u64]) -> lt.u64:
    value = lt.u64(0)
    if is_first():
        value = lt.atomic_or(place, 0)
    return lt.readfirstlane(value)


@lt.device
def raise_to(place: lt.ptr[lt.u64], value: lt.u64):
    if value > known(place):
        lt.atomic_max(place, value)


@lt.device
def lower_to(place: lt.ptr[lt.u64], value: lt.u64):
    if value < known(place):
        lt.atomic_min(place, value)
