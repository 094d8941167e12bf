"""Classes of instructions: what unit executes them, and on what type of numbers."""

from __future__ import annotations

import re

import luthier as lt
from luthier.tools.results import MATRIX

_TYPE = re.compile(
    r"(?:_|x\d+)(f64|f32|f16|bf16|fp8|bf8|f8f6f4|xf32|i64|u64|b64|i32|u32|b32|i16|u16|b16|i24|u24|i8|u8|b8)(?=_|$)"
)


def class_of(instr: lt.Instruction) -> str:
    """``valu f32``, ``valu packed f16``, ``matrix bf16``, ``vmem load``, ``lds store``, ``salu``, ``smem``, ``branch``, ``wait`` and the
    like: :attr:`luthier.Instruction.category`, for computing units with the type of what is computed (of matrices of their
    elements, of conversions of the result), for memory with what is done there. Dual instructions are ``valu dual``."""
    category = instr.category
    if category in ("vmem", "lds"):
        action = "atomic" if instr.is_atomic else "load" if instr.is_load else "store" if instr.is_store else ""
        return f"{category} {action}".rstrip()
    if category not in ("valu", "matrix"):
        return category
    if " :: " in instr.opcode:
        return "valu dual"
    types = _TYPE.findall(instr.opcode)
    if not types:
        return category
    if MATRIX.match(instr.opcode):
        return f"matrix {types[-1]}"
    packed = "packed " if instr.opcode.startswith("v_pk_") else ""
    return f"valu {packed}{types[0] if '_cvt_' in instr.opcode else types[-1]}"
