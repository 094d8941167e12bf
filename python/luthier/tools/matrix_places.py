"""Where a matrix operation has its elements: the lanes and bits of A's rows, of B's columns, of indices and scales, and which row and
column an element of the result is.

Sources: AMD's matrix instruction calculator; AMD's ISA manuals; for CDNA4's sparse operations and gfx1250 what docs/device.md names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import luthier as lt
from luthier.tools.float_formats import FORMATS

_NAME = re.compile(
    r"v_(mfma|smfmac|wmma|swmmac)_(?:(scale|scale16)_)?(f64|f32|f16|bf16f32|bf16)_(\d+)x(\d+)x(\d+)_?(?:\d+b)?_?"
    r"(x?f32|f64|f16|bf16|f8f6f4|f4|(?:fp8|bf8)_(?:fp8|bf8))(?:_1k)?"
)
#: Formats that an operation chooses, by their numbers.
_CHOSEN = ("fp8", "bf8", "fp6", "bf6", "fp4")
_SCALES = ("e8m0", "e5m3", "e4m3")
#: Where something is: a lane, and the first bit in its registers.
At = tuple[int, int]


@dataclass(frozen=True)
class Scales:
    """The factors that blocks of a row, or a column, share."""

    operand: lt.Operand
    kind: str
    #: How many neighbours along K share one.
    each: int
    #: By row (or column) and block along K.
    at: Callable[[int, int], At]


@dataclass(frozen=True)
class Side:
    """A by its rows, or B by its columns."""

    operand: lt.Operand
    kind: str
    #: By block, row (or column), and place along K; of a sparse A among the elements that are stored.
    at: Callable[[int, int, int], At]
    #: Whether the operation turns the sign of even elements along K, and of odd ones.
    negates: tuple[bool, bool] = (False, False)
    scales: Scales | None = None


@dataclass(frozen=True)
class Index:
    """Which of every four elements along K a sparse A has stored."""

    operand: lt.Operand
    #: By row and pair of stored elements: four bits, the place of the first among its four, and that of the second.
    at: Callable[[int, int], At]


@dataclass(frozen=True)
class Lines:
    """In which lanes an element of the result has its row of A, or its column of B: from
    ``((first + (lane & keep) + steps) & wrap) | fixed`` on, and in every ``stride``-th behind that."""

    first: int
    keep: int
    wrap: int = 63
    fixed: int = 0


@dataclass(frozen=True)
class Place:
    """An element of a lane's result."""

    row: int
    #: The result's block; of operations on blocks of four rows lanes say which.
    block: int
    of_a: Lines
    of_b: Lines


@dataclass(frozen=True)
class MatrixPlaces:
    """``element`` of a lane's result is in row ``place.row + steps[0] * (g & 1) + steps[1] * (g >> 1)`` with ``g = lane // group``."""

    a: Side
    b: Side
    c: lt.Operand
    #: The kind of C's elements.
    kind: str
    rows: int
    columns: int
    #: How many products an element is the sum of.
    depth: int
    blocks: int
    group: int
    steps: tuple[int, int]
    #: Lanes between those that share a row of A, or a column of B, and how many these are.
    stride: int
    shared: int
    #: Of each element of a lane's result, in the order of :func:`luthier.tools.elements.elements`.
    places: tuple[Place, ...]
    index: Index | None = None
    #: Whether C's sign is turned, and whether it is dropped.
    sign: tuple[bool, bool] = (False, False)

    def element(self, lane: int, number: int) -> tuple[int, int, int]:
        """Row, column and block of an element of a lane's result."""
        place, g = self.places[number], lane // self.group
        row = place.row + self.steps[0] * (g & 1) + self.steps[1] * (g >> 1)
        block = lane // 4 % self.blocks if self.rows == 4 else place.block
        return row, lane % self.columns, block


