"""What is changed in Triton itself: who is asked for a driver, and which arguments kernels take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..base.tracebacks import raise_at
from ..errors import DeviceError, InternalError, LuthierError, StrictError
from . import gpu
from .tensors import Tensor


def apply(triton: Any) -> list[Callable[[], None]]:
    """Changes Triton, and gives what changes it back."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    undo: list[Callable[[], None]] = []

    def replace(owner: Any, name: str, value: Any) -> None:
        before = owner.__dict__[name]
        setattr(owner, name, value)
        undo.append(lambda: setattr(owner, name, before))

    run = JITFunction.run

    def run_with_arrays(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # of pytest
        try:
            return run(self, *_tensors(args), **{name: _tensor(value) for name, value in kwargs.items()})
        except InternalError:
            raise
        except LuthierError as error:
            raise_at(error, _source(error))

    replace(JITFunction, "run", run_with_arrays)

    tune = Autotuner.run

    def tune_with_arrays(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.reset_to_zero or self.restore_value:  # as only tensors can be
            args, kwargs = _tensors(args), {name: _tensor(value) for name, value in kwargs.items()}
        return tune(self, *args, **kwargs)

    replace(Autotuner, "run", tune_with_arrays)

    from triton.backends.amd.compiler import HIPBackend

    is_within_2gb = HIPBackend.is_within_2gb

    def is_small(value: Any) -> bool:
        """Triton before 3.8 imports torch to find this out."""
        return value.ptr_range() < 1 << 31 if isinstance(value, Tensor) else is_within_2gb(value)

    replace(HIPBackend, "is_within_2gb", staticmethod(is_small))
    _only_ours(replace)
    _outlive_us()
    return undo


def _source(error: LuthierError) -> list[dict[str, Any]]:
    """Where in the kernel an error is, innermost call first."""
    if isinstance(error, StrictError) and error.findings:
        return list(error.findings[0].get("source") or ())
    return list(error.source) if isinstance(error, DeviceError) else []


def _outlive_us() -> None:
    """Kernels of ours that go after the mock device has been uninstalled are not another driver's to unload, nor no driver's.
    This stays."""
    from triton.compiler import CompiledKernel

    delete = getattr(CompiledKernel, "__del__", None)
    if delete is None or getattr(delete, "is_ours", False):
        return

    def let_go(self: Any, ours: type = gpu.Handle, is_chosen: Any = gpu.is_chosen, forget: Any = gpu.forget) -> None:
        module = getattr(self, "module", None)
        if isinstance(module, ours) and not is_chosen():
            forget(module)
        else:
            delete(self)

    let_go.is_ours = True  # type: ignore[attr-defined]
    CompiledKernel.__del__ = let_go


def _tensor(value: Any) -> Any:
    """An array as a tensor; arrays in tuples, too."""
    if isinstance(value, numpy.ndarray):
        return Tensor(value)
    if isinstance(value, tuple):
        inner = _tensors(value)
        if any(new is not old for new, old in zip(inner, value)):
            return type(value)(*inner) if hasattr(value, "_fields") else inner
    return value


def _tensors(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_tensor(value) for value in values)


def _only_ours(replace: Callable[[Any, str, Any], None]) -> None:
    """One driver may be active, and torch says that there is an AMD GPU."""
    from triton.backends.amd.driver import HIPDriver
    from triton.backends.nvidia.driver import CudaDriver

    replace(HIPDriver, "is_active", staticmethod(lambda: False))
    replace(CudaDriver, "is_active", staticmethod(lambda: False))
