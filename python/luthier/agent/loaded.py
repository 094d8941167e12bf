"""Code objects that the program has loaded on a GPU, and their kernels with the tools that watch them."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, InternalError, LuthierError, ToolError
from ..instrumenting.tool import Tool
from ..instrumenting.toolset import Toolset
from ..lang.errors import HookError
from ..reports.as_json import plain
from ..reports.report import Report
from .shared import Memory, Variables
from .wire import WireError
from .wishes import overrides

if TYPE_CHECKING:
    from ..objects.code_object import CodeObject
    from .launches import AppLaunch
    from .process import Process

#: Of tools that are about kernels.
CALLBACKS = ("on_kernel", "on_launch", "on_complete")
#: Why the original runs where nothing else was asked for.
NOT_SELECTED, NOT_FOR_KERNELS = "not selected", "no tool is about kernels"
INSERT_NOTHING = "the tools insert nothing"
#: Why the original of a kernel has run whose launches do not wait.
LEFT = "it, or the process, was gone before that was done"
#: Why the original runs, and why the connection was given up, when a tool's code has failed.
FAILED = "a tool has failed"
#: The last place of the ledger is that of all kernels that have none of their own.
NO_ROOM = "the process has launched more kernels than are counted each for itself"
#: Numbers of the ledger for each kernel, 8 bytes each: launches of the original, instrumented ones, how many of these are
#: followed, and how many of those have ended.
COUNTERS = 4


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel of a loaded code object."""

    name: str
    #: Of its descriptor: what dispatch packets call the kernel object.
    address: int
    object: Loaded

    @property
    def executable(self) -> int:
        """The handle of its executable."""
        return self.object.executable

    @property
    def gpu(self) -> int:
        """The number of its GPU."""
        return self.object.gpu


@dataclass
class Made:
    """An instrumented code object, to be loaded beside the original."""

    data: bytes
    descriptor: int
    #: Bytes of scratch of a work-item, on top of the original's.
    private: int
    #: The same of LDS of a workgroup, and the most that there can be of it.
    group: int
    most_group: int
    #: Where GPUs have the signal that counts launches that are over.
    signal: int
    #: Which launches run it; see :class:`Watched`.
    rules: list[dict[str, Any]]


@dataclass
class Watched:
    """A kernel that was launched. Its tools are its own: launches of other kernels may be under way at the same time."""

    name: str
    #: Where the ledger counts its launches.
    slot: int
    object: Loaded
    toolset: Toolset = field(default_factory=Toolset)
    instrumentation: dict[str, Any] | None = None
    #: Why the original runs, if it does.
    why: str | None = None
    #: What was not inserted, in a line.
    warning: str | None = None
    variables: Variables | None = None
    #: Launches that are not known to be over, by number, for tools that hear when they are.
    under_way: dict[int, AppLaunch] = field(default_factory=dict)
    #: Launches that such tools know to be over.
    known_over: int = 0
    #: The tools hear of its launches, although the original runs.
    hears: bool = False
    #: Which launches the tools are about, as :class:`~luthier.Select` has it; none for all.
    rules: list[dict[str, Any]] = field(default_factory=list)
    _reports: list[Report] | None = None

    @property
    def tools(self) -> list[Tool]:
        """Those of the kernel."""
        return self.toolset.tools

    def launched(self, launch: AppLaunch) -> None:
        """Tells the tools of a launch."""
        self.toolset.launched(launch)
        if self.object.process.hears_of_ends:
            self.under_way[launch.number] = launch

    def decide(self, said: dict[str, Any]) -> dict[str, Any]:
        """Tells the tools of a launch that waits for them; gives what it is to run, and its packet if that is changed."""
        from .launches import AppLaunch, Fate, sizes

        packet = said["packet"]
        possible = self.why is None
        fate = Fate("full" if possible and said["instrumented"] else "original", list(packet), True, possible)
        self.launched(AppLaunch.of(self, said["number"], said["queue"], said["thread"], tuple(packet), *sizes(packet), fate))
        fate.is_open = False
        return {"original": fate.variant == "original", "packet": None if fate.packet == packet else fate.packet}

    def begins(self, number: int) -> None:
        """Tells the tools that a launch is about to begin."""
        launch = self.under_way.get(number)
        if launch is None:
            raise WireError(f"the launch {number} begins, and was not told of")
        self.toolset.begins(launch)

    def completed(self, number: int, start: int, end: int) -> None:
        """Tells the tools that a launch is over."""
        launch = self.under_way.pop(number, None)
        if launch is None:
            raise WireError(f"the launch {number} is over, and was not begun")
        self.known_over += 1
        if end:
            launch.fate.start, launch.fate.end = start, end
        self.toolset.completed(launch)

    def give_up(self) -> None:
        """A tool's code has not come back: a kernel that was being instrumented is not."""
        if self.why is None and self.instrumentation is None:
            self.why = FAILED

    @property
    def reports(self) -> list[Report]:
        """Every tool's report, as of when it is first asked for; none if the original runs and they do not hear of it."""
        # Not cached by a lock: a tool that does not come back would keep it.
        if self._reports is None:
            if self.variables is not None:
                self.object.process.read_rest(self.variables)
            said = self.why is None or self.hears
            self._reports = self.object.process.reports_of(self.toolset if said else Toolset())
        return self._reports

    def unload(self) -> None:
        """Keeps what the tools say, and nothing else."""
        _ = self.reports
        self.toolset = Toolset()
        if self.variables is not None:
            self.variables.keep()

    def launches(self) -> tuple[int, int]:
        """How often it was launched as it is, and how often instrumented, as of now."""
        if self.why == NO_ROOM:
            return 0, 0
        assert self.object.process.ledger is not None
        original, instrumented, _, _ = self._counters(self.object.process.ledger)
        return original, instrumented

    def _counters(self, ledger: Memory) -> tuple[int, ...]:
        return struct.unpack_from(f"<{COUNTERS}Q", ledger.map, 8 * COUNTERS * self.slot)

    def result(self, ledger: Memory) -> dict[str, Any]:
        """What ``--json`` holds for it."""
        if self.why == NO_ROOM:
            return {"name": self.name, "launches": None, "instrumented": 0, "why": self.why}
        over = 0 if self.variables is None else self.variables.over
        original, instrumented, followed, ended = self._counters(ledger)
        entry: dict[str, Any] = {"name": self.name, "launches": original + instrumented, "instrumented": instrumented}
        if followed:
            # Tools that hear of ends and the report agree, even if the process ends between a launch's end and its telling.
            entry["unfinished"] = followed - (self.known_over if self.object.process.hears_of_ends else ended + over)
        if self.why is not None:
            entry["why"] = self.why
        if self.why is not None and not self.hears:
            return entry
        tools = {report.tool: plain(report.result) for report in self.reports}
        return {**entry, "tools": tools, "instrumentation": self.instrumentation}


