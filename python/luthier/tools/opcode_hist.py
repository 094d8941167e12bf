"""opcode_hist: how often each opcode runs, in wave-instructions.

``per=block`` (the default) counts on the fewest ways through each function that determine how often all of its blocks
run (:mod:`luthier.counting`), in one device counter for each of them; ``per=instruction`` counts at each instruction, in
one device counter for each opcode. Both give the same numbers.

``by=line`` tells instructions of functions and lines of source as well, by their classes (:mod:`luthier.tools.classes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import luthier as lt
from luthier.counting import increments, may_not_return
from luthier.tools.by_kernel import ByKernel, not_counted
from luthier.tools.classes import class_of
from luthier.tools.lanes import line_of

#: An opcode, and as asked for its function's name and its file and line.
Key: TypeAlias = "tuple[str, str, tuple[str, int] | None]"


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
        self.per, self.by = per, by
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        #: By opcode.
        self.classes: dict[str, str] = {}
        # Counters, what is told apart, and by counter how many of each one count stands for.
        self.counted: list[tuple[lt.DeviceArray, list[Key], np.ndarray]] = []
        self.by_kernel = ByKernel(self.opcodes)

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        instrs = [instr for f in functions for instr in f.instructions]
        keys = {instr: self.key(instr) for instr in instrs}
        number = {key: i for i, key in enumerate(dict.fromkeys(keys.values()))}
        for instr in instrs:
            if instr.mnemonic not in self.classes:
                self.classes[instr.mnemonic] = class_of(instr)

        def contents(block: lt.Block) -> np.ndarray:
            return np.bincount([number[keys[instr]] for instr in block.instructions], minlength=len(number))

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
                kernel.insert_before(instr, self.bump, counts.at(number[keys[instr]]))

    def on_launch(self, launch: lt.Launch) -> None:
        self.by_kernel.begin(launch.kernel)

    def key(self, instr: lt.Instruction) -> Key:
        """What of an instruction is told apart: its opcode, and as asked for its function and line."""
        return (instr.mnemonic, instr.function.name, line_of(instr)) if self.by else (instr.mnemonic, "", None)

    def counts(self) -> Counter[Key]:
        """How often each has run so far."""
        total: Counter[Key] = Counter()
        for counts, keys, stands_for in self.counted:
            for index, times in counts.nonzero().items():
                for n in np.flatnonzero(stands_for[index]):
                    total[keys[n]] += int(stands_for[index, n]) * times
        return Counter({key: n for key, n in total.items() if n})

    def opcodes(self) -> Counter[str]:
        """The same by opcode."""
        total: Counter[str] = Counter()
        for (name, _, _), n in self.counts().items():
            total[name] += n
        return total

    def on_exit(self, report: lt.Report) -> None:
        if self.rejected:
            # What is inserted makes the numbers only all together.
            report.result = {"opcodes": None, "not_counted": not_counted(self)}
            report.table("opcode_hist", [("all", "not counted")], ("opcode", "executed"))
            return
        counts = self.counts()
        ordered = most_frequent_first(self.opcodes())
        result: dict[str, Any] = {
            "opcodes": ordered,
            "classes": self.summed(counts, lambda key: "")[""]["classes"] if counts else {},
        }
        kernels = self.by_kernel.kernels()
        if len(kernels) > 1:
            result["kernels"] = {kernel: most_frequent_first(counts) for kernel, counts in kernels.items()}
        report.result = result
        report.table("opcode_hist", ordered, ("opcode", "executed"))
        report.table("classes", result["classes"], ("class", "executed"))
        if self.by:
            result["functions"] = self.summed(counts, lambda key: key[1])
            lines = {key: told for key, told in self.summed(counts, lambda key: key[2]).items() if key is not None}
            result["lines"] = {f"{file}:{line}": told for (file, line), told in lines.items()}
            rows = [(name, told["instructions"], _text(told["classes"])) for name, told in result["functions"].items()]
            report.table("functions", rows, ("function", "executed", "classes"))
            rows = [
                (f"{f.rpartition('/')[2]}:{n}", told["instructions"], _text(told["classes"])) for (f, n), told in lines.items()
            ]
            report.table("lines", sorted(rows, key=lambda row: -row[1]), ("line", "executed", "classes"))

    def summed(self, counts: Counter[Key], by: Callable[[Key], Any]) -> dict[Any, dict[str, Any]]:
        """Instructions and their classes, by something of the key."""
        found: dict[Any, Counter[str]] = {}
        for key, n in counts.items():
            found.setdefault(by(key), Counter())[self.classes[key[0]]] += n
        return {name: {"instructions": of.total(), "classes": most_frequent_first(of)} for name, of in found.items()}


def _text(classes: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in classes.items())


def most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
