"""The floats that an instruction gives, one by one: where each is, and what it is made of, where that can be told.

A register may hold one, two (packed types) or half of one (f64); a half of a register may be a result by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import luthier as lt
from luthier.tools.results import MATRIX, RESULT_LAST, float_kind

#: Operations whose sources are of the result's kind, but for one of them, or for none.
_OTHER_SOURCES = re.compile(r"mix|ldexp|trig_preop")
#: Conversions of floats: of the kinds that they give and take.
_CONVERSION = re.compile(r"v_cvt_(?:pk_(?:rtz_)?|pkrtz_)?(f16|bf16|f32|f64)_(f16|bf16|f32|f64)")
#: Bits of each kind's infinity.
INFINITY = {"f64": 0x7FF0000000000000, "f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}


@dataclass(frozen=True)
class Source:
    """What an operation takes: a register as it was before, or a number's bits; and where in it the value begins."""

    of: lt.Old | int
    shift: int = 0


@dataclass(frozen=True)
class Element:
    """A result."""

    #: ``f64``, ``f32``, ``f16`` or ``bf16``.
    kind: str
    #: A pair of registers for ``f64``.
    register: lt.Reg
    shift: int = 0
    #: None where they are of several kinds, or where they cannot be told one by one.
    sources: tuple[Source, ...] | None = None
    #: Its number among the results of the instruction, where there are several.
    number: int = 0
    #: The kind of the sources, where it is another one.
    taken: str | None = None

    @property
    def source_kind(self) -> str:
        return self.taken or self.kind


def elements(instr: lt.Instruction, processor: str) -> list[Element] | None:
    """The floats that a vector instruction gives; None if there is no rule for some of them. Of matrix operations they are the words and
    halves of the result's registers in their order."""
    opcodes = instr.opcode.split(" :: ")
    if "sdwa" in instr.flags or "mixhi" in instr.opcode:
        return None
    if MATRIX.match(instr.opcode):
        return _of_matrix(instr, processor)
    found: list[Element] = []
    for n, opcode in enumerate(opcodes):
        conversion = _CONVERSION.fullmatch(opcode)
        kind = conversion[1] if conversion is not None else float_kind(opcode)
        if kind is None:
            if len(opcodes) == 1:
                return None
            continue
        own = [o for o in instr.operands if len(opcodes) == 1 or o.name.endswith("xy"[n]) or o.name == "literal"]
        vectors = [o for o in own if o.is_written and o.register and o.register.file in ("vgpr", "agpr")]
        if len(vectors) != 1:
            return None
        made = _of_operation(instr, opcode, kind, vectors[0], own)
        if made is None:
            return None
        found += made
    return found


