"""Launches that stop anywhere, go back, and say where a value comes from.

| module | one idea |
|---|---|
| ``stage`` | a launch that goes on and back |
| ``stops`` | where it stops, and why |
| ``arrays`` | the arrays among the arguments |
| ``back`` | looking for a place to go back to |
| ``places`` | what places are called |
| ``lines`` | source lines and addresses |
| ``variables``, ``dwarf`` | the source's variables |
| ``waves`` | a wave on the stage, and its registers |
| ``why`` | where a value comes from |
"""

from .stage import Stage
from .stops import Breakpoint, Stop, Watchpoint
from .waves import StageWave
from .why import Origin

__all__ = ["Breakpoint", "Origin", "Stage", "StageWave", "Stop", "Watchpoint"]
