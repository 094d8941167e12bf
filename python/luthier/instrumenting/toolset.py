"""Tools that watch the same kernels: told of launches, and asked for reports, together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import ToolError
from ..reports.report import Report
from .tool import AnyTool, Tool, check_sizes, instances

if TYPE_CHECKING:
    from ..agent.launches import AppLaunch
    from ..device.launching import Launch


class Toolset:
    """Instances of tools, in the order in which their hooks run at one place."""

    def __init__(self, tools: Iterable[AnyTool] = ()):
        self.tools = instances(tools)
        #: Each tool's name, numbered where several have the same.
        self.names = distinct_names(self.tools)

    def check_sizes(self) -> None:
        """ToolError for variables that this machine has no memory for. Some are made for a kernel."""
        for tool in self.tools:
            check_sizes(tool)

    def launched(self, launch: Launch) -> None:
        """A launch is about to be made."""
        for tool in self.tools:
            tool.on_launch(launch)

    def begins(self, launch: AppLaunch) -> None:
        """A launch is about to begin."""
        for tool in self.tools:
            tool.on_begin(launch)

    def completed(self, launch: AppLaunch) -> None:
        """A launch is over."""
        for tool in self.tools:
            tool.on_complete(launch)

    def reports(self, ask: Callable[[Report, Tool], bool] | None = None) -> list[Report]:
        """What each tool says. ``ask`` calls :meth:`Tool.on_exit`, and says whether there is a report."""
        found = []
        for tool in self.tools:
            report = Report(self.names[id(tool)])
            if ask is None:
                tool.on_exit(report)
            elif not ask(report, tool):
                continue
            found.append(report)
        return found


def distinct_names(tools: Iterable[Tool]) -> dict[int, str]:
    """Each tool's name, by its identity, numbered where several have the same."""
    names: dict[int, str] = {}
    for tool in tools:
        if id(tool) in names:
            raise ToolError(f"{tool.name}: the same instance was given twice")
        name, again = tool.name, 1
        while name in names.values():
            again += 1
            name = f"{tool.name}_{again}"
        names[id(tool)] = name
    return names
