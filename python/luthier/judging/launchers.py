"""How a kernel is launched, of machine code and in Triton, with the same questions afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..device.mock_device import Device
from ..errors import ArgumentError
from .cases import Case, Code


@dataclass(frozen=True)
class Launched:
    """What a launch did."""

    instructions: int
    findings: list[Any]


class CodeLauncher:
    """Machine code on the mock device."""

    def __init__(self, code: Code, target: str):
        self._kernel = code.kernel
        self._device = Device(target)
        self._module = self._device.load(code.of(target), kernels=None)

    def __call__(self, case: Case, args: list[Any], schedule: str) -> Launched:
        if case.block is None:
            raise ArgumentError("judge: a case of machine code needs block=, and blocks= or grid=")
        sizes = {name: getattr(case, name) for name in ("blocks", "grid") if getattr(case, name) is not None}
        result = self._module.run(
            self._kernel, args=args, block=case.block, lds=case.lds, strict=True, schedule=schedule, **sizes, **case.launch
        )
        return Launched(result.app_instructions, list(result.findings))


class TritonLauncher:
    """A function that launches Triton's kernels on its arguments."""

    def __init__(self, function: Callable[..., Any], target: str):
        self._function, self._target = function, target

    def __call__(self, case: Case, args: list[Any], schedule: str) -> Launched:
        from ..triton import gpu
        from ..triton.setup import install

        install(self._target, strict=True, findings="keep", schedule=schedule)
        before = gpu.current().instructions
        findings: list[Any] = []
        with gpu.heard(findings):
            self._function(*args)
        return Launched(gpu.current().instructions - before, findings)


def launcher(kernel: Any, target: str) -> Callable[[Case, list[Any], str], Launched]:
    """The one for a kernel. ArgumentError for what is none."""
    if isinstance(kernel, Code):
        return CodeLauncher(kernel, target)
    if callable(kernel):
        return TritonLauncher(kernel, target)
    raise ArgumentError(f"judge: {kernel!r} is neither a luthier.judging.Code nor a function that launches Triton's kernels")
