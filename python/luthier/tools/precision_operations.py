"""What ``precision`` looks at: of each result of an instruction the operation that gives it, and what that takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import luthier as lt
from luthier.tools.elements import Element, Source, elements
from luthier.tools.results import float_kind

#: Of each kind the digits behind the first one, and the least exponent of a number that is not denormal.
KINDS = {
    "f32": (23, -126), "f16": (10, -14), "bf16": (7, -126), "fp8": (3, -6), "bf8": (2, -14), "fp8 fnuz": (3, -7),
    "bf8 fnuz": (2, -15),
}  # fmt: skip
ONE = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
_OPERATION = re.compile(r"v_(?:dual_)?(add|sub|subrev|mul|fma|fmac|fmaak|fmamk|mac|mad|rcp|sqrt|rsq)_(?:legacy_)?(f32|f16|bf16)")
_PACKED = re.compile(r"v_pk_(add|mul|fma|fmac)_(f32|f16|bf16)")
_DOT = re.compile(r"v_(?:dual_)?dot(2|4)(?:c|acc)?_(f32|f16|bf16)_(f16|bf16|(?:fp8|bf8)_(?:fp8|bf8))")
_NARROWING = re.compile(r"v_cvt_(?:(sr|pk|pkrtz|pk_rtz)_)?(fp8|bf8|f16|bf16|f32)_(f64|f32|f16)")
#: Any conversion into a narrower format, scaled ones and those of several numbers among them.
_LOSES = re.compile(r"v_cvt_\w*?(?:fp8|bf8|fp6|bf6|fp4|f16|bf16)_(?:f64|f32|f16|bf16)|v_cvt_f32_f64")
#: Exact ones: choices, moves, and conversions from narrower formats.
_EXACT = re.compile(
    r"v_(?:dual_|pk_)?(?:m(?:ax|in|ed)|cmp|mov|cndmask|frexp|ldexp)|v_cvt_(?:pk_)?(?:f32|f16)_(?:f16|bf16|fp8|bf8|ubyte)"
)
_TAKES = {"add": 2, "sub": 2, "subrev": 2, "mul": 2, "rcp": 1, "sqrt": 1, "rsq": 1}


@dataclass(frozen=True)
class Operation:
    """One result of an instruction: ``a * b + c`` of its sources, a function of ``a``, a sum of products of parts of ``a`` and ``b`` with
    ``c`` (``dot2``, ``dot4``), or ``a`` in a narrower format (``cvt``)."""

    name: str
    kind: str
    result: lt.Reg | lt.Register
    sources: tuple[Source, ...]
    #: Of ``a``, ``b`` and ``c`` in turn: bit 0 the absolute value, bit 1 the negative.
    signs: tuple[int, int, int] = (0, 0, 0)
    #: Where in its register the result begins.
    shift: int = 0
    #: The kinds of the sources, where they are others.
    taken: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """For people: its name, and the kind that it gives."""
        return f"{self.name}_{self.kind.replace(' ', '_')}"

    def taken_kind(self, number: int) -> str:
        """The kind of a source."""
        return self.taken[number] if number < len(self.taken) else self.kind


def operations(instr: lt.Instruction, processor: str) -> tuple[list[Operation], bool]:
    """What of an instruction can be looked at, and whether that is all of its float arithmetic. Of matrix operations: nothing."""
    opcodes = instr.opcode.split(" :: ")
    found: list[Operation] = []
    complete = True
    for opcode, suffix in zip(opcodes, ("x", "y") if len(opcodes) > 1 else ("",)):
        made = None if instr.is_matrix else _operations(instr, opcode, suffix, processor)
        if made is not None:
            found += made
        elif _LOSES.fullmatch(opcode) or float_kind(opcode) in KINDS and not _EXACT.match(opcode):
            complete = False
    return found, complete


def _operations(instr: lt.Instruction, opcode: str, suffix: str, processor: str) -> list[Operation] | None:
    is_plain = not any(flag in instr.flags for flag in ("dpp", "sdwa")) and not {"clamp", "omod"} & set(instr.modifiers)
    if not is_plain or "div:" in instr.text or " mul:" in instr.text:
        return None
    if (packed := _PACKED.fullmatch(opcode)) is not None:
        return _packed(instr, packed[1], packed[2], processor)
    operands = [o for o in instr.operands if o.name.endswith(suffix) or o.name == "literal"]
    if (named := _NARROWING.fullmatch(opcode)) is not None:
        return None if _EXACT.match(opcode) else _narrowed(instr, operands, named, processor)
    if "op_sel" in instr.modifiers:
        return None
    if (named := _DOT.fullmatch(opcode)) is not None:
        return _dot(instr, operands, named)
    named = _OPERATION.fullmatch(opcode)
    made = None if named is None else _scalar(operands, suffix, named[1], named[2])
    return None if made is None else [made]


def _scalar(operands: Sequence[lt.Operand], suffix: str, name: str, kind: str) -> Operation | None:
    uses_literal = name in ("fmaak", "fmamk")
    mine = [o for o in operands if o.name != "literal" or uses_literal]
    if uses_literal:  # dual instructions have one for both operations
        order = ("src0", "literal", "vsrc1") if name == "fmamk" else ("src0", "vsrc1", "literal")
        mine.sort(key=lambda o: -1 if o.is_written else order.index(o.name.removesuffix(suffix) if suffix else o.name))
    result = _result(mine)
    adds = name in ("fmac", "mac")
    # What reads its result to leave half of it as it is does not compute with it.
    sources = [o for o in mine if o.is_read and not o.is_written] + ([result] if adds and result is not None else [])
    if result is None or len(sources) != _TAKES.get(name, 3) or any(o.kind == "special" or o.units > 1 for o in sources):
        return None
    given, signs = [_source(o) for o in sources], [_signs(o) for o in sources]
    one = Source(ONE[kind])
    if name in ("add", "sub", "subrev"):
        flipped = {"sub": (0, 2), "subrev": (2, 0)}.get(name, (0, 0))
        given, signs = [given[0], one, given[1]], [signs[0] ^ flipped[0], 0, signs[1] ^ flipped[1]]
    elif name == "mul":
        given, signs = [*given, Source(0)], [*signs, 0]
    return Operation(name, kind, _whole(result), tuple(given), _three(signs), _begins(result))


def _packed(instr: lt.Instruction, name: str, kind: str, processor: str) -> list[Operation] | None:
    found = elements(instr, processor)
    negates = [list(instr.modifiers.get(side, ())) + [0, 0, 0] for side in ("neg_lo", "neg_hi")]
    made = []
    for element in found or ():
        if element.sources is None:
            return None
        given, signs = list(element.sources), [2 * int(bool(n)) for n in negates[element.number]]
        if name == "add":
            given, signs = [given[0], Source(ONE[kind]), given[1]], [signs[0], 0, signs[1]]
        elif name == "mul":
            given, signs = [*given, Source(0)], [*signs[:2], 0]
        elif name == "fmac":
            signs[2] = 0
        made.append(_of_element(name, element, given, signs))
    return made or None


def _of_element(name: str, element: Element, given: Sequence[Source], signs: Sequence[int]) -> Operation:
    return Operation(name, element.kind, element.register, tuple(given), _three(signs), element.shift)


def _dot(instr: lt.Instruction, operands: Sequence[lt.Operand], named: re.Match[str]) -> list[Operation] | None:
    result = _result(operands)
    sources = [o for o in operands if o.is_read and not o.is_written]
    sources += [o for o in operands if o.is_written and len(sources) == 2]
    is_plain = not {"neg_lo", "neg_hi", "op_sel_hi"} & set(instr.modifiers)
    if result is None or len(sources) != 3 or not is_plain or any(o.kind == "special" or o.units > 1 for o in sources):
        return None
    if any(o.register is None or o.modifiers for o in sources[:2]):
        return None  # processors differ in what the parts of a constant are, and in what a sign changes
    count, kind, kinds = named[1], named[2], named[3].split("_")
    taken = (kinds[0], kinds[-1], kind)
    given = tuple(map(_source, sources))
    return [Operation(f"dot{count}", kind, _whole(result), given, _three([_signs(o) for o in sources]), _begins(result), taken)]


def _narrowed(
    instr: lt.Instruction, operands: Sequence[lt.Operand], named: re.Match[str], processor: str
) -> list[Operation] | None:
    how, kind, taken = named[1] or "", named[2], named[3]
    result = _result(operands)
    sources = [o for o in operands if o.is_read and not o.is_written]
    if how == "sr":
        sources = sources[:1]  # the other one is what it rounds by
    elif how == "":
        sources = sources[:2]
    units = 2 if taken == "f64" else 1
    is_byte = kind in ("fp8", "bf8")
    if result is None or len(sources) != (2 if how.startswith("pk") else 1) or is_byte and taken == "f16":
        return None
    if any(o.kind == "special" or o.units != units and o.register is not None for o in sources):
        return None
    if taken == "f64" and any(o.register is None for o in sources):
        return None
    selected = list(instr.modifiers.get("op_sel", ())) + [0, 0, 0, 0]
    shift = _begins(result)
    if is_byte:
        kind += " fnuz" if processor in ("gfx940", "gfx941", "gfx942") else ""
        byte = int(instr.modifiers.get("byte_sel", selected[2] + 2 * selected[3] if how == "sr" else 0))
        shift += 8 * byte if how == "sr" else 16 * int(bool(selected[2]))
    elif any(selected):
        return None
    step = 8 if is_byte else 16
    return [
        Operation("cvt", kind, _whole(result), (_source(o),), _three([_signs(o)]), shift + step * n, (taken,))
        for n, o in enumerate(sources)
    ]


def _result(operands: Sequence[lt.Operand]) -> lt.Operand | None:
    """The one register that is written."""
    written = [o for o in operands if o.is_written]
    register = written[0].register if len(written) == 1 else None
    return written[0] if register is not None and register.width == 1 else None


def _whole(operand: lt.Operand) -> lt.Reg:
    register = operand.register
    assert register is not None
    return lt.Reg(f"{register.file[0]}{register.index or 0}")


def _begins(operand: lt.Operand) -> int:
    """Where the value of half a register begins."""
    return 16 if operand.place is not None and operand.place[2] == "h" else 0


def _source(operand: lt.Operand) -> Source:
    if operand.register is None:
        return Source(operand.bits or 0)
    is_half = operand.place is not None and operand.place[2]
    return Source(lt.Old(_whole(operand) if is_half else operand), _begins(operand))


def _signs(operand: lt.Operand) -> int:
    return ("abs" in operand.modifiers) | ("neg" in operand.modifiers) << 1


def _three(signs: Sequence[int]) -> tuple[int, int, int]:
    first, second, third = (*signs, 0, 0, 0)[:3]
    return first, second, third
