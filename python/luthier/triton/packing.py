"""The bytes of a kernel's arguments, from the values that Triton hands to a launcher."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..device.arguments import Place
from ..device.memory import HostMemory
from ..errors import ArgumentError
from .tensors import Tensor

#: How struct writes each type; pointers are addresses. The types are those of Triton's signatures.
_FORMATS = {
    "i1": "b", "u1": "B", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
    "fp32": "f", "f32": "f", "fp64": "d",
}  # fmt: skip
_FLOATS = {"fp16": 2, "bf16": 2, "fp32": 4, "f32": 4, "fp64": 8}


def address_of(value: Any, memory: HostMemory) -> int:
    """The address that a pointer argument stands for. What has memory in this process becomes the device's."""
    if value is None:
        return 0
    if type(value) is Tensor:
        return value.address_in(memory)
    if isinstance(value, numpy.ndarray):
        return memory.share(value)
    if isinstance(value, int):
        return value
    base = getattr(value, "base", None)
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return memory.share(value)
        if isinstance(base, torch.Tensor):  # TensorWrapper: another type for the same memory
            return memory.share(base)
    if hasattr(value, "__luthier_array__"):
        return memory.share(value)
    if hasattr(base, "__luthier_array__"):
        return memory.share(base)
    if not hasattr(value, "data_ptr"):
        raise ArgumentError(f"a pointer is a tensor, an array, None or an address, not a {type(value).__name__}")
    address = value.data_ptr()
    if not isinstance(address, int):
        raise ArgumentError(f"data_ptr() of a {type(value).__name__} gives a {type(address).__name__}, not an address")
    return address


def encoded(kind: str, value: Any) -> bytes:
    """A number as the kernel reads it, where struct alone would refuse it or lacks the type."""
    if kind in _FLOATS:
        number = float(value)
        if kind == "fp64":
            return struct.pack("<d", number)
        try:
            if kind == "fp16":
                return struct.pack("<e", number)
            single = struct.pack("<f", number)
        except OverflowError:  # as C converts it
            single = struct.pack("<f", math.copysign(math.inf, number))
            if kind == "fp16":
                return struct.pack("<e", math.copysign(math.inf, number))
        # The upper half, as Triton's own launcher has it.
        return single[2:] if kind == "bf16" else single
    size = struct.calcsize(_FORMATS[kind])
    number = int(value)
    lowest = 0 if kind[0] == "u" else -(1 << 8 * size - 1)
    if not lowest <= number < 1 << 8 * size:
        raise OverflowError(f"{number} does not fit an argument of type {kind}")
    return (number & (1 << 8 * size) - 1).to_bytes(size, "little")


class Packer:
    """How the arguments of one kernel are packed, worked out once.

    ``kinds`` are the types of the flat arguments, with ``tensordesc`` for the 80 bytes of a descriptor; ``args`` are kind,
    offset and size of the kernel's, from its metadata.
    """

    def __init__(self, kernel: str, kinds: Sequence[str], args: Sequence[tuple[str, int, int]]):
        if len(kinds) < len(args):
            raise ArgumentError(
                f"kernel {kernel} takes {len(args)} arguments, and Triton's signature has {len(kinds)}: this version of "
                f"Triton passes something that luthier.triton does not know"
            )
        self._pointers = [i for i, kind in enumerate(kinds[: len(args)]) if kind.startswith("*")]
        self._kinds = list(kinds[: len(args)])
        self._sizes = [size for _, _, size in args]
        codes, self._coded = "<", []
        at = 0
        for index, (kind, (_, offset, size)) in enumerate(zip(self._kinds, args)):
            code = "Q" if kind.startswith("*") else _FORMATS.get(kind, "")
            if struct.calcsize("<" + code) != size:
                code = ""
            codes += f"{offset - at}x" if offset > at else ""
            codes += code or f"{size}s"
            if not code:
                self._coded.append(index)
            at = offset + size
        self._struct = struct.Struct(codes)

    def pack(self, values: list[Any], memory: HostMemory) -> bytes:
        """The bytes. ``values`` is changed on the way."""
        del values[len(self._kinds) :]
        for i in self._pointers:
            value = values[i]
            values[i] = 0 if value is None else address_of(value, memory)
        for i in self._coded:
            value = values[i]
            data = value if isinstance(value, bytes) else encoded(self._kinds[i], value)
            values[i] = data[: self._sizes[i]]
        try:
            return self._struct.pack(*values)
        except (struct.error, TypeError, OverflowError):
            # Numbers of other types, and those that struct finds too large.
            out = bytearray(self._struct.size)
            packed = [
                v if isinstance(v, bytes) else v if k.startswith("*") else _number(k, v) for k, v in zip(self._kinds, values)
            ]
            self._struct.pack_into(out, 0, *packed)
            return bytes(out)


def _number(kind: str, value: Any) -> Any:
    code = _FORMATS[kind]
    return struct.unpack("<" + code, encoded(kind, value))[0]


def places_of(names: Sequence[str], kinds: Sequence[str], values: Sequence[Any]) -> Callable[[], list[Place]]:
    """What the pointers among the arguments are called, for messages: worked out when there is one."""

    def places() -> list[Place]:
        found = []
        for index, (name, kind, value) in enumerate(zip(names, kinds, values)):
            value = getattr(value, "base", value) if not hasattr(value, "nbytes") else value
            if not kind.startswith("*") or not hasattr(value, "nbytes"):
                continue
            address = value.ctypes.data if isinstance(value, numpy.ndarray) else value.data_ptr()
            found.append(Place(address, value.nbytes, index, f"argument {index} {name!r}", True))
        return found

    return places
