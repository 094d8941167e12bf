"""The mock GPU that Triton's kernels run on, and what is known of their code.

Each processor has one, with a number of its own, by which Triton keeps apart what it has compiled for which.
"""

from __future__ import annotations

import contextlib
import fnmatch
import itertools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.callers import callers_level
from ..device.launching import Launch, Strict, checked
from ..device.mock_device import Device
from ..device.module import Module
from ..device.observe import Trace
from ..device.results import RunResult
from ..device.unwritten import is_wanted
from ..errors import ArgumentError, FindingWarning, StrictError, ToolError
from ..instrumenting.options import Instrumenting
from ..instrumenting.selection import Chooser, Select
from ..instrumenting.tool import Tool, maker
from ..objects.code_object import CodeObject
from ..verdict import Policy, Standing


@dataclass(eq=False)
class Attachment:
    """A tool, or what makes one for each code object, and the kernels and launches that it is for."""

    tool: Any
    pattern: str
    select: tuple[Select, ...] = ()
    #: How its hooks are placed.
    how: Instrumenting = field(default_factory=Instrumenting)

    def is_for(self, function: Function) -> bool:
        """Whether it is for a kernel, some launches at least."""
        if not fnmatch.fnmatchcase(function.name, self.pattern):
            return False
        return not self.select or function.name in Chooser.rules_of(self.select, function.code_object)

    def tool_for(self) -> Tool:
        """The tool of a code object: one of its own, or one for all."""
        return maker(self.tool)()


@dataclass(frozen=True)
class Bound:
    """The arguments of a launch as the kernel's source has them."""

    #: By name, those that the compiler took as constants among them.
    values: dict[str, Any]
    #: What is passed, in order: numbers, addresses of pointers; None for what is neither.
    passed: list[int | None]
    #: Memory that is there for the launch only.
    kept: list[Any]


@dataclass(frozen=True)
class Held:
    """A launch that is not made, but put on the stage of the debugger."""

    function: Function
    module: Module
    launch: Launch
    kernarg: bytes
    places: list[Any]
    bound: Bound


@dataclass(eq=False)
class Function:
    """A kernel as Triton hands it over, and as it is loaded."""

    name: str
    data: bytes
    module: Module | None = None
    #: The state of the attachments that its tools are of.
    version: int = 0
    code_object: CodeObject = field(init=False)
    #: Kind, offset and size of each argument, and of the metadata what a launch has to know.
    args: list[tuple[str, int, int]] = field(init=False)
    facts: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.code_object = CodeObject.open(self.data)
        facts = self.code_object.core.kernel(self.name)
        if facts is None or facts["args"] is None:
            raise ArgumentError(f"Triton's code object has no metadata of a kernel {self.name}")
        self.facts = facts
        self.args = [(arg["kind"], arg["offset"], arg["size"]) for arg in facts["args"] if not arg["hidden"]]


class Handle(int):
    """The number of a kernel, told from a real driver's."""


