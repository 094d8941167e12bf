"""What tools see of a process of the program."""

from __future__ import annotations

import fnmatch
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ToolError
from ..instrumenting.tool import Tool
from . import events
from .calls import Call
from .events import Executable, Happenings, Queue, Told
from .functions import Function, by_name, functions, named
from .loaded import Loaded, LoadedKernel
from .modules import Registrations, ToolModule
from .sites import Sites
from .wire import GO, SKIP, WireError
from .wishes import overrides

if TYPE_CHECKING:
    from .process import Process

#: Wishes for a function, as the agent has them (crates/agent/src/calls.rs).
_BEFORE, _AFTER, _TELL, _STACK, _POINTEES = 1, 2, 4, 8, 16

_CALLBACKS = ("on_start", "on_hsa", "on_hip", "on_executable", "on_allocation", "on_queue")


@dataclass
class _Wanted:
    """Who hears of a function."""

    function: Function
    callers: list[Any] = field(default_factory=list)
    told: Told | None = None
    #: What the agent is told of it.
    flags: int = 0

    def wishes(self) -> int:
        """What the agent is to be told of it."""
        flags = 0
        for tool in self.callers:
            flags |= (_BEFORE if "enter" in tool.phases else 0) | (_AFTER if "exit" in tool.phases else 0)
            flags |= _STACK if tool.stacks else 0
        if self.told is not None:
            flags |= _TELL
            for name in self.told.pointees:
                flags |= 1 << _POINTEES + self.function.word(name)
        return flags


