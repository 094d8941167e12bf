"""Which random kernels there are, how they are launched, and what is expected of the launches."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import luthier as lt

from . import chased, looked, placed, plain
from .area import Area
from .barriers import BARRIER_KINDS, BarrierKernel
from .generate import KINDS, Kernel
from .narrow import NarrowKernel
from .scalars import SCALAR_KINDS
from .shapes import ShapedKernel
from .streams import StreamKernel

#: Launches a kernel with this name on a grid of this many dimensions, and tells what came of it.
Launch = Callable[[str, int, random.Random], str]
#: When blocks get native code (``LUTHIER_NATIVE``): at once; at once, in and out again; when they are hot.
AT_ONCE = ("1", "random:3")
USUAL = ("",)


@dataclass(frozen=True)
class Sort:
    """Kernels of a kind, the waves that have them, and how often each is launched."""

    kind: type[Kernel]
    waves: list[tuple[str, int]]
    launches: int
    #: Makes what launches them.
    launcher: Callable[[lt.Module, lt.Device], Launch]
    #: Kernels for each kind of waves: of one run of the tests, and of each seed of a deep one.
    kernels: tuple[int, int]
    #: The least and the largest share of launches that are refused.
    refused: tuple[float, float]
    natives: tuple[str, ...] = AT_ONCE
    threads: int = 1
    #: Launches of several kernels take turns.
    mixed: bool = False


def _in_area(launch: Callable[..., str], *more: object) -> Callable[[lt.Module, lt.Device], Launch]:
    """With memory at the same addresses in all processes."""
    return lambda module, device: lambda kernel, dimensions, of: launch(module, device, _area(), kernel, dimensions, of, *more)


def _plain(module: lt.Module, device: lt.Device) -> Launch:
    return lambda kernel, dimensions, of: plain.launch(module, device, kernel, dimensions, of)


_AREA: list[Area] = []


def _area() -> Area:
    """The process's."""
    if not _AREA:
        _AREA.append(Area())
    return _AREA[0]


_CHASED = _in_area(chased.launch, chased.How())
_ORDERLY = _in_area(chased.launch, chased.How(refused=False))
_LONG = _in_area(chased.launch, chased.How(many=True, refused=False))
_PLACED = _in_area(placed.launch)
_LOOKED = _in_area(looked.launch)
#: A few addresses that kernels compute lead nowhere even where they are kept in order.
RARELY = (0.0, 0.001)
SORTS = {
    "plain": Sort(Kernel, KINDS, 2, _plain, (25, 40), (0.025, 0.25)),
    # Most that a kernel with barriers accesses is LDS.
    "barriers": Sort(BarrierKernel, BARRIER_KINDS, 2, _plain, (8, 40), (0.005, 0.25)),
    # Scalar code reads few of the addresses that lead nowhere.
    "scalars": Sort(ShapedKernel, SCALAR_KINDS, 3, _CHASED, (25, 40), (0.01, 0.25), mixed=True),
    # Several workers are refused where the first of them is: little to be compared.
    "workers": Sort(ShapedKernel, SCALAR_KINDS, 3, _ORDERLY, (12, 40), RARELY, threads=2, mixed=True),
    # So many workgroups that workers go over to native code in the middle.
    "long": Sort(ShapedKernel, SCALAR_KINDS, 3, _LONG, (3, 8), RARELY, USUAL, threads=2, mixed=True),
    "streams": Sort(StreamKernel, KINDS, 3, _PLACED, (25, 40), (0.1, 0.6), mixed=True),
    "placed": Sort(Kernel, KINDS, 3, _PLACED, (12, 40), (0.05, 0.5)),
    "narrow": Sort(NarrowKernel, KINDS, 2, _plain, (25, 40), (0.02, 0.4)),
    "narrow-placed": Sort(NarrowKernel, KINDS, 2, _PLACED, (12, 40), (0.05, 0.6)),
    # Nothing but stops and what memory and registers hold then is told.
    "looked": Sort(StreamKernel, KINDS, 1, _LOOKED, (5, 20), (0.0, 0.25)),
}
