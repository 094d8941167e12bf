"""Triton and Gluon kernels on the mock device: ``luthier.triton.install("gfx942")``, or ``LUTHIER_TRITON=gfx942`` in the
environment. docs/triton.md has what works.

Nothing here imports Triton or torch before it is asked to.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..device.results import RunResult
    from .by_program import Programs, programs
    from .comparison import Comparison, compare
    from .setup import attach, capture, debug, detach, install, trace, uninstall
    from .tensors import Tensor, empty, tensor

    #: What the last launch did; None before the first one, and after one that failed.
    last: RunResult | None

_HOME = {
    "Comparison": "comparison", "compare": "comparison", "Programs": "by_program", "programs": "by_program",
    "attach": "setup", "capture": "setup", "debug": "setup", "detach": "setup", "install": "setup", "trace": "setup", "uninstall": "setup", "Tensor": "tensors", "empty": "tensors",
    "tensor": "tensors",
}  # fmt: skip
__all__ = [
    "Comparison",
    "Programs",
    "Tensor",
    "attach",
    "capture",
    "compare",
    "debug",
    "detach",
    "empty",
    "install",
    "last",
    "programs",
    "tensor",
    "trace",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    if name == "last":
        return importlib.import_module(".gpu", __name__).last_result()
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
