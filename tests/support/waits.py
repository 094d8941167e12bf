"""The instructions of a kernel that wait for memory: what a test takes away to see whether it is missed."""

from __future__ import annotations

import luthier as lt

OTHER_WAITS = ("s_waitcnt_depctr", "s_wait_alu", "s_wait_xcnt")
S_NOP = 0xBF800000


def waits_of(code_object: lt.CodeObject) -> dict[int, str]:
    """The mnemonics of the instructions that wait for memory, by file offset."""
    (text,) = [s for s in code_object.inspect()["sections"] if s["name"] == ".text"]
    instructions = (i for f in code_object.program.functions for b in f.blocks for i in b.instructions)
    return {
        i.address - text["address"] + text["offset"]: i.mnemonic
        for i in instructions
        if i.mnemonic.startswith(("s_waitcnt", "s_wait_")) and i.mnemonic not in OTHER_WAITS
    }