def matrix_places(instr: lt.Instruction, processor: str, wave: int, count: int) -> MatrixPlaces | None:
    """The places of an operation whose result has ``count`` elements in each lane; None for operations on integers."""
    named = _NAME.fullmatch(instr.opcode)
    operands = {o.name: o for o in instr.operands}
    a, b, last, result = (operands.get(name) for name in ("src0", "src1", "src2", "vdst"))
    if named is None or a is None or b is None or last is None or result is None or a.register is None or b.register is None:
        return None
    family, scaled, kind, kinds = named[1], named[2], named[3], named[7]
    rows, columns, depth = (int(named[n]) for n in (4, 5, 6))
    is_sparse, is_cdna = family in ("smfmac", "swmmac"), "mf" in family
    blocks = wave * count // (rows * columns) if is_cdna else 1
    if blocks < 1:
        return None
    stored = depth // 2 if is_sparse else depth
    kind_a, kind_b = _kinds(instr, kinds, processor)
    if is_cdna:
        sides = _of_cdna(instr, rows, blocks, stored, depth, kind_a, kind_b)
    else:
        sides = _of_rdna(processor, wave, stored, depth, kind_a, kind_b)
    scales: list[Scales | None] = [None, None]
    if scaled:
        scales = [_scales(instr, side, is_cdna, rows, 16 if scaled == "scale16" else 32) for side in (0, 1)]
    negates, sign = _signs(instr)
    index = None
    if is_sparse:
        index = Index(last, _index(instr, processor, wave, rows, stored, kind_a))
    found = [Side(o, k, at, n, s) for o, k, at, n, s in zip((a, b), (kind_a, kind_b), sides, negates, scales)]
    group, steps, places = _results(instr, processor, wave, rows, blocks, count)
    lanes_of_row = wave // rows if is_cdna and blocks == 1 else wave // 16
    stride = 16 if not is_cdna or rows == 4 else rows
    shared = lanes_of_row if not is_cdna or blocks == 1 or kind == "f64" else 1
    c_kind = "f32" if kind == "bf16f32" else kind
    c = result if is_sparse else last
    a_side, b_side = found
    return MatrixPlaces(
        a_side, b_side, c, c_kind, rows, columns, stored, blocks, group, steps, stride, shared, places, index, sign
    )


def _kinds(instr: lt.Instruction, kinds: str, processor: str) -> tuple[str, str]:
    """The kinds of A's and B's elements."""
    if kinds == "f4":
        return "fp4", "fp4"
    if kinds == "f8f6f4" and "wmma" in instr.opcode:
        names = (str(instr.modifiers.get(f"matrix_{side}_fmt", "FP8")).rpartition("_")[2].lower() for side in "ab")
        first, second = names
        return first, second
    if kinds == "f8f6f4":
        first, second = (_CHOSEN[int(instr.modifiers.get(name, 0))] for name in ("cbsz", "blgp"))
        return first, second
    if "8_" in kinds:
        form = " fnuz" if processor in ("gfx940", "gfx941", "gfx942") else ""
        first, second = (name + form for name in kinds.split("_"))
        return first, second
    return kinds.lstrip("x"), kinds.lstrip("x")


def _signs(instr: lt.Instruction) -> tuple[list[tuple[bool, bool]], tuple[bool, bool]]:
    """Of A and of B whether even and odd elements' signs are turned; of C whether it is, and whether it is dropped."""
    if (turned := instr.modifiers.get("neg")) is not None:
        return [(bool(turned[n]), bool(turned[n])) for n in (0, 1)], (bool(turned[2]), False)
    even, odd = (list(instr.modifiers.get(name, ())) + [0] * 3 for name in ("neg_lo", "neg_hi"))
    return [(bool(even[n]), bool(odd[n])) for n in (0, 1)], (bool(even[2]), bool(odd[2]))


def a_block(instr: lt.Instruction, blocks: int, block: int) -> int:
    """The block whose A a block multiplies."""
    together = min(1 << int(instr.modifiers.get("cbsz", 0)), blocks)
    return block // together * together + int(instr.modifiers.get("abid", 0)) % together


def _lanes_of_b(blgp: int) -> Lines:
    """How BLGP has lanes take others' elements of B."""
    if blgp in (1, 2):
        return Lines(0, 63, 31, 32 * (blgp - 1))
    if blgp == 3:
        return Lines(16, 63)
    return Lines(0, 63, 15, 16 * (blgp - 4)) if blgp else Lines(0, 63)


