"""opcode_hist: how often each opcode runs, in wave-instructions.

``per=block`` (the default) counts on the fewest ways through each function that determine how often all of its blocks
run (:mod:`luthier.counting`), in one device counter for each of them; ``per=instruction`` counts at each instruction, in
one device counter for each opcode. Both give the same numbers.

``by=line`` tells instructions of functions and lines of source as well, by their classes (:mod:`luthier.tools.classes`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import luthier as lt
from luthier.tools.by_kernel import ByKernel, not_counted
from luthier.tools.tally import Place, PlaceKey, Tally, breakdown, most_frequent_first

#: An opcode, and its class with, as asked for, its function's name and its file and line.
Key: TypeAlias = "tuple[str, Place]"


class OpcodeHist(lt.Tool):
    """An exact histogram of opcodes: ``{"opcodes": {mnemonic: N}}``, most frequent first, and by kernel where several were
    launched: ``{"opcodes": ..., "kernels": {kernel: {mnemonic: N}}}``. Where some of it could not be inserted, there are
    no numbers: ``{"opcodes": None, "not_counted": {"insertions": N, "why": TEXT}}``. ``"classes"`` adds opcodes up: ``{"valu f32": N,
    "vmem load": N, ...}``; with ``by=line`` there are ``"functions"`` and ``"lines"``, ``{name: {"instructions": N, "classes": {...}}}``."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self, per: str = "block", by: str = ""):
        if per not in ("block", "instruction"):
            raise lt.ToolError(f"opcode_hist: per={per}: block or instruction")
        if by not in ("", "line"):
            raise lt.ToolError(f"opcode_hist: by={by}: line")
        self.by = by
        self.place = PlaceKey()
        self.tally: Tally[Key] = Tally(self.key, per)
        self.by_kernel = ByKernel(self.opcodes)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.tally.insert(kernel)

    def on_launch(self, launch: lt.Launch) -> None:
        self.by_kernel.begin(launch.kernel)

    def key(self, instr: lt.Instruction) -> Key:
        """What of an instruction is told apart."""
        return instr.mnemonic, self.place(instr) if self.by else (self.place.class_of(instr), "", None)

    def opcodes(self) -> Counter[str]:
        """How often each opcode has run so far."""
        total: Counter[str] = Counter()
        for (name, _), n in self.tally.counts().items():
            total[name] += n
        return total

    def on_exit(self, report: lt.Report) -> None:
        if self.rejected:
            # What is inserted makes the numbers only all together.
            report.result = {"opcodes": None, "not_counted": not_counted(self)}
            report.table("opcode_hist", [("all", "not counted")], ("opcode", "executed"))
            return
        places: Counter[Place] = Counter()
        classes: Counter[str] = Counter()
        for (_, place), n in self.tally.counts().items():
            places[place] += n
            classes[place[0]] += n
        ordered = most_frequent_first(self.opcodes())
        result: dict[str, Any] = {"opcodes": ordered, "classes": most_frequent_first(classes)}
        kernels = self.by_kernel.kernels()
        if len(kernels) > 1:
            result["kernels"] = {kernel: most_frequent_first(counts) for kernel, counts in kernels.items()}
        report.result = result
        report.table("opcode_hist", ordered, ("opcode", "executed"))
        report.table("classes", result["classes"], ("class", "executed"))
        if self.by:
            result |= breakdown(places, report)
