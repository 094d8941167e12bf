"""Random hooks: statements, and the arrays that a hook works on."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np

from .expressions import TABLE, Expression, Expressions
from .kinds import INTS, NUMBERS, dtype, kind_of, numbers

#: Elements of an array of which each lane has one.
LANES = 64
#: Stores of one type that a hook may have.
STORES = 24
#: Hooks of seeds from here on have packed arithmetic, and scalar atomics where the processor has them: those of seeds below stay
#: what they were.
NEWER = 10_000


@dataclass(frozen=True)
class Generated:
    source: str
    #: What the hook is given, by the names of its parameters, before ``count``, which is a counter if it is there.
    arrays: dict[str, np.ndarray]
    counts: bool
    #: The types of what the wave and each lane carry from one time to the next, by the names of their parameters.
    states: dict[str, str]
    #: Whether it is given LDS, and a channel.
    lds: bool
    records: bool
    #: How often the hook stands at its place.
    times: int
    #: Whether it asks for more than what hooks promise in a wave without active lanes.
    needs_lanes: bool


def generate(seed: int, scalars: bool = False) -> Generated:
    """``scalars``: the processor has scalar atomics."""
    rng = random.Random(f"hook {seed}")
    hook = _Hook(rng, depth=rng.choice([0, 1, 2]))
    if seed >= NEWER:
        hook.make.packed, hook.scalars = True, scalars
    return hook.generated(statements=rng.choice([2, 4, 8]))


#: What atomics do in an array of their own, so that their order does not matter.
ATOMICS = ("add", "xor", "or", "and", "min", "max")
#: What scalar atomics do, one after the other.
SCALAR_ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor", "inc", "dec", "exchange", "cas")
#: Words of LDS: one for each lane, and some for all.
OWN, ALL = LANES, 4


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
        self.make.places, self.make.tables = rng.random() < 0.4, rng.random() < 0.4
        self.lds, self.records = rng.random() < 0.3, rng.random() < 0.4
        self.times = rng.choice([1, 1, 2])
        self.scalars = False
        self.states: dict[str, str] = {}
        self.device: list[str] = []

    @property
    def variables(self) -> dict[str, Expression]:
        return self.make.variables

    def generated(self, statements: int) -> Generated:
        rng = self.rng
        for _ in range(rng.choice([0, 0, 1, 2])):
            self.function()
        self.lines = []
        self.make.variables = {}
        self.emit("lane = lt.lane_id()")
        self.define("lane", "u32", False)
        for kind in rng.sample(NUMBERS, 5):
            self.emit(f"x_{kind} = in_{kind}[lane]")
            self.define(f"x_{kind}", kind, False)
        if rng.random() < 0.4:
            kind = rng.choice(["u32", "u64", "i32", "f32"])
            self.states["wave_state"] = kind
            self.define("wave_state", kind, True)
        if rng.random() < 0.4:
            kind = rng.choice(["u32", "i64", "f32", "f64", "u16"])
            self.states["lane_state"] = kind
            self.define("lane_state", kind, False)
        self.block(statements, self.depth)
        if self.lds:
            for n in range(ALL):
                self.store("u32", f"lds[{OWN + n}]")
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
        for kind in ("u32", "u64"):
            if f"(s_{kind} + " in body:
                arrays[f"s_{kind}"] = np.full(4, 3, dtype(kind))
        for op in ATOMICS:
            if f"lt.atomic_{op}(a_{op}" in body:
                arrays[f"a_{op}"] = np.full(4, 0x5A5A5A5A, np.uint32)
        counts = "count += " in body
        lds, records = "lds[" in body or "(lds +" in body, "lt.record(" in body
        params = [f"{name}: lt.ptr[lt.{kind_of(array)}]" for name, array in arrays.items()]
        params += [f"{name}: lt.inout[lt.{kind}]" for name, kind in self.states.items()]
        params += ['lds: lt.ptr[lt.u32, "lds"]'] * lds + ["records: lt.channel"] * records
        params += ["count: lt.counter"] * counts
        whole = "\n".join([*self.device, body])
        tables = "".join(self.constants(kind) for kind in NUMBERS if f"c_{kind}[" in whole)
        head = "import numpy as np\n\nimport luthier as lt\n\n" if tables else "import luthier as lt\n\n"
        functions = "".join(f"\n{one}\n\n" for one in self.device)
        source = f"{head}{tables}{functions}\n@lt.hook\ndef hook({', '.join(params)}):\n{body}\n"
        needs_lanes = self.needs_lanes or "readfirstlane" in whole
        return Generated(source, arrays, counts, self.states, lds, records, self.times, needs_lanes)

    def constants(self, kind: str) -> str:
        values = numbers(kind, TABLE, self.rng)
        bits = ", ".join(map(str, values.view(f"u{values.itemsize}").tolist()))
        return f"c_{kind} = np.array([{bits}], np.uint{8 * values.itemsize}).view(np.{dtype(kind).name})\n"

    def function(self) -> None:
        """A function for the hook to call, with two ways out."""
        rng, name = self.rng, self.fresh("d")
        gives, takes = rng.choice(NUMBERS), tuple(rng.choice(NUMBERS) for _ in range(rng.choice([1, 2])))
        params = [(f"p{n}", kind) for n, kind in enumerate(takes)]
        places, wave = self.make.places, self.make.wave
        self.make.places = self.make.wave = False
        self.make.variables = {param: Expression(kind, param, True) for param, kind in params}
        self.lines = []
        self.emit(f"local: lt.{gives} = {self.make.of(gives, 2, True).text}")
        if rng.random() < 0.5:
            self.emit(f"if {self.make.condition(1, True).text}:")
            self.emit(f"    return {self.make.of(gives, 2, True).text}")
        self.make.variables["local"] = Expression(gives, "local", True)
        self.emit(f"return {self.make.of(gives, 1, True).text}")
        listed = ", ".join(f"{param}: lt.{kind}" for param, kind in params)
        # Arrays in memory are the hook's parameters.
        body = re.sub(r"\bt_(\w+)\[", r"c_\1[", "\n".join(self.lines))
        self.device.append(f"@lt.device\ndef {name}({listed}) -> lt.{gives}:\n{body}")
        self.make.functions[name] = gives, takes
        self.make.places, self.make.wave = places, wave

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
            forms |= {self.branch: 10, self.loop: 10, self.while_loop: 5}
        forms |= {self.atomic: 8}
        if self.lds:
            forms |= {self.in_lds: 10}
        if self.records:
            forms |= {self.record: 12}
        if self.wave:
            forms |= {self.wave_adds: 8}
        if self.scalars:
            forms |= {self.scalar_atomic: 12}
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

    def while_loop(self, depth: int) -> None:
        """Until a number has come down to zero, or something else is so."""
        rng, name = self.rng, self.fresh("w")
        together = rng.random() < 0.4
        start, leave = self.make.of("u32", 1, together), self.make.condition(1, together)
        self.emit(f"{name}: lt.u32 = {start.text} % 6")
        outer, split = dict(self.variables), self.split
        self.split = split or not (start.shared and leave.shared)
        self.fixed.add(name)
        self.define(name, "u32", start.shared and not split)
        self.emit(f"while {name} > 0 and {leave.text}:")
        self.emit(f"    {name} -= 1")
        self.inner(depth)
        self.make.variables = outer
        self.split = split

    def atomic(self, depth: int) -> None:
        """Each lane by itself, in any order."""
        op = self.rng.choice(ATOMICS)
        place, value = self.make.of("u32", 1), self.make.of("u32", 2)
        self.emit(f"lt.atomic_{op}(a_{op} + {place.text} % 4, {value.text})")

    def in_lds(self, depth: int) -> None:
        """A word of each lane's own, or some for all."""
        if self.rng.random() < 0.4:
            place, value = self.make.of("u32", 1), self.make.of("u32", 2)
            self.emit(f"lt.atomic_add(lds + ({OWN} + {place.text} % {ALL}), {value.text})")
        elif self.rng.random() < 0.5:
            self.emit(f"lds[lane] = {self.make.of('u32', 2).text}")
        else:
            out = self.fresh("v")
            self.emit(f"{out}: lt.u32 = lds[lane]")
            self.define(out, "u32", False)

    def record(self, depth: int) -> None:
        """For each lane, or one for the wave."""
        per_wave = self.rng.random() < 0.4 and not self.split
        fields = [self.make.of(kind, 1, per_wave) for kind in ("u32", "i64")]
        self.emit(f"lt.record(records, {fields[0].text}, {fields[1].text}{', per_wave=True' if per_wave else ''})")

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

    def scalar_atomic(self, depth: int) -> None:
        """Of the wave, whose operands and old value all lanes share."""
        kind, op = self.rng.choice(["u32", "u64"]), self.rng.choice(SCALAR_ATOMICS)
        operands = [self.make.of(kind, 1, True).text for _ in range(2 if op == "cas" else 1)]
        call = f"lt.scalar_atomic_{op}(s_{kind} + {self.rng.randrange(4)}, {', '.join(operands)})"
        self.needs_lanes |= self.split
        if self.rng.random() < 0.5:
            return self.emit(call)
        out = self.fresh("v")
        self.emit(f"{out}: lt.{kind} = {call}")
        self.define(out, kind, not self.split)
        return None

    def output(self, depth: int) -> None:
        kind = self.rng.choice(NUMBERS)
        self.store(kind, self.make.of(kind, 2).text)
