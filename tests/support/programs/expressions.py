"""Random expressions without effects, of every type, from what is in scope."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .model import FLOATS, INTEGERS, NAMED, U32, VECTORS, Type

UNARY = ["neg", "inv", "popcount", "clz", "ctz", "magnitude", "bit_reverse", "byte_swap"]
BINARY = [
    "add", "sub", "mul", "low", "high", "add_sat", "sub_sat", "distance", "mask24", "quotient", "remainder_of", "mul_high",
    "add_overflow", "sub_overflow", "mul_overflow", "pick_bytes",
]  # fmt: skip
SHIFTS = ["shl", "shr", "lshr", "rotl", "rotr", "field"]
TERNARY = [
    "funnel", "merge", "mad", "middle", "sum3", "xad", "or3", "sad", "shift_add", "carried", "dot_bytes", "wide_quotient",
]  # fmt: skip
FLOAT_UNARY = [
    "fneg", "fmagnitude", "fclamp", "fdouble", "fhalf", "ftrunc", "ffloor", "fceil", "frint", "feven", "fround", "froot", "fparts",
]  # fmt: skip
FLOAT_BINARY = [
    "fadd", "fsub", "fmul", "fdiv", "fless", "fgreater", "not_less", "fcopysign", "lesser", "greater", "minimum", "maximum",
    "fremainder",
]  # fmt: skip
#: Operations that take long, in simple ones.
COSTLY = {"wide_quotient": 200, "quotient": 20, "remainder_of": 20, "fdiv": 10, "fremainder": 100, "fparts": 5}


@dataclass
class Callee:
    name: str
    returns: Type
    parameters: list[Type]
    cost: int


@dataclass
class Scope:
    """What an expression may name. Arrays have a power of two elements; memory is in bytes, aligned to eight."""

    values: list[tuple[str, Type]] = field(default_factory=list)
    arrays: list[tuple[str, Type, int]] = field(default_factory=list)
    memory: list[tuple[str, int]] = field(default_factory=list)
    pure: list[Callee] = field(default_factory=list)
    #: Functions with a pointer among their parameters; only statements call them.
    effectful: list[Callee] = field(default_factory=list)
    #: Tables of functions, their length, and what each of them is like.
    tables: list[tuple[str, int, Callee]] = field(default_factory=list)
    #: Functions from a struct to itself: name, the struct's name, what else they are called with.
    transforms: list[tuple[str, str, list[Type]]] = field(default_factory=list)


class Expressions:
    def __init__(self, rng: random.Random, scope: Scope):
        self.rng = rng
        self.scope = scope
        #: How often what is written now is executed, and what all of it has cost so far.
        self.weight = 1
        self.cost = 1

    def any(self, t: Type, depth: int) -> str:
        self.cost += self.weight
        if t.length > 1:
            return self.vector(t, depth)
        return self.floating(t, depth) if t.kind == "f" else self.integer(t, depth)

    def literal(self, t: Type) -> str:
        r = self.rng
        value = r.choice([
            0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0xFFFFFF, 0x7FFFFFFF, 1 << 31,
            (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -2, -16, -17, 65, -100, r.getrandbits(8), r.getrandbits(16),
            r.getrandbits(32), r.getrandbits(64), 1 << r.randrange(64), (1 << r.randrange(1, 64)) - 1,
        ])  # fmt: skip
        return f"({t}){value & ((1 << 64) - 1):#x}ul"

    def index(self, length: int, depth: int) -> str:
        return f"({self.integer(U32, depth - 2)} & {length - 1})"

    def place(self, t: Type, depth: int) -> str | None:
        """Something in memory of this type, which can be assigned too."""
        r, scope = self.rng, self.scope
        arrays = [array for array in scope.arrays if array[1] == t]
        if arrays and r.random() < 0.6:
            name, _, length = r.choice(arrays)
            return f"{name}[{self.index(length, depth)}]"
        if scope.memory and t.kind != "f":
            name, size = r.choice(scope.memory)
            return f"(({t} *){name})[{self.index(size * 8 // t.bits, depth)}]"
        return None

    def leaf(self, t: Type) -> str:
        r = self.rng
        same = [name for name, other in self.scope.values if other == t]
        if same and r.random() < 0.6:
            return r.choice(same)
        if t.kind == "f":
            if r.random() < 0.4:
                return f"({t}){r.choice(['0.0', '1.0', '-1.0', '0.5', '2.0', '4.0', '0.1', '-3.75', '100.3', '65504.0', '1e-6', '12345.678'])}"
            return self.convert(t, 0)
        if r.random() < 0.3:
            return self.literal(t)
        if r.random() < 0.4 and (place := self.place(t, 1)):
            return place
        others = [name for name, other in self.scope.values if other.kind != "f" and other.length == 1]
        return f"({t}){r.choice(others)}" if others else self.literal(t)

    def convert(self, t: Type, depth: int) -> str:
        """A floating-point number that was something else."""
        r = self.rng
        if depth > 0 and r.random() < 0.4:
            source = r.choice([other for other in FLOATS if other != t])
            return f"recast<{t}, {source}>({self.any(source, depth - 1)})"
        if r.random() < 0.3:
            bits = NAMED[f"u{t.bits}"]
            return f"from_bits<{t}>({self.any(bits, depth - 1)})"
        source = r.choice(INTEGERS)
        return f"to_float<{t}, {source}>({self.any(source, depth - 1)})"

    def integer(self, t: Type, depth: int) -> str:
        r = self.rng
        if depth <= 0 or r.random() < 0.08:
            return self.leaf(t)
        kinds = [self._plain, self._binary, self._shift, self._unary, self._ternary, self._choice, self._cast, self._compare,
                 self._from_float, self._from_vector, self._call, self._odd, self._memory]  # fmt: skip
        return r.choices(kinds, [14, 16, 9, 8, 10, 9, 9, 5, 6, 6, 6, 2, 5])[0](t, depth - 1)

    def _plain(self, t: Type, depth: int) -> str:
        return f"({t})({self.any(t, depth)} {self.rng.choice('&|^')} {self.any(t, depth)})"

    def _named(self, names: list[str]) -> str:
        name = self.rng.choice(names)
        self.cost += self.weight * COSTLY.get(name, 2)
        return name

    def _binary(self, t: Type, depth: int) -> str:
        return f"{self._named(BINARY)}<{t}>({self.any(t, depth)}, {self.any(t, depth)})"

    def _shift(self, t: Type, depth: int) -> str:
        count = self.any(U32, depth) if self.rng.random() < 0.6 else str(self.rng.randrange(t.bits))
        return f"{self._named(SHIFTS)}<{t}>({self.any(t, depth)}, {count})"

    def _unary(self, t: Type, depth: int) -> str:
        return f"{self._named(UNARY)}<{t}>({self.any(t, depth)})"

    def _ternary(self, t: Type, depth: int) -> str:
        return f"{self._named(TERNARY)}<{t}>({self.any(t, depth)}, {self.any(t, depth - 1)}, {self.any(t, depth - 1)})"

    def _choice(self, t: Type, depth: int) -> str:
        return f"({self.condition(depth)} ? {self.any(t, depth)} : {self.any(t, depth)})"

    def _cast(self, t: Type, depth: int) -> str:
        return f"({t})({self.any(self.rng.choice(INTEGERS), depth)})"

    def _compare(self, t: Type, depth: int) -> str:
        return f"({t})({self.condition(depth)})"

    def _from_float(self, t: Type, depth: int) -> str:
        source = self.rng.choice(FLOATS)
        if self.rng.random() < 0.5:
            return f"({t})bits<{source}>({self.any(source, depth)})"
        return f"to_int<{t}, {source}>({self.any(source, depth)}, {self.literal(t)})"

    def _from_vector(self, t: Type, depth: int) -> str:
        r = self.rng
        v = r.choice([v for v in VECTORS if v.kind == "u"])
        if r.random() < 0.4:
            return f"({t})__builtin_reduce_{r.choice(['add', 'mul', 'and', 'or', 'xor', 'max', 'min'])}({self.any(v, depth - 1)})"
        return f"({t})({self.any(v, depth - 1)}){self.element(v, depth)}"

    def element(self, v: Type, depth: int) -> str:
        r = self.rng
        if v.length != 3 and r.random() < 0.3:
            return f"[{self.index(v.length, depth)}]"
        return f"[{r.randrange(v.length)}]"

    def _call(self, t: Type, depth: int) -> str:
        pure = [one for one in self.scope.pure if one.cost * self.weight < 3000]
        if not pure:
            return self._binary(t, depth)
        one = self.rng.choice(pure)
        self.cost += self.weight * one.cost
        name = one.name
        tables = [table for table in self.scope.tables if table[2] is one]
        if tables:
            table, length, _ = self.rng.choice(tables)
            name = f"{table}[{self.index(length, depth)}]"
        called = f"{name}({', '.join(self.any(p, depth - 1) for p in one.parameters)})"
        return f"({t})bits<{one.returns}>({called})" if one.returns.kind == "f" else f"({t}){called}"

    def _odd(self, t: Type, depth: int) -> str:
        name = self.rng.choice(["wide_mix", "odd_width"])
        self.cost += self.weight * 40
        return f"{name}<{t}>({self.any(t, depth)}, {self.any(t, depth)}, {self.any(U32, depth - 1)})"

    def _memory(self, t: Type, depth: int) -> str:
        r = self.rng
        if self.scope.memory and r.random() < 0.4:
            name, size = r.choice(self.scope.memory)
            if r.random() < 0.5:
                at = f"({self.any(U32, depth - 1)}) % {size - t.bits // 8 + 1}"
                return f"load_any<{t}>((u8 *){name} + {at})"
            return f"load_volatile<{t}>(({t} *){name} + {self.index(size * 8 // t.bits, depth)})"
        return self.place(t, depth) or self.leaf(t)

    def condition(self, depth: int) -> str:
        r = self.rng
        kind = r.random()
        if depth > 0 and kind < 0.2:
            return f"({self.condition(depth - 1)} {r.choice(['&&', '||', '!=', '=='])} {self.condition(depth - 1)})"
        if depth > 0 and kind < 0.27:
            return f"!{self.condition(depth - 1)}"
        if kind < 0.45:
            t = r.choice(FLOATS)
            return f"({self.any(t, depth - 1)} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {self.any(t, depth - 1)})"
        t = r.choice(INTEGERS)
        if kind < 0.6:
            return f"(({self.any(t, depth)} & {self.literal(t)}) {r.choice(['==', '!='])} 0)"
        return f"({self.any(t, depth)} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {self.any(t, depth - 1)})"

    def floating(self, t: Type, depth: int) -> str:
        r = self.rng
        if depth <= 0 or r.random() < 0.1:
            return self.leaf(t)
        kind = r.random()
        if kind < 0.4:
            return f"{self._named(FLOAT_BINARY)}<{t}>({self.any(t, depth - 1)}, {self.any(t, depth - 1)})"
        if kind < 0.55:
            return f"{self._named(FLOAT_UNARY)}<{t}>({self.any(t, depth - 1)})"
        if kind < 0.65:
            return f"ffma<{t}>({self.any(t, depth - 1)}, {self.any(t, depth - 2)}, {self.any(t, depth - 2)})"
        if kind < 0.7 and t.name != "bf16":
            f16 = NAMED["f16"]
            return f"mixed<{t}>({self.any(f16, depth - 1)}, {self.any(f16, depth - 1)}, {self.any(t, depth - 2)})"
        if kind < 0.75:
            return f"fscale<{t}>({self.any(t, depth - 1)}, {self.any(NAMED['i32'], depth - 1)})"
        if kind < 0.82:
            return f"({self.condition(depth - 1)} ? {self.any(t, depth - 1)} : {self.any(t, depth - 1)})"
        if kind < 0.87:
            vectors = [v for v in VECTORS if v.of == t]
            if vectors:
                v = r.choice(vectors)
                return f"({self.any(v, depth - 1)}){self.element(v, depth)}"
        return self.convert(t, depth)

    def vector(self, t: Type, depth: int) -> str:
        r = self.rng
        self.cost += self.weight * t.length
        same = [name for name, other in self.scope.values if other == t]
        if same and (depth <= 0 or r.random() < 0.25):
            return r.choice(same)
        if depth <= 0:
            return f"({t})({self.leaf(t.of)})"
        kind = r.random()
        if kind < 0.15:
            return f"({t}){{{', '.join(self.any(t.of, depth - 2) for _ in range(t.length))}}}"
        if kind < 0.3:
            other = r.choice([v for v in VECTORS if v.of == t.of])
            picks = ", ".join(str(r.randrange(2 * other.length)) for _ in range(t.length))
            return f"__builtin_shufflevector({self.any(other, depth - 1)}, {self.any(other, depth - 1)}, {picks})"
        a, b = self.any(t, depth - 1), self.any(t, depth - 1)
        if t.kind == "f":
            name = r.choice(["+", "-", "*", "minimum", "maximum", "min", "fma", "sqrt", "trunc"])
            if name in "+-*":
                return f"({a} {name} {b})"
            if name in ("sqrt", "trunc"):
                return f"__builtin_elementwise_{name}({a})"
            if name == "fma":
                return f"vfma<{t}, {t.of}>({a}, {b}, {self.any(t, depth - 2)}, {t.length})"
            if name == "min":
                return f"(__builtin_elementwise_min(vplain<{t}, {t.of}>({a}, {t.length}), vplain<{t}, {t.of}>({b}, {t.length})) + ({t})0)"
            return f"__builtin_elementwise_{name}({a}, {b})"
        if kind < 0.45 and (u := [v for v in VECTORS if v.kind == "u" and v.length == t.length and v != t]):
            return f"__builtin_convertvector({self.any(r.choice(u), depth - 1)}, {t})"
        if (
            kind < 0.5
            and t.length != 3
            and (u := [v for v in VECTORS if v.kind == "u" and v.length * v.bits == t.length * t.bits and v.length != 3])
        ):
            return f"__builtin_bit_cast({t}, {self.any(r.choice(u), depth - 1)})"
        if kind < 0.6:
            return f"v{r.choice(['shl', 'shr'])}<{t}>({a}, {b}, {t.bits})"
        if kind < 0.8:
            name = r.choice(["min", "max", "add_sat", "sub_sat"])
            return f"__builtin_elementwise_{name}({a}, {b})"
        if kind < 0.85:
            return f"__builtin_elementwise_{r.choice(['popcount', 'bitreverse'])}({a})"
        return f"({a} {r.choice(['+', '-', '*', '&', '|', '^'])} {b})"
