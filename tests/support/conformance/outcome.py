"""What became of one form of an instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """How many elements were compared, and how they differ."""

    name: str
    compared: int = 0
    #: Not compared, and why.
    reason: str = ""
    #: The first few differences, in words.
    differences: list[str] = field(default_factory=list)
    different: int = 0

    def differ(self, count: int, text: Callable[[], str]) -> None:
        if count:
            self.different += count
            if len(self.differences) < 4:
                self.differences.append(text())
