"""The base of every tool."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..errors import ToolError
from .values import Variable

if TYPE_CHECKING:
    import numpy

    from ..agent.app import App
    from ..agent.calls import Call
    from ..agent.events import Allocation, Executable, Queue
    from ..agent.launches import AppLaunch
    from ..device.launching import Launch
    from ..objects.kernel import Kernel
    from ..reports.report import Report
    from .channels import Channel


class Tool:
    """What to insert, and what to make of the result.

    A subclass declares its device variables and hooks, places the hooks in :meth:`on_kernel`, and reads the variables
    back in :meth:`on_exit`. One instance serves all launches of a loaded code object's kernels, and may serve several code
    objects, on several devices: what its variables count adds up, and ``variable.on(device)`` tells of one. Only a tool with
    ``one_code_object = True`` does not.

    Arguments of ``__init__`` are the tool's options (``--tool NAME:option=value`` on the command line); they need
    defaults, and their annotations ``int``, ``float``, ``bool`` and ``str`` say how to read the text.
    """

    #: What the results go by; the class's name in lower case by default.
    name: str = "tool"
    #: Names and patterns of HSA's functions that :meth:`on_hsa` hears of, ``["hsa_queue_create", "hsa_amd_*"]`` for example.
    #: Nothing else costs anything. As all below, for programs under ``luthier trace`` and :func:`luthier.trace`.
    hsa: Sequence[str] = ()
    #: The same for HIP and :meth:`on_hip`.
    hip: Sequence[str] = ()
    #: HIP libraries that are tools themselves are recognised: ``app.tool_modules``.
    hip_modules: bool = False
    #: When :meth:`on_hsa` and :meth:`on_hip` are called: before the function, after it, or both.
    phases: Sequence[str] = ("enter", "exit")
    #: Their calls have a ``stack`` and a ``site``: where in the program they stand.
    stacks: bool = False
    #: Launches wait for :meth:`on_launch`, which may change them and say what they run.
    decides: bool = False
    #: Launches run one at a time: :meth:`on_begin` is called when all in front of one in its queue is over, and what stands
    #: behind it begins when :meth:`on_complete` has returned.
    holds: bool = False
    #: A kernel's first launch waits until it is instrumented. Otherwise the original runs until then.
    waits: bool = True
    #: An instance serves one module only, as what it keeps of kernels would not tell those of another one apart: it goes by
    #: addresses in the code object, for example.
    one_code_object: bool = False
    #: Of the insertions that the tool has asked for, those that could not be made, as of when its hooks were placed: what is
    #: there was not seen. As in ``instrumentation["rejected"]``.
    rejected: Sequence[dict[str, Any]] = ()
    #: The process that the tool is in; None where there is none, on the mock device for example.
    app: App | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def on_kernel(self, kernel: Kernel) -> None:
        """Called once for each kernel, before its first launch: insert hooks here."""

    def on_launch(self, launch: Launch) -> None:
        """Called just before each launch: ``launch.kernel`` is the kernel's name, ``launch.grid`` and ``launch.block`` are
        its sizes in work-items. A tool that keeps numbers by kernel learns here which kernels have any."""

    def on_start(self, app: App) -> None:
        """Called when a process of the program has begun. What hears of more than kernels is an instance of the tool's own,
        one for each process; ``tool.app`` leads from those that watch kernels to it."""

    def on_hsa(self, call: Call) -> None:
        """Called before and after each call of the functions that ``hsa`` names, from outside of the runtime."""

    def on_hip(self, call: Call) -> None:
        """Called before and after each call of the functions that ``hip`` names."""

    def on_queue(self, queue: Queue, event: str) -> None:
        """Called when ``queue`` is ``created`` or ``destroyed``, as ``event`` says."""

    def on_allocation(self, allocation: Allocation) -> None:
        """Called when memory, ``allocation``, was allocated or freed, locked for GPUs or unlocked."""

    def on_executable(self, executable: Executable, event: str) -> None:
        """Called when ``executable`` is ``created``, a code object is ``loaded`` into it, it is ``frozen`` (its code objects are known from
        now on) or ``destroyed``, as ``event`` says."""

    def on_begin(self, launch: AppLaunch) -> None:
        """Called, of a tool with ``holds = True`` that has :meth:`on_complete`, when a launch is about to begin: memory is as
        it finds it."""

    def on_complete(self, launch: AppLaunch) -> None:
        """Called when an instrumented launch of a program's is over, with ``launch.start`` and ``launch.end``."""

    def on_records(self, channel: Channel, records: numpy.ndarray) -> None:
        """Called with records that hooks have put into one of the tool's channels, many at a time, while kernels run and when
        they are over: a structured array that has a field for each of the channel's. It must not be changed. Another thread
        than the one that launches calls this, never two at a time."""

    def on_exit(self, report: Report) -> None:
        """Called when the results are wanted: set ``report.result``, add tables."""

    def _repr_html_(self) -> str:
        """For notebooks: what it is, its variables, and what could not be inserted."""
        from ..reports.as_html import html_table

        about = (type(self).__doc__ or "").split("\n\n")[0]
        facts = [("about", " ".join(about.split())), *((v.name, repr(v)) for v in self.variables())]
        return html_table(self.name, (), [*facts, *([("rejected", len(self.rejected))] if self.rejected else [])])

    def variables(self) -> list[Variable]:
        """Every device variable that is an attribute of this instance or its class, in order of declaration."""
        names = {n: None for c in reversed(type(self).__mro__) for n, v in vars(c).items() if isinstance(v, Variable)}
        found = [getattr(self, n) for n in names]
        return found + [v for v in vars(self).values() if isinstance(v, Variable) and all(v is not f for f in found)]


