"""What made an element of a matrix operation's result a NaN or an infinity: which of the products that it is the sum of, the element of C, or
a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from luthier.tools.float_formats import FORMATS, number
from luthier.tools.matrix_places import At, MatrixPlaces, Scales, Side


@dataclass(frozen=True)
class Product:
    """One of the products that an element is the sum of."""

    #: Its place along K; of a sparse operation B's.
    k: int
    #: The elements as registers have them, without changes of their sign.
    a: float
    b: float
    scale_a: float | None
    scale_b: float | None
    #: What it is, signs and scales included, where each product has room.
    value: float

    def shown(self) -> dict[str, Any]:
        """As results have it."""
        told: dict[str, Any] = {"k": self.k, "a": f"{self.a:g}", "b": f"{self.b:g}"}
        scales = {"scale_a": self.scale_a, "scale_b": self.scale_b}
        return {**told, **{name: f"{scale:g}" for name, scale in scales.items() if scale is not None}}


@dataclass(frozen=True)
class Words:
    """The registers that an operation read, each with the words of all lanes: A's, B's, the index's, and the scales of A and B."""

    a: Sequence[Sequence[int]]
    b: Sequence[Sequence[int]]
    index: Sequence[Sequence[int]]
    scales: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]


def _bits(words: Sequence[Sequence[int]], at: At, count: int) -> int:
    lane, bit = at
    first = bit // 32
    packed = sum(int(words[n][lane]) << 32 * (n - first) for n in range(first, min(first + 3, len(words))))
    return packed >> bit % 32 & (1 << count) - 1


def _taken(side: Side, words: Sequence[Sequence[int]], block: int, line: int, k: int) -> float:
    return number(side.kind, _bits(words, side.at(block, line, k), FORMATS[side.kind].bits))


def _scale(scales: Scales | None, words: Sequence[Sequence[int]], line: int, k: int) -> float | None:
    if scales is None:
        return None
    return number(scales.kind, _bits(words, scales.at(line, k // scales.each), 8))


def products(places: MatrixPlaces, words: Words, element: tuple[int, int, int]) -> list[Product]:
    """The products of an element, by row, column and block, in the order along K."""
    row, column, block = element
    found = []
    for k in range(places.depth):
        met = k
        if places.index is not None:
            four = _bits(words.index, places.index.at(row, k // 2), 4)
            met = k // 2 * 4 + (four >> 2 * (k % 2) & 3)
        a = _taken(places.a, words.a, block, row, k)
        b = _taken(places.b, words.b, block, column, met)
        scales = _scale(places.a.scales, words.scales[0], row, k), _scale(places.b.scales, words.scales[1], column, k)
        sign = -1.0 if places.a.negates[k % 2] != places.b.negates[k % 2] else 1.0
        value = sign * a * b
        for scale in scales:
            value = value if scale is None else value * scale
        found.append(Product(met, a, b, *scales, value))
    return found


def causes(value: float, found: Sequence[Product], c: float, largest: float, room: float) -> tuple[list[Product], bool]:
    """The products that made ``value``, and whether C's element (with its sign as it was added) did too. ``largest``: the largest
    number of the result's kind; ``room``: that of the sum's. They are the products with a NaN scale; else those that are NaNs; else those
    beyond what there is room for; and where none is, the fewest whose sum with C's element is."""
    if scaled := [p for p in found if any(s is not None and math.isnan(s) for s in (p.scale_a, p.scale_b))]:
        return scaled, False
    if math.isnan(value):
        nans = [p for p in found if math.isnan(p.value)]
        if nans or math.isnan(c):
            return nans, math.isnan(c)
        beyond = [p for p in found if abs(p.value) > room]
        return beyond or list(found), math.isinf(c)
    sign = math.copysign(1.0, value)
    beyond = [p for p in found if sign * p.value > largest]
    if beyond:
        return beyond, sign * c > largest
    # None of them by itself: the sum of the largest.
    helped, total = sign * c > 0, max(sign * c, 0.0)
    chosen = []
    for product in sorted((p for p in found if sign * p.value > 0), key=lambda p: -sign * p.value):
        chosen.append(product)
        total += sign * product.value
        if total > largest:
            break
    return sorted(chosen, key=lambda p: p.k), helped