def _of_matrix(instr: lt.Instruction, processor: str) -> list[Element] | None:
    kind = "bf16" if "bf16f32" in instr.opcode else float_kind(instr.opcode)
    result = next((o.register for o in instr.operands if o.name == "vdst"), None)
    if kind is None or result is None or result.index is None:
        return None
    file, first = result.file[0], result.index
    if kind == "f64":
        pairs = [lt.Reg(f"{file}[{n}:{n + 1}]") for n in range(first, first + result.width, 2)]
        return [Element(kind, pair, 0, None, n) for n, pair in enumerate(pairs)]
    words = [lt.Reg(f"{file}{n}") for n in range(first, first + result.width)]
    if kind == "f32":
        return [Element(kind, word, 0, None, n) for n, word in enumerate(words)]
    if processor.startswith("gfx11"):
        # One half of each register is a result, the other stays.
        selected = instr.modifiers.get("op_sel", (0, 0, 0))
        return [Element(kind, word, 16 * bool(selected[2]), None, n) for n, word in enumerate(words)]
    if "swmmac_bf16f32" in instr.opcode:
        words = words[: len(words) // 2]  # C takes all of them
    return [Element(kind, word, 16 * half, None, 2 * n + half) for n, word in enumerate(words) for half in (0, 1)]


def _of_operation(
    instr: lt.Instruction, opcode: str, kind: str, result: lt.Operand, operands: Sequence[lt.Operand]
) -> list[Element] | None:
    register = result.register
    assert register is not None
    file, first = register.file[0], register.index or 0
    if (conversion := _CONVERSION.fullmatch(opcode)) is not None:
        return _converted(instr, operands, result, conversion[1], conversion[2], "pk" in opcode)
    if kind == "f64":
        pairs = [lt.Reg(f"{file}[{n}:{n + 1}]") for n in range(first, first + register.width, 2)]
        sources = _sources(instr, opcode, operands, 2) if len(pairs) == 1 else None
        return [Element(kind, pair, 0, sources, n) for n, pair in enumerate(pairs)]
    words = [lt.Reg(f"{file}{n}") for n in range(first, first + register.width)]
    is_packed = opcode.startswith("v_pk_")
    if kind == "f32" and not is_packed:
        sources = _sources(instr, opcode, operands, 1) if len(words) == 1 else None
        return [Element(kind, word, 0, sources, n) for n, word in enumerate(words)]
    if kind == "f32":
        return [Element(kind, word, 0, _packed(instr, operands, n, 32), n) for n, word in enumerate(words)]
    if is_packed:
        halves = [(word, half) for word in words for half in (0, 1)]
        return [Element(kind, word, 16 * half, _packed(instr, operands, half, 16), n) for n, (word, half) in enumerate(halves)]
    sources = _sources(instr, opcode, operands, 1)
    return [Element(kind, words[0], _half(result, instr, None if sources is None else len(sources)), sources)]


def _converted(
    instr: lt.Instruction, operands: Sequence[lt.Operand], result: lt.Operand, kind: str, taken: str, is_packed: bool
) -> list[Element] | None:
    """What a conversion gives: of packed ones the first source is the lower half's."""
    register = result.register
    assert register is not None
    read = [o for o in operands if o.is_read and not o.is_written and o.kind != "special"]
    read = [o for o in read if not (o.register and o.register.file == "special")]
    units = 2 if taken == "f64" else 1
    if len(read) != (2 if is_packed else 1) or is_packed and (taken != "f32" or register.width != 1):
        return None
    is_told = "dpp" not in instr.flags and "op_sel" not in instr.modifiers and "f64" not in (kind, taken)
    is_told = is_told and all(o.register is None or o.units == units for o in read)
    source = (
        _word(register, 0) if register.width == 1 else lt.Reg(f"{register.file[0]}[{register.index}:{(register.index or 0) + 1}]")
    )
    found = []
    for n, operand in enumerate(read):
        at = Source(operand.bits or 0) if operand.register is None else Source(lt.Old(_whole(operand)), _high(operand))
        shift = 16 * n if is_packed else _high(result)
        found.append(Element(kind, source, shift, (at,) if is_told else None, n, taken))
    return found


def _high(operand: lt.Operand) -> int:
    """Where the value of half a register begins."""
    return 16 if operand.place is not None and operand.place[2] == "h" else 0


def _taken(instr: lt.Instruction, opcode: str, operands: Sequence[lt.Operand]) -> list[lt.Operand] | None:
    """The operands that an operation computes with; None where they are not all of the result's kind, or are other lanes'."""
    if not RESULT_LAST.fullmatch(opcode) or _OTHER_SOURCES.search(opcode) or "dpp" in instr.flags:
        return None
    has_literal = re.search(r"_f?ma(?:ak|mk)_", opcode) is not None
    read = [o for o in operands if o.is_read and o.kind != "special" and (o.name != "literal" or has_literal)]
    # What reads its result to leave half of it as it is does not compute with it.
    adds = re.search(r"_f?mac_", opcode) is not None
    read = [o for o in read if not (o.register and o.register.file == "special") and (adds or not o.is_written)]
    return read if len(read) <= 3 else None


def _sources(instr: lt.Instruction, opcode: str, operands: Sequence[lt.Operand], units: int) -> tuple[Source, ...] | None:
    """The sources of an operation with one result, of as many registers each."""
    taken = _taken(instr, opcode, operands)
    if taken is None or any(o.register is not None and o.units != units for o in taken):
        return None
    selected = list(instr.modifiers.get("op_sel", ()))
    found = []
    for n, operand in enumerate(taken):
        if operand.register is None:
            found.append(Source(operand.bits or 0))
            continue
        shift = 16 if n < len(selected) and selected[n] else _high(operand)
        found.append(Source(lt.Old(_whole(operand)), shift))
    return tuple(found)


def _half(result: lt.Operand, instr: lt.Instruction, taken: int | None) -> int:
    """Where a result of 16 bits begins in its register."""
    selected = instr.modifiers.get("op_sel", ())
    is_high = (
        result.place is not None and result.place[2] == "h" or taken is not None and len(selected) > taken and selected[taken]
    )
    return 16 if is_high else 0


def _packed(instr: lt.Instruction, operands: Sequence[lt.Operand], number: int, bits: int) -> tuple[Source, ...] | None:
    """The sources of one of two packed operations."""
    taken = _taken(instr, instr.opcode, operands)
    if taken is None:
        return None
    # Of what adds to its result, that is no source with a selection.
    sources = [o for o in taken if not o.is_written]
    selected = instr.modifiers.get("op_sel_hi" if number else "op_sel", [number] * len(sources))
    found = []
    for operand in taken:
        is_high = number if operand.is_written else selected[sources.index(operand)]
        if operand.register is None:
            if is_high:
                return None  # processors differ in what the upper half of a constant is
            found.append(Source((operand.bits or 0) & (1 << bits) - 1))
        elif bits == 32:
            found.append(Source(lt.Old(_word(operand.register, int(is_high)))))
        else:
            found.append(Source(lt.Old(_whole(operand)), 16 if is_high else 0))
    return tuple(found)


def _whole(operand: lt.Operand) -> lt.Operand | lt.Reg:
    """An operand, or of half a register all of it."""
    register = operand.register
    if register is None or operand.place is None or not operand.place[2]:
        return operand
    return _word(register, 0)


def _word(register: lt.Register, number: int) -> lt.Reg:
    return lt.Reg(f"{register.file[0]}{(register.index or 0) + number}")
