"""A wave on the stage, and its registers by name."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ArgumentError
from ..observe import Registers

if TYPE_CHECKING:
    import numpy

    from ..._core import Frame
    from .stage import Stage
    from .variables import Variable

_REGISTER = re.compile(r"([sva])\[?(\d+)\]?")
#: Registers that are one number for the wave.
SPECIAL = ("exec", "vcc", "m0", "scc", "mode", "flat_scratch")


@dataclass(frozen=True, repr=False)
class StageWave:
    """A wave under way: where it was when it was asked for."""

    stage: Stage
    #: Number of its workgroup, x fastest, and its own in that.
    group: int
    number: int
    workgroup: tuple[int, int, int]
    #: ``ready``, ``barrier`` or ``ended``.
    state: str
    #: Address of the instruction that it executes next.
    pc: int
    #: Instructions that it has executed.
    retired: int

    @property
    def id(self) -> tuple[int, int]:
        """Its workgroup's number and its own."""
        return self.group, self.number

    @property
    def text(self) -> str:
        """The next instruction."""
        return self.stage.lines.text(self.pc)

    @property
    def frames(self) -> list[Frame]:
        """Where that is in the source, innermost first."""
        return self.stage.lines.frames(self.pc)

    @property
    def registers(self) -> Registers:
        """Its registers, as they are now."""
        return Registers.of(self.stage.core.registers(self.group, self.number))

    @property
    def lds(self) -> bytes:
        """Its workgroup's LDS, as it is now."""
        return self.stage.core.lds(self.group)

    @property
    def variables(self) -> list[Variable]:
        """The source's variables in scope, by DWARF, the innermost scope's first: their values in each lane, or why there are none.
        ArgumentError for a kernel without DWARF."""
        return self.stage.variables.all_of(self)

    def variable(self, name: str) -> numpy.ndarray:
        """The value of one in each lane, whether it is on or not.
        ArgumentError for a ``name`` that is not in scope, and for a variable that was optimized out."""
        found = self.stage.variables.one_of(self, name)
        if found.values is None:
            raise ArgumentError(f"{name}: {found.note}")
        return found.values

    def value(self, register: str, lane: int | None = None) -> int:
        """The bits of a register now: ``s4``, ``v[2]`` (of a lane), ``a0``, ``exec``, ``vcc``, ``scc``, ``m0``.
        ArgumentError for a register that the wave does not have, and a vector register without a lane."""
        return value_of(self.registers, register, lane)

    def __str__(self) -> str:
        where = next((f", {frame}" for frame in self.frames), "")
        return f"wave {self.number} of workgroup {self.workgroup} ({self.state}) at {self.pc:#x}: {self.text}{where}"

    def __repr__(self) -> str:
        return f"<StageWave {self}>"


def register_name(text: str) -> str:
    """A register's name as assembly without brackets has it: ``v3`` for ``v[3]``.
    ArgumentError for none."""
    if text in SPECIAL:
        return text
    found = _REGISTER.fullmatch(text)
    if found is None:
        raise ArgumentError(f"{text!r} is no register: s4, v2, a0, {', '.join(SPECIAL)}")
    return found[1] + found[2]


def value_of(registers: Registers, register: str, lane: int | None = None) -> int:
    """The bits of one register, of a vector register those of a lane."""
    name = register_name(register)
    if name in SPECIAL:
        return int(getattr(registers, name))
    file = {"s": registers.sgprs, "v": registers.vgprs, "a": registers.agprs}[name[0]]
    number = int(name[1:])
    if number >= len(file):
        raise ArgumentError(f"the wave has no register {name}, only {len(file)} of its kind")
    if name[0] == "s":
        return int(file[number])
    if lane is None or not 0 <= lane < 64:
        raise ArgumentError(f"{name} has a value for each lane: say which, from 0 to 63")
    return int(file[number][lane])


def as_text(bits: int) -> str:
    """32 bits as people read them: hexadecimal, signed, and as a float where that is no tiny number."""
    signed = bits - (1 << 32) if bits >> 31 else bits
    number = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    is_float = number != number or 1e-20 < abs(number) < 1e20 or number in (float("inf"), float("-inf"))
    return f"{bits:#x} ({signed}{f', {number:g}' if is_float else ''})"
