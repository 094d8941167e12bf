"""What is changed in Triton itself: who is asked for a driver, and which arguments kernels take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .tensors import Tensor


def apply(triton: Any) -> list[Callable[[], None]]:
    """Changes Triton, and gives what changes it back."""
    from triton.runtime.jit import JITFunction

    undo: list[Callable[[], None]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        before = owner.__dict__[name]
        setattr(owner, name, value)
        undo.append(lambda: setattr(owner, name, before))

    run = JITFunction.run

    def run_with_arrays(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(type(value) is numpy.ndarray for value in args):
            args = tuple(Tensor(value) if type(value) is numpy.ndarray else value for value in args)
        for name, value in kwargs.items():
            if type(value) is numpy.ndarray:
                kwargs[name] = Tensor(value)
        return run(self, *args, **kwargs)

    replace(JITFunction, "run", run_with_arrays)
    _only_ours(replace)
    return undo


def _only_ours(replace: Callable[[Any, str, Any], None]) -> None:
    """One driver may be active, and torch says that there is an AMD GPU."""
    from triton.backends.amd.driver import HIPDriver
    from triton.backends.nvidia.driver import CudaDriver

    replace(HIPDriver, "is_active", staticmethod(lambda: False))
    replace(CudaDriver, "is_active", staticmethod(lambda: False))