def _is_broadcast(instr: lt.Instruction) -> bool:
    """Whether CBSZ, ABID and BLGP say which lanes' elements are taken."""
    return not any(name in instr.opcode for name in ("f8f6f4", "f64", "smfmac"))


def _of_cdna(
    instr: lt.Instruction, rows: int, blocks: int, stored: int, depth: int, kind_a: str, kind_b: str
) -> list[Callable[[int, int, int], At]]:
    """Where A's and B's elements are: a lane has neighbours along K of one row of one block."""
    groups = 64 // (rows * blocks)
    is_sparse, bits = "smfmac" in instr.opcode, FORMATS[kind_a].bits
    is_wide = is_sparse and _is_cdna4_sparse(depth, rows, bits)
    broadcasts = _is_broadcast(instr)
    b_lines = _lanes_of_b(int(instr.modifiers.get("blgp", 0)) if broadcasts else 0)

    def in_turns(k: int, turn: int) -> tuple[int, int]:
        return k // turn % groups, k // (turn * groups) * turn + k % turn

    def of_row(k: int, size: int, kind: str, side: int) -> tuple[int, int]:
        """Group of lanes, and number in the lane, of an element along K."""
        if "f8f6f4" in instr.opcode and FORMATS[kind].bits == 8:
            return in_turns(k, 16)
        if is_wide and side == 1:
            return in_turns(k, 8)
        if is_wide and bits == 8:
            return _spread(k, groups)
        each = size // groups
        return k // each, k % each

    def at_a(block: int, row: int, k: int) -> At:
        group, number = of_row(k, stored, kind_a, 0)
        block = a_block(instr, blocks, block) if broadcasts else block
        return (group * blocks + block) * rows + row, number * FORMATS[kind_a].bits

    def at_b(block: int, column: int, k: int) -> At:
        group, number = of_row(k, depth, kind_b, 1)
        lane = (group * blocks + block) * rows + column + b_lines.first
        return lane & b_lines.wrap | b_lines.fixed, number * FORMATS[kind_b].bits

    return [at_a, at_b]


def _is_cdna4_sparse(depth: int, rows: int, bits: int) -> bool:
    """Whether a sparse operation of CDNA is one of CDNA4, which is twice as long."""
    return depth * rows == (1024 if bits == 16 else 2048)


def _spread(s: int, groups: int) -> tuple[int, int]:
    """Where CDNA4's sparse operations have the stored elements of 8 bits."""
    bit = [s >> n & 1 for n in range(6)]
    if groups == 4:
        return 2 * bit[5] + bit[3], 4 * (2 * bit[2] + bit[4]) + s % 4
    return bit[4], 4 * (2 * bit[2] + bit[3]) + s % 4


