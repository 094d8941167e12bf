"""Looking for a place to go back to: the launch is somewhere afterwards, or where it was, as each function says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lines import Line
    from .stage import Stage
    from .stops import Stop

#: Events that are looked at first for the stop before.
_STRETCH = 100_000


def last_event_of(stage: Stage, group: int, number: int) -> int | None:
    """Of a wave that has ended, the event of its last instruction. The launch stays where it is."""
    low, high = 0, 1
    if stage.core.event_of(group, number, 0) is None:
        return None
    event = stage.event
    while (stage.core.event_of(group, number, high) or event) < event and high < event:
        low, high = high, high * 2
    while low < high:
        middle = (low + high + 1) // 2
        found = stage.core.event_of(group, number, middle)
        low, high = (middle, high) if found is not None and found < event else (low, middle - 1)
    return stage.core.event_of(group, number, low)


def last_of_other_line(stage: Stage, id: tuple[int, int], retired: int, line: Line | None) -> tuple[int, Line | None] | None:
    """Of the first ``retired`` instructions of a wave the last one that is of a line, and not of this one: how many the wave had
    executed before, and its line. The launch stays where it is."""
    here, lines = stage.event, stage.lines
    others = [
        instruction.address
        for function in lines.code_object.program.select(stage.kernel)
        for instruction in function.instructions
        if lines.line(instruction.address) not in (None, line)
    ]
    found = stage.core.last_executed(*id, retired, [], others, None)
    stage.goto(here)
    return None if found is None else (found[1], lines.line(found[2]))


def last_stop_before(stage: Stage, end: int) -> Stop | None:
    """The last breakpoint, watchpoint or finding before an event. The launch stands anywhere afterwards."""
    behind, stretch, found = end, _STRETCH, None
    while found is None and behind:
        begin = max(behind - stretch, 0)
        stage.goto(begin)
        while (stop := stage.resume(behind)).why in ("address", "watchpoint", "finding") and stop.event <= behind:
            if stop.event < end and not (stop.why == "address" and stop.event == behind):
                found = stop
        behind, stretch = begin, stretch * 8
    return found
