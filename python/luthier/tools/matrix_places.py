"""Where a matrix operation has its elements: which row and column an element of the result belongs to, and in which lanes these are.

A lane has elements of one row of A and of one column of B, those with the same places in the sum at the same places of its registers; and of
the result elements of one column (AMD's matrix instruction calculator; the layouts of WMMA in AMD's ISA manuals).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import luthier as lt

_DENSE = re.compile(r"v_(?:mfma|wmma)_(?:f32|f16|bf16)_(\d+)x(\d+)x\d+_?(?:\d+b)?_?(x?f32|f16|bf16)(?:_1k)?")
#: Modifiers by which lanes take other lanes' elements.
_EXCHANGES = ("cbsz", "abid", "blgp")


@dataclass(frozen=True)
class Place:
    """Where an element of the result is in a lane: its row in the lane's block, and where in a mask of lanes the block begins."""

    row: int
    block: int


@dataclass(frozen=True)
class MatrixPlaces:
    """Lane ``l`` has elements of row ``l % size`` of A and of column ``l % size`` of B, and of the result elements of that column in the
    row ``place.row + steps[0] * (g & 1) + steps[1] * (g >> 1)`` with ``g = l // size``."""

    a: lt.Operand
    b: lt.Operand
    c: lt.Operand
    #: The kind of A's and B's elements.
    kind: str
    #: Rows and columns of a block.
    size: int
    steps: tuple[int, int]
    #: Each group of ``size`` lanes has a block of its own, of the result too.
    is_by_lane: bool
    #: Groups of lanes that have elements of the same rows.
    shared: int
    #: Of them those whose elements differ; further ones have the same again.
    apart: int
    #: Of each element of a lane's result, in the order of :func:`luthier.tools.elements.elements`.
    places: tuple[Place, ...]

    @property
    def words(self) -> int:
        """Registers of A, and of B."""
        return self.a.units

    def _row(self, lane: int, word: int) -> int:
        group = lane // self.size
        return self.places[word].row + self.steps[0] * (group & 1) + self.steps[1] * (group >> 1)

    def element(self, lane: int, word: int) -> tuple[int, int]:
        """Row and column of an element of a lane's result, those of further blocks below and beside the first."""
        if self.is_by_lane:
            return self.places[word].row + lane // self.size * self.size, lane
        block = self.places[word].block
        return block + self._row(lane, word), block + lane % self.size

    def factors(self, lane: int, word: int) -> tuple[list[int], list[int]]:
        """Of an element of the result: the lanes that have its row of A, and those that have its column of B, in the order of the
        sum."""
        row, column = self.element(lane, word)
        return [row + self.size * g for g in range(self.apart)], [column + self.size * g for g in range(self.apart)]


def matrix_places(instr: lt.Instruction, processor: str, wave: int, count: int) -> MatrixPlaces | None:
    """The places of a dense operation whose result has ``count`` elements in each lane; None for other operations, and where lanes take
    other lanes' elements."""
    named = _DENSE.fullmatch(instr.opcode)
    if named is None or named[1] != named[2] or any(instr.modifiers.get(name) for name in _EXCHANGES):
        return None
    operands = {o.name: o for o in instr.operands}
    a, b, c = (operands.get(f"src{n}") for n in range(3))
    if a is None or b is None or c is None or a.register is None or b.register is None or a.units != b.units:
        return None
    size, kind = int(named[1]), named[3].lstrip("x")
    blocks, groups = wave * count // (size * size), wave // size
    if blocks < 1 or "wmma" in instr.opcode and blocks > 1:
        return None
    if size == 4:
        return MatrixPlaces(a, b, c, kind, size, (0, 0), True, 1, 1, tuple(Place(n, 0) for n in range(count)))
    if "wmma" in instr.opcode:
        if processor.startswith("gfx11"):
            places = tuple(Place(groups * n, 0) for n in range(count))
            return MatrixPlaces(a, b, c, kind, size, (1, 2), False, groups, 1, places)
        places = tuple(Place(n, 0) for n in range(count))
        return MatrixPlaces(a, b, c, kind, size, (8, 4), False, groups, groups, places)
    each = count // blocks
    places = tuple(Place(8 * (n % each // 4) + n % 4, size * (n // each)) for n in range(count))
    groups = groups if blocks == 1 else 1
    return MatrixPlaces(a, b, c, kind, size, (4, 8), False, groups, groups, places)
