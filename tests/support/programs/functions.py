"""Random functions: their variables, and statements that change them."""

from __future__ import annotations

import random

from .expressions import Callee, Expressions, Scope
from .model import FLOATS, INTEGERS, NAMED, U32, U64, VECTORS, Function, Statement, Type

SCOPES = ["__MEMORY_SCOPE_SYSTEM", "__MEMORY_SCOPE_DEVICE", "__MEMORY_SCOPE_WRKGRP", "__MEMORY_SCOPE_WVFRNT"]
ORDERS = ["__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE", "__ATOMIC_ACQ_REL", "__ATOMIC_SEQ_CST"]
#: Most simple operations of one function, and of one statement in a loop.
MOST = 30_000


class Structure:
    """A struct with fields of all kinds, bit fields among them, packed or not."""

    def __init__(self, rng: random.Random, name: str):
        self.name = name
        self.fields: list[tuple[str, Type]] = []
        lines = []
        for k in range(rng.randrange(2, 7)):
            t = rng.choice(INTEGERS)
            width = f" : {rng.randrange(1, t.bits + 1)}" if rng.random() < 0.45 else ""
            self.fields.append((f"f{k}", t))
            lines.append(f"{t} f{k}{width};")
        self.array = (rng.choice(INTEGERS), 1 << rng.randrange(1, 4))
        lines.insert(rng.randrange(len(lines)), f"{self.array[0]} a[{self.array[1]}];")
        packed = " __attribute__((packed))" if rng.random() < 0.4 else ""
        self.packed = bool(packed)
        self.text = f"struct {name} {{ {' '.join(lines)} }}{packed};"


