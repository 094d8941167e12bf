"""Tensors for who has no torch: a NumPy array with what Triton asks of an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..device.memory import HostMemory, allocate
from ..device.unwritten import empty as unwritten
from ..errors import ArgumentError
from .gpu import current

#: Types that NumPy has not: by their names, and as Triton calls them; bytes. Without ml_dtypes their arrays hold bits.
_FOREIGN = {
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
}
_ALIASES = {
    "bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e4b8": "float8_e4m3fnuz", "fp8e5": "float8_e5m2",
    "fp8e5b16": "float8_e5m2fnuz", "fp16": "float16", "fp32": "float32", "fp64": "float64", "int1": "bool",
    **{f"{letter}{bits}": f"{word}{bits}" for letter, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}  # fmt: skip
#: All types of Triton's, by these names.
_NAMES = {
    *_FOREIGN,
    "bool",
    "float16",
    "float32",
    "float64",
    *(f"{word}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)),
}


@dataclass(frozen=True)
class DType:
    """A type of elements: what Triton reads of torch's."""

    name: str
    itemsize: int

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    def __str__(self) -> str:
        return self.name


def _type_of(dtype: Any) -> DType:
    """The type of this name, or of an array's elements. ArgumentError where Triton has none."""
    name = str(dtype).rpartition(".")[2]
    name = _ALIASES.get(name, name)
    if name not in _NAMES:
        raise ArgumentError(f"Triton has no type for the elements of an array of {name}")
    return DType(name, _FOREIGN.get(name) or np.dtype(name).itemsize)


#: The types of arrays' elements, by NumPy's.
_OWN: dict[np.dtype[Any], DType] = {}


class Tensor:
    """A NumPy array as an argument of Triton kernels, which work on the array's own memory.

    NumPy arrays may be given to kernels as they are. What this adds are types that NumPy has not (bfloat16, the float8
    ones: an array of ml_dtypes, or of unsigned integers with ``dtype=``), and what TensorDescriptor.from_tensor reads.
    """

    __slots__ = ("array", "dtype", "_shared", "__weakref__")

    def __init__(self, array: np.ndarray, dtype: Any = None):
        #: The array itself.
        self.array = array
        # Each launch makes tensors of the arrays that it is given.
        known = _OWN.get(array.dtype) if dtype is None else None
        if known is None:
            known = _type_of(array.dtype if dtype is None else dtype)
            if known.itemsize != array.dtype.itemsize:
                raise ArgumentError(f"a tensor of {known} cannot be made of an array of {array.dtype}: their sizes differ")
            if dtype is None:
                _OWN[array.dtype] = known
        self.dtype = known
        #: The memory, the array, whether that may be written, and its address there, as it was shared last: it stays so for as
        #: long as the array lives.
        self._shared: tuple[HostMemory | None, np.ndarray, bool, int] = (None, array, False, 0)

    @property
    def __luthier_array__(self) -> np.ndarray:
        return self.array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def stride(self, axis: int | None = None) -> Any:
        """In elements: of one axis, or of all."""
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if axis is None else strides[axis]

    def data_ptr(self) -> int:
        """The address of the first element on the device."""
        return self.address_in(current().device.memory)

    def address_in(self, memory: HostMemory) -> int:
        """The address of the first element in a device's ``memory``, which shares it from now on."""
        known, array, is_writable, address = self._shared
        if known is not memory or array is not self.array or array.flags.writeable != is_writable:
            array = self.array
            address = memory.share(array)
            self._shared = memory, array, array.flags.writeable, address
        return address

    def ptr_range(self) -> int:
        """Bytes from the first element on: Triton's AMD back end uses buffer instructions below 2 GB. They know no addresses
        before the first element, which kernels need that go along negative strides."""
        return self.array.nbytes if min(self.array.strides, default=0) >= 0 else 1 << 31

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.dtype.itemsize

    def is_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def numpy(self) -> np.ndarray:
        """The array, not a copy."""
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __getitem__(self, key: Any) -> Tensor:
        part = self.array[key]
        if not isinstance(part, np.ndarray):  # a number, and no view
            part = self.array[(*key, ...) if isinstance(key, tuple) else (key, ...)]
        return Tensor(part, self.dtype)

    def zero_(self) -> Tensor:
        """Autotuning does this to outputs, and the next two to what kernels change in place."""
        self.array[...] = 0
        return self

    def clone(self) -> Tensor:
        return Tensor(self.array.copy(), self.dtype)

    def copy_(self, other: Tensor) -> Tensor:
        self.array[...] = other.array
        return self

    def __repr__(self) -> str:
        return f"<Tensor {self.dtype}{list(self.shape)}>"


def empty(shape: Any, dtype: Any) -> Tensor:
    """A new tensor whose elements nothing has written, in memory of its own that begins at a multiple of 256 bytes. ``dtype``
    as for :func:`tensor`; of the types that NumPy has not the array holds the bits. What kernels make of such elements is
    found with ``strict=["undefined-memory"]``."""
    name = _ALIASES.get(str(dtype).rpartition(".")[2], str(dtype).rpartition(".")[2])
    if name in _FOREIGN:
        return Tensor(unwritten(shape, f"uint{8 * _FOREIGN[name]}"), name)
    return Tensor(unwritten(shape, getattr(np, "bool_" if name == "bool" else name, dtype)))


def tensor(values: Any, dtype: Any = None) -> Tensor:
    """A new tensor in memory of its own that begins at a multiple of 256 bytes. ``dtype`` is a type of NumPy, of ml_dtypes,
    or the name of one (``"float32"``, ``"bf16"``, ``"float8_e5m2"``). Values for the types that NumPy has not are rounded by
    ml_dtypes; without it, arrays of unsigned integers are taken as the bits."""
    name = _ALIASES.get(str(dtype).rpartition(".")[2], str(dtype).rpartition(".")[2])
    if name in _FOREIGN and getattr(getattr(values, "dtype", None), "kind", "") != "u":
        try:
            import ml_dtypes
        except ImportError:
            raise ArgumentError(f"a tensor of {name}: give its bits as unsigned integers, or install ml_dtypes") from None
        values = np.asarray(values).astype(getattr(ml_dtypes, name))
    elif dtype is not None and name not in _FOREIGN:
        values = np.asarray(values, getattr(np, "bool_" if name == "bool" else name, dtype))
    values = np.asarray(values)
    array = allocate(values.nbytes).view(values.dtype).reshape(values.shape)
    array[...] = values
    return Tensor(array, name if name in _FOREIGN else None)
