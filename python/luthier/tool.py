"""The base of every tool."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .errors import ToolError
from .values import Variable

if TYPE_CHECKING:
    from .kernel import Kernel
    from .launching import Launch
    from .report import Report


class Tool:
    """What to insert, and what to make of the result.

    A subclass declares its device variables and hooks, places the hooks in :meth:`on_kernel`, and reads the variables
    back in :meth:`on_exit`. One instance serves one loaded code object, over all launches of its kernels: what it
    counts adds up.

    Arguments of ``__init__`` are the tool's options (``--tool NAME:option=value`` on the command line); they need
    defaults, and their annotations ``int``, ``float``, ``bool`` and ``str`` say how to read the text.
    """

    #: What the results go by; the class's name in lower case by default.
    name: str = "tool"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def on_kernel(self, kernel: Kernel) -> None:
        """Called once for each kernel, before its first launch: insert hooks here."""

    def on_launch(self, launch: Launch) -> None:
        """Called just before each launch: ``launch.kernel`` is the kernel's name, ``launch.grid`` and ``launch.block`` are
        its sizes in work-items. A tool that keeps numbers by kernel learns here which kernels have any."""

    def on_exit(self, report: Report) -> None:
        """Called when the results are wanted: set ``report.result``, add tables."""

    def variables(self) -> list[Variable]:
        """Every device variable that is an attribute of this instance or its class, in order of declaration."""
        names = {n: None for c in reversed(type(self).__mro__) for n, v in vars(c).items() if isinstance(v, Variable)}
        found = [getattr(self, n) for n in names]
        return found + [v for v in vars(self).values() if isinstance(v, Variable) and all(v is not f for f in found)]


def instances(tools: Iterable[Any]) -> list[Tool]:
    """The tools that a user gives, each an instance of its class."""
    if isinstance(tools, (str, Tool, type)):
        raise ToolError(f"tools={tools!r}: expected a list of tools")
    found = list(tools)
    for tool in found:
        if isinstance(tool, str):
            raise ToolError(f"tools: {tool!r} is a name: lt.tools.load({tool!r}) makes the tool")
        if isinstance(tool, type) and issubclass(tool, Tool):
            raise ToolError(f"tools: {tool.__name__} is a class: {tool.__name__}() makes a tool of it")
        if not isinstance(tool, Tool):
            raise ToolError(f"tools: {tool!r} is not a tool: its class has to derive from lt.Tool")
    return found