class Maker:
    """Makes one function. Its variables all have values from the start, so that any statement may be left out."""

    def __init__(self, rng: random.Random, scope: Scope, structures: list[Structure], name: str, prefix: str = ""):
        self.rng = rng
        self.scope = scope
        self.made = Expressions(rng, scope)
        self.structures = structures
        self.variables: list[str] = []
        #: What may be assigned, loop counters are not among it.
        self.scalars: list[tuple[str, Type]] = []
        self.vectors: list[tuple[str, Type]] = []
        self.structs: list[tuple[str, Structure]] = []
        self.pointers: list[tuple[str, Type]] = []
        self.counters = 0
        self.name = name
        self.returning = "return;"
        self.last_array = 0
        self.prefix = prefix

    def declare(self, scalars: int, vectors: int, arrays: int, structs: int, pointers: int, unions: int) -> None:
        r = self.rng
        for k in range(scalars):
            t = r.choice(INTEGERS + FLOATS)
            self._declare(f"{t} x{k} = {self.made.any(t, 2)};", f"x{k}", t, self.scalars)
        for k in range(vectors):
            t = r.choice(VECTORS)
            self._declare(f"{t} v{k} = {self.made.any(t, 1)};", f"v{k}", t, self.vectors)
        for k in range(arrays):
            t, length = r.choice(INTEGERS), 1 << r.randrange(1, 5)
            first = ", ".join(self.made.any(t, 0) for _ in range(length))
            self.variables.append(f"alignas(8) {t} a{k}[{length}] = {{{first}}};")
            self.scope.arrays.append((f"a{k}", t, length))
        for k in range(structs if self.structures else 0):
            s = r.choice(self.structures)
            self.variables.append(f"{s.name} s{k}; __builtin_memset(&s{k}, 0, sizeof s{k});")
            self.structs.append((f"s{k}", s))
            self.scope.values += [(f"s{k}.{name}", t) for name, t in s.fields]
            self.scope.arrays.append((f"s{k}.a", *s.array))
        for k in range(unions):
            self.variables.append(f"Union u{k} = {{{self.made.any(U64, 1)}}};")
            self.scope.arrays += [
                (f"u{k}.{name}", NAMED[t], n) for name, t, n in (("d", "u32", 2), ("h", "u16", 4), ("b", "u8", 8))
            ]
            self.scalars.append((f"u{k}.q", U64))
            self.scope.values.append((f"u{k}.q", U64))
        for k in range(pointers):
            t = r.choice(INTEGERS)
            if place := self.addressable(t):
                self._declare(f"{t} *p{k} = {place};", f"(*p{k})", t, self.scalars)
                self.pointers.append((f"p{k}", t))

    def _declare(self, line: str, name: str, t: Type, among: list) -> None:
        self.variables.append(line)
        among.append((name, t))
        self.scope.values.append((name, t))

    def addressable(self, t: Type) -> str | None:
        """The address of something aligned of this type, in any kind of memory."""
        places = [f"({t} *){name} + {self.made.index(size * 8 // t.bits, 2)}" for name, size in self.scope.memory]
        places += [
            f"&{name}[{self.made.index(length, 2)}]" for name, other, length in self.scope.arrays if other == t and name[0] == "a"
        ]
        return self.rng.choice(places) if places else None

    def statements(self, count: int, depth: int, loop: bool = False) -> list[Statement]:
        return [self.statement(depth, loop) for _ in range(count)]

    def statement(self, depth: int, loop: bool) -> Statement:
        r = self.rng
        deep = depth > 0 and self.made.cost < MOST
        kinds = [(self.assign, 30), (self.store, 10), (self.vector_store, 5), (self.field_store, 7), (self.pointer, 4), (self.atomic, 6),
                 (self.effect, 4), (self.copy, 3)]  # fmt: skip
        blocks = [(self.branch, 10), (self.loop, 9), (self.switch, 4), (self.leave, 2), (self.machine, 2)]
        if loop:
            blocks.append((self.jump, 5))
        chosen = kinds + (blocks if deep else [])
        make = r.choices([k for k, _ in chosen], [w for _, w in chosen])[0]
        return make(depth) or self.assign(depth)

    def expression(self, t: Type) -> str:
        return self.made.any(t, self.rng.choice([1, 2, 2, 3, 3, 4]))

    def assign(self, depth: int) -> Statement:
        name, t = self.rng.choice(self.scalars)
        return Statement(f"{name} = {self.expression(t)};")

    def store(self, depth: int) -> Statement | None:
        r = self.rng
        t = r.choice(INTEGERS)
        if self.scope.memory and r.random() < 0.5:
            name, size = r.choice(self.scope.memory)
            if r.random() < 0.5:
                at = f"({self.made.any(U32, 2)}) % {size - t.bits // 8 + 1}"
                return Statement(f"store_any<{t}>((u8 *){name} + {at}, {self.expression(t)});")
            return Statement(
                f"store_volatile<{t}>(({t} *){name} + {self.made.index(size * 8 // t.bits, 3)}, {self.expression(t)});"
            )
        arrays = [array for array in self.scope.arrays if not array[0].startswith("table")]
        if arrays:
            name, t, length = r.choice(arrays)
            return Statement(f"{name}[{self.made.index(length, 4)}] = {self.expression(t)};")
        return None

    def vector_store(self, depth: int) -> Statement | None:
        r = self.rng
        if not self.vectors:
            return None
        name, t = r.choice(self.vectors)
        if r.random() < 0.5:
            return Statement(f"{name} = {self.made.any(t, 3)};")
        return Statement(f"{name}{self.made.element(t, 4)} = {self.expression(t.of)};")

    def field_store(self, depth: int) -> Statement | None:
        r = self.rng
        if not self.structs:
            return None
        name, s = r.choice(self.structs)
        same = [other for other, kind in self.structs if kind is s and other != name]
        if same and r.random() < 0.3:
            return Statement(f"{name} = {r.choice(same)};")
        field, t = r.choice(s.fields)
        return Statement(f"{name}.{field} = {self.expression(t)};")

    def pointer(self, depth: int) -> Statement | None:
        if not self.pointers:
            return None
        name, t = self.rng.choice(self.pointers)
        a, b = self.addressable(t), self.addressable(t)
        return Statement(f"{name} = {self.made.condition(2)} ? {a} : {b};")

    def atomic(self, depth: int) -> Statement | None:
        r = self.rng
        t = r.choice([t for t in INTEGERS if t.bits >= 32 or r.random() < 0.2] or [U32])
        where, scope, order = self.addressable(t), r.choice(SCOPES), r.choice(ORDERS)
        values = [name for name, _ in self.scalars]
        if not where or not values:
            return None
        into = r.choice([f"{name} = ({t})" for name, kind in self.scalars if kind.kind != "f"] + ["(void)"])
        self.made.cost += 30 * self.made.weight
        kind = r.random()
        if kind < 0.15:
            return Statement(f"{into}atomic_cas_loop<{t}>({where}, {self.expression(t)});")
        if kind < 0.3:
            return Statement(f"{into}atomic_cas<{t}>({where}, {self.expression(t)}, {self.expression(t)});")
        if kind < 0.45:
            f = r.choice([NAMED["f32"], NAMED["f64"]])
            bits = NAMED[f"u{f.bits}"]
            if place := self.addressable(bits):
                return Statement(f"{into}bits<{f}>(atomic_fadd<{f}>({place}, {self.expression(f)}));")
        if kind < 0.5:
            order = order if order != "__ATOMIC_RELEASE" and order != "__ATOMIC_ACQ_REL" else "__ATOMIC_ACQUIRE"
            return Statement(f"{into}__scoped_atomic_load_n({where}, {order}, {scope});")
        name = r.choice(
            ["fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_nand", "fetch_min", "fetch_max", "exchange_n"]
        )
        return Statement(f"{into}__scoped_atomic_{name}({where}, {self.expression(t)}, {order}, {scope});")

    def effect(self, depth: int) -> Statement | None:
        """A call of a function that changes what its last parameter points to."""
        if self.structs and self.scope.transforms and self.made.weight < 20 and self.rng.random() < 0.5:
            name, s = self.rng.choice(self.structs)
            for function, kind, types in self.scope.transforms:
                if kind == s.name:
                    given = self.rng.choice([other for other, its in self.structs if its is s])
                    self.made.cost += 500 * self.made.weight
                    return Statement(f"{name} = {function}({given}, {', '.join(self.made.any(t, 2) for t in types)});")
        able = [one for one in self.scope.effectful if one.cost * self.made.weight < 3000]
        if not able:
            return None
        one = self.rng.choice(able)
        self.made.cost += self.made.weight * one.cost
        where = self.addressable(one.parameters[-1])
        if not where:
            return None
        listed = ", ".join([*(self.made.any(p, 2) for p in one.parameters[:-1]), where])
        into = [name for name, t in self.scalars if t == one.returns]
        return Statement(f"{self.rng.choice(into)} = {one.name}({listed});" if into else f"{one.name}({listed});")

    def copy(self, depth: int) -> Statement | None:
        """Bytes from one object to another, which may be the same one."""
        r = self.rng
        objects = self.scope.memory + [(f"(u8 *){n}", t.bits // 8 * k) for n, t, k in self.scope.arrays if n[0] == "a"]
        if not objects:
            return None
        (to, size), (source, other) = r.choice(objects), r.choice(objects)
        count = r.randrange(1, min(size, other) + 1)
        return Statement(
            f"__builtin_memmove((u8 *){to} + {r.randrange(size - count + 1)}, (u8 *){source} + {r.randrange(other - count + 1)}, {count});"
        )

    def branch(self, depth: int) -> Statement:
        r = self.rng
        then = Statement(f"if ({self.made.condition(3)}) {{", self.statements(r.randrange(1, 4), depth - 1), "}")
        if r.random() < 0.5:
            then.tail = ""
            otherwise = Statement("} else {", self.statements(r.randrange(1, 4), depth - 1), "}")
            return Statement("{", [then, otherwise], "}")
        return then

    def _nested(self, trips: int, count: int, depth: int) -> list[Statement]:
        self.made.weight *= trips
        inside = self.statements(count, depth - 1, loop=True)
        self.made.weight //= trips
        return inside

    def loop(self, depth: int) -> Statement:
        r = self.rng
        most = 15 if self.made.weight < 8 else 3
        name = f"c{self.counters}"
        self.counters += 1
        kind = r.random()
        if kind < 0.6:
            bound = str(r.randrange(1, most + 1)) if r.random() < 0.4 else f"({self.made.any(U32, 2)} & {most})"
            self.scope.values.append((name, U32))
            inside = self._nested(most, r.randrange(1, 4), depth)
            self.scope.values.remove((name, U32))
            return Statement(f"for (u32 {name} = 0; {name} < {bound}; {name}++) {{", inside, "}")
        self.variables.append(f"u32 {name} = 0;")
        condition = self.made.condition(3)
        inside = self._nested(most, r.randrange(1, 4), depth)
        start = f"{name} = 0; "
        if kind < 0.8:
            return Statement(f"{start}while ({condition} && {name}++ < {most}) {{", inside, "}")
        return Statement(f"{start}do {{", inside, f"}} while ({condition} && {name}++ < {most});")

    def jump(self, depth: int) -> Statement:
        return Statement(f"if ({self.made.condition(2)}) {self.rng.choice(['break', 'continue'])};")

    def leave(self, depth: int) -> Statement:
        return Statement(f"if ({self.made.condition(2)} && {self.made.condition(1)}) {self.returning}")

    def _cases(self, count: int, depth: int, ends: list[str]) -> list[Statement]:
        r = self.rng
        cases = []
        for k in range(count):
            label = "default:" if k == count - 1 else " ".join(f"case {value}:" for value in {k, r.choice([k, k + 8])})
            cases.append(
                Statement(
                    label, [*self.statements(r.randrange(1, 3), depth - 1), *(Statement(end) for end in [r.choice(ends)] if end)]
                )
            )
        return cases

    def switch(self, depth: int) -> Statement:
        r = self.rng
        return Statement(
            f"switch ({self.made.any(U32, 3)} & {r.choice([3, 7, 15])}) {{",
            self._cases(r.randrange(2, 7), depth, ["break;"]),
            "}",
        )

    def machine(self, depth: int) -> Statement:
        """A loop around a switch, as an interpreter has it: each round goes where the one before has said."""
        name = f"c{self.counters}"
        self.counters += 1
        self.variables.append(f"u32 {name} = 0, m{name} = {self.rng.getrandbits(32)}u;")
        self.made.weight *= 6
        cases = self._cases(4, depth, ["continue;", f"m{name} = {self.made.any(U32, 2)}; break;", f"m{name} += 5;", "break;"])
        self.made.weight //= 6
        inner = Statement(f"switch (m{name} & 3) {{", cases, "}")
        return Statement(
            f"for ({name} = 0; {name} < 6; {name}++) {{", [inner, Statement(f"m{name} = rotr<u32>(m{name}, 2) + {name};")], "}"
        )

    def folded(self) -> list[str]:
        """Expressions, one for each variable, that together have all of their bits."""
        terms = []
        for name, t in self.scalars:
            terms.append(f"(u64)bits<{t}>({name})" if t.kind == "f" else f"(u64){name}")
        for name, t in self.vectors:
            for k in range(t.length):
                terms.append(f"(u64)bits<{t.of}>({name}[{k}])" if t.kind == "f" else f"(u64){name}[{k}]")
        for name, s in self.structs:
            terms += [f"(u64){name}.{field}" for field, _ in s.fields]
        for name, _, length in self.scope.arrays:
            if not name.startswith("table"):
                terms += [f"(u64){name}[{k}]" for k in range(length)]
        return terms


def helper(
    rng: random.Random, scope: Scope, structures: list[Structure], name: str, pointer: bool = False, like: Callee | None = None
) -> tuple[Function, Callee]:
    """A function of scalars, or one that also changes what a pointer points to; some call themselves."""
    count = rng.choice([1, 2, 3, 4, 6, 12, 24]) if not pointer else rng.randrange(1, 4)
    types = [rng.choice(INTEGERS + FLOATS) for _ in range(count)]
    returns = rng.choice(INTEGERS + (FLOATS if not pointer else []))
    if like:
        types, returns, count = list(like.parameters), like.returns, len(like.parameters)
    own = Scope(
        values=[(f"q{k}", t) for k, t in enumerate(types)],
        arrays=[a for a in scope.arrays if a[0].startswith("table")],
        pure=list(scope.pure),
        tables=list(scope.tables),
    )
    maker = Maker(rng, own, structures, name)
    parameters = [(str(t), f"q{k}") for k, t in enumerate(types)]
    if pointer:
        target = rng.choice(INTEGERS)
        types.append(target)
        parameters.append((f"{target} *", "pointer"))
        own.values.append(("(*pointer)", target))
        maker.scalars.append(("(*pointer)", target))
    maker.scalars += [(f"q{k}", t) for k, t in enumerate(types[:count])]
    maker.declare(rng.randrange(1, 4), rng.randrange(2), rng.randrange(2), rng.randrange(2), rng.randrange(2), rng.randrange(2))
    attribute = rng.choice(["NOINLINE", "NOINLINE", "FREE"])
    maker.returning = f"return {maker.made.any(returns, 1)};"
    body = maker.statements(rng.randrange(2, 7), 2)
    result = maker.made.any(returns, 3)
    cost = maker.made.cost
    if not pointer and not like and rng.random() < 0.3:
        # It calls itself with fewer rounds to go: a stack whose depth is the caller's to say.
        others = ", ".join(maker.made.any(t, 1) for t in types)
        bits = f"bits<{returns}>" if returns.kind == "f" else ""
        inner = f"{bits}({name}({others}, rounds - 1))"
        back = (
            f"to_float<{returns}, u64>((u64){inner} & 0xffff)" if returns.kind == "f" else f"({returns})({inner} ^ (u64)rounds)"
        )
        parameters.append(("u32", "rounds"))
        types.append(U32)
        body.insert(
            rng.randrange(len(body) + 1), Statement(f"rounds &= 3; if (rounds != 0 && {maker.made.condition(2)}) return {back};")
        )
        cost *= 4
        attribute = "NOINLINE"
    ending = [f"return {result};"]
    function = Function(name, str(returns), parameters, attribute, maker.variables, body, ending, cost)
    return function, Callee(name, returns, types, cost)


def transform(rng: random.Random, scope: Scope, structure: Structure, name: str) -> tuple[Function, list[Type]]:
    """A function that gets a struct by value, changes it and returns it."""
    types = [rng.choice(INTEGERS + FLOATS) for _ in range(rng.randrange(1, 4))]
    own = Scope(values=[(f"q{k}", t) for k, t in enumerate(types)] + [(f"given.{field}", t) for field, t in structure.fields])
    own.arrays = [("given.a", *structure.array)]
    maker = Maker(rng, own, [structure], name)
    maker.structs.append(("given", structure))
    maker.scalars += [(f"q{k}", t) for k, t in enumerate(types)]
    maker.declare(1, 0, 0, 1, 0, 0)
    maker.returning = "return given;"
    body = maker.statements(rng.randrange(2, 6), 1)
    parameters = [(structure.name, "given"), *((str(t), f"q{k}") for k, t in enumerate(types))]
    return Function(
        name, structure.name, parameters, "NOINLINE", maker.variables, body, ["return given;"], maker.made.cost
    ), types
