"""torch as programs for GPUs know it: ``device="cuda"`` means the CPU, whose memory the mock device works on, and
``torch.cuda`` tells of one AMD GPU. What does not work is refused by name."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..errors import ArgumentError
from ..properties import Properties
from . import gpu

_CPU = torch.device("cpu")
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
        if not _changed:  # uninstalled, by another thread
            return func(*args, **kwargs)
        if "device" in kwargs and _means_gpu(kwargs["device"]):
            kwargs = {**kwargs, "device": _CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if func in _SAME:
            return args[0]
        if func is torch.Tensor.to and len(args) > 1 and _means_gpu(args[1]):
            args = (args[0], _CPU, *args[2:])
        return func(*args, **kwargs)


#: What moves a tensor to where it is already.
_SAME = {torch.Tensor.cuda, torch.Tensor.pin_memory}


class _Quiet:
    """A stream, a graph, a device: everything that it is asked to do is done already."""

    cuda_stream = 0
    device = _CPU

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        event = event or _Event()
        event.record()
        return event

    def query(self) -> bool:
        return True


class _Philox:
    """The generator of a GPU for kernels that count what they use of it: a seed and an offset. (torch's own random numbers
    are the CPU's.)"""

    def __init__(self) -> None:
        self._state = [0, 0]

    def manual_seed(self, seed: int) -> _Philox:
        self._state = [seed, 0]
        return self

    def initial_seed(self) -> int:
        return self._state[0]

    def get_state(self) -> Any:
        return torch.tensor(self._state, dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: Any) -> None:
        self._state = state.view(torch.int64).tolist()


class _NoGraph:
    """torch's own operators run at once and cannot be recorded, so that a graph would repeat only a part."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise ArgumentError("the mock device has no graphs (torch.cuda.CUDAGraph): run the kernels without capturing them")


class _Event(_Quiet):
    """An event, timed by the host's clock."""

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return float((other._at - self._at) * 1e3)


def _shared_pointer(tensor: Any) -> int:
    """Tensor.data_ptr, as an address of the device's: addresses get into other memory this way."""
    if gpu.is_chosen() and tensor.device.type == "cpu":
        return gpu.current().device.share(tensor)
    return int(_data_ptr(tensor))


def _loaded(storage: Any, location: str) -> Any:
    """What torch.load makes of a storage that was saved on a GPU, or is wanted there: itself."""
    return storage if _means_gpu(location) else None


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
    stream = _Quiet()
    philox = _Philox()

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
        "current_stream": lambda *args: stream, "default_stream": lambda *args: stream, "stream": lambda s: _Quiet(),
        "Stream": _Quiet, "ExternalStream": _Quiet, "Event": _Event, "device": _Quiet, "device_of": _Quiet,
        "CUDAGraph": _NoGraph, "graph": _NoGraph, "is_current_stream_capturing": lambda: False,
        "manual_seed": lambda number: seed(number), "manual_seed_all": lambda number: seed(number),
        "initial_seed": lambda: torch.initial_seed(), "default_generators": (philox,),
        "get_rng_state": lambda *args: torch.get_rng_state(), "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": lambda state, *args: torch.set_rng_state(state),
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        "mem_get_info": lambda *args: (8 << 30, 16 << 30),
    }  # fmt: skip
    default_device, thread = torch.set_default_device, threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def set_default_device(device: Any) -> None:
        default_device(_CPU if _means_gpu(device) else device)

    def in_thread(self: threading.Thread) -> None:
        with OnCpu():
            thread(self)

    class Generator(torch._C.Generator):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            return _generator(device="cpu" if _means_gpu(device) else device)

    for owner, names in (
        (torch.cuda, cuda),
        (torch.version, {"hip": "7.0.0", "cuda": None}),
        (torch, {"Generator": Generator, "set_default_device": set_default_device}),
        (torch.Tensor, {"data_ptr": _shared_pointer, "is_cuda": property(lambda tensor: tensor.device.type == "cpu")}),
        (torch.Tensor, {"record_stream": lambda tensor, stream: None}),
        (threading.Thread, {"_bootstrap_inner": in_thread}),
        (torch._C, {"_cuda_getCurrentRawStream": lambda index: 0}),
        # A torch for CUDA would go on to the driver.
        (torch.accelerator, {"is_available": lambda: False, "current_accelerator": lambda *args, **kwargs: None}),
    ):
        for key, value in names.items():
            _changed.append((owner, key, owner.__dict__.get(key, _ABSENT)))
            setattr(owner, key, value)
    saved = (_BEFORE_CUDA, lambda storage: None, _loaded)
    torch.serialization.register_package(*saved)
    mode, home = OnCpu(), threading.get_ident()
    mode.__enter__()

    def back() -> None:
        if threading.get_ident() == home:
            mode.__exit__(None, None, None)
        torch.serialization._package_registry.remove(saved)
        while _changed:
            owner, key, before = _changed.pop()
            delattr(owner, key) if before is _ABSENT else setattr(owner, key, before)

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
#: torch.load asks whoever has the least number first; torch's own for CUDA have 20 and more.
_BEFORE_CUDA = 15
_facts = SimpleNamespace()
_generator = torch._C.Generator
_ABSENT = object()
_changed: list[tuple[Any, str, Any]] = []