class Gpu:
    """A mock device, the tools that are attached, and the functions that Triton has loaded on it."""

    def __init__(self, processor: str, number: int):
        self.processor, self.number = processor, number
        self.device = Device(processor, threads=int(os.environ.get("LUTHIER_THREADS", "0")))
        self.properties = self.device.properties
        self.strict: Strict = False
        #: What becomes of findings: ``warn``, ``raise`` or ``keep``.
        self.findings = "warn"
        #: Which of them count.
        self.policy = Policy()
        self.schedule: str | None = None
        self.functions: dict[int, Function] = {}
        #: Of all launches: what autotuning compares.
        self.instructions = 0
        #: What launches are watched for, if they are, and what was seen.
        self._wanted: Sequence[Any] | None = None
        self._traces: list[Trace] = []
        #: Launches that are held, if they are, and whether the one that is made now is autotuning's.
        self._held: list[Held] | None = None
        self.is_measuring = False

    @property
    def wave_size(self) -> int:
        """What Triton's compiler uses: the processor's usual one."""
        return self.properties.wave_sizes[0]

    def add(self, name: str, data: bytes) -> tuple[Handle, Function]:
        """Takes a kernel in; gives its number."""
        handle = Handle(next(_handles))
        function = self.functions[handle] = Function(name, data)
        return handle, function

    def function(self, handle: int) -> Function:
        """The kernel with a number. ArgumentError if it was compiled for another GPU: some programs keep what Triton has
        compiled and do not ask again."""
        found = self.functions.get(handle)
        if found is None:
            others = [(gpu.processor, gpu.functions[handle].name) for gpu in _gpus.values() if handle in gpu.functions]
            name, kernel = others[0] if others else ("another device", f"number {handle}")
            raise ArgumentError(f"kernel {kernel} was compiled for {name}, and the device is {self.processor}: compile it anew")
        return found

    def loaded(self, function: Function) -> Module:
        """The kernel's module, with the tools that are attached by now."""
        if function.module is None or function.version != _version:
            function.version = _version
            wanted = [attachment for attachment in _attachments if attachment.is_for(function)]
            selected = {attachment.select for attachment in wanted}
            hows = {attachment.how for attachment in wanted}
            for different, what, keyword in (
                (selected, "select different launches of it", "select="),
                (hows, "are placed in different ways", "keywords"),
            ):
                if len(different) > 1:
                    raise ToolError(
                        f"kernel {function.name}: the tools that are attached {what}: attach those that watch the same kernel "
                        f"with the same {keyword}"
                    )
            tools = [attachment.tool_for() for attachment in wanted]
            how = hows.pop() if hows else Instrumenting()
            select = selected.pop() if selected else ()
            function.module = Module(self.device, function.code_object, tools, None, how, select=select)
        return function.module

    def launch(
        self,
        function: Function,
        grid: tuple[int, int, int],
        threads: int,
        kernarg: bytes,
        lds: int,
        cooperative: bool,
        cluster: tuple[int, int, int] | None,
        args: list[Any],
        places: Any,
        bound: Callable[[], Bound],
    ) -> RunResult | None:
        """Runs a kernel; None where launches are held. ``places`` says what the arguments' arrays are called, when something
        went wrong, ``bound`` what the source calls all of them."""
        global _last
        block = (threads, 1, 1)
        x, y, z = sizes = (grid[0] * threads, grid[1], grid[2])
        if not (0 < x < 1 << 32 and 0 < y < 1 << 32 and 0 < z < 1 << 32):
            raise ArgumentError(
                f"kernel {function.name}: a grid of {grid[0]} x {grid[1]} x {grid[2]} workgroups of {threads} threads: at least "
                f"one workgroup, and less than 2**32 threads, in each direction"
            )
        _last = None
        told = checked(
            function.name,
            {
                "grid": sizes, "block": block, "args": args, "lds": lds, "strict": self.strict, "cooperative": cooperative,
                "cluster": cluster, "schedule": self.schedule,
            },
        )  # fmt: skip
        module = self.loaded(function)
        if self._held is not None and not self.is_measuring:
            self._held.append(Held(function, module, told, kernarg, places(), bound()))
            return None
        if self._wanted is None:
            result = module.run_packed(told, kernarg, places)
        else:
            self._traces.append(module.trace_packed(told, kernarg, places, self._wanted))
            result = self._traces[-1].result
        self.instructions += result.app_instructions
        _last = result
        for heard in _heard:
            heard.extend(result.findings)
        if result.findings and self.findings != "keep":
            self._report(result)
        return result

    @contextlib.contextmanager
    def watching(self, wanted: Sequence[Any]) -> Iterator[list[Trace]]:
        """Has launches be watched meanwhile, for the events, snapshots and so on of :meth:`luthier.Module.trace`."""
        if self._wanted is not None:
            raise ArgumentError("a launch is being watched already")
        self._wanted, self._traces = wanted, []
        try:
            yield self._traces
        finally:
            self._wanted = None

    def trace(self, wanted: Sequence[Any], launch: Callable[[], object]) -> Trace:
        """What the last of the launches was that ``launch`` makes on this GPU. ArgumentError where another one is installed, and
        where it makes none."""
        if _current is not self:
            raise ArgumentError(f"the launch was on {self.processor}, which is not installed now")
        with self.watching(wanted) as traces:
            launch()
        if not traces:
            raise ArgumentError("luthier.triton.trace: no kernel was launched: give it kernel[grid] and the kernel's arguments")
        return traces[-1]

    def hold(self, launch: Callable[[], object]) -> tuple[Held, object]:
        """The one launch that ``launch`` makes on this GPU, which is not run, and what ``launch`` gave. What autotuning measures
        first is run. ArgumentError where there is none, or several."""
        self._held = []
        try:
            given = launch()
            held = self._held
        finally:
            self._held = None
        if len(held) != 1:
            names = ", ".join(one.function.name for one in held)
            told = (
                f"{len(held)} kernels were launched ({names}): give it one"
                if held
                else "no kernel was launched: give it kernel[grid]"
            )
            raise ArgumentError(f"luthier.triton.debug: {told}, and the kernel's arguments")
        return held[0], given

    def _report(self, result: RunResult) -> None:
        verdict = self.policy.judge(result.findings, 1)
        failing, told = verdict.of(Standing.FAILS), verdict.of(Standing.FAILS, Standing.TOLD)
        if self.findings == "raise" and failing:
            more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
            raise StrictError(f"{failing[0].finding}{more}", [dict(judged.finding) for judged in failing])
        for judged in told:
            warnings.warn(str(judged.finding), FindingWarning, stacklevel=callers_level("triton"))


