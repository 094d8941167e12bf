"""opcode_hist: how often each opcode runs, in wave-instructions.

``per=block`` (the default) counts on the fewest ways through each function that determine how often all of its blocks
run (:mod:`luthier.counting`), in one device counter for each of them; ``per=instruction`` counts at each instruction, in
one device counter for each opcode. Both give the same numbers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import luthier as lt
from luthier.counting import increments, may_not_return
from luthier.tools.by_kernel import ByKernel, not_counted


class OpcodeHist(lt.Tool):
    """An exact histogram of opcodes: ``{"opcodes": {mnemonic: N}}``, most frequent first, and by kernel where several were
    launched: ``{"opcodes": ..., "kernels": {kernel: {mnemonic: N}}}``. Where some of it could not be inserted, there are
    no numbers: ``{"opcodes": None, "not_counted": {"insertions": N, "why": TEXT}}``."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self, per: str = "block"):
        if per not in ("block", "instruction"):
            raise lt.ToolError(f"opcode_hist: per={per}: block or instruction")
        self.per = per
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        # Counters, the names of opcodes, and by counter how many of each one count stands for.
        self.counted: list[tuple[lt.DeviceArray, list[str], np.ndarray]] = []
        self.by_kernel = ByKernel(self.counts)

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        instrs = [instr for f in functions for instr in f.instructions]
        number = {name: i for i, name in enumerate(dict.fromkeys(instr.mnemonic for instr in instrs))}

        def contents(block: lt.Block) -> np.ndarray:
            return np.bincount([number[instr.mnemonic] for instr in block.instructions], minlength=len(number))

        places = []
        if self.per == "block":
            ending = may_not_return(kernel.functions)
            places = [(f, increment) for f in functions for increment in increments(f, contents, ending)]
            stands_for = np.array([increment.amount for _, increment in places])
        else:
            stands_for = np.eye(len(number), dtype=int)
        if not len(stands_for):
            return
        counts = lt.DeviceArray(lt.u64, len(stands_for), name=f"counts.{kernel.name}")
        self.counted.append((counts, list(number), stands_for))
        if self.per == "block":
            for index, (function, increment) in enumerate(places):
                increment.insert(kernel, function, self.bump, counts.at(index))
        else:
            for instr in instrs:
                kernel.insert_before(instr, self.bump, counts.at(number[instr.mnemonic]))

    def on_launch(self, launch: lt.Launch) -> None:
        self.by_kernel.begin(launch.kernel)

    def counts(self) -> Counter[str]:
        """How often each opcode has run so far."""
        total: Counter[str] = Counter()
        for counts, names, stands_for in self.counted:
            for index, times in counts.nonzero().items():
                for opcode in np.flatnonzero(stands_for[index]):
                    total[names[opcode]] += int(stands_for[index, opcode]) * times
        return Counter({name: n for name, n in total.items() if n})

    def on_exit(self, report: lt.Report) -> None:
        if self.rejected:
            # What is inserted makes the numbers only all together.
            report.result = {"opcodes": None, "not_counted": not_counted(self)}
            report.table("opcode_hist", [("all", "not counted")], ("opcode", "executed"))
            return
        ordered = most_frequent_first(self.counts())
        result: dict[str, Any] = {"opcodes": ordered}
        kernels = self.by_kernel.kernels()
        if len(kernels) > 1:
            result["kernels"] = {kernel: most_frequent_first(counts) for kernel, counts in kernels.items()}
        report.result = result
        report.table("opcode_hist", ordered, ("opcode", "executed"))


def most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
