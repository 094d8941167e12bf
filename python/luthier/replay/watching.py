"""Tools over a case: its code object instrumented, whole or beside the original, and the tools' variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..instrumenting.planning import Planner
from ..instrumenting.tool import Tool, check_sizes, instances
from ..reports.report import Report
from .case import Case

if TYPE_CHECKING:
    from ..device.launching import Launch
    from ..objects.code_object import CodeObject


class Instrumented:
    """The tools of one replay."""

    def __init__(self, case: Case, tools: Sequence[Tool]):
        self._case, self._tools = case, instances(tools)
        for tool in self._tools:
            check_sizes(tool)
        self._planner = Planner(case.code_object, self._tools)
        self._planner.ask([case.kernel])

    def whole(self) -> CodeObject:
        """The case's object with the hooks in it: what the original has is where it was, and the hooks are behind it."""
        return self._planner.finish(None, "warn", alone=True)

    def bind(self, core: Any, module: int) -> None:
        """Has the tools' variables be those of a loaded module of :meth:`whole`."""
        found = {symbol: core.symbol(module, symbol) for symbol in self._planner.variables}
        self._bind(core, {symbol: at[0] for symbol, at in found.items() if at is not None})

    def beside(self, core: Any) -> int:
        """The module of an object beside the original, which is loaded already."""
        variables = self._planner.variables
        addresses = {symbol: core.alloc(max(variable.size, 1)) for symbol, variable in variables.items()}
        for symbol, variable in variables.items():
            if variable.init:
                core.write(addresses[symbol], variable.init)
        self._bind(core, addresses)
        made = self._planner.finish(None, "warn", (self._case.base, list(addresses.values())))
        return int(core.load(made.core))

    def _bind(self, core: Any, addresses: dict[str, int]) -> None:
        memory: Any = _Variables(core, addresses)
        for variable in self._planner.variables.values():
            variable._module = memory

    def tell(self, launch: Launch) -> None:
        """Tells the tools of the launch."""
        for tool in self._tools:
            tool.on_launch(launch)

    def reports(self) -> list[Report]:
        """What the tools say."""
        found = []
        for tool in self._tools:
            report = Report(tool.name)
            tool.on_exit(report)
            found.append(report)
        return found


class _Variables:
    """Answers for :class:`luthier.Module` to tools' variables."""

    def __init__(self, core: Any, addresses: dict[str, int]):
        self._core, self._addresses = core, addresses

    def read_symbol_part(self, symbol: str, start: int, size: int) -> bytes:
        return self._core.read(self._addresses[symbol] + start, size) if size else b""

    def write_symbol_bytes(self, symbol: str, data: bytes) -> None:
        self._core.write(self._addresses[symbol], data)