class App:
    """A process of the program: what is loaded in it, its memory, and which of its calls tools hear of."""

    def __init__(self, process: Process, tools: list[Tool]):
        self._process = process
        #: The tools' instances for the process as a whole: those that hear of more than kernels.
        self.tools = [tool for tool in tools if any(overrides(tool, name) for name in _CALLBACKS)]
        self._wanted: dict[int, _Wanted] = {}
        self._calls: dict[int, Call] = {}
        self._sites = Sites(lambda: process.pid)
        self._happenings = Happenings(
            lambda queue, event: self._each("on_queue", queue, event),
            lambda allocation: self._each("on_allocation", allocation),
            lambda executable, event: self._each("on_executable", executable, event),
        )
        for tool in self.tools:
            tool.app = self
            self._want(tool, named(tool.hsa, False) if overrides(tool, "on_hsa") else [])
            self._want(tool, named(tool.hip, True) if overrides(tool, "on_hip") else [])
        for name, kinds in (
            ("on_queue", events.QUEUES),
            ("on_allocation", events.ALLOCATIONS),
            ("on_executable", events.EXECUTABLES),
        ):
            if any(overrides(tool, name) for tool in self.tools):
                for told in kinds:
                    function = by_name()[told.name]
                    self._wanted.setdefault(function.number, _Wanted(function)).told = told
        self._registrations = Registrations(self) if process.hears_hip else None

    @property
    def _hears_of_executables(self) -> bool:
        return any(overrides(tool, "on_executable") for tool in self.tools)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def parent(self) -> int:
        """The number of the process that started this one."""
        return self._process.parent

    @property
    def program(self) -> str:
        """The path of what runs."""
        return self._process.program

    @property
    def gpus(self) -> list[dict[str, Any]]:
        """All GPUs, with ``name`` and ``agent``, their handle; none before the first one is used."""
        return self._process.gpus

    @property
    def queues(self) -> list[Queue]:
        """The queues that there are now, for a tool that has ``on_queue``."""
        return list(self._happenings.queues.values())

    @property
    def executables(self) -> list[Executable]:
        """The executables that there are now and that have code objects, or, for a tool that has ``on_executable``, all."""
        return list(self._happenings.executables.values())

    @property
    def objects(self) -> list[Loaded]:
        """The code objects that are loaded now."""
        return [loaded for loaded in self._process.objects.values() if loaded.is_alive]

    @property
    def tool_modules(self) -> list[ToolModule]:
        """HIP modules that are tools themselves, for a tool that hears of HIP or has ``hip_modules = True``."""
        return [] if self._registrations is None else list(self._registrations.modules)

    def object_at(self, address: int) -> Loaded | None:
        """The code object that has an address."""
        return next((o for o in self.objects if o.start <= address < o.start + o.size), None)

    def kernel_at(self, address: int) -> LoadedKernel | None:
        """The kernel whose descriptor, its kernel object, is at an address."""
        found = self.object_at(address)
        return None if found is None else found.kernel_at(address)

    def wrap(self, *patterns: str) -> None:
        """From now on ``on_hsa`` and ``on_hip`` of the tools that have them hear of these functions as well. HSA's need
        the process to wait: in ``on_start``, ``on_hsa``, ``on_hip`` or an ``on_launch`` that decides."""
        self._change(patterns, True)

    def unwrap(self, *patterns: str) -> None:
        """These functions are left alone again."""
        self._change(patterns, False)

    def read(self, address: int, size: int) -> bytes:
        """Memory of the process, as far as its processor can read it."""
        return self._process.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Changes memory of the process."""
        self._process.write(address, data)

    def _keep(self, data: bytes) -> int:
        """Puts bytes into memory of the process that stays, while the process waits; gives the address."""
        return self._process.keep(data)

    def set_variable(self, name: str, value: str) -> None:
        """Sets a variable of the process's environment, while the process waits."""
        self._process.request("set_variable", name=name, value=value)

    def _want(self, tool: Tool, wanted: Iterable[Function]) -> None:
        for function in wanted:
            entry = self._wanted.setdefault(function.number, _Wanted(function))
            if tool not in entry.callers:
                entry.callers.append(tool)

    def _hear(self, names: Iterable[str], hearer: Any, on: bool) -> None:
        """Has something of ours hear of functions of HIP's, or not any more."""
        for name in names:
            function = by_name()[name]
            entry = self._wanted.setdefault(function.number, _Wanted(function))
            if hearer in entry.callers:
                entry.callers.remove(hearer)
            if on:
                entry.callers.append(hearer)
        self._write_wishes()

    def _change(self, patterns: tuple[str, ...], on: bool) -> None:
        chosen: list[Function] = []
        for pattern in patterns:
            some = [f for f in functions() if fnmatch.fnmatchcase(f.name, pattern)]
            if not some:
                raise ToolError(f"{pattern}: neither HSA nor HIP has such a function that can be wrapped")
            chosen += some
        if on and any(f.is_hip for f in chosen) and not self._process.hears_hip:
            raise ToolError("HIP's functions can be wrapped only if a tool says so at first: hip = [...]")
        for tool in self.tools:
            for function in chosen:
                entry = self._wanted.get(function.number)
                if on and overrides(tool, "on_hip" if function.is_hip else "on_hsa"):
                    self._want(tool, [function])
                elif not on and entry is not None and tool in entry.callers:
                    entry.callers.remove(tool)
        self._process.place([f.number for f in chosen if not f.is_hip and f.number in self._wanted], on)
        self._write_wishes()

    def _write_wishes(self) -> None:
        """Has the agent know what is wanted of each function."""
        for number, entry in self._wanted.items():
            entry.flags = entry.wishes()
            struct.pack_into("<I", self._process.wishes.map, 4 * number, entry.flags)

    def _start(self) -> list[int]:
        """Tells the tools that the process is there; gives the functions of HSA's that are to be wrapped."""
        self._each("on_start", self)
        self._write_wishes()
        return [number for number, entry in self._wanted.items() if entry.flags and not entry.function.is_hip]

    def _each(self, name: str, *arguments: Any) -> None:
        for tool in self.tools:
            if overrides(tool, name):
                getattr(tool, name)(*arguments)

    def _calling(self, said: dict[str, Any]) -> tuple[int, ...]:
        """What is to be done with a call: the answer's words."""
        entry = self._entry(said)
        words = said["words"]
        call = Call(entry.function, said["call"], said["thread"], self, list(words), self._sites, said["stack"])
        self._hand(entry, call, "enter")
        if call.skipped:
            return SKIP, call._result or 0
        if entry.flags & _AFTER:
            self._calls[call.number] = call
        changed = call.args._words
        return (GO,) if changed == words else (GO, *changed)

    def _called(self, said: dict[str, Any]) -> int:
        """Hears of a call that was made; its result, as the program is to have it."""
        entry = self._entry(said)
        words, result = said["words"], said["result"]
        if entry.told is not None and not result & 0xFFFFFFFF and entry.told.name == entry.function.name:
            named = {p.name: words[p.word] for p in entry.function.parameters}
            marked = sorted((entry.function.word(name), name) for name in entry.told.pointees)
            named.update({f"*{name}": value for (_, name), value in zip(marked, said["pointees"], strict=False)})
            if len(said["pointees"]) == len(marked):
                entry.told.tell(self._happenings, named)
        call = self._calls.pop(said["call"], None)
        if not said["answer"]:
            return int(result)
        if call is None:
            call = Call(entry.function, said["call"], said["thread"], self, words, self._sites, said["stack"])
        call._made(words, result)
        self._hand(entry, call, "exit")
        return call._result or 0

    def _entry(self, said: dict[str, Any]) -> _Wanted:
        entry = self._wanted.get(said["function"])
        if entry is None or len(said["words"]) != entry.function.words:
            raise WireError(f"a call of the function {said['function']}, which no tool asked for")
        return entry

    def _hand(self, entry: _Wanted, call: Call, phase: str) -> None:
        for tool in list(entry.callers):
            if phase in tool.phases and not call.skipped:
                (tool.on_hip if entry.function.is_hip else tool.on_hsa)(call)


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Memory of another process of this user's that does not wait for us."""
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
            data = os.pread(file.fileno(), size, address)
    except (OSError, OverflowError) as error:
        raise ToolError(f"{size} bytes at {address:#x} of process {pid} cannot be read: {error}") from None
    if len(data) != size:
        raise ToolError(f"{size} bytes at {address:#x} of process {pid} cannot be read")
    return data