@dataclass
class Loaded:
    """A code object on a GPU."""

    number: int
    #: The handle of its executable.
    executable: int
    gpu: int
    processor: str
    #: The address of its vaddr 0.
    base: int
    #: Where its memory begins, and how many bytes that are.
    start: int
    size: int
    uri: str
    process: Process
    _memory: Memory | None
    #: By the vaddr of the descriptor.
    kernels: dict[int, Watched] = field(default_factory=dict)

    @property
    def is_alive(self) -> bool:
        """Its executable has not been destroyed."""
        return self._memory is not None

    @property
    def data(self) -> bytes:
        """The ELF file that it was loaded from."""
        if self._memory is None:
            raise ToolError(f"the code object {self.number} ({self.uri}) is not loaded any more")
        return bytes(self._memory.map)

    @cached_property
    def code_object(self) -> CodeObject:
        """The ELF file, parsed."""
        from .. import _core
        from ..objects.code_object import CodeObject

        return CodeObject(_core.CodeObject.parse(self.data), self.uri)

    def kernel_at(self, address: int) -> LoadedKernel | None:
        """The kernel whose descriptor is at an address."""
        name = self._names.get(address - self.base)
        return None if name is None else LoadedKernel(name, address, self)

    def kernel(self, name: str) -> LoadedKernel:
        """The kernel of a name."""
        return LoadedKernel(name, self.address(f"{name}.kd"), self)

    def demangled(self, name: str) -> str:
        """A kernel's name as the source has it."""
        return self._demangled.get(name, name)

    def address(self, symbol: str) -> int:
        """Where a symbol is: a variable, a function, a kernel's descriptor (``NAME.kd``)."""
        return self.base + self._symbol(symbol)["address"]

    def read_variable(self, symbol: str) -> bytes:
        """What a variable of the application's has now, as far as the process's processor can read it."""
        found = self._symbol(symbol)
        return self.read_memory(self.base + found["address"], found["size"]) if found["size"] else b""

    def read_memory(self, address: int, size: int) -> bytes:
        """Memory of the process."""
        return self.process.read(address, size)

    def _symbol(self, name: str) -> dict[str, Any]:
        found: Any = self.code_object.core.symbol(name)
        if found is None:
            raise ToolError(f"{self.uri} has no symbol {name}")
        return dict(found)

    def unload(self) -> None:
        """Forgets all but names and what the tools say."""
        if "code_object" in vars(self):
            with contextlib.suppress(LuthierError):  # names stay as they are
                self._demangled  # noqa: B018
        for watched in self.kernels.values():
            watched.unload()
        if self._memory is not None:
            self._memory.map.close()
            self._memory = None
        for name in ("code_object", "selected", "_names"):
            vars(self).pop(name, None)

    @cached_property
    def _demangled(self) -> dict[str, str]:
        if self._memory is None:
            return {}
        return {row["name"]: row["demangled"] for row in self.code_object.core.kernel_table()}

    @cached_property
    def selected(self) -> dict[str, list[dict[str, Any]]]:
        """The kernels that are to be instrumented, with rules for their launches."""
        return self.process.rules(self.code_object.core)

    @cached_property
    def _names(self) -> dict[int, str]:
        core = self.code_object.core
        symbols = {name: core.symbol(f"{name}.kd") for name in core.kernels}
        return {symbol["address"]: name for name, symbol in symbols.items() if symbol is not None}

    def leave(self, descriptor: int, slot: int) -> None:
        """Notes a kernel that was launched and that nothing can be done about any more."""
        watched = self.kernels[descriptor] = Watched(f"at {descriptor:#x}", slot, self)
        try:
            watched.name = self._names.get(descriptor, watched.name)
            if watched.name not in self.selected:
                watched.why = NOT_SELECTED
            else:
                watched.why = LEFT if self._tools() else NOT_FOR_KERNELS
        except LuthierError as error:
            watched.why = " ".join(str(error).split())

    def first_launch(
        self, descriptor: int, slot: int, allocate: Callable[[int], tuple[Memory, int]]
    ) -> tuple[Watched, Made | None]:
        """Sees to the kernel with a descriptor: what is to run in its place, or None, with a reason, if it runs as it is."""
        watched = self.kernels[descriptor] = Watched(f"at {descriptor:#x}", slot, self)
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
            if isinstance(error, (ToolError, HookError, ArgumentError, InternalError)):
                self.process.failed(error)
            else:
                watched.hears = self.process.hears_launches
            return watched, None
        except BaseException:
            watched.why = FAILED
            raise

    def _tools(self) -> list[Tool]:
        """New instances of those that are about kernels."""
        return [tool for tool in self.process.make_tools() if any(overrides(tool, name) for name in CALLBACKS)]

    def _instrument(self, watched: Watched, allocate: Callable[[int], tuple[Memory, int]]) -> Made | None:
        from .. import _core
        from ..instrumenting.planning import Beside, Planner, rejections

        name, original = watched.name, self.code_object
        if name not in self.selected:
            watched.why = NOT_SELECTED
            return None
        watched.toolset = Toolset(self._tools())
        if not watched.tools:
            watched.why = NOT_FOR_KERNELS
            return None
        watched.rules = self.selected[name]
        for tool in watched.tools:
            tool.app = self.process.app
        if not any(overrides(tool, "on_kernel") for tool in watched.tools):
            watched.why, watched.hears = INSERT_NOTHING, self.process.hears_launches
            return None
        if not _core.can_instrument(original.processor):
            watched.why = f"code for {original.processor} cannot be instrumented"
            watched.hears = self.process.hears_launches
            return None
        planner = Planner(original, watched.toolset)
        planner.ask([name])
        watched.toolset.check_sizes()  # some are made for the kernel
        variables = Variables(planner.variables, (self, self.gpu))
        memory, start = allocate(variables.size)
        variables.place(memory)
        planner.bind(variables)
        watched.variables = variables
        result = planner.finish(self.process.how, beside=Beside(self.base, variables.addresses(start), self))
        did: Any = result.instrumentation
        watched.instrumentation = did
        watched.warning = rejections(original, did) if did["rejected"] else None
        registers = did["registers"].get(name)
        if registers is None:
            # Its code is not copied: its descriptor still leads to code that is only right where the original lies.
            watched.why = did["rejected"][0]["reason"] if did["rejected"] else INSERT_NOTHING
            watched.hears = self.process.hears_launches
            return None
        self.process.reads(watched.tools, variables)
        symbol: Any = result.core.symbol(f"{name}.kd")
        before, after = registers["scratch"]
        own, all_of_it = registers["lds"]
        group = all_of_it - own, registers["lds_most"]
        return Made(result.data, symbol["address"], after - before, *group, variables.signal(start), self.selected[name])

    def result(self, ledger: Memory) -> dict[str, Any]:
        """What ``--json`` holds for it."""
        kernels = [watched.result(ledger) for watched in self.kernels.values()]
        return {"object": self.number, "gpu": self.gpu, "processor": self.processor, "uri": self.uri, "kernels": kernels}
