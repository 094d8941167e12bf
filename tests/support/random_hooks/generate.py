"""Random hooks: statements, and the arrays that a hook works on."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from .expressions import TABLE, Expression, Expressions
from .kinds import INTS, NUMBERS, dtype, kind_of, numbers

#: Elements of an array of which each lane has one.
LANES = 64
#: Stores of one type that a hook may have.
STORES = 24


@dataclass(frozen=True)
class Generated:
    source: str
    #: What the hook is given, by the names of its parameters, before ``count``, which is a counter if it is there.
    arrays: dict[str, np.ndarray]
    counts: bool
    #: Whether it asks for more than what hooks promise in a wave without active lanes.
    needs_lanes: bool


def generate(seed: int) -> Generated:
    rng = random.Random(f"hook {seed}")
    return _Hook(rng, depth=rng.choice([0, 1, 2])).generated(statements=rng.choice([2, 4, 8]))


class _Hook:
    def __init__(self, rng: random.Random, depth: int):
        self.rng = rng
        self.depth = depth
        self.wave = rng.random() < 0.6
        self.make = Expressions(rng, self.wave)
        self.lines: list[str] = []
        self.level = 1
        self.names = 0
        #: Variables that nothing is assigned to.
        self.fixed = {"lane"}
        #: Local arrays: their types and lengths.
        self.local: dict[str, tuple[str, int]] = {}
        #: Whether lanes may have gone different ways.
        self.split = False
        self.stores = dict.fromkeys(NUMBERS, 0)
        self.needs_lanes = False

    @property
    def variables(self) -> dict[str, Expression]:
        return self.make.variables

    def generated(self, statements: int) -> Generated:
        rng = self.rng
        self.emit("lane = lt.lane_id()")
        self.define("lane", "u32", False)
        for kind in rng.sample(NUMBERS, 5):
            self.emit(f"x_{kind} = in_{kind}[lane]")
            self.define(f"x_{kind}", kind, False)
        self.block(statements, self.depth)
        for name, variable in self.variables.items():
            kind = "u8" if variable.kind == "bool" else variable.kind
            self.store(kind, f"lt.u8({name})" if variable.kind == "bool" else name)
        body = "\n".join(self.lines)
        arrays: dict[str, np.ndarray] = {}
        for kind in NUMBERS:
            fresh = {"in": numbers(kind, LANES, rng), "t": numbers(kind, TABLE, rng)}
            fresh["o"] = np.full(LANES * self.stores[kind], 77, dtype(kind))
            arrays |= {f"{what}_{kind}": array for what, array in fresh.items() if f"{what}_{kind}[" in body}
        if "waves + " in body:
            arrays["waves"] = np.zeros(4, np.uint64)
        counts = "count += " in body
        params = [f"{name}: lt.ptr[lt.{kind_of(array)}]" for name, array in arrays.items()]
        params += ["count: lt.counter"] * counts
        source = f"import luthier as lt\n\n\n@lt.hook\ndef hook({', '.join(params)}):\n{body}\n"
        return Generated(source, arrays, counts, self.needs_lanes or "readfirstlane" in body)

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.level + text)

    def define(self, name: str, kind: str, shared: bool) -> None:
        self.variables[name] = Expression(kind, name, shared)

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def store(self, kind: str, text: str) -> None:
        if self.stores[kind] < STORES:
            self.emit(f"o_{kind}[{self.stores[kind] * LANES} + lane] = {text}")
            self.stores[kind] += 1

    def block(self, statements: int, depth: int) -> None:
        for _ in range(statements):
            self.statement(depth)

    def inner(self, depth: int) -> None:
        """What is defined in there is not seen outside."""
        outer = dict(self.variables)
        self.level += 1
        self.block(self.rng.randint(1, 3), depth - 1)
        self.level -= 1
        self.make.variables = outer

    def statement(self, depth: int) -> None:
        forms = {self.definition: 30, self.assignment: 20, self.update: 12, self.local_array: 6, self.output: 7}
        if depth > 0:
            forms |= {self.branch: 10, self.loop: 10}
        if self.wave:
            forms |= {self.wave_adds: 8}
        (form,) = self.rng.choices(list(forms), list(forms.values()))
        form(depth)

    def definition(self, depth: int) -> None:
        kind, name = self.rng.choice((*NUMBERS, "bool")), self.fresh("v")
        value = self.make.of(kind, self.rng.choice([1, 2, 3]), self.rng.random() < 0.3)
        self.emit(f"{name}: {'bool' if kind == 'bool' else 'lt.' + kind} = {value.text}")
        self.define(name, kind, value.shared and not self.split)

    def target(self) -> Expression | None:
        """A variable that may be assigned to here. One that is the wave's is so everywhere, or the compiler refuses it."""
        free = [one for name, one in self.variables.items() if name not in self.fixed]
        free = [one for one in free if not (one.shared and self.split)]
        return self.rng.choice(free) if free else None

    def assignment(self, depth: int) -> None:
        to = self.target()
        if to is None:
            return self.definition(depth)
        self.emit(f"{to.text} = {self.make.of(to.kind, self.rng.choice([1, 2, 3]), to.shared).text}")

    def update(self, depth: int) -> None:
        to = self.target()
        if to is None or to.kind == "bool":
            return self.definition(depth)
        operator = self.rng.choice(["<<", ">>"]) if to.kind in INTS and self.rng.random() < 0.2 else self.make.operator(to.kind)
        self.emit(f"{to.text} {operator}= {self.make.of(to.kind, 1, to.shared).text}")

    def branch(self, depth: int) -> None:
        test = self.make.condition(2, self.rng.random() < 0.3)
        split = self.split
        self.split = split or not test.shared
        self.emit(f"if {test.text}:")
        self.inner(depth)
        if self.rng.random() < 0.6:
            self.emit("else:")
            self.inner(depth)
        self.split = split

    def loop(self, depth: int) -> None:
        """Few rounds, in either direction; of the whole wave, or of each lane for itself."""
        rng = self.rng
        name, kind, step = self.fresh("i"), rng.choice(INTS), rng.choice([1, 1, 1, 2, 3, -1, -2])
        together = rng.random() < 0.4
        value = self.make.of(kind, 1, together)
        ends = [f"lt.{kind}({rng.randint(0, 6)})", f"({value.text} % 5)"]
        if step < 0 or rng.random() < 0.3:
            ends.reverse()
        leave = self.make.condition(1, together) if rng.random() < 0.5 else None
        outer, split, shared = dict(self.variables), self.split, value.shared and (leave is None or leave.shared)
        self.split = split or not shared
        self.emit(f"for {name} in range({', '.join(ends)}, {step}):")
        self.fixed.add(name)
        self.define(name, kind, not self.split)
        self.inner(depth)
        if leave is not None:
            self.emit(f"    if {leave.text}:")
            self.emit(f"        {rng.choice(['break', 'continue'])}")
            self.inner(depth)
        self.make.variables = outer
        self.split = split

    def local_array(self, depth: int) -> None:
        rng = self.rng
        if not self.local and self.level > 1:
            return self.definition(depth)
        if self.level == 1 and (not self.local or rng.random() < 0.2):
            name, kind, length = self.fresh("a"), rng.choice(NUMBERS), rng.choice([2, 4, 5, 8])
            self.local[name] = kind, length
            self.emit(f"{name} = lt.array(lt.{kind}, {length})")
        name = rng.choice(list(self.local))
        kind, length = self.local[name]
        place = f"{name}[{self.make.any_of(('u8', 'u32', 'u64'), 1, False).text} % {length}]"
        if rng.random() < 0.5:
            self.emit(f"{place} = {self.make.of(kind, 2).text}")
        else:
            out = self.fresh("v")
            self.emit(f"{out}: lt.{kind} = {place}")
            self.define(out, kind, False)

    def wave_adds(self, depth: int) -> None:
        """A counter is one for the wave, so it may not count where lanes have gone different ways."""
        amount = self.make.of("u64", 2, True)
        if not self.split and self.rng.random() < 0.5:
            self.emit(f"count += {amount.text}")
        else:
            self.needs_lanes |= self.split
            self.emit(f"lt.wave_atomic_add(waves + {self.rng.randrange(4)}, {amount.text})")

    def output(self, depth: int) -> None:
        kind = self.rng.choice(NUMBERS)
        self.store(kind, self.make.of(kind, 2).text)
