"""Which of torch's tensors are the host's. All are in one memory, and torch takes all for the CPU's; a program that was written
for a GPU asks which are on the GPU, and takes ``x.cpu()`` and ``x.cuda()`` for copies.

A tensor that was made without ``device="cuda"`` is the host's, and so is what is computed of such tensors alone. All others
are the GPU's: above all those about which it is not known. The storage is marked, so that views, parameters and ``.data`` have
what their tensor has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._guards import CompileContext
from torch.multiprocessing.reductions import StorageWeakRef

from .. import _core

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
_device = torch._C.TensorBase.device.__get__  # type: ignore[attr-defined]
_storage = torch._C.TensorBase.untyped_storage
_untouched = torch._C.DisableTorchFunction
#: The marked storages by their addresses; a reference keeps the address from being used for another one.
_marked: dict[int, StorageWeakRef] = {}
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_sweep_at = 1024


def forget() -> None:
    """Takes all marks away."""
    _marked.clear()


def is_real(tensor: Any) -> bool:
    """Whether a tensor has memory of this process: compilers have tensors that stand for others."""
    with _untouched():
        plain = type(tensor).__torch_dispatch__ is torch._C._disabled_torch_dispatch_impl
        return plain and tensor.layout is torch.strided and _device(tensor).type == "cpu"


def is_host(tensor: Any) -> bool:
    """Whether a tensor with memory is the host's."""
    if not _marked:
        return False
    with _untouched():
        return _storage(tensor)._cdata in _marked


def mark(tensor: Any) -> Any:
    """Makes it the host's. Gives it."""
    if is_real(tensor):
        with _untouched():
            mark_storage(_storage(tensor))
    return tensor


def mark_storage(storage: Any) -> None:
    """The same, of a tensor's storage."""
    global _sweep_at
    if storage._cdata in _marked:
        return
    if len(_marked) >= _sweep_at:
        for key in [key for key, known in list(_marked.items()) if known.expired()]:
            _marked.pop(key, None)
        _sweep_at = max(1024, 2 * len(_marked))
    _marked[storage._cdata] = StorageWeakRef(storage)


def knows_storage(storage: Any) -> bool:
    """Whether a storage is the host's."""
    return storage._cdata in _marked


def settle(given: Iterable[Any], result: Any, alone: bool = True) -> None:
    """A result of tensors that are all the host's is the host's, too, and one of no tensors if ``alone`` says so. torch's modes
    must not be on."""
    if not isinstance(result, (torch.Tensor, tuple, list)):
        return
    operands = _all_host(given)
    if operands or operands is None and alone:
        for found in (result,) if isinstance(result, torch.Tensor) else result:
            if isinstance(found, torch.Tensor) and is_real(found):
                mark_storage(_storage(found))


def _all_host(values: Iterable[Any]) -> bool | None:
    """Whether all tensors among arguments are the host's; None if there are none."""
    found = None
    for value in values:
        if isinstance(value, torch.Tensor):
            if not _marked or type(value) not in _PLAIN or value.layout is not torch.strided:
                return False
            if _storage(value)._cdata not in _marked:
                return False
            found = True
        elif type(value) in (list, tuple):
            inner = _all_host(value)
            if inner is False:
                return False
            found = found or inner
    return found


def place(source: Any, to_host: bool, result: Any) -> Any:
    """What a function gives that was told where its result is to be. ``source`` is what ``result`` may share memory with, which
    torch, to which the host and the GPU are the same, does not copy: a tensor, or an array."""
    if not isinstance(result, torch.Tensor) or not is_real(result):
        return result
    if isinstance(source, torch.Tensor) and is_real(source):
        with _untouched():
            shared = _storage(result)._cdata == _storage(source)._cdata
        if shared and is_host(source) == to_host:
            return result
    else:
        shared = source is not None and not to_host
    if shared:
        result = result.clone()
    return mark(result) if to_host else result


def forget_contents(tensor: Any) -> None:
    """Nothing has written a GPU's tensor yet."""
    if is_real(tensor) and not is_host(tensor):
        with _untouched():
            storage = _storage(tensor)
            if storage.nbytes():
                _core.forget_memory(storage.data_ptr(), storage.nbytes())


def compiles() -> bool:
    """Whether this thread compiles for ``torch.compile``, in which tensors are the CPU's."""
    return CompileContext.try_get() is not None


def device_of(tensor: Any) -> Any:
    """``Tensor.device``. While torch compiles, it has to know that the memory is the CPU's."""
    with _untouched():
        found = _device(tensor)
    if found.type != "cpu" or compiles() or not is_real(tensor):
        return found
    return CPU if is_host(tensor) else CUDA


def is_cuda(tensor: Any) -> bool:
    """``Tensor.is_cuda``."""
    return device_of(tensor).type == "cuda"


def is_cpu(tensor: Any) -> bool:
    """``Tensor.is_cpu``."""
    return device_of(tensor).type == "cpu"


def get_device(tensor: Any) -> int:
    """``Tensor.get_device``: a number, or -1 on the CPU."""
    found = device_of(tensor)
    return found.index if found.index is not None else -1


#: What takes the place of ``torch.Tensor``'s.
PROPERTIES = {"device": property(device_of), "is_cuda": property(is_cuda), "is_cpu": property(is_cpu)}
#: What is asked for so often that the mode passes it by: it has nothing to change there.
QUICK = {torch.Tensor.untyped_storage, *(found.__get__ for found in PROPERTIES.values())}
