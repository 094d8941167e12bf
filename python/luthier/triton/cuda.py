"""torch as programs for GPUs know it: ``device="cuda"`` means the CPU, whose memory the mock device works on, and
``torch.cuda`` tells of one AMD GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

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
    """Has torch's functions take ``cuda`` for ``cpu``. A mode of one thread, as torch has it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
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


class _Event(_Quiet):
    """An event, timed by the host's clock."""

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return float((other._at - self._at) * 1e3)


def _shared_pointer(tensor: Any) -> int:
    """Tensor.data_ptr, after which the device has the memory, too: addresses get into other memory this way."""
    if gpu.is_chosen() and tensor.device.type == "cpu":
        return gpu.current().device.share(tensor)
    return int(_data_ptr(tensor))


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
    nothing = lambda *args, **kwargs: None  # noqa: E731
    zero = lambda *args, **kwargs: 0  # noqa: E731
    cuda = {
        "is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "set_device": nothing, "synchronize": nothing, "init": nothing, "_lazy_init": nothing, "empty_cache": nothing,
        "get_device_capability": lambda *args: (_facts.major, _facts.minor),
        "get_device_properties": lambda *args: _facts, "get_device_name": lambda *args: _facts.name,
        "current_stream": lambda *args: stream, "default_stream": lambda *args: stream, "stream": lambda s: _Quiet(),
        "Stream": _Quiet, "ExternalStream": _Quiet, "Event": _Event, "device": _Quiet, "device_of": _Quiet,
        "manual_seed": nothing, "manual_seed_all": nothing, "is_current_stream_capturing": lambda: False,
        "memory_allocated": zero, "max_memory_allocated": zero, "reset_peak_memory_stats": nothing,
        "mem_get_info": lambda *args: (8 << 30, 16 << 30), "is_bf16_supported": lambda *args, **kwargs: True,
    }  # fmt: skip

    class Generator(torch._C.Generator):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            return _generator(device="cpu" if _means_gpu(device) else device)

    for owner, names in (
        (torch.cuda, cuda),
        (torch.version, {"hip": "7.0.0", "cuda": None}),
        (torch, {"Generator": Generator}),
        (torch.Tensor, {"data_ptr": _shared_pointer}),
    ):
        for key, value in names.items():
            _changed.append((owner, key, owner.__dict__.get(key, _ABSENT)))
            setattr(owner, key, value)
    mode = OnCpu()
    mode.__enter__()

    def back() -> None:
        mode.__exit__(None, None, None)
        while _changed:
            owner, key, before = _changed.pop()
            delattr(owner, key) if before is _ABSENT else setattr(owner, key, before)

    return back


_facts = SimpleNamespace()
_generator = torch._C.Generator
_ABSENT = object()
_changed: list[tuple[Any, str, Any]] = []
