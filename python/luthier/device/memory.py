"""Memory of this process that a device finds at the process's own addresses.

A range is memory that arrays and tensors own which overlap: mostly one, a NumPy array that is no view, or the storage of
a torch tensor. It is the device's until its owners go; what kernels do there afterwards is found as a use of freed
memory, unless the process shares it with another one, too.
"""

from __future__ import annotations

import bisect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ArgumentError

#: What :func:`allocate` begins at a multiple of, as hipMalloc does.
ALIGNMENT = 256
#: Bytes behind what :func:`allocate` gives that stay unused: an overrun by less is caught for certain.
GUARD = 1 << 16


@dataclass
class Owner:
    """The owner of some bytes of the process that keeps them where they are, without keeping the owner alive."""

    start: int
    end: int
    writable: bool
    #: Tells him from all others that are alive.
    identity: int
    #: Himself, or None when he is gone.
    held: Callable[[], Any]
    #: Whether he is gone, told faster.
    is_gone: Callable[[], bool]
    #: Whether he says when he goes.
    tells: bool = False


@dataclass
class Range:
    """Bytes that the device has, and all who own some of them."""

    start: int
    end: int
    owners: list[Owner]

    @property
    def writable(self) -> bool:
        return any(owner.writable for owner in self.owners)


class HostMemory:
    """The ranges of one device."""

    def __init__(self, core: Any):
        self._core = core
        self._lock = threading.RLock()
        #: Where the ranges begin, sorted.
        self._starts: list[int] = []
        self._ranges: dict[int, Range] = {}
        #: Who own some of the ranges, by their identity.
        self._owners: dict[int, Owner] = {}
        #: Arrays that have gone since what they owned was given back. It is a list of its own, as they keep what they tell alive.
        self._gone: list[weakref.ref[Any]] = []
        #: There has been an owner who does not say when he goes.
        self._has_silent = False

    def share(self, value: Any) -> int:
        """Makes the memory of an array or a tensor the device's as well; gives the address of its first element."""
        known = self._known(value)
        if known is not None:
            return known
        with self._lock:
            first, owner = described(value, self._gone.append)
            if owner.end != owner.start:
                self._take_in(owner)
            return first

    def _known(self, value: Any) -> int | None:
        """The address of an array's first element, if what owns it has been taken in, to be written if it may be now."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        array: Any = value if type(value) is numpy.ndarray else getattr(value, "__luthier_array__", None)
        if type(array) is not numpy.ndarray:
            return None
        whole: Any = array
        while isinstance(base := whole.base, numpy.ndarray):
            whole = base
        owner = self._owners.get(id(whole))
        # It has not moved: NumPy resizes no array that there is a weak reference to.
        if owner is None or owner.held() is not whole or owner.writable != whole.flags.writeable:
            return None
        place = _core.array_place(array)
        return place[0] if place is not None and owner.start <= place[0] <= owner.end else None

    def has(self, address: int, size: int) -> bool:
        """Whether these bytes are in one range."""
        found = self._at(address)
        return found is not None and address + size <= found.end

    def ranges(self) -> list[tuple[int, int, bool]]:
        """Where each range begins and ends, and whether kernels may write it."""
        self.sweep()
        with self._lock:
            return [(found.start, found.end, found.writable) for found in self._ranges.values()]

    def sweep(self) -> None:
        """Gives back what has no owner any more."""
        if not self._gone and not self._has_silent:
            return
        with self._lock:
            self._gone.clear()
            for found in [r for r in self._ranges.values() if any(owner.is_gone() for owner in r.owners)]:
                self._replace([found], _ranges_of(owner for owner in found.owners if not owner.is_gone()))

    def kept(self, anyhow: bool = False) -> list[Any]:
        """All owners, to be held while a kernel runs: another thread of Python may let go of one meanwhile. Where there is
        no other thread, and nothing calls Python (``anyhow``), nothing can."""
        if not self._ranges or (threading.active_count() == 1 and not anyhow):
            return []
        with self._lock:
            return [owner.held() for found in self._ranges.values() for owner in found.owners]

    def _at(self, address: int) -> Range | None:
        i = bisect.bisect_right(self._starts, address) - 1
        found = self._ranges[self._starts[i]] if i >= 0 else None
        return found if found is not None and address < found.end else None

    def _take_in(self, owner: Owner) -> None:
        """Has the owner's bytes in a range."""
        self._has_silent |= not owner.tells
        found = self._at(owner.start)
        if found is None or any(known.is_gone() for known in found.owners):
            self.sweep()  # the memory may be another array's by now
            found = self._at(owner.start)
        if found is not None and owner.end <= found.end and (found.writable or not owner.writable):
            if all(known.identity != owner.identity for known in found.owners):
                found.owners.append(owner)
                self._owners[owner.identity] = owner
            return
        first = bisect.bisect_left(self._starts, owner.end)
        met = [found for start in self._starts[:first] if (found := self._ranges[start]).end > owner.start]
        owners = [known for found in met for known in found.owners if known.identity != owner.identity]
        self._replace(met, _ranges_of([*owners, owner]))

    def _replace(self, old: list[Range], new: list[Range]) -> None:
        """Puts ranges in the place of others, or leaves all as it was."""
        for found in old:
            self._core.free(found.start)
        done = []
        try:
            for found in new:
                self._core.share_in_place(found.start, found.end - found.start, found.writable)
                done.append(found)
        except BaseException:
            for found in done:
                self._core.free(found.start)
            for found in old:
                self._core.share_in_place(found.start, found.end - found.start, found.writable)
            raise
        for found in old:
            self._starts.remove(found.start)
            del self._ranges[found.start]
            for owner in found.owners:
                self._owners.pop(owner.identity, None)
        for found in new:
            bisect.insort(self._starts, found.start)
            self._ranges[found.start] = found
            for owner in found.owners:
                self._owners[owner.identity] = owner


