"""Memory of this process that a device finds at an address that stays.

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

#: What :func:`allocate` begins at a multiple of, as hipMalloc does.
ALIGNMENT = 256
#: What shared memory begins at a multiple of, and ends at one: compilers widen atomics to the word around them.
_SHARED_ALIGN, _WORD = 16, 4


@dataclass
class Owner:
    """Whoever keeps some bytes of the process where they are, without keeping him."""

    start: int
    end: int
    writable: bool
    #: Himself, or None when he is gone.
    held: Callable[[], Any]
    #: Whether he is gone, told faster.
    is_gone: Callable[[], bool]


@dataclass
class Range:
    """Bytes that the device has, and all who own some of them."""

    start: int
    end: int
    #: What the device has besides: where it begins, and the distance from the process's addresses to the device's.
    device: int
    distance: int
    owners: list[Owner]


class HostMemory:
    """The ranges of one device."""

    def __init__(self, core: Any):
        self._core = core
        self._lock = threading.RLock()
        #: Where the ranges begin in the process, sorted.
        self._starts: list[int] = []
        self._ranges: dict[int, Range] = {}

    def share(self, value: Any) -> int:
        """Makes the memory of an array or a tensor the device's as well; gives the address there of its first element."""
        with self._lock:
            host, owner = described(value)
            if owner.end == owner.start:
                return 0
            return host + self._range(owner).distance

    def address(self, host: int, size: int) -> int | None:
        """The device's address of bytes of the process, if they are in one range."""
        found = self._at(host)
        return host + found.distance if found is not None and host + size <= found.end else None

    def sweep(self) -> None:
        """Gives back the ranges whose owners are all gone."""
        with self._lock:
            for found in [r for r in self._ranges.values() if any(owner.is_gone() for owner in r.owners)]:
                found.owners = [owner for owner in found.owners if not owner.is_gone()]
                if not found.owners:
                    self._core.free(found.device)
                    self._starts.remove(found.start)
                    del self._ranges[found.start]

    def kept(self) -> list[Any]:
        """All owners, to be held while a kernel runs: another thread of Python may let go of one meanwhile. Where there is
        no other thread, nobody can."""
        if threading.active_count() == 1:
            return []
        with self._lock:
            return [owner.held() for found in self._ranges.values() for owner in found.owners]

    def _at(self, host: int) -> Range | None:
        i = bisect.bisect_right(self._starts, host) - 1
        found = self._ranges[self._starts[i]] if i >= 0 else None
        return found if found is not None and host < found.end else None

    def _range(self, owner: Owner) -> Range:
        """The range that an owner's bytes are in, made if need be."""
        found = self._at(owner.start)
        if found is not None and any(known.is_gone() for known in found.owners):
            self.sweep()  # the memory may be somebody else's by now
            found = self._at(owner.start)
        if found is not None and owner.end <= found.end:
            if all((known.start, known.end) != (owner.start, owner.end) for known in found.owners):
                found.owners.append(owner)
            return found
        self.sweep()
        i = bisect.bisect_left(self._starts, owner.start)
        if self._at(owner.start) is not None or i < len(self._starts) and self._starts[i] < owner.end:
            raise ArgumentError("share: some of these bytes are shared already, as a part of somebody else's memory")
        back = owner.start % _SHARED_ALIGN
        size = -(-(owner.end - owner.start + back) // _WORD) * _WORD
        device = self._core.share(owner.start - back, size, None, owner.writable)
        made = Range(owner.start, owner.end, device, device + back - owner.start, [owner])
        bisect.insort(self._starts, owner.start)
        self._ranges[owner.start] = made
        return made


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
    held = weakref.ref(owner)
    return array.ctypes.data, Owner(start, end, bool(owner.flags.writeable), held, lambda: held() is None)


def _of_torch(torch: Any, tensor: Any) -> tuple[int, Owner]:
    from torch.multiprocessing.reductions import StorageWeakRef  # pyright: ignore[reportMissingImports]

    with torch._C.DisableTorchFunction():
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise ArgumentError(f"share: a dense tensor on the CPU is needed, not one on {tensor.device} ({tensor.layout})")
        storage = tensor.untyped_storage()
        first = torch._C.TensorBase.data_ptr(tensor)  # Tensor's own may be luthier.triton's
        weak = StorageWeakRef(storage)
        held = lambda: torch.UntypedStorage._new_with_weak_ptr(weak.cdata)  # noqa: E731
        start = storage.data_ptr()
        return first, Owner(start, start + storage.nbytes(), True, held, weak.expired)
