"""What instructions give: the registers of their results, and what numbers these hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

import luthier as lt

#: Operations whose names say what they give in front of what they take.
RESULT_FIRST = re.compile(
    r"v_(?:dual_)?(?:mfma|smfmac|wmma|swmmac|cvt|dot\w*?|s?dot\d\w*?)_(?:scale(?:16)?_)?(f64|f32|f16|bf16)_"
)
#: The others: what they take is what they give.
RESULT_LAST = re.compile(r"v_(?!cmp|cvt|frexp_exp|mfma|smfmac|wmma|swmmac|dot)\w*_(f64|f32|f16|bf16)")
MATRIX = re.compile(r"v_\w*(mfma|smfmac|wmma|swmmac)")


@dataclass(frozen=True)
class Value:
    """A number in one register, in half of one, or of ``f64`` in two."""

    #: ``f64``, ``f32``, ``f16``, ``bf16``, or ``b32`` for bits of any meaning.
    kind: str
    register: lt.Reg
    #: Of halves: where its bits begin.
    shift: int = 0


def float_kind(opcode: str) -> str | None:
    """Of what kind of floats an operation's result is."""
    named = RESULT_FIRST.match(opcode) or RESULT_LAST.fullmatch(opcode)
    return named[1] if named else None


def results(instr: lt.Instruction) -> list[Value] | None:
    """The numbers that a vector instruction writes into vector registers, in those that it computes or loads; None where there
    is no rule: SDWA, halves of registers that keep the other one, sparse formats."""
    written = [o for o in instr.operands if o.is_written and o.register and o.register.file in ("vgpr", "agpr")]
    opcodes = instr.opcode.split(" :: ")
    if not written:
        return []
    if len(written) != len(opcodes) or "sdwa" in instr.flags or "d16" in instr.opcode or "mixhi" in instr.opcode:
        return None
    found: list[Value] = []
    for operand, opcode in zip(written, opcodes):
        register = operand.register
        if register is None or register.index is None or operand.place is not None and operand.place[2]:
            return None
        file, first = register.file[0], register.index
        kind = float_kind(opcode) if instr.is_valu else None
        if kind == "f64":
            found += [Value("f64", lt.Reg(f"{file}[{n}:{n + 1}]")) for n in range(first, first + register.width, 2)]
            continue
        words = [lt.Reg(f"{file}{n}") for n in range(first, first + register.width)]
        if kind in ("f16", "bf16") and (opcode.startswith("v_pk_") or MATRIX.match(opcode)):
            if MATRIX.match(opcode) and "wmma" in opcode:
                return None  # on some processors one half is a result, and the other stays
            found += [Value(kind, word, shift) for word in words for shift in (0, 16)]
        else:
            found += [Value(kind or "b32", word) for word in words]
    return found
