"""torch.compile: has Inductor write Triton kernels for tensors on the CPU, and compile them for the mock device."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from . import gpu
from .at_import import once_imported

#: Kernels on disk are not kept apart by what the mock device is; the launcher in C, and processes that compile, want a real one.
_SETTINGS = {"cpu_backend": "triton", "fx_graph_cache": False, "use_static_cuda_launcher": False, "compile_threads": 1}


def serve() -> Callable[[], None]:
    """Changes Inductor, now or when it is imported, and gives what changes it back."""
    undo: list[Callable[[], None]] = []
    for name, change in _CHANGES.items():
        undo.append(once_imported(name, lambda name=name, change=change: undo.append(change(sys.modules[name]))))  # type: ignore[misc]

    def back() -> None:
        while undo:
            undo.pop()()

    return back


def forget() -> None:
    """Has torch compile anew what it has compiled, for another processor."""
    if "torch._dynamo" in sys.modules:
        importlib.import_module("torch._dynamo").reset()


def _configure(config: Any) -> Callable[[], None]:
    before = {name: getattr(config, name) for name in _SETTINGS if hasattr(config, name)}
    for name in before:
        setattr(config, name, _SETTINGS[name])

    def back() -> None:
        for name, value in before.items():
            setattr(config, name, value)

    return back


def _describe(hints: Any) -> Callable[[], None]:
    """Inductor compiles for the processor that the properties of a tensor's device name."""
    owner = hints.DeviceProperties
    before = owner.__dict__["create"]

    def create(cls: Any, device: Any) -> Any:
        if device.type not in ("cpu", "cuda") or not gpu.is_chosen():
            return before.__get__(None, cls)(device)
        facts = gpu.current().properties
        return cls(
            type="hip", index=0, multi_processor_count=facts.compute_units, cc=facts.processor, major=9,
            regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024,
            warp_size=facts.wave_sizes[0],
        )  # fmt: skip

    owner.create = classmethod(create)

    def back() -> None:
        owner.create = before

    return back


def _compare_instructions(benchmarking: Any) -> Callable[[], None]:
    """Inductor tunes as Triton's autotuner does here: by the instructions that are retired."""

    def benchmark_gpu(self: Any, call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        from .backend.driver import instructions_of

        return instructions_of(call)

    changed = [
        (kind, kind.benchmark_gpu) for kind in vars(benchmarking).values() if "benchmark_gpu" in getattr(kind, "__dict__", {})
    ]
    for kind, _ in changed:
        kind.benchmark_gpu = benchmark_gpu

    def back() -> None:
        for kind, before in changed:
            kind.benchmark_gpu = before

    return back


def _ask_ours(interface: Any) -> Callable[[], None]:
    """What Dynamo has kept of torch.cuda before that was changed."""
    owner, cuda = interface.CudaInterface, sys.modules["torch.cuda"]
    kept = {name: value for name, value in vars(owner).items() if isinstance(value, staticmethod)}
    for name in kept:
        ours = getattr(cuda, name, None) or getattr(cuda, f"_{name}", None)
        if name == "get_raw_stream":
            ours = sys.modules["torch._C"]._cuda_getCurrentRawStream
        if callable(ours):
            setattr(owner, name, staticmethod(ours))

    def back() -> None:
        for name, value in kept.items():
            setattr(owner, name, value)

    return back


#: What is changed, and how, when it is imported.
_CHANGES: dict[str, Callable[[Any], Callable[[], None]]] = {
    "torch._inductor.config": _configure,
    "torch._inductor.runtime.hints": _describe,
    "torch._inductor.runtime.benchmarking": _compare_instructions,
    "torch._dynamo.device_interface": _ask_ours,
}
