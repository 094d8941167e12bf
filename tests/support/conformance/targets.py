"""Which targets are compared, and with which of the manuals' tables.

The tables are those that tinygrad carries: AMD's pseudocode from the CDNA3/CDNA4, RDNA3 and RDNA4 manuals, and the
operands of each instruction from AMD's machine-readable specification.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass

from .older import older


@dataclass(frozen=True)
class Target:
    processor: str
    table: str
    lanes: int
    major: int

    def mnemonic(self, entry: Entry) -> str:
        """What the assembler calls it."""
        name = entry.name.lower()
        return older(name) if self.major == 10 else name

    @property
    def mask(self) -> str:
        """The suffix of lane masks: EXEC and VCC, or their low halves."""
        return "" if self.lanes == 64 else "_lo"

    @property
    def mask_words(self) -> int:
        return self.lanes // 32


#: A target joins as soon as the device has it.
TARGETS = {
    t.processor: t
    for t in (
        Target("gfx906", "cdna", 64, 9),
        Target("gfx90a", "cdna", 64, 9),
        Target("gfx942", "cdna", 64, 9),
        Target("gfx950", "cdna", 64, 9),
        Target("gfx1010", "rdna3", 32, 10),
        Target("gfx1030", "rdna3", 32, 10),
        Target("gfx1100", "rdna3", 32, 11),
        Target("gfx1201", "rdna4", 32, 12),
        Target("gfx1250", "rdna4", 32, 12),
    )
}


@dataclass(frozen=True)
class Operand:
    """``format`` is AMD's: ``NUM_F32``, ``NUM_PK2_F16``, ``ANY``. ``type``: ``VGPR``, ``SRC``, ``SREG``, ``SIMM16``."""

    format: str
    bits: int
    type: str

    @property
    def words(self) -> int:
        return max(1, (self.bits + 31) // 32)


@dataclass(frozen=True)
class Entry:
    """One instruction of a table. ``family`` is its encoding: ``VOP2``, ``SMEM``, ``VGLOBAL``."""

    family: str
    name: str
    opcode: int
    pseudocode: str

    @property
    def key(self) -> str:
        return f"{self.family}.{self.name}"


_SUFFIX = re.compile(r"_E(32|64)$")


@functools.cache
def entries(table: str) -> tuple[Entry, ...]:
    found = importlib.import_module(f"tinygrad.runtime.autogen.amd.{table}.str_pcode").PCODE
    # What an operation leaves in the trap status is not compared.
    found = {op: text.replace("TRAPSTS.INVALID = 1", "invalid = 1") for op, text in found.items()}
    return tuple(
        Entry(type(op).__name__.removesuffix("Op"), _SUFFIX.sub("", op.name), op.value, text) for op, text in found.items()
    )


@functools.cache
def operands(table: str) -> dict[str, dict[str, Operand]]:
    """By ``family.name``: the fields of the encoding."""
    found = importlib.import_module(f"tinygrad.runtime.autogen.amd.{table}.operands").OPERANDS
    made: dict[str, dict[str, Operand]] = {}
    for op, fields in found.items():
        key = f"{type(op).__name__.removesuffix('Op')}.{_SUFFIX.sub('', op.name)}"
        made[key] = {
            name: Operand(fmt.name.removeprefix("FMT_"), bits, kind.name.removeprefix("OPR_"))
            for name, (fmt, bits, kind) in fields.items()
        }
    return made


@functools.cache
def library(table: str) -> dict[str, str]:
    """Pseudocode by lower-case name, for entries that call others."""
    return {entry.name.lower(): entry.pseudocode for entry in entries(table)}
