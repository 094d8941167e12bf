"""What is to be done when a module is imported, which is not to be imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

#: Triton imports this when all that :func:`luthier.triton.install` changes is there.
TRITON_IS_THERE = "triton.testing"


class _After(MetaPathFinder):
    """Calls something once the module has been executed."""

    def __init__(self, name: str, call: Callable[[], Any]):
        self._name, self._call = name, call

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        self.give_up()
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._call()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def give_up(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def once_imported(name: str, call: Callable[[], Any]) -> Callable[[], None]:
    """Has it called at the end of a module's import, or now if that is past. Gives what prevents it."""
    if name in sys.modules:
        call()
        return lambda: None
    after = _After(name, call)
    sys.meta_path.insert(0, after)
    return after.give_up
