"""Bitcode that HIP has put into code objects, for ``-Xclang -fembed-bitcode=all``."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..errors import ArgumentError, LoadError
from ..objects.code_object import open_container

_SECTION = ".llvmbc"


class Embedded:
    """The bitcode of a file's code objects, by processor."""

    def __init__(self, source: Any, identity: str | None):
        container, path = open_container(source)
        self._name, self._identity = path or "the bytes", identity
        self._found: dict[str, list[bytes]] = {}
        indices = [0] if container.kind == "code object" else range(len(container.entries))
        for index in indices:
            try:
                core = container.code_object(index)
            except LoadError:
                continue  # code for the host
            for section in core.inspect()["sections"]:
                if section["name"] == _SECTION and section["size"]:
                    data = core.data[section["offset"] : section["offset"] + section["size"]]
                    self._found.setdefault(core.target.split(":")[0], []).append(data)
        if not self._found:
            raise LoadError(
                f"{self._name} has no code object with bitcode in it ({_SECTION}): compile it with -Xclang -fembed-bitcode=all, and "
                f"keep the section when it is linked"
            )

    def first(self) -> str:
        """A processor that there is bitcode for."""
        return next(iter(self._found))

    def module(self, processor: str) -> _core.HookModule:
        """What is for a processor."""
        found = self._found.get(processor)
        if found is None:
            raise LoadError(f"{self._name} has no bitcode for {processor}: it has some for {', '.join(self._found)}")
        modules = []
        for data in found:
            try:
                modules.append(_core.HookModule(data))
            except ArgumentError as error:
                raise LoadError(f"{self._name}: the bitcode for {processor} is not valid: {error}") from None
        if self._identity is not None:
            modules = [m for m in modules if m.identity == f"__hip_cuid_{self._identity}"]
        if len(modules) == 1:
            return modules[0]
        some = ", ".join(str(m.identity).removeprefix("__hip_cuid_") for m in modules)
        if not modules:
            raise LoadError(f"{self._name} has no bitcode with the identity {self._identity} for {processor}")
        raise LoadError(f"{self._name} has the bitcode of {len(modules)} sources for {processor}: identity= is one of {some}")
