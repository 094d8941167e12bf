"""Memory of this process that a device finds at the process's own addresses.

A range is what owns memory: a NumPy array that is no view, the storage of a torch tensor. Views lie in their owner's
range, wherever they begin, so that one byte has one address. A range is the device's until its owner goes; what kernels
do there afterwards is found as a use of freed memory.
"""

from __future__ import annotations

import bisect
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import ArgumentError

#: What :meth:`HostMemory.allocate` begins at a multiple of, as hipMalloc does, and what it leaves free behind the end, so
#: that an access past it is found.
ALIGNMENT = 256


@dataclass
class Owner:
    """Whoever keeps some bytes where they are, without keeping him."""

    start: int
    size: int
    writable: bool
    #: Himself, or None when he is gone.
    held: Callable[[], Any]
    #: Whether he is gone, told faster.
    is_gone: Callable[[], bool]

    @property
    def end(self) -> int:
        return self.start + self.size


class HostMemory:
    """The ranges of one device."""

    def __init__(self, core: Any):
        self._core = core
        self._lock = threading.RLock()
        #: The ranges, sorted by where they begin, and those who own a part of each.
        self._starts: list[int] = []
        self._owners: dict[int, list[Owner]] = {}
        self._ends: dict[int, int] = {}

    def share(self, value: Any) -> int:
        """Makes the memory of an array or a tensor the device's as well; gives the address of its first element."""
        with self._lock:
            address, owner = described(value)
            if owner.size:
                self._add(owner)
            return address

    def holds(self, address: int, size: int) -> bool:
        """Whether these bytes are in one range."""
        start = self._at(address)
        return start is not None and address + size <= self._ends[start]

    def sweep(self) -> None:
        """Gives back the ranges whose owners are gone."""
        with self._lock:
            for start in [start for start, owners in self._owners.items() if any(owner.is_gone() for owner in owners)]:
                self._place(self._remove(start))

    def kept(self) -> list[Any]:
        """All owners, to be held while a kernel runs: another thread of Python may let go of one meanwhile. Where there is
        no other thread, nobody can."""
        self.sweep()
        if threading.active_count() == 1:
            return []
        with self._lock:
            return [owner.held() for owners in self._owners.values() for owner in owners]

    def _at(self, address: int) -> int | None:
        """Where the range begins that holds an address."""
        i = bisect.bisect_right(self._starts, address) - 1
        if i < 0 or address >= self._ends[self._starts[i]]:
            return None
        return self._starts[i]

    def _add(self, owner: Owner) -> None:
        known = self._at(owner.start)
        if known is not None and owner.end <= self._ends[known]:
            owners = self._owners[known]
            if any(o.is_gone() for o in owners):
                self._place([*self._remove(known), owner])  # the memory is somebody else's by now
            elif not any((o.start, o.size, o.writable) == (owner.start, owner.size, owner.writable) for o in owners):
                self._place([*self._remove(known), owner])
            return
        over = [start for start in self._starts if start < owner.end and owner.start < self._ends[start]]
        self._place([*(o for start in over for o in self._remove(start)), owner])

    def _place(self, owners: list[Owner]) -> None:
        """Makes ranges of what owners have: one of those over one buffer, though none is the other's view."""
        group: list[Owner] = []
        end = 0
        for owner in [*sorted((o for o in owners if not o.is_gone()), key=lambda o: o.start), None]:
            if group and (owner is None or owner.start >= end):
                start = group[0].start
                self._core.share_in_place(start, end - start, None, any(o.writable for o in group))
                bisect.insort(self._starts, start)
                self._owners[start], self._ends[start] = group, end
                group = []
            if owner is not None:
                group.append(owner)
                end = max(end, owner.end) if len(group) > 1 else owner.end

    def _remove(self, start: int) -> list[Owner]:
        self._core.free(start)
        self._starts.remove(start)
        del self._ends[start]
        return self._owners.pop(start)


#: The arrays of :func:`allocate`: their owners, and the part that was asked for.
_ALLOCATED: dict[int, tuple[Any, tuple[int, int]]] = {}


def allocate(size: int) -> Any:
    """``size`` bytes of zeros, as a NumPy array that begins at a multiple of :data:`ALIGNMENT`. When it is shared, the room
    around it stays out."""
    import numpy

    raw = numpy.zeros(size + 2 * ALIGNMENT, numpy.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    address, key = raw.ctypes.data + start, id(raw)
    _ALLOCATED[key] = weakref.ref(raw, lambda _: _ALLOCATED.pop(key, None)), (address, address + size)
    return raw[start : start + size]


def described(value: Any) -> tuple[int, Owner]:
    """Where an array or tensor begins, and who owns its memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if (inner := getattr(value, "__luthier_array__", None)) is not None:
        value = inner
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        raise ArgumentError(f"share: a NumPy array or a torch tensor on the CPU is needed, not a {type(value).__name__}")
    return _of_numpy(numpy, value)


def _of_numpy(numpy: Any, array: Any) -> tuple[int, Owner]:
    import mmap

    if array.dtype.hasobject:
        raise ArgumentError("share: an array of Python objects has no bytes that a kernel could read")
    owner = array
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    below = owner.base
    while isinstance(below, memoryview):
        below = below.obj
    if isinstance(below, mmap.mmap):
        raise ArgumentError("share: the array maps a file, which somebody might cut off; numpy.array makes a copy")
    start, end = numpy.lib.array_utils.byte_bounds(owner) if hasattr(numpy.lib, "array_utils") else numpy.byte_bounds(owner)
    if (allocated := _ALLOCATED.get(id(owner))) is not None and allocated[0]() is owner:
        start, end = allocated[1]
    held = weakref.ref(owner)
    return array.ctypes.data, Owner(start, end - start, bool(owner.flags.writeable), held, lambda: held() is None)


def _of_torch(torch: Any, tensor: Any) -> tuple[int, Owner]:
    from torch.multiprocessing.reductions import StorageWeakRef

    with torch._C.DisableTorchFunction():
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ArgumentError(f"share: a dense tensor on the CPU is needed, not one on {tensor.device} ({tensor.layout})")
        storage = tensor.untyped_storage()
        first = torch.Tensor.data_ptr(tensor)
        weak = StorageWeakRef(storage)
        held = lambda: torch.UntypedStorage._new_with_weak_ptr(weak.cdata)  # noqa: E731
        return first, Owner(storage.data_ptr(), storage.nbytes(), True, held, weak.expired)
