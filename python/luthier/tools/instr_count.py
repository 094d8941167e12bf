"""instr_count: how many instructions the waves of a kernel retire.

``per=block`` (the default) adds a block's length once for each time that a wave enters the block, with a counter that
the wave keeps in its own registers; ``per=instruction`` adds one at each instruction. Both give the same number.

``where=before`` (the default) or ``where=after`` says on which side of an instruction the hook goes. After a branch, a
call, a return or the end of the program there is no such place: these are counted before, with ``where=after`` too.
"""

from __future__ import annotations

import luthier as lt


class InstrCount(lt.Tool):
    """Counts retired instructions: ``{"instructions": N}``."""

    count = lt.Counter()

    def __init__(self, per: str = "block", where: str = "before"):
        if per not in ("block", "instruction"):
            raise lt.ToolError(f"instr_count: per={per}: block or instruction")
        if where not in ("before", "after"):
            raise lt.ToolError(f"instr_count: where={where}: before or after")
        self.per, self.where = per, where

    @lt.hook
    def add(count: lt.counter, n: lt.u32):
        count += n

    def on_kernel(self, kernel: lt.Kernel) -> None:
        if self.per == "block":
            for block in kernel.blocks:
                self.insert(kernel, block.instructions, len(block.instructions))
        else:
            for instr in kernel.instructions:
                self.insert(kernel, [instr], 1)

    def insert(self, kernel: lt.Kernel, instrs: list[lt.Instruction], n: int) -> None:
        """Counts ``n`` at one of the instructions, which all run when the first does."""
        after = [i for i in instrs if i.goes_on] if self.where == "after" else []
        if after:
            kernel.insert_after(after[-1], self.add, self.count, lt.Imm(n))
        else:
            kernel.insert_before(instrs[0], self.add, self.count, lt.Imm(n))

    def on_exit(self, report: lt.Report) -> None:
        report.result = {"instructions": int(self.count)}
        report.table("instr_count", [("instructions", int(self.count))])
