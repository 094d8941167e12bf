"""Kernel arguments: checked against the kernel's metadata, and packed as the kernel reads them."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .. import _core
from ..errors import ArgumentError
from ..objects.parameters import Declared, declared, explicit, misfit, refusal
from .memory import HostMemory, is_allocated

_POINTERS = ("global_buffer",)

#: Bytes of arguments that a kernel may have, the hidden ones among them.
_MOST = 1 << 20

#: Memory of the host's that begins at a multiple of this can be the device's, too.
_SHARED_ALIGN = 16


class Memory(Protocol):
    """The part of a device that arguments need."""

    def alloc(self, size: int, writable: bool = True) -> int: ...
    def share(self, address: int, size: int, owner: Any, writable: bool = True) -> int: ...
    def free(self, address: int) -> None: ...
    def write(self, address: int, data: bytes) -> None: ...
    def read(self, address: int, size: int) -> bytes: ...


@dataclass(frozen=True)
class Place:
    """The memory of an argument's array."""

    address: int
    size: int
    #: Of the argument, from 0.
    index: int
    #: ``argument 2 'c'``
    what: str
    writable: bool

    def __str__(self) -> str:
        return f"{self.what} ({self.size:,} bytes{'' if self.writable else ', read-only'})"


class Packed:
    """The bytes ``kernarg`` of the explicit arguments, and what the device has for their sake. ``places`` and ``kept`` begin the
    lists of these names."""

    def __init__(self, kernarg: bytes, places: Iterable[Place] = (), kept: Iterable[Any] = ()):
        self.kernarg = kernarg
        #: Addresses on the device that are given back afterwards.
        self.addresses: list[int] = []
        #: Arrays whose contents the device has a copy of, and where.
        self.copies: list[tuple[Any, int]] = []
        #: What has to live as long.
        self.kept: list[Any] = list(kept)
        self._given = list(places)
        #: The parts of a place for each array: few launches are asked for one.
        self._arrays: list[tuple[int, int, int, str, bool]] = []

    @property
    def places(self) -> list[Place]:
        """Where on the device the buffers of arguments are, for messages."""
        return [*self._given, *(Place(*array) for array in self._arrays)]

    def placed(self, address: int, size: int, which: tuple[int, str], writable: bool) -> None:
        """The buffer of the argument of this number and name is at ``address``."""
        self._arrays.append((address, size, *which, writable))

    def fetch(self, memory: Memory) -> None:
        """Brings the new contents of copied arrays back."""
        for array, address in self.copies:
            if array.nbytes and array.flags.writeable:
                import numpy

                if (lost := _lost(_file(array))) is not None:
                    raise ArgumentError(f"what the kernel has written cannot be brought back: {lost}")
                flat = array.reshape(-1).view(numpy.uint8)
                flat[:] = numpy.frombuffer(memory.read(address, array.nbytes), numpy.uint8)

    def free(self, memory: Memory) -> None:
        for address in self.addresses:
            memory.free(address)
        self.addresses.clear()
        self.copies.clear()
        self.kept.clear()


class Signature:
    """What a kernel takes, worked out once for all launches."""

    def __init__(self, kernel: str, facts: dict[str, Any], core: Any = None):
        self.kernel = kernel
        self._args = explicit(kernel, facts)
        types: list[Declared | None] = [None] * len(self._args)
        if core is not None:
            types = declared(core, kernel, self._args)
        for arg, found in zip(self._args, types):
            if arg["name"] is None and found is not None:
                arg["name"] = found.called
        #: Kind, offset and size of each, what the source says of it, and its number and name for messages.
        self._wanted = [
            (arg["kind"], arg["offset"], arg["size"], found, (index, _named(index, arg["name"])))
            for index, (arg, found) in enumerate(zip(self._args, types))
        ]
        self._size = max((arg["offset"] + arg["size"] for arg in self._args), default=0)
        if self._size > _MOST:
            raise ArgumentError(
                f"kernel {kernel}: its metadata ask for {self._size} bytes of arguments, and no kernel has more than {_MOST}"
            )

    def pack(self, values: Sequence[Any], memory: Memory, host: HostMemory | None = None) -> Packed:
        """Checks ``values`` and packs them. On an error nothing stays allocated.

        The device shares the memory of arrays of whole words that can be written and begin at a multiple of 16 bytes, as
        NumPy's own do; others are copied, and those that map a file, which another program may make shorter. What ``host`` has
        stays where it is there.
        """
        wanted = self._wanted
        if len(values) != len(wanted):
            kinds = ", ".join(_describe(i, arg) for i, arg in enumerate(self._args))
            given = f"{len(values)} {'was' if len(values) == 1 else 'were'} given"
            raise ArgumentError(f"kernel {self.kernel} takes {len(wanted)} arguments ({kinds}), {given}")
        out = bytearray(self._size)
        packed = Packed(b"")
        known: dict[int, int] = {}  # one array passed twice is one buffer
        done = 0
        try:
            for (kind, offset, size, known_type, which), value in zip(wanted, values):
                if kind in _POINTERS:
                    data = _pointer(value, memory, host, packed, known, known_type, which).to_bytes(8, "little")
                elif kind == "by_value":
                    data = _by_value(value, size, known_type)
                else:
                    raise _Refused(f"arguments of kind {kind} are not supported")
                out[offset : offset + len(data)] = data
                done += 1
        except _Refused as refused:
            packed.free(memory)
            where = f"kernel {self.kernel}, argument {_describe(done, self._args[done])}"
            raise ArgumentError(f"{where}: {refused}") from None
        except BaseException:
            packed.free(memory)
            raise
        packed.kernarg = bytes(out)
        return packed


