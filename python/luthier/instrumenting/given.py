"""What hooks can be given besides a tool's variables: numbers, registers, and facts of the place.

========================  ========================  ==================================================================
argument                  parameter                 value
========================  ========================  ==================================================================
a number, ``Imm(n)``      a number                  known when the hook is compiled
``Literal(n)``            a number                  the number, patched into a hook that is compiled once for all
``Reg("v3")``             a number, ``inout[T]``    an application register's, at the point
``instr.operands[1]``     a number, ``inout[T]``    the operand's: what the instruction reads or writes there, or the constant
``Old(...)``              a number                  the register's or operand's before the instruction, in a hook after it
``Address()``             ``u64``, ``ptr[T]``       the address that the instruction accesses, of each lane
``AccessCount()``         an integer                how many addresses it has: each is ``Address(n)``
``AccessWidth()``         an integer                how many bytes it accesses
``AccessKind()``          an integer                which memory: ``AccessKind.GLOBAL`` and so on
``AccessDirection()``     an integer                1 if it reads, 2 if it writes, 3 if both
``Pc()``                  ``u64``, ``i64``          the instruction's address, as the code object states it
``PointId()``             an integer                the point's number, which the call that inserted the hook has given
``Symbol("name")``        ``ptr[T]``, ``u64``       the address of a symbol of the application
========================  ========================  ==================================================================

An operand passed to a hook behind its instruction is what the instruction read, even where that has been overwritten
since, or else what it wrote; of one that it reads and writes, what it wrote (:class:`Old` has the other).

Lanes that EXEC turns off run no hook of theirs; what a hook for the whole wave sees of a vector register is up to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .._core import Operand, Register


@dataclass(frozen=True)
class Imm:
    """A number, ``value``, that is compiled into the hook: another number is another compilation. A plain number means the same
    until a hook is given many different ones; the rarer ones are patched in then, as :class:`Literal` has it."""

    value: int | float | bool


@dataclass(frozen=True)
class Literal:
    """A number, ``value``, that is patched into the hook where it is placed: the hook is compiled once for all of them."""

    value: int | float | bool


_FILES = re.compile(r"(ttmp|[sva])(?:(\d+)|\[(\d+):(\d+)\])(?:\.([lh]))?")
_PAIRS = ("vcc", "exec", "flat_scratch", "xnack_mask")
_SPECIAL = {name: (name, 0, 1, "") for name in ("m0", "scc", "mode")}
_SPECIAL |= {pair + half: (pair + half, 0, 1, "") for pair in _PAIRS for half in ("_lo", "_hi")}
#: How many there can be on any processor.
_NUMBERS = {"s": 106, "v": 1024, "a": 256, "ttmp": 16}


@dataclass(frozen=True)
class Reg:
    """The value that a register of the application has at that point: ``lt.Reg("s4")``, ``lt.Reg("v[2:3]")``.

    - ``s4``, ``v300`` (beyond v255: gfx1250), ``a0``, ``ttmp8``; several: ``s[4:5]``; half of one: ``v3.l``, ``v3.h``;
    - ``vcc``, ``exec``, ``flat_scratch``, ``xnack_mask``, and their halves: ``vcc_lo``, ``vcc_hi``. ``vcc`` and ``exec``
      have 64 bits in waves of 64, and 32 in waves of 32;
    - ``scc`` (0 or 1), ``m0``, ``mode``.

    A :class:`luthier.Register`, as ``instr.reads`` has it, may stand for the name. With a parameter ``lt.inout[T]`` the
    hook's last value goes back into the register, for good.
    """

    name: str | Register
    #: File (or name), number of the first, how many, which half; ``None`` of a pair that depends on the wave size.
    place: tuple[str, int, int, str] | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        place = getattr(self.name, "place", None)
        if place is not None:
            place = ("unit", *place)
        elif self.name not in _PAIRS:
            place = _SPECIAL.get(str(self.name)) or self._numbered()
        object.__setattr__(self, "name", str(self.name))
        object.__setattr__(self, "place", place)

    def _numbered(self) -> tuple[str, int, int, str]:
        found = _FILES.fullmatch(str(self.name))
        if not found:
            raise ArgumentError(f"{self.name!r} is not a register: write s4, v[2:3], a0, vcc, exec_lo, m0 or scc")
        file, first = found[1], int(found[2] or found[3])
        last = int(found[4]) if found[4] else first
        if not first <= last < first + 32 or last >= _NUMBERS[file] or found[5] and (last > first or file != "v"):
            raise ArgumentError(f"{self.name!r} is not a register")
        return file, first, last - first + 1, found[5] or ""

    def __str__(self) -> str:
        return str(self.name)


def is_register(value: object) -> bool:
    """Whether a text is a register's name."""
    return isinstance(value, str) and (value in _PAIRS or value in _SPECIAL or _FILES.fullmatch(value) is not None)


