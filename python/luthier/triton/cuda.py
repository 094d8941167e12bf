"""torch as programs for GPUs know it: ``device="cuda"`` means memory of this process, which the mock device works on, and
``torch.cuda`` tells of one AMD GPU. What does not work is refused by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..device.properties import Properties
from . import autocast, gpu, host, operators
from .host import CPU, CUDA
from .quiet import Event, NoGraph, Philox, Quiet

_data_ptr = torch.Tensor.data_ptr


def _means_gpu(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


class OnCpu(TorchFunctionMode):
    """Has torch's functions take ``cuda`` for ``cpu``. A mode of one thread, as torch has it: threads that are started later
    get one of their own."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _changed or func in host.QUICK:  # uninstalled, by another thread; or nothing to change
            return func(*args, **kwargs)
        if func in _MOVES:
            return _moved(func, args, kwargs)
        told = kwargs.get("device")
        if told is not None and _means_gpu(told):
            kwargs = {**kwargs, "device": CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        result = func(*args, **kwargs)
        if torch.compiler.is_compiling():
            return result
        if told is not None:
            source = args[0] if func in _SHARING and args else None
            result = host.place(source, not _means_gpu(told), result)
        else:
            host.settle((*args, *kwargs.values()) if kwargs else args, result, alone=not _default[0])
        if func in _FRESH and gpu.looks_for_unwritten():
            host.forget_contents(result)
        return result


def _moved(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tensor moved to the host or to the GPU, by one of ``_MOVES``."""
    tensor, *rest = args
    if func is torch.Tensor.pin_memory:
        return tensor
    if func is torch.Tensor.cuda:
        return tensor if torch.compiler.is_compiling() else host.place(tensor, False, tensor)
    if func is torch.Tensor.cpu:
        moved = func(tensor, **kwargs)
        return moved if torch.compiler.is_compiling() else host.place(tensor, True, moved)
    told = rest[0] if rest else kwargs.get("device", kwargs.get("other"))
    to_gpu = _means_gpu(told)
    if isinstance(told, torch.Tensor):
        to_host = host.is_real(told) and host.is_host(told)
    elif to_gpu or isinstance(told, (str, torch.device)):
        to_host = not to_gpu
    else:  # to another type, where it is
        to_host = host.is_real(tensor) and host.is_host(tensor)
    if to_gpu and rest:
        rest[0] = CPU
    elif to_gpu:
        kwargs = {**kwargs, "device": CPU}
    moved = func(tensor, *rest, **kwargs)
    return moved if torch.compiler.is_compiling() else host.place(tensor, to_host, moved)


#: What moves a tensor, or seems to.
_MOVES = {torch.Tensor.cuda, torch.Tensor.pin_memory, torch.Tensor.cpu, torch.Tensor.to}
#: What gives memory that nothing has written.
_FRESH = {
    torch.empty, torch.empty_like, torch.empty_strided, torch.empty_permuted, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}  # fmt: skip
#: What may give memory that it was given.
_SHARING = {torch.as_tensor, torch.asarray}
#: Whether ``torch.set_default_device`` was told ``cuda``.
_default = [False]


def _shared_pointer(tensor: Any) -> int:
    """Tensor.data_ptr, as an address of the device's: addresses get into other memory this way."""
    if gpu.is_chosen() and host.is_real(tensor):
        return gpu.current().device.share(tensor)
    return int(_data_ptr(tensor))


def _location(storage: Any) -> str | None:
    """What torch.save notes of a storage."""
    if storage.device.type != "cpu":
        return None
    return "cpu" if host.knows_storage(storage) else "cuda:0"


def _loaded(storage: Any, location: str) -> Any:
    """What torch.load makes of a storage that was saved somewhere, or is wanted there: itself."""
    if location == "cpu":
        host.mark_storage(storage)
        return storage
    return storage if _means_gpu(location) else None


def _type_of(tensor: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Tensor.type: ``torch.cuda.FloatTensor`` is the GPU's ``torch.FloatTensor``."""
    if dtype is None:
        with torch._C.DisableTorchFunction():
            name = _type(tensor)
        return name.replace("torch.", "torch.cuda.", 1) if host.is_cuda(tensor) else name
    to_host = host.is_host(tensor)
    if isinstance(dtype, _Legacy):
        dtype, to_host = dtype.kind, False
    elif isinstance(dtype, str):
        to_host = not dtype.startswith("torch.cuda.")
        dtype = dtype.replace("torch.cuda.", "torch.", 1)
    elif not isinstance(dtype, torch.dtype):
        to_host = True
    with torch._C.DisableTorchFunction():
        moved = _type(tensor, dtype, non_blocking, **kwargs)
    return host.place(tensor, to_host, moved)


class _Legacy(type):
    """The kind of torch.cuda's types of tensors: ``torch.cuda.FloatTensor`` makes tensors, and tells them."""

    kind: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.kind) and host.is_cuda(value)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.kind(*args, **{key: value for key, value in kwargs.items() if key != "device"})
        return made.clone() if host.is_host(made) else made


def _legacy_types() -> dict[str, Any]:
    names = [name for name in vars(torch) if name.endswith("Tensor") and type(vars(torch)[name]).__name__ == "tensortype"]
    return {name: _Legacy(name, (), {"kind": vars(torch)[name], "__module__": "torch.cuda", "is_cuda": True}) for name in names}


def _accelerator(stream: Quiet) -> dict[str, Any]:
    """What ``torch.accelerator`` says of the GPU."""
    found: dict[str, Any] = {name: lambda *args, **kwargs: None for name in _NOTHING_OF_ACCELERATORS}
    found |= {name: lambda *args, **kwargs: 0 for name in _ZERO_OF_ACCELERATORS}

    # A compiler that knew of it would turn to CUDA's driver.
    def is_available() -> bool:
        return not host.compiles()

    def current_accelerator(check_available: bool = False) -> Any:
        return None if host.compiles() else torch.device("cuda")

    found |= {
        "is_available": is_available, "current_accelerator": current_accelerator,
        "device_count": lambda: 1, "current_device_index": lambda: 0, "current_device_idx": lambda: 0,
        "current_stream": lambda *args: stream, "device_index": Quiet, "Graph": NoGraph,
        "get_memory_info": lambda *args: (8 << 30, 16 << 30),
    }  # fmt: skip
    return found


def pretend(properties: Properties) -> Callable[[], None] | None:
    """Changes torch, and gives what changes it back; None if it was changed before (then only the facts are new)."""
    name = properties.processor
    version = int(name[3:-2]), int(name[-2], 16)
    _facts.__dict__.update(
        name=f"Luthier {name}", gcnArchName=name, major=version[0], minor=version[1], total_memory=16 << 30,
        multi_processor_count=properties.compute_units, warp_size=properties.wave_sizes[0], L2_cache_size=4 << 20,
        shared_memory_per_block=properties.lds, shared_memory_per_multiprocessor=properties.lds,
        shared_memory_per_block_optin=properties.lds, max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536,
    )  # fmt: skip
    if _changed:
        return None
    stream = Quiet()
    philox = Philox()

    def seed(number: int) -> None:
        torch.default_generator.manual_seed(number)
        philox.manual_seed(number)

    # Functions of their own each: torch.compile tells functions apart by identity.
    cuda: dict[str, Any] = {name: lambda *args, **kwargs: None for name in _NOTHING}
    cuda |= {name: lambda *args, **kwargs: 0 for name in _ZERO}
    cuda |= {name: lambda *args, **kwargs: True for name in _TRUE}
    cuda |= {
        "device_count": lambda: 1, "current_device": lambda: 0,
        "get_device_capability": lambda *args: (_facts.major, _facts.minor),
        "get_device_properties": lambda *args: _facts, "get_device_name": lambda *args: _facts.name,
        "get_arch_list": lambda: [_facts.gcnArchName],
        "current_stream": lambda *args: stream, "default_stream": lambda *args: stream, "stream": lambda s: Quiet(),
        "Stream": Quiet, "ExternalStream": Quiet, "Event": Event, "device": Quiet, "device_of": Quiet,
        "CUDAGraph": NoGraph, "graph": NoGraph, "is_current_stream_capturing": lambda: False,
        "manual_seed": lambda number: seed(number), "manual_seed_all": lambda number: seed(number),
        "initial_seed": lambda: torch.initial_seed(), "default_generators": (philox,),
        "get_rng_state": lambda *args: torch.get_rng_state(), "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": lambda state, *args: torch.set_rng_state(state),
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        "mem_get_info": lambda *args: (8 << 30, 16 << 30),
    }  # fmt: skip
    default_device, thread = torch.set_default_device, threading.Thread._bootstrap_inner  # type: ignore[attr-defined]
    told_default = torch.get_default_device

    def set_default_device(device: Any) -> None:
        _default[0] = _means_gpu(device)
        default_device(None if _default[0] else device)

    def get_default_device() -> Any:
        return CUDA if _default[0] else told_default()

    def set_default_tensor_type(kind: Any) -> None:
        name = kind.__name__ if isinstance(kind, _Legacy) else str(kind)
        _default[0] = isinstance(kind, _Legacy) or name.startswith("torch.cuda.")
        set_type(getattr(torch, name.rpartition(".")[2]) if _default[0] else kind)

    def in_thread(self: threading.Thread) -> None:
        with OnCpu():
            thread(self)

    def run_backward(*args: Any, **kwargs: Any) -> Any:
        # torch takes the mode away while Tensor.backward runs; hooks and backward functions are the program's.
        with OnCpu():
            return backward(*args, **kwargs)

    class Generator(torch._C.Generator):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            return _generator(device="cpu" if _means_gpu(device) else device)

    def from_numpy(array: Any) -> Any:
        return host.mark(numpys(array))

    def from_buffer(*args: Any, **kwargs: Any) -> Any:
        return host.mark(buffers(*args, **kwargs))

    set_type, numpys, buffers = torch.set_default_tensor_type, torch.from_numpy, torch.frombuffer
    backward = torch.autograd.graph._engine_run_backward

    for owner, names in (
        (torch.cuda, cuda),
        (torch.version, {"hip": "7.0.0", "cuda": None}),
        (torch, {"Generator": Generator, "set_default_device": set_default_device, "get_default_device": get_default_device}),
        (torch, {"from_numpy": from_numpy, "frombuffer": from_buffer, "set_default_tensor_type": set_default_tensor_type}),
        (torch.Tensor, {"data_ptr": _shared_pointer, "type": _type_of, "get_device": host.get_device, **host.PROPERTIES}),
        (torch.Tensor, {"record_stream": lambda tensor, stream: None}),
        # There is one GPU, and what is on it is there already.
        (torch.nn.DataParallel, {"forward": lambda self, *args, **kwargs: self.module(*args, **kwargs)}),
        (torch.autograd, {"_engine_run_backward": run_backward}),
        (torch.autograd.graph, {"_engine_run_backward": run_backward}),
        (threading.Thread, {"_bootstrap_inner": in_thread}),
        (torch._C, {"_cuda_getCurrentRawStream": lambda index: 0}),
        (torch.distributed, {"is_nccl_available": lambda: False}),
        (getattr(torch.distributed, "distributed_c10d", torch.distributed), {"is_nccl_available": lambda: False}),
        (torch.cuda, _legacy_types()),
        (torch.accelerator, _accelerator(stream)),
    ):
        for key, value in names.items():
            _changed.append((owner, key, owner.__dict__.get(key, _ABSENT)))
            setattr(owner, key, value)
    follows = [autocast.follow(), operators.follow()]
    saved = (_FIRST, _location, _loaded)
    torch.serialization.register_package(*saved)
    mode, home = OnCpu(), threading.get_ident()
    mode.__enter__()

    def back() -> None:
        if threading.get_ident() == home:
            mode.__exit__(None, None, None)
        torch.serialization._package_registry.remove(saved)
        for end in follows:
            end()
        while _changed:
            owner, key, before = _changed.pop()
            delattr(owner, key) if before is _ABSENT else setattr(owner, key, before)
        host.forget()
        _default[0] = False

    return back


_NOTHING = (
    "set_device", "synchronize", "init", "_lazy_init", "empty_cache", "reset_peak_memory_stats", "ipc_collect", "set_stream",
    "seed", "seed_all",
)  # fmt: skip
_ZERO = (
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "_exchange_device",
    "_maybe_exchange_device",
)  # fmt: skip
_TRUE = ("is_available", "is_initialized", "is_bf16_supported")
_ZERO_OF_ACCELERATORS = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
_NOTHING_OF_ACCELERATORS = (
    "set_device_index", "set_device_idx", "set_stream", "synchronize", "empty_cache", "empty_host_cache",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats",
)  # fmt: skip
#: torch.save and torch.load ask the handler with the least number first; torch's own have 10 and more.
_FIRST = 5
_facts = SimpleNamespace()
_generator = torch._C.Generator
_type = torch.Tensor.type
_ABSENT = object()
_changed: list[tuple[Any, str, Any]] = []
