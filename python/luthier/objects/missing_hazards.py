"""Instructions that come too early behind others, judged along all paths, without running.

Some pairs of instructions the hardware leaves to software to keep apart, by wait states, by other instructions or by waits. Each block is
judged behind the last instructions (20, or 40 where hazards last for longer than some wait states) on each way that leads to it; scalars
that vector instructions have read, which matter for as long as a wave runs, are followed through the whole function. The table of hazards
is that of strict mode and of placement. What a function is entered with, and what a call leaves, is taken to be far enough away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Function, Instruction


@dataclass(frozen=True)
class MissingHazard:
    """An instruction that comes too early behind another one, on one path at least."""

    instruction: Instruction
    #: The address of the instruction that it has to keep away from.
    other: int
    #: Which hazard, such as ``valu-vcc-div-fmas``.
    rule: str
    #: What the other one did.
    what: str
    #: What has to come in between.
    remedy: str

    def __str__(self) -> str:
        return f"{self.instruction.text} at {self.instruction.address:#x}: {self.what} at {self.other:#x}: {self.remedy} ({self.rule})"


def missing_hazards(functions: Iterable[Function]) -> Iterator[MissingHazard]:
    """The instructions of some functions that come too early behind others, by address. Functions that could not be taken apart are
    left out (``function.refusal``)."""
    for function in functions:
        early = function.too_early()
        if early:
            instructions = {instr.address: instr for instr in function.instructions}
            for address, other, rule, what, remedy in early:
                yield MissingHazard(instructions[address], other, rule, what, remedy)
