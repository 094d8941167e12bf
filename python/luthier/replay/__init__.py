"""Launches that are recorded, and done again anywhere: replayed, compared, made smaller, tried under other schedules.

| module | one idea |
|---|---|
| ``case`` | a launch with all that it needs, as a file |
| ``recorder`` | recording a launch on a mock device |
| ``program`` | recording a launch of a running program |
| ``live`` | a program that waits at its launches while they are debugged |
| ``running`` | replaying a case |
| ``comparing`` | two code objects on one case |
| ``debugging`` | a case on the stage of the debugger |
| ``exploring`` | one case under many schedules |
| ``reducing`` | a smaller case that shows the same |
"""

from __future__ import annotations

from ..device.exploring import Explored
from .case import Case, Dispatch, Region
from .comparing import Compared, Store, compare
from .debugging import debug, why_they_differ
from .exploring import Outcome, explore
from .recorder import Recording, record
from .reducing import Reduced, reduce
from .running import Difference, Replayed, Way, replay

__all__ = [
    "Case",
    "Compared",
    "Difference",
    "Dispatch",
    "Explored",
    "Outcome",
    "Recording",
    "Reduced",
    "Region",
    "Replayed",
    "Store",
    "Way",
    "compare",
    "debug",
    "explore",
    "record",
    "reduce",
    "replay",
    "why_they_differ",
]
