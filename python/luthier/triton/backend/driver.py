"""Triton's driver of the mock device."""

from __future__ import annotations

from typing import Any

import triton.backends.amd.driver as amd
import triton.backends.compiler as compiler

from .. import gpu
from ..at_import import TRITON_IS_THERE, once_imported
from ..setup import active_gpu, from_environment


class Utils:
    """What Triton's AMD driver has in C: the device's facts, and loading of code."""

    def get_device_properties(self, number: int) -> dict[str, Any]:
        found = gpu.current().properties
        return {
            "max_shared_mem": found.lds,
            "max_num_regs": 65536,
            "multiprocessor_count": found.compute_units,
            "sm_clock_rate": 2_000_000,
            "mem_clock_rate": 1_000_000,
            "mem_bus_width": 4096,
            "arch": found.processor,
            "warpSize": found.wave_sizes[0],
            "max_threads_per_sm": 2048,
            "cooperativeLaunch": 1,
        }

    def load_binary(self, name: str, data: bytes, shared: int, number: int) -> tuple[gpu.Handle, gpu.Handle, int, int, int]:
        """Module, function, vector registers, spilled words and the largest workgroup."""
        handle, function = gpu.current().add(name, data)
        descriptor = function.code_object.descriptor(name)
        scratch = function.facts["private_segment"] // 4
        return handle, handle, descriptor.vgpr_count, scratch, function.facts["max_workgroup_size"] or 1024

    def unload_module(self, handle: int) -> None:
        gpu.forget(handle)


class LuthierDriver(amd.HIPDriver):
    """An AMD driver whose GPU is the mock device."""

    def __init__(self) -> None:  # not the base's, which looks for ROCm's libraries
        active_gpu()
        from ..launcher import Launcher

        self.utils = Utils()
        self.launcher_cls = Launcher
        self.get_current_stream = lambda number=0: 0
        self.get_current_device = lambda: gpu.current().number
        self.set_current_device = lambda number: None

    @staticmethod
    def is_active() -> bool:
        return gpu.is_chosen() or from_environment() is not None

    def get_current_target(self) -> Any:
        found = gpu.current()
        return compiler.GPUTarget("hip", found.processor, found.wave_size)

    def get_device_capability(self, number: int = 0) -> tuple[int, int]:
        name = gpu.current().processor
        return int(name[3:-2]), int(name[-2], 16)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        """What autotuning calls: instructions count, a nanosecond each."""
        return instructions_of

    def get_empty_cache_for_benchmark(self) -> Any:
        from ..tensors import tensor

        return tensor(bytearray(256), "uint8")

    def clear_cache(self, cache: Any) -> None:
        pass


def instructions_of(call: Any, *, quantiles: Any = None, **kwargs: Any) -> Any:
    """Runs something once and gives the instructions that its kernels retired, as milliseconds of a nanosecond each."""
    current = gpu.current()
    before, was_measuring = current.instructions, current.is_measuring
    current.is_measuring = True
    try:
        call()
    finally:
        current.is_measuring = was_measuring
    value = (gpu.current().instructions - before) / 1e6
    return [value] * len(quantiles) if quantiles else value


if from_environment() is not None and not gpu.is_chosen():
    once_imported(TRITON_IS_THERE, active_gpu)
