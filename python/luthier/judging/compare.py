"""How far results are from the reference's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class Tolerance:
    """What counts as right. An element is, if any of the three holds: a number of units in the last place of the output's type, or
    within ``atol + rtol * |reference|``. Integers have to be equal unless ``atol`` says otherwise. NaN is right where the
    reference has NaN, and infinity where it has the same."""

    ulps: float = 4
    rtol: float = 0.0
    atol: float = 0.0

    def __str__(self) -> str:
        parts = [f"{self.ulps:g} ulps"]
        parts += [f"{name} {value:g}" for name, value in (("rtol", self.rtol), ("atol", self.atol)) if value]
        return " or ".join(parts)


@dataclass(frozen=True)
class Difference:
    """What comparing two arrays gave."""

    #: Elements beyond the tolerance, and all.
    wrong: int
    of: int
    #: The greatest distance in ulps of the output's type, of elements that are finite in both; None of integers.
    ulps: float | None
    #: The first wrong element: its index, the value, and the reference's.
    first: tuple[tuple[int, ...], Any, Any] | None

    def __str__(self) -> str:
        far = "" if self.ulps is None else f", up to {self.ulps:,.0f} ulps"
        if self.first is None:
            return f"right{far}"
        at, got, wanted = self.first
        where = f"[{', '.join(map(str, at))}]"
        return f"{self.wrong:,} of {self.of:,} elements are wrong{far}; the first is {where}: {got!r}, not {wanted!r}"


def difference(got: numpy.ndarray, wanted: Any, tolerance: Tolerance) -> Difference:
    """Compares a result with the reference's, which is rounded to the result's type."""
    import numpy

    with numpy.errstate(all="ignore"):
        exact = numpy.broadcast_to(numpy.asarray(wanted), got.shape)
        wanted = exact.astype(got.dtype)
        if not numpy.issubdtype(got.dtype, numpy.floating):
            far = numpy.abs(got.astype("f8") - wanted.astype("f8"))
            wrong = (got != wanted) & (far > tolerance.atol)
            ulps = None
        else:
            apart = ulps_between(got, wanted)
            far = numpy.abs(got.astype("f8") - exact.astype("f8"))
            finite = numpy.isfinite(got) & numpy.isfinite(wanted)
            near = (apart <= tolerance.ulps) | (far <= tolerance.atol + tolerance.rtol * numpy.abs(wanted.astype("f8")))
            same = numpy.isnan(got) & numpy.isnan(wanted) | (got == wanted)
            wrong = ~(same | finite & near)
            ulps = float(apart[finite].max()) if finite.any() else 0.0
    first = None
    if wrong.any():
        at = tuple(int(i) for i in numpy.unravel_index(int(numpy.argmax(wrong)), wrong.shape))
        first = (at, got[at].item(), wanted[at].item())
    return Difference(int(wrong.sum()), int(got.size), ulps, first)


def ulps_between(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """How many values of the type lie between two, as float64; both zeros are one value."""
    import numpy

    kind = numpy.dtype(f"i{a.dtype.itemsize}")

    def ordered(values: numpy.ndarray) -> numpy.ndarray:
        bits = numpy.ascontiguousarray(values).view(kind).astype("f8")
        return numpy.where(bits < 0, -(bits - float(numpy.iinfo(kind).min)), bits)

    distance: numpy.ndarray = numpy.abs(ordered(a) - ordered(b))
    return distance
