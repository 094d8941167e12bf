"""instr_count: how many instructions the waves of a kernel retire.

``per=block`` (the default) counts the lengths of the blocks that a wave goes through, with a counter that it keeps in
its own registers, in as few places as determine the sum (:mod:`luthier.counting`); ``per=instruction`` adds one at each
instruction. Both give the same number.

``where=before`` (the default) or ``where=after`` says on which side of an instruction the hook goes. Where nothing runs
after an instruction (a return, the end of the program, a call that may not come back) it is counted before,
with ``where=after`` too.

``by=line`` tells instructions of functions and lines of source as well, by their classes, as opcode_hist does; it counts as that
does, in device counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.counting import insert_lengths
from luthier.objects.kernel import leaves
from luthier.tools.by_kernel import ByKernel, not_counted

if TYPE_CHECKING:
    from luthier.tools.tally import Place, Tally


class InstrCount(lt.Tool):
    """Counts retired instructions: ``{"instructions": N}``, and by kernel where several were launched:
    ``{"instructions": N, "kernels": {kernel: N}}``; with ``by=line`` also ``"functions"`` and ``"lines"``, ``{name: {"instructions": N,
    "classes": {class: N}}}``. Where some of it could not be inserted, there is no number:
    ``{"instructions": None, "not_counted": {"insertions": N, "why": TEXT}}``."""

    count = lt.Counter()

    def __init__(self, per: str = "block", where: str = "before", by: str = ""):
        if per not in ("block", "instruction"):
            raise lt.ToolError(f"instr_count: per={per}: block or instruction")
        if where not in ("before", "after"):
            raise lt.ToolError(f"instr_count: where={where}: before or after")
        if by not in ("", "line"):
            raise lt.ToolError(f"instr_count: by={by}: line")
        if by and where != "before":
            raise lt.ToolError("instr_count: by=line counts before instructions: where=after has no by")
        self.per, self.where = per, where
        self.tally: Tally[Place] | None = None
        if by:
            # With it comes NumPy, which takes longer to be imported than most kernels take to be instrumented.
            from luthier.tools.tally import PlaceKey, Tally

            self.tally = Tally(PlaceKey(), per)
            self.one_code_object = True  # what it knows of lines goes by addresses
        self.by_kernel = ByKernel(lambda: {"instructions": self.total()})

    @lt.hook
    def add(count: lt.counter, n: lt.u64):
        count += n

    def total(self) -> int:
        """Instructions so far."""
        return int(self.count) if self.tally is None else self.tally.counts().total()

    def on_kernel(self, kernel: lt.Kernel) -> None:
        if self.tally is not None:
            self.tally.insert(kernel)
            return
        if self.per == "block":
            insert_lengths(kernel, self.add, self.count, after=self.where == "after")
            return
        for function in kernel.functions:
            for block in function.blocks:
                for instr in block.instructions:
                    self.insert_at(kernel, instr, 1, self.where == "after" and runs_on(block, instr))

    def insert_at(self, kernel: lt.Kernel, instr: lt.Instruction, n: int, after: bool) -> None:
        insert = kernel.insert_after if after else kernel.insert_before
        insert(instr, self.add, self.count, n)

    def on_launch(self, launch: lt.Launch) -> None:
        self.by_kernel.begin(launch.kernel)

    def on_exit(self, report: lt.Report) -> None:
        if self.rejected:
            # What is inserted makes the number only all together.
            report.result = {"instructions": None, "not_counted": not_counted(self)}
            report.table("instr_count", [("instructions", "not counted")])
            return
        kernels = {kernel: counts["instructions"] for kernel, counts in self.by_kernel.kernels().items()}
        result: dict[str, Any] = {"instructions": self.total()}
        if len(kernels) > 1:
            result["kernels"] = kernels
        report.result = result
        several = kernels.items() if len(kernels) > 1 else ()
        report.table("instr_count", [("instructions", result["instructions"]), *several])
        if self.tally is not None:
            from luthier.tools.tally import breakdown

            result |= breakdown(self.tally.counts(), report)


def runs_on(block: lt.Block, instr: lt.Instruction) -> bool:
    """Whether what stands after an instruction of the block runs as often as the instruction."""
    if instr != block.instructions[-1] or instr.falls_through:
        return True
    if leaves(block) or block.terminator not in ("branch", "cond_branch"):
        return False
    return instr.branch_target in {b.address for b in block.successors}