def check_hooks(tool: Tool) -> None:
    """Raises HookError for a hook of a tool's that cannot be compiled, whether it is going to be inserted or not."""
    from ..lang import Hook

    for one in {id(v): v for base in type(tool).__mro__ for v in vars(base).values() if isinstance(v, Hook)}.values():
        one.check()


def check_sizes(tool: Tool) -> None:
    """Raises ToolError for variables of a tool's that this machine has no memory for, before anything runs."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = tool.variables()
    wanted = sum(variable.size for variable in found)
    if wanted > there:
        largest = max(found, key=lambda variable: variable.size)
        name = largest.name or next((name for name, value in vars(tool).items() if value is largest), "variable")
        raise ToolError(
            f"{tool.name}.{name} has {largest.size:,} bytes, and all variables of the tool {wanted:,}: this machine has "
            f"{there:,} bytes of memory"
        )


#: A tool as a user gives it: a name as for ``--tool``, an instance, or a class or another thing to call that makes one.
AnyTool: TypeAlias = "str | Tool | Callable[[], Tool]"


def maker(tool: Any) -> Callable[[], Tool]:
    """What makes a tool that a user gives. An instance makes itself."""
    if isinstance(tool, Tool):
        return lambda: tool
    if isinstance(tool, str):
        # The room of the tools that come along is above this one: they are found by their names.
        return lambda: cast(Tool, importlib.import_module("luthier.tools").load(tool))
    if not callable(tool):
        raise ToolError(f"tools: {tool!r} is not a tool, nor a name, a class or a function that makes one")

    def make() -> Tool:
        made = tool()
        if not isinstance(made, Tool):
            raise ToolError(f"tools: {tool!r} makes {made!r}, and no tool: its class has to derive from lt.Tool")
        return made

    return make


def instances(tools: Iterable[AnyTool]) -> list[Tool]:
    """The tools that a user gives, an instance of each."""
    if isinstance(tools, (str, Tool, type)) or not isinstance(tools, Iterable):
        raise ToolError(f"tools={tools!r}: expected a list of tools")
    return [maker(tool)() for tool in tools]