def _ranges_of(owners: Iterable[Owner]) -> list[Range]:
    """The ranges that owners make: one for all whose bytes overlap."""
    found: list[Range] = []
    for owner in sorted(owners, key=lambda owner: owner.start):
        if found and owner.start < found[-1].end:
            found[-1].end = max(found[-1].end, owner.end)
            found[-1].owners.append(owner)
        else:
            found.append(Range(owner.start, owner.end, [owner]))
    return found


#: The arrays of :func:`allocate`: their owners, and the part that was asked for.
_ALLOCATED: dict[int, tuple[Any, tuple[int, int]]] = {}


def allocate(size: int) -> Any:
    """``size`` bytes of zeros, as a NumPy array that begins at a multiple of :data:`ALIGNMENT`. When it is shared, the room
    around it stays out."""
    import numpy

    raw = numpy.zeros(size + ALIGNMENT + GUARD, numpy.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    address, key = raw.ctypes.data + start, id(raw)
    _ALLOCATED[key] = weakref.ref(raw, lambda _: _ALLOCATED.pop(key, None)), (address, address + size)
    return raw[start : start + size]


def owner_of(array: Any) -> Any:
    """The array that has the memory which this one looks at."""
    import numpy

    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def is_allocated(array: Any) -> bool:
    """Whether an array is in memory of :func:`allocate`."""
    if not _ALLOCATED:
        return False
    owner = owner_of(array)
    known = _ALLOCATED.get(id(owner))
    return known is not None and known[0]() is owner


def described(value: Any, gone: Callable[[weakref.ref[Any]], object]) -> tuple[int, Owner]:
    """Where an array's or a tensor's first element is, and who owns its memory. ``gone`` is called when an array that does has gone."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if (inner := getattr(value, "__luthier_array__", None)) is not None:
        value = inner
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray):
        raise ArgumentError(f"share: a NumPy array or a torch tensor on the CPU is needed, not a {type(value).__name__}")
    return _of_numpy(numpy, value, gone)


def _of_numpy(numpy: Any, array: Any, gone: Callable[[weakref.ref[Any]], object]) -> tuple[int, Owner]:
    import mmap

    if array.dtype.hasobject:
        raise ArgumentError("share: an array of Python objects has no bytes that a kernel could read")
    owner = owner_of(array)
    below = owner.base
    while isinstance(below, memoryview):
        below = below.obj
    if isinstance(below, mmap.mmap):
        raise ArgumentError("share: the array maps a file, which another program may make shorter; numpy.array makes a copy")
    whole = owner
    if below is not None:
        try:  # all of the buffer, as others may look at it, too
            whole = numpy.frombuffer(below, numpy.uint8)
        except (TypeError, ValueError, BufferError):
            pass
    bounds = numpy.lib.array_utils.byte_bounds if hasattr(numpy.lib, "array_utils") else numpy.byte_bounds
    start, end = bounds(whole)
    if not start <= array.ctypes.data <= end:
        start, end = bounds(owner)
    if (allocated := _ALLOCATED.get(id(owner))) is not None and allocated[0]() is owner:
        start, end = allocated[1]
    held = weakref.ref(owner, gone)
    return array.ctypes.data, Owner(start, end, bool(owner.flags.writeable), id(owner), held, lambda: held() is None, True)


def _of_torch(torch: Any, tensor: Any) -> tuple[int, Owner]:
    from torch.multiprocessing.reductions import StorageWeakRef  # pyright: ignore[reportMissingImports]

    with torch._C.DisableTorchFunction():
        device = torch._C.TensorBase.device.__get__(tensor)  # Tensor's own may be luthier.triton's, and so its data_ptr
        if device.type != "cpu" or tensor.layout != torch.strided:
            raise ArgumentError(f"share: a dense tensor on the CPU is needed, not one on {device} ({tensor.layout})")
        storage = tensor.untyped_storage()
        first = torch._C.TensorBase.data_ptr(tensor)
        weak = StorageWeakRef(storage)
        held = lambda: torch.UntypedStorage._new_with_weak_ptr(weak.cdata)  # noqa: E731
        start = storage.data_ptr()
        return first, Owner(start, start + storage.nbytes(), True, storage._cdata, held, weak.expired)