def _of_rdna(processor: str, wave: int, stored: int, depth: int, kind_a: str, kind_b: str) -> list[Callable[[int, int, int], At]]:
    """Where A's and B's elements are: a part is sixteen lanes, one for each row."""
    parts = wave // 16
    is_sparse = stored != depth

    def place(k: int, size: int, bits: int, side: int) -> tuple[int, int]:
        if processor.startswith("gfx11"):
            return 0, k
        if processor.startswith("gfx125"):
            turn = min(32 if bits in (4, 6) else 128 // bits, stored // 2) * (2 if is_sparse and side else 1)
        elif bits == 16:
            turn = 8 if is_sparse and side else 4
        else:
            each = max(size * 16 // wave, 32 // bits)
            quarter = k // each
            return quarter % 2 * 2 + quarter // 2 if size // each == 4 else quarter, k % each
        return k // turn % parts, k // (turn * parts) * turn + k % turn

    def at(kind: str, size: int, side: int) -> Callable[[int, int, int], At]:
        bits = FORMATS[kind].bits

        def of_line(block: int, line: int, k: int) -> At:
            part, number = place(k, size, bits, side)
            # Thirty-two rows are two times sixteen, in registers of their own.
            return 16 * part + line % 16, (line // 16 * size // parts + number) * bits

        return of_line

    return [at(kind_a, stored, 0), at(kind_b, depth, 1)]


def _index(
    instr: lt.Instruction, processor: str, wave: int, rows: int, stored: int, kind: str
) -> Callable[[int, int], At]:  # fmt: skip
    """Where the four bits for each pair of stored elements are."""
    bits = FORMATS[kind].bits
    groups = wave // rows
    if "smfmac" in instr.opcode:
        each = stored // groups
        used = 2 * each
        part = 0 if instr.modifiers.get("cbsz") else int(instr.modifiers.get("abid", 0)) % (32 // used)
        is_spread = bits == 8 and _is_cdna4_sparse(2 * stored, rows, bits)

        def of_cdna(row: int, pair: int) -> At:
            group, number = _spread(2 * pair, groups) if is_spread else (2 * pair // each, 2 * pair % each)
            return group * rows + row, part * used % 32 + 2 * number

        return of_cdna
    if processor.startswith("gfx125"):
        return lambda row, pair: (row + 16 * (4 * pair // stored), 4 * pair % stored)
    at = _of_rdna(processor, wave, stored, stored, kind, kind)[0]
    used = 2 * max(stored * 16 // wave, 32 // bits)
    key = int(instr.modifiers.get("index_key", 0)) % (32 // used)

    def of_rdna(row: int, pair: int) -> At:
        lane, bit = at(0, row, 2 * pair)
        return lane, key * used + 2 * bit // bits

    return of_rdna


def _scales(instr: lt.Instruction, side: int, is_cdna: bool, rows: int, each: int) -> Scales | None:
    operand = next((o for o in instr.operands if o.name == f"scalesrc{side}"), None)
    if operand is None:
        return None
    if is_cdna:
        low, high = (list(instr.modifiers.get(name, ())) + [0, 0] for name in ("op_sel", "op_sel_hi"))
        byte = low[side] + 2 * high[side]
        return Scales(operand, "e8m0", each, lambda line, block: (block * rows + line, 8 * byte))
    letter = "ab"[side]
    chosen = str(instr.modifiers.get(f"matrix_{letter}_scale_fmt", "E8")).rpartition("_")[2].lower()
    kind = {"e8": "e8m0"}.get(chosen, chosen)
    upper = 16 * (instr.modifiers.get(f"matrix_{letter}_scale") == "MATRIX_SCALE_ROW1")
    return Scales(operand, kind, each, lambda line, block: (line | upper, 8 * block))


def _results(
    instr: lt.Instruction, processor: str, wave: int, rows: int, blocks: int, count: int
) -> tuple[int, tuple[int, int], tuple[Place, ...]]:
    """How many neighbouring lanes have the same rows, how rows go on behind them, and the elements of a lane."""
    if "wmma" in instr.opcode:
        if processor.startswith("gfx11"):
            numbers, steps = [wave // 16 * n for n in range(count)], (1, 2)
        else:
            numbers, steps = [n % 8 + n // 8 * 16 for n in range(count)], (8, 4)
        return 16, steps, tuple(Place(n, 0, Lines(n, 0), Lines(0, 15)) for n in numbers)
    if "f64" in instr.opcode:
        lines = [(Lines(4 * n, 0), Lines(0, 15)) if rows == 16 else (Lines(0, 12), Lines(0, 15)) for n in range(count)]
        return 16, (1, 2), tuple(Place(4 * n, 0, *of) for n, of in enumerate(lines))
    broadcasts = _is_broadcast(instr)
    modifiers = instr.modifiers if broadcasts else {}
    b_lines = _lanes_of_b(int(modifiers.get("blgp", 0)))
    if rows == 4:
        together = 1 << min(int(modifiers.get("cbsz", 0)), 4)
        first = 4 * (int(modifiers.get("abid", 0)) % together)
        kept = 60 & ~(4 * (together - 1))
        of_b = Lines(b_lines.first, 63, b_lines.wrap, b_lines.fixed)
        return 64, (0, 0), tuple(Place(n, 0, Lines(first + n, kept), of_b) for n in range(count))
    each = count // blocks
    places = []
    for n in range(count):
        row, block = n % each // 4 * 8 + n % 4, n // each
        taken = a_block(instr, blocks, block) if broadcasts else block
        of_b = Lines(rows * block + b_lines.first, rows - 1, b_lines.wrap, b_lines.fixed)
        places.append(Place(row, block, Lines(rows * taken + row, 0), of_b))
    return rows, (4, 8), tuple(places)
