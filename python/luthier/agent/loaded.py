"""Code objects that the program has loaded on a GPU, and their kernels with the tools that watch them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import _core
from ..code_object import CodeObject
from ..errors import LuthierError
from ..launching import Launch
from ..matching import matching
from ..planning import Planner, _distinct_names
from ..report import Report, plain
from ..tool import Tool
from .shared import Memory, Variables
from .wire import WireError

#: For fills and copies.
_RUNTIMES_OWN = "__amd_rocclr_*"


@dataclass
class Made:
    """An instrumented code object, to be loaded beside the original."""

    data: bytes
    descriptor: int
    #: Bytes of scratch of a work-item, on top of the original's.
    private: int


@dataclass
class Watched:
    """A kernel that was launched. Its tools are its own: launches of other kernels may be under way at the same time."""

    name: str
    #: Where the ledger counts its launches.
    slot: int
    tools: list[Tool] = field(default_factory=list)
    instrumentation: dict[str, Any] | None = None
    #: Why the original runs, if it does.
    why: str | None = None

    def tell(self, grid: list[int], block: list[int]) -> None:
        """Tells the tools of a launch."""
        launch = Launch(self.name, (grid[0], grid[1], grid[2]), (block[0], block[1], block[2]))
        for tool in self.tools:
            tool.on_launch(launch)

    @cached_property
    def reports(self) -> list[Report]:
        """Every tool's report, as of when it is first asked for; none if the original runs."""
        names = _distinct_names(self.tools)
        found = []
        for tool in self.tools if self.why is None else ():
            report = Report(names[id(tool)])
            tool.on_exit(report)
            found.append(report)
        return found

    def result(self, ledger: Memory) -> dict[str, Any]:
        """What ``--json`` holds for it."""
        at = 16 * self.slot
        original = int.from_bytes(ledger.map[at : at + 8], "little")
        instrumented = int.from_bytes(ledger.map[at + 8 : at + 16], "little")
        entry: dict[str, Any] = {"name": self.name, "launches": original + instrumented, "instrumented": instrumented}
        if self.why is not None:
            return {**entry, "why": self.why}
        tools = {report.tool: plain(report.result) for report in self.reports}
        return {**entry, "tools": tools, "instrumentation": self.instrumentation}


@dataclass
class Loaded:
    """A code object on a GPU."""

    number: int
    gpu: int
    processor: str
    #: The address of its vaddr 0.
    base: int
    uri: str
    memory: Memory
    make_tools: Callable[[], list[Tool]]
    #: Names or patterns of kernels; without any, all but HIP's own are meant.
    select: Sequence[str]
    #: By the vaddr of the descriptor.
    kernels: dict[int, Watched] = field(default_factory=dict)

    @cached_property
    def code_object(self) -> CodeObject:
        return CodeObject(_core.CodeObject.parse(bytes(self.memory.map)), self.uri)

    @cached_property
    def selected(self) -> frozenset[str]:
        """The kernels that are to be instrumented."""
        core = self.code_object.core
        if self.select:
            return frozenset(name for pattern in self.select for name in matching(core, pattern))
        return frozenset(core.kernels).difference(matching(core, _RUNTIMES_OWN))

    @cached_property
    def _names(self) -> dict[int, str]:
        core = self.code_object.core
        symbols = {name: core.symbol(f"{name}.kd") for name in core.kernels}
        return {symbol["address"]: name for name, symbol in symbols.items() if symbol is not None}

    def first_launch(
        self, descriptor: int, slot: int, allocate: Callable[[int], tuple[Memory, int]]
    ) -> tuple[Watched, Made | None]:
        """Sees to the kernel with a descriptor: what is to run in its place, or None, with a reason, if it runs as it is."""
        watched = self.kernels[descriptor] = Watched(f"at {descriptor:#x}", slot)
        try:
            name = self._names.get(descriptor)
            if name is None:
                watched.why = "the code object does not name it"
                return watched, None
            watched.name = name
            return watched, self._instrument(watched, allocate)
        except WireError:
            raise
        except LuthierError as error:
            watched.why = " ".join(str(error).split())
            return watched, None

    def _instrument(self, watched: Watched, allocate: Callable[[int], tuple[Memory, int]]) -> Made | None:
        name, original = watched.name, self.code_object
        if name not in self.selected:
            watched.why = "not selected"
            return None
        if not _core.can_instrument(original.processor):
            watched.why = f"code for {original.processor} cannot be instrumented"
            return None
        watched.tools = self.make_tools()
        planner = Planner(original, watched.tools)
        planner.ask([name])
        variables = Variables(planner.variables)
        start = 0
        if variables.size:
            memory, start = allocate(variables.size)
            variables.place(memory)
        result = planner.finish(False, "report", (self.base, variables.addresses(start)))
        did: Any = result.instrumentation
        watched.instrumentation = did
        registers = did["registers"].get(name)
        if registers is None:
            # Its code is not copied: its descriptor still leads to code that is only right where the original lies.
            watched.why = did["rejected"][0]["reason"] if did["rejected"] else "the tools insert nothing"
            return None
        symbol: Any = result.core.symbol(f"{name}.kd")
        before, after = registers["scratch"]
        return Made(result.data, symbol["address"], after - before)

    def result(self, ledger: Memory) -> dict[str, Any]:
        """What ``--json`` holds for it."""
        kernels = [watched.result(ledger) for watched in self.kernels.values()]
        return {"object": self.number, "gpu": self.gpu, "processor": self.processor, "uri": self.uri, "kernels": kernels}
