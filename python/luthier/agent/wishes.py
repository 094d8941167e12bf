"""What tools want of a program, as their classes say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..instrumenting.options import Instrumenting
from ..instrumenting.selection import Select
from ..instrumenting.tool import Tool


def overrides(tool: Tool, name: str) -> bool:
    """Whether a tool has a method of its own."""
    return getattr(type(tool), name) is not getattr(Tool, name)


@dataclass(frozen=True)
class Wishes:
    """What the tools want, and how they are made."""

    make_tools: Callable[[], list[Tool]]
    #: Some that were made, to see what they are like.
    tools: list[Tool]
    select: tuple[Select, ...]
    every_launch: bool
    decide: bool
    complete: bool
    #: A launch's end is held back until on_complete has returned.
    hold: bool
    wait: bool
    #: How hooks are placed.
    how: Instrumenting
    hip: bool
    #: The identities of tools that serve all kernels and processes, and whose reports are not asked for here.
    given: frozenset[int] = frozenset()
    #: Tools that the user has interrupted while they said what they had found, by module and class.
    interrupted: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        make_tools: Callable[[], list[Tool]],
        tools: list[Tool],
        select: tuple[Select, ...],
        wait: bool,
        how: Instrumenting | None,
        given: frozenset[int],
    ) -> Wishes:
        """As the classes of some tools have it, which are like those to be made."""
        complete = any(overrides(tool, "on_complete") for tool in tools)
        return cls(
            make_tools,
            tools,
            select,
            every_launch=complete or any(overrides(tool, "on_launch") for tool in tools),
            decide=any(tool.decides for tool in tools),
            complete=complete,
            hold=complete and any(tool.holds for tool in tools),
            wait=wait and all(tool.waits for tool in tools),
            how=replace(how or Instrumenting(), on_rejected="report"),
            hip=any(overrides(tool, "on_hip") and tool.hip or tool.hip_modules for tool in tools),
            given=given,
        )
