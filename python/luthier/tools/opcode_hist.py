"""opcode_hist: how often each opcode runs, in wave-instructions.

``per=block`` (the default) counts how often each basic block runs, and multiplies by what is in it;
``per=instruction`` counts at each instruction, in one device counter for each opcode. Both give the same numbers.
"""

from __future__ import annotations

from collections import Counter

import luthier as lt
from luthier.tools.by_kernel import ByKernel


class OpcodeHist(lt.Tool):
    """An exact histogram of opcodes: ``{"opcodes": {mnemonic: N}}``, most frequent first, and by kernel where several were
    launched: ``{"opcodes": ..., "kernels": {kernel: {mnemonic: N}}}``."""

    def __init__(self, per: str = "block"):
        if per not in ("block", "instruction"):
            raise lt.ToolError(f"opcode_hist: per={per}: block or instruction")
        self.per = per
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.counted: list[tuple[lt.DeviceArray, list[Counter[str]]]] = []  # and what each element stands for
        self.by_kernel = ByKernel(self.counts)

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        if self.per == "block":
            blocks = [b.instructions for f in functions for b in f.blocks]
            points = [(instrs[0], i) for i, instrs in enumerate(blocks)]
            contents = [Counter(instr.mnemonic for instr in instrs) for instrs in blocks]
        else:
            instrs = [instr for f in functions for instr in f.instructions]
            number = {name: i for i, name in enumerate(dict.fromkeys(instr.mnemonic for instr in instrs))}
            points = [(instr, number[instr.mnemonic]) for instr in instrs]
            contents = [Counter({name: 1}) for name in number]
        if not points:
            return
        counts = lt.DeviceArray(lt.u64, len(contents), name=f"counts.{kernel.name}")
        self.counted.append((counts, contents))
        for instr, index in points:
            kernel.insert_before(instr, self.bump, counts.at(index))

    def on_launch(self, launch: lt.Launch) -> None:
        self.by_kernel.begin(launch.kernel)

    def counts(self) -> Counter[str]:
        """How often each opcode has run so far."""
        total: Counter[str] = Counter()
        for counts, contents in self.counted:
            for index, times in counts.nonzero().items():
                for name, n in contents[index].items():
                    total[name] += n * times
        return total

    def on_exit(self, report: lt.Report) -> None:
        ordered = most_frequent_first(self.counts())
        report.result = {"opcodes": ordered}
        kernels = self.by_kernel.kernels()
        if len(kernels) > 1:
            report.result["kernels"] = {kernel: most_frequent_first(counts) for kernel, counts in kernels.items()}
        report.table("opcode_hist", ordered, ("opcode", "executed"))


def most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
