"""Random expressions of the hook language, each of a given type."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .kinds import FLOATS, INTS, NUMBERS, bits, edges, limits, narrower

#: Where the hook is: one workgroup of one wave. Whether all lanes have the same.
PLACES = {
    "u32": [("lt.workitem_id_x()", False), ("lt.workgroup_size_x()", True), ("lt.grid_size_x()", True), ("lt.workgroup_id_x()", True),
            ("lt.wave_size()", True)],
    "u64": [('lt.kernel_arg("mask", lt.u64)', True)],
}  # fmt: skip
#: Elements of the tables that hooks look things up in.
TABLE = 16


@dataclass(frozen=True)
class Expression:
    """Its text binds as a name does."""

    kind: str
    text: str
    #: Whether all lanes have the same value, so that the wave may count it.
    shared: bool


class Expressions:
    """``shared`` asks for an expression that is one value for the wave."""

    def __init__(self, rng: random.Random, wave: bool):
        self.rng = rng
        #: Whether expressions may look at other lanes.
        self.wave = wave
        self.variables: dict[str, Expression] = {}
        #: Functions that may be called: what they give, and what they take.
        self.functions: dict[str, tuple[str, tuple[str, ...]]] = {}
        #: Whether expressions may ask where the hook is, and look into tables of constants.
        self.places = self.tables = False
        #: Whether there is packed arithmetic.
        self.packed = False

    def of(self, kind: str, depth: int, shared: bool = False) -> Expression:
        if kind == "bool":
            return self.condition(depth, shared)
        if depth <= 0 or self.rng.random() < 0.08:
            return self.leaf(kind, shared)
        forms = {
            self.conversion: 10, self.bitcast: 5, self.choice: 8, self.extreme: 6, self.absolute: 4,
            self.negative: 5, self.arithmetic: 30,
        }  # fmt: skip
        if kind in FLOATS:
            forms |= {self.rounded: 7}
        else:
            forms |= {self.inverted: 5, self.shift: 10}
        if kind == "u32":
            forms |= {self.counted_bits: 8}
        if kind == "u32" and self.packed:
            forms |= {self.halves: 10}
        if self.wave and kind in ("u32", "i32", "u64", "i64", "f32", "f64"):
            forms |= {self.of_the_wave: 8}
        if any(gives == kind for gives, _ in self.functions.values()):
            forms |= {self.called: 12}
        (form,) = self.rng.choices(list(forms), list(forms.values()))
        return form(kind, depth - 1, shared)

    def called(self, kind: str, depth: int, shared: bool) -> Expression:
        name = self.rng.choice([name for name, (gives, _) in self.functions.items() if gives == kind])
        args = [self.of(one, depth, shared) for one in self.functions[name][1]]
        return Expression(kind, f"{name}({', '.join(arg.text for arg in args)})", all(arg.shared for arg in args))

    def any_of(self, kinds: Sequence[str], depth: int, shared: bool) -> Expression:
        return self.of(self.rng.choice(kinds), depth, shared)

    def named(self, shared: bool, kind: str | None = None) -> list[Expression]:
        usable = (one for one in self.variables.values() if one.shared or not shared)
        return [one for one in usable if kind is None or one.kind == kind]

    def leaf(self, kind: str, shared: bool) -> Expression:
        if self.places and kind in PLACES and self.rng.random() < 0.25:
            text, is_shared = self.rng.choice(PLACES[kind])
            if is_shared or not shared:
                return Expression(kind, text, is_shared)
        same, chance = self.named(shared, kind), self.rng.random()
        if same and chance < 0.7:
            return self.rng.choice(same)
        if kind == "bool":
            return self.comparison(0, shared)
        others = self.named(shared)
        if others and chance < 0.8:
            one = self.rng.choice(others)
            return Expression(kind, f"lt.{kind}({one.text})", one.shared)
        if self.tables and self.rng.random() < 0.4:
            # One that the table does not have is zero.
            place = self.any_of(INTS, 0, shared) if self.rng.random() < 0.8 else None
            remainder = f"{place.text} % {self.rng.choice([5, TABLE, TABLE + 3])}" if place else str(self.rng.randrange(TABLE))
            return Expression(kind, f"c_{kind}[{remainder}]", not place or place.shared)
        if chance < 0.9:
            index = self.any_of(("u8", "u16", "u32"), 0, shared) if self.rng.random() < 0.6 else None
            text = f"t_{kind}[{index.text} % {TABLE}]" if index else f"t_{kind}[{self.rng.randrange(TABLE)}]"
            return Expression(kind, text, not index or index.shared)
        return self.constant(kind)

    def constant(self, kind: str) -> Expression:
        value = self.rng.choice([one for one in edges(kind) if np.isfinite(one)])
        return Expression(kind, f"lt.{kind}({value!r})", True)

    def bare(self, kind: str) -> Expression:
        """A constant that takes its type from what it meets."""
        if kind in FLOATS:
            return Expression(kind, self.rng.choice(["1", "2", "2.5", "-3", "0.1", "7"]), True)
        low, high = limits(kind)
        numbers = [0, 1, 2, 3, 5, 7, 8, 10, 60, 64, 100, 127, 255, 1000, -1, -2, -7, -8, low, high, 1 << 16, 1 << 31, 1 << 33]
        return Expression(kind, f"({self.rng.choice([one for one in numbers if low <= one <= high])})", True)

    # Conditions.

    def condition(self, depth: int, shared: bool) -> Expression:
        if depth <= 0:
            return self.leaf("bool", shared)
        forms = {self.comparison: 50, self.logical: 25, self.negated: 10, self.bitwise: 10, self.truth: 5}
        (form,) = self.rng.choices(list(forms), list(forms.values()))
        return form(depth - 1, shared)

    def comparison(self, depth: int, shared: bool) -> Expression:
        kind = self.rng.choice(NUMBERS)
        parts = [self.of(kind, depth, shared) for _ in range(self.rng.choice([2, 2, 2, 3]))]
        text = parts[0].text
        for part in parts[1:]:
            text += f" {self.rng.choice(['==', '!=', '<', '<=', '>', '>='])} {part.text}"
        return Expression("bool", f"({text})", all(part.shared for part in parts))

    def logical(self, depth: int, shared: bool) -> Expression:
        parts = [self.condition(depth, shared) for _ in range(self.rng.choice([2, 2, 3]))]
        text = self.rng.choice([" and ", " or "]).join(part.text for part in parts)
        return Expression("bool", f"({text})", all(part.shared for part in parts))

    def negated(self, depth: int, shared: bool) -> Expression:
        value = self.condition(depth, shared)
        return Expression("bool", f"(not {value.text})", value.shared)

    def bitwise(self, depth: int, shared: bool) -> Expression:
        a, b = self.condition(depth, shared), self.condition(depth, shared)
        return Expression("bool", f"({a.text} {self.rng.choice('&|^')} {b.text})", a.shared and b.shared)

    def truth(self, depth: int, shared: bool) -> Expression:
        value = self.any_of(NUMBERS, depth, shared)
        return Expression("bool", f"bool({value.text})", value.shared)

    # Numbers.

    def conversion(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.any_of((*NUMBERS, "bool"), depth, shared)
        return Expression(kind, f"lt.{kind}({value.text})", value.shared)

    def bitcast(self, kind: str, depth: int, shared: bool) -> Expression:
        """Of a NaN, the bits are anything."""
        source = self.rng.choice([one for one in NUMBERS if bits(one) == bits(kind)])
        value = self.leaf(source, shared) if source in FLOATS else self.of(source, depth, shared)
        text = f"({value.text} if {value.text} == {value.text} else 0)" if source in FLOATS else value.text
        return Expression(kind, f"lt.bitcast(lt.{kind}, {text})", value.shared)

    def choice(self, kind: str, depth: int, shared: bool) -> Expression:
        test, a, b = self.condition(depth, shared), self.of(kind, depth, shared), self.of(kind, depth, shared)
        return Expression(kind, f"({a.text} if {test.text} else {b.text})", test.shared and a.shared and b.shared)

    def extreme(self, kind: str, depth: int, shared: bool) -> Expression:
        a, b = self.of(kind, depth, shared), self.of(kind, depth, shared)
        function = self.rng.choice(["min", "lt.min", "max", "lt.max"])
        return Expression(kind, f"{function}({a.text}, {b.text})", a.shared and b.shared)

    def absolute(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.of(kind, depth, shared)
        return Expression(kind, f"abs({value.text})", value.shared)

    def negative(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.of(kind, depth, shared)
        return Expression(kind, f"(-{value.text})", value.shared)

    def inverted(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.of(kind, depth, shared)
        return Expression(kind, f"(~{value.text})", value.shared)

    def rounded(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.of(kind, depth, shared)
        return Expression(kind, f"lt.{self.rng.choice(['floor', 'sqrt'])}({value.text})", value.shared)

    def counted_bits(self, kind: str, depth: int, shared: bool) -> Expression:
        value = self.any_of(INTS, depth, shared)
        return Expression(kind, f"lt.{self.rng.choice(['popcount', 'ctz', 'clz'])}({value.text})", value.shared)

    def halves(self, kind: str, depth: int, shared: bool) -> Expression:
        a, b = self.of(kind, depth, shared), self.of(kind, depth, shared)
        function = self.rng.choice(["pk_add_u16", "pk_sub_u16", "pk_mul_u16"])
        return Expression(kind, f"lt.{function}({a.text}, {b.text})", a.shared and b.shared)

    def shift(self, kind: str, depth: int, shared: bool) -> Expression:
        value, amount = self.of(kind, depth, shared), self.any_of(INTS, depth, shared)
        if self.rng.random() < 0.3:
            amount = Expression("i32", str(self.rng.choice([0, 1, 5, bits(kind) - 1, bits(kind), 70])), True)
        return Expression(kind, f"({value.text} {self.rng.choice(['<<', '>>'])} {amount.text})", value.shared and amount.shared)

    def operator(self, kind: str) -> str:
        return self.rng.choice("+-*/" if kind in FLOATS else ["+", "-", "*", "&", "|", "^", "//", "%"])

    def arithmetic(self, kind: str, depth: int, shared: bool) -> Expression:
        a, b = self.of(kind, depth, shared), self.any_of(narrower(kind), depth, shared)
        if self.rng.random() < 0.3:
            b = self.bare(kind)
        if self.rng.random() < 0.5:
            a, b = b, a
        return Expression(kind, f"({a.text} {self.operator(kind)} {b.text})", a.shared and b.shared)

    def of_the_wave(self, kind: str, depth: int, shared: bool) -> Expression:
        if kind not in FLOATS and self.rng.random() < 0.3:
            function = self.rng.choice(["wave_sum", "wave_min", "wave_max"])
            return Expression(kind, f"lt.{function}({self.of(kind, depth).text})", True)
        forms = [f"lt.readfirstlane({self.of(kind, depth).text})"]
        if kind == "u32":
            forms.append("lt.active_lanes()")
        if kind == "u64":
            forms += ["lt.exec_mask()", f"lt.ballot({self.condition(depth, False).text})"]
        return Expression(kind, self.rng.choice(forms), True)
