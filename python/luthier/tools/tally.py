"""How often instructions run, by a key of each: one counter for each of the places that determine the sums
(:mod:`luthier.counting`), or for each key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import numpy as np

import luthier as lt
from luthier.counting import increments, may_not_return
from luthier.tools.classes import class_of
from luthier.tools.lanes import line_of

Key = TypeVar("Key", bound=Hashable)


@lt.hook
def bump(count: lt.ptr[lt.u64]):
    lt.wave_atomic_add(count, 1)


class Tally(Generic[Key]):
    """Counts retired instructions of kernels by ``key(instr)``. Functions that several kernels share are counted once."""

    def __init__(self, key: Callable[[lt.Instruction], Key], per: str = "block"):
        self.key, self.per = key, per
        self.seen: set[int] = set()  # addresses of functions
        # Counters, keys, and by counter how many instructions of each key one count stands for.
        self.counted: list[tuple[lt.DeviceArray, list[Key], np.ndarray]] = []

    def insert(self, kernel: lt.Kernel) -> list[lt.Instruction]:
        """Inserts the counters; gives the instructions that are counted from now on."""
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        instrs = [instr for f in functions for instr in f.instructions]
        keys = {instr: self.key(instr) for instr in instrs}
        number = {key: i for i, key in enumerate(dict.fromkeys(keys.values()))}

        def contents(block: lt.Block) -> np.ndarray:
            return np.bincount([number[keys[instr]] for instr in block.instructions], minlength=len(number))

        if self.per == "block":
            ending = may_not_return(kernel.functions)
            places = [(f, increment) for f in functions for increment in increments(f, contents, ending)]
            stands_for = np.array([increment.amount for _, increment in places])
        else:
            places, stands_for = [], np.eye(len(number), dtype=int)
        if not len(stands_for):
            return instrs
        counts = lt.DeviceArray(lt.u64, len(stands_for), name=f"counts.{kernel.name}")
        self.counted.append((counts, list(number), stands_for))
        for index, (function, increment) in enumerate(places):
            increment.insert(kernel, function, bump, counts.at(index))
        if self.per != "block":
            for instr in instrs:
                kernel.insert_before(instr, bump, counts.at(number[keys[instr]]))
        return instrs

    def counts(self) -> Counter[Key]:
        """How many instructions of each key have been retired so far."""
        total: Counter[Key] = Counter()
        for counts, keys, stands_for in self.counted:
            for index, times in counts.nonzero().items():
                for n in np.flatnonzero(stands_for[index]):
                    total[keys[n]] += int(stands_for[index, n]) * times
        return Counter({key: n for key, n in total.items() if n})


#: An instruction's class, its function's name, and its file and line.
Place = tuple[str, str, "tuple[str, int] | None"]


class PlaceKey:
    """Gives what :func:`breakdown` tells apart. The class of a mnemonic is found once."""

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}

    def class_of(self, instr: lt.Instruction) -> str:
        mnemonic = instr.mnemonic
        if mnemonic not in self.classes:
            self.classes[mnemonic] = class_of(instr)
        return self.classes[mnemonic]

    def __call__(self, instr: lt.Instruction) -> Place:
        return self.class_of(instr), instr.function.name, line_of(instr)


def breakdown(counts: Counter[Place], report: lt.Report) -> dict[str, Any]:
    """``"functions"`` and ``"lines"`` of a result, ``{name: {"instructions": N, "classes": {class: N}}}``, and their tables."""
    functions = summed(counts, lambda key: key[1])
    lines = {key: told for key, told in summed(counts, lambda key: key[2]).items() if key is not None}
    rows = [(name, told["instructions"], _text(told["classes"])) for name, told in functions.items()]
    report.table("functions", rows, ("function", "executed", "classes"))
    rows = [(f"{f.rpartition('/')[2]}:{n}", told["instructions"], _text(told["classes"])) for (f, n), told in lines.items()]
    report.table("lines", sorted(rows, key=lambda row: -row[1]), ("line", "executed", "classes"))
    return {"functions": functions, "lines": {f"{file}:{line}": told for (file, line), told in lines.items()}}


def summed(counts: Counter[Place], by: Callable[[Place], Any]) -> dict[Any, dict[str, Any]]:
    """Instructions and their classes, by something of the key."""
    found: dict[Any, Counter[str]] = {}
    for key, n in counts.items():
        found.setdefault(by(key), Counter())[key[0]] += n
    return {name: {"instructions": of.total(), "classes": most_frequent_first(of)} for name, of in found.items()}


def _text(classes: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in classes.items())


def most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    """By falling numbers, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
