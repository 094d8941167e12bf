"""Memory of this process that nothing has written: what depends on it is found where ``undefined-memory`` is asked for."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentError
from .memory import allocate, owner_of

if TYPE_CHECKING:
    import numpy

#: The kind of finding.
KIND = "undefined-memory"


def is_wanted(kinds: Iterable[str]) -> bool:
    """Whether one of these kinds of findings needs to know what nothing has written."""
    return any(kind in (KIND, "all") for kind in kinds)


def empty(shape: Any, dtype: Any) -> numpy.ndarray:
    """An array in memory of :func:`luthier.device.memory.allocate`, whose elements nothing has written."""
    import numpy

    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise ArgumentError("empty: Python objects have no bytes that a kernel could read")
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(hasattr(size, "__index__") and size.__index__() >= 0 for size in sizes):
        raise ArgumentError(f"empty: {shape!r} is no shape")
    sizes = tuple(size.__index__() for size in sizes)
    count = kind.itemsize
    for size in sizes:
        count *= size
    flat = allocate(count)
    if count:
        address = flat.ctypes.data
        _core.forget_memory(address, count)
        weakref.finalize(owner_of(flat), _core.remember_memory, address, count).atexit = False
    return flat.view(kind).reshape(sizes)