@dataclass(frozen=True)
class Old:
    """In a hook after an instruction: the value that a register, or an operand, ``of``, had before it."""

    of: Reg | Register | Operand


@dataclass(frozen=True)
class Symbol:
    """The address of the symbol ``name`` of the application, such as a global variable, plus ``offset`` bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class _OfAnAccess:
    """A fact of the instruction's memory access, or of one of its places by number."""

    #: The place's, from 0; None where it has but one.
    number: int | None = None

    def __post_init__(self) -> None:
        if self.number is not None and (not isinstance(self.number, int) or not 0 <= self.number < 256):
            raise ArgumentError(f"{type(self).__name__}({self.number!r}): the places of an access are numbered from 0")


@dataclass(frozen=True)
class Address(_OfAnAccess):
    """The address that the instruction accesses, for each lane: of global memory, flat, or within a buffer, an address; of
    scratch and LDS, an offset. It is where the access would be: see ``lt.access_in_range()``.

    Two places are accessed by ``ds_read2_b32`` and its like, and by transfers between memory and LDS (first the place in
    memory): there it takes a number, ``Address(0)`` or ``Address(1)``, and is rejected without one. Images and tiles of
    tensors have no addresses here: where their elements lie their resources say.

    Behind the instruction, too, it is the address that was accessed.
    """


@dataclass(frozen=True)
class AccessCount:
    """How many places the instruction accesses for each lane, each with an address of its own (``instr.access_count``)."""


@dataclass(frozen=True)
class AccessWidth(_OfAnAccess):
    """How many bytes the instruction accesses: for each lane, of a scalar access for the wave. ``AccessWidth()`` of
    ``ds_read2_b32`` is those of both places, of a transfer those that are moved; ``AccessWidth(0)`` those at
    ``Address(0)``. ``number`` is the place's, from 0.
    """


@dataclass(frozen=True)
class AccessKind(_OfAnAccess):
    """Which memory the instruction accesses: one of these numbers, which hooks may name too. Of a transfer between memory and LDS
    the memory; ``AccessKind(1)`` is ``LDS`` there. ``number`` is the place's, from 0."""

    FLAT: ClassVar[int] = 0
    GLOBAL: ClassVar[int] = 1
    SCRATCH: ClassVar[int] = 2
    LDS: ClassVar[int] = 3
    GDS: ClassVar[int] = 4
    BUFFER: ClassVar[int] = 5
    IMAGE: ClassVar[int] = 6


@dataclass(frozen=True)
class AccessDirection(_OfAnAccess):
    """What the instruction does there: :attr:`READ`, :attr:`WRITE`, or both (their sum, 3). Of a transfer between memory and LDS
    what it does to the memory; ``AccessDirection(1)`` is the other. ``number`` is the place's, from 0."""

    READ: ClassVar[int] = 1
    WRITE: ClassVar[int] = 2


@dataclass(frozen=True)
class Pc:
    """The instruction's address, as the code object states it."""


@dataclass(frozen=True)
class PointId:
    """The point's number: what the method that inserted the hook has given."""