#: Lists that get the findings of all launches.
_heard: list[list[Any]] = []
_gpus: dict[str, Gpu] = {}
#: The numbers of kernels, of all GPUs.
_handles = itertools.count(1)
_current: Gpu | None = None
_last: RunResult | None = None
_attachments: list[Attachment] = []
_version = 0


def forget_last() -> None:
    """There has been no launch."""
    global _last
    _last = None


def attach(made: list[Attachment]) -> None:
    """Takes these in."""
    global _version
    _version += 1
    _attachments.extend(made)


def detach(tools: tuple[Any, ...]) -> None:
    """Lets go of what was made of these tools, or of all."""
    global _version
    _version += 1
    _attachments[:] = [a for a in _attachments if tools and all(a.tool is not tool for tool in tools)]


def forget(handle: int) -> None:
    """Lets go of the kernel with a number, whichever GPU it is of."""
    for found in _gpus.values():
        found.functions.pop(handle, None)


def gpu(processor: str) -> Gpu:
    """The one of a processor."""
    if processor not in _gpus:
        _gpus[processor] = Gpu(processor, len(_gpus))
    return _gpus[processor]


def choose(chosen: Gpu | None) -> None:
    """Makes it the one that kernels run on from now on."""
    global _current
    _current = chosen


def is_chosen() -> bool:
    """Whether kernels run on any."""
    return _current is not None


def looks_for_unwritten() -> bool:
    """Whether findings are wanted about tensors that nothing has written."""
    return _current is not None and not isinstance(_current.strict, bool) and is_wanted(_current.strict)


def current() -> Gpu:
    """The one that kernels run on."""
    if _current is None:
        raise ArgumentError("no mock device is installed for Triton: luthier.triton.install('gfx942')")
    return _current


@contextlib.contextmanager
def heard(findings: list[Any]) -> Iterator[None]:
    """Meanwhile the list gets the findings of all launches, whatever else becomes of them."""
    _heard.append(findings)
    try:
        yield
    finally:
        _heard.remove(findings)


def last_result() -> RunResult | None:
    """What the last launch did; None if it failed."""
    return _last
