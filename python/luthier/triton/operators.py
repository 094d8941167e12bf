"""Operators that programs register for ``cuda``: torch, to which all tensors are the CPU's, is to find them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

#: The dispatcher's keys for ``cuda`` that are known, and what they are here.
_KEYS = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}


def follow() -> Callable[[], None]:
    """Has ``torch.library`` take what is registered for ``cuda``, and gives what ends that. Of an operator with a function for
    each of the two the one for ``cuda`` is called."""
    owner = torch.library.Library
    before = owner.impl
    taken: set[tuple[str, str]] = set()

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        key = dispatch_key or getattr(self, "dispatch_key", "")
        name = op_name if isinstance(op_name, str) else getattr(op_name, "_name", str(op_name))
        name = name if "::" in name else f"{self.ns}::{name}"
        if key in _KEYS:
            key = _KEYS[key]
            taken.add((name, key))
        elif (name, key) in taken:
            return None
        return before(self, op_name, fn, key, **kwargs)

    owner.impl = impl  # type: ignore[method-assign]

    def back() -> None:
        owner.impl = before  # type: ignore[method-assign]

    return back
