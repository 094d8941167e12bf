"""Installs the mock device that the environment asks for once Triton is imported: child processes, and programs that know
nothing of Luthier, begin with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

#: Triton imports this when all that :func:`luthier.triton.install` changes is there.
_LATE = "triton.testing"


class _After(MetaPathFinder):
    """Calls something once the module has been executed."""

    def __init__(self, call: Callable[[], Any]):
        self._call = call

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _LATE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._call()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def once_triton_is_there(call: Callable[[], Any]) -> None:
    """Has it called at the end of the import of Triton that is under way."""
    if _LATE not in sys.modules:
        sys.meta_path.insert(0, _After(call))