def pack(kernel: str, facts: dict[str, Any], values: list[Any], memory: Memory) -> Packed:
    """As :meth:`Signature.pack`, for one launch."""
    return Signature(kernel, facts).pack(values, memory)


class _Refused(Exception):
    """Why a value is no argument; which one it is, the caller knows."""


def _named(index: int, name: str | None) -> str:
    return f"argument {index}" + (f" '{name}'" if name else "")


def _describe(index: int, arg: dict[str, Any]) -> str:
    kind = {"global_buffer": "pointer", "by_value": f"{arg['size']} bytes"}.get(arg["kind"], arg["kind"])
    return f"{index}{' ' + arg['name'] if arg['name'] else ''}: {kind}"


def _place(array: Any, host: int, size: int, writable: bool, memory: Memory, packed: Packed, which: tuple[int, str]) -> int:
    """The address at which the device finds an array's bytes, ``size`` of them at the address ``host``."""
    file = None if array.base is None else _file(array)
    if (lost := _lost(file)) is not None:
        raise _Refused(lost)
    # Compilers widen atomics of 16 bits to a word: it has to be there.
    if size and file is None and host % _SHARED_ALIGN == 0 and size % 4 == 0:
        address = memory.share(host, size, array, writable)
        packed.addresses.append(address)
        packed.placed(address, size, which, writable)
        return address
    address = memory.alloc(max(size, 1), writable)
    packed.addresses.append(address)
    packed.copies.append((array, address))
    packed.placed(address, max(size, 1), which, writable)
    if size:
        memory.write(address, array.tobytes())
    return address


def _file(array: Any) -> tuple[mmap.mmap, int] | None:
    """The file that an array maps, and how long it has to be for that."""
    base, start = array, 0
    while base is not None and not isinstance(base, mmap.mmap):
        offset = getattr(base, "offset", None)  # of a numpy.memmap
        start = offset - offset % mmap.ALLOCATIONGRANULARITY if isinstance(offset, int) else start
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is None:
        return None
    try:
        base.size()
    except OSError:  # memory without a file
        return None
    return base, start + len(base)


def _lost(file: tuple[mmap.mmap, int] | None) -> str | None:
    """Why the bytes of an array that maps this must not be touched: the file has become shorter than what is mapped of it,
    which would end the process."""
    if file is None or file[0].size() >= file[1]:
        return None
    return f"the array maps {file[1]} bytes of a file that has only {file[0].size()} any more"


def _interface(value: Any) -> dict[str, Any] | None:
    """NumPy's description of an array; None for everything else, scalars among it."""
    interface = getattr(value, "__array_interface__", None)
    if interface is None or not hasattr(value, "flags") or getattr(value, "shape", ()) == ():
        return None
    return interface


def _pointer(
    value: Any,
    memory: Memory,
    host: HostMemory | None,
    packed: Packed,
    known: dict[int, int],
    known_type: Declared | None,
    which: tuple[int, str],
) -> int:
    """The address on the device that an argument stands for."""
    if value is None:
        return 0
    address = known.get(id(value))
    if address is not None:
        return address
    place = _core.array_place(value)
    if host is not None and place is None and hasattr(value, "data_ptr"):
        address = host.share(value)
        packed.placed(address, value.nbytes, which, True)
        return address
    if place is None or not hasattr(value, "flags"):
        interface = _interface(value)
        if interface is None:
            if isinstance(value, int) and not isinstance(value, bool):
                if not 0 <= value < 1 << 64:
                    raise _Refused(f"{value} is not an address")
                return value
            raise _Refused(f"needs an array, None or a device address, not {_kind(value)}")
        flags = value.flags
        place = interface["data"][0], value.nbytes, bool(flags.writeable), bool(flags.c_contiguous)
    first, size, writable, is_contiguous = place
    if not is_contiguous:
        how = "in Fortran's order (its columns are contiguous)" if value.flags.f_contiguous else "not contiguous"
        raise _Refused(f"the array is {how}; numpy.ascontiguousarray makes a copy with contiguous rows")
    if value.dtype.hasobject:
        raise _Refused("an array of Python objects has no bytes that a kernel could read")
    if known_type is not None and (why := misfit(value, known_type)) is not None:
        raise _Refused(why)
    if host is not None:
        if is_allocated(value):
            host.share(value)
        if host.has(first, size):
            packed.placed(first, size, which, writable)
            return first
    address = known[id(value)] = _place(value, first, size, writable, memory, packed, which)
    return address


def _by_value(value: Any, size: int, known_type: Declared | None) -> bytes:
    if known_type is not None and known_type.number is not None:
        if (why := refusal(value, known_type.number)) is not None:
            raise _Refused(why)
        if known_type.number.kind == "float" and isinstance(value, int):
            value = float(value)
    if isinstance(value, (bytes, bytearray)):
        data = bytes(value)
    elif hasattr(value, "dtype") and getattr(value, "shape", None) == ():  # a NumPy scalar
        data = value.tobytes()
    elif isinstance(value, int):  # bool included
        if size > 8 or not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
            raise _Refused(f"{value} does not fit")
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    elif isinstance(value, float):
        code = {2: "<e", 4: "<f", 8: "<d"}.get(size)
        if code is None:
            raise _Refused("a float has 2, 4 or 8 bytes")
        try:
            return struct.pack(code, value)
        except OverflowError:
            raise _Refused(f"{value} does not fit") from None
    else:
        raise _Refused(f"needs a number or bytes, not {_kind(value)}")
    if len(data) != size:
        raise _Refused(f"{_kind(value)} of {len(data)} bytes was given")
    return data


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if _interface(value) is not None:
        return f"an array of {value.dtype}"
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"
