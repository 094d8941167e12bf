"""Executes pseudocode for many elements at once.

Elements take different ways through conditions and loops; a mask says which of them a statement applies to.

How we read what the manuals leave open:

* integers narrower than 32 bits are widened before arithmetic, as in C, and cut when they are stored;
* shifting by the width or more gives zero (or the sign);
* a comparison with ``+0.0`` or ``-0.0``, sign written out, asks for that zero; with ``DENORM.f32``, for any denormal;
* ``2.0F ** n`` times a number scales it, rounding once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import builtins, floats, syntax, values
from .builtins import find
from .storage import Storage
from .syntax import Node, PcodeError
from .values import FLOATS, Value, boolean, choose, extended, field, make, numbers, retyped, signed, truth, typed, with_field


def constant(kind: str, width: int, number: int) -> Value:
    return make(kind, width, [number])


def real(number: float, width: int = 64) -> Value:
    bits = int(np.array([number], np.float64).view(np.uint64)[0])
    return values.converted(constant("F", 64, bits), "F", width, floats.NEAREST)


def two_over_pi(bits: int) -> int:
    """The first bits of 2/pi's fraction, by Machin's formula."""
    unit = 1 << (bits + 64)

    def arctangent(n: int) -> int:  # of 1/n
        total, power, k = 0, unit // n, 0
        while power:
            total += power // (2 * k + 1) * (-1) ** k
            power //= n * n
            k += 1
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return (2 * unit * (1 << bits)) // pi


_CONSTANTS = {
    "PI": real(math.pi),
    "INF": real(math.inf),
    "NAN": constant("F", 64, 0x7FF8_0000_0000_0000),
    "ROUND_NEAREST_EVEN": constant("U", 32, floats.NEAREST),
    "ROUND_TOWARD_ZERO": constant("U", 32, floats.ZERO),
    "MAX_FLOAT_F32": constant("F", 32, floats.F32.largest),
}


class Machine(Storage):
    """The state that a piece of pseudocode works on: variables by name, and the floating-point modes.

    ``arrays`` are per-lane registers of whole waves, for code that says ``VGPR[lane][register]``: each is
    (elements, lanes). ``memory`` is bytes, one row for each element.
    """

    def __init__(
        self,
        count: int,
        variables: Mapping[str, Any],
        *,
        round32: int = floats.NEAREST,
        round64: int = floats.NEAREST,
        memory: np.ndarray | None = None,
        arrays: dict[str, np.ndarray] | None = None,
        library: Callable[[str], str | None] = lambda name: None,
    ):
        self.count = count
        self.variables: dict[str, Any] = dict(variables)
        self.round32, self.round64 = round32, round64
        self.memory = memory
        self.arrays = arrays or {}
        self.library = library
        self.mask = np.ones(count, bool)
        #: Where arithmetic has made a NaN: the manuals do not say with which payload.
        self.made_nan = np.zeros(count, bool)
        self.lambdas: dict[str, Node] = {}
        #: Sums, products and quotients that are denormal become zero.
        self.flushes = False
        self.returned: list[tuple[np.ndarray, Value]] = []
        self.broken: list[np.ndarray] = []

    # Floating-point modes.

    def rounding_of(self, f: floats.Format) -> int:
        override = self.variables.get("ROUND_MODE")
        if override is not None:
            return int(override.bits[0])
        return self.round32 if f.width == 32 else self.round64

    def rounding(self, value: Value) -> int:
        return self.rounding_of(value.format)

    def watched(self, value: Value) -> Value:
        """Remembers where a result of arithmetic is a NaN."""
        self.made_nan |= self.mask & values.nans(value)
        return value

    # Statements.

    def run(self, text: str) -> None:
        self.execute(syntax.parse(text))

    def execute(self, node: Node) -> None:
        if not self.mask.any():
            return
        getattr(self, f"do_{node.kind}", self.evaluate)(*node.parts if hasattr(self, f"do_{node.kind}") else (node,))

    def do_block(self, *body: Node) -> None:
        for node in body:
            self.execute(node)

    def do_if(self, condition: Node, then: Node, otherwise: Node) -> None:
        flags = np.broadcast_to(truth(self.evaluate(condition)), self.count)
        before = self.mask
        rest = []
        for chosen, body in ((before & flags, then), (before & ~flags, otherwise)):
            self.mask = chosen
            self.execute(body)
            rest.append(self.mask)
        self.mask = rest[0] | rest[1]

    def do_for(self, variable: str, first: Node, last: Node, body: Node) -> None:
        start, stop = (self.uniform(self.evaluate(node)) for node in (first, last))
        entered = self.mask
        self.broken.append(np.zeros(self.count, bool))
        for i in range(start, stop + 1):
            self.variables[variable] = constant("I", 32, i)
            self.execute(body)
        left = self.broken.pop()
        self.mask = self.mask | (entered & left)

    def do_break(self) -> None:
        self.broken[-1] |= self.mask
        self.mask = np.zeros(self.count, bool)

    def do_return(self, value: Node) -> None:
        self.returned.append((self.mask, self.evaluate(value)))
        self.mask = np.zeros(self.count, bool)

    def do_declare(self, name: str, kind: str, count: Node | None) -> None:
        width, letter = kind.split("'")
        if name in self.variables:
            return  # an operand; its declaration tells nothing new
        zero = constant(letter, int(width), 0)
        self.variables[name] = zero if count is None else [zero] * self.uniform(self.evaluate(count))

    def do_define(self, name: str, function: Node) -> None:
        self.lambdas[name] = function

    def do_assign(self, target: Node, value: Node) -> None:
        if value.kind == "assign":
            self.do_assign(*value.parts)
            value = value.parts[0]
        self.write(target, self.evaluate(value))

    # Writing.

    def write(self, target: Node, value: Value) -> None:
        kind, parts = target.kind, target.parts
        if kind == "name":
            old = self.variables.get(parts[0])
            if old is None or parts[0] == "ROUND_MODE":  # which is the wave's
                self.variables[parts[0]] = value
            elif isinstance(old, list):
                raise PcodeError(f"{parts[0]} is an array")
            else:
                if parts[0] in ("D0", "VCC", "EXEC", "SCC", "RETURN_DATA"):  # registers keep their type
                    value = self.fitted(value, old.kind, old.width)
                self.variables[parts[0]] = choose(self.mask, value, old)
        elif kind == "concat":
            place = sum(self.width_of(part) for part in parts)
            whole = make("B", place, extended(value, place))
            for part in parts:
                place -= self.width_of(part)
                self.write(part, field(whole, np.array([place]), self.width_of(part)))
        elif kind == "member":
            self.write_member(parts[0], parts[1], value)
        elif kind in ("slice", "span"):
            low, count, backwards = self.bounds(target)
            if backwards:
                raise PcodeError("a reversed slice is assigned to")
            self.write_field(parts[0], low, count, value)
        elif kind == "index":
            self.write_index(parts[0], parts[1], value)
        else:
            raise PcodeError(f"cannot assign to a {kind}")

    def fitted(self, value: Value, kind: str, width: int) -> Value:
        """A value as something of this type stores it: floats are converted between formats, integers cut."""
        if kind in ("F", "BF", "FP"):
            if value.is_float:
                return values.converted(value, kind, width, self.rounding_of(FLOATS[kind, width]), quiet=False)
            return make(kind, width, value.bits)
        return make(kind, width, value.bits if value.is_float else extended(value, width))

    def write_member(self, base: Node, name: str, value: Value) -> None:
        type_ = typed(name)
        if type_ is None:
            raise PcodeError(f"assigns to .{name}")
        value = self.fitted(value, *type_)
        root = self.memory_index(base)
        scalar = self.scalar_register(base, name)
        if root is not None:
            self.store(root, value)
        elif scalar is not None:
            for k in range(type_[1] // 32):
                word = np.broadcast_to(value.bits >> np.uint64(32 * k) & np.uint64(0xFFFFFFFF), self.count)
                rows = np.flatnonzero(self.mask)
                self.arrays["SGPR"][rows, scalar[rows] + k] = word[rows]
        elif base.kind == "name" and base.parts[0] not in self.variables:
            self.variables[base.parts[0]] = value
        elif base.kind == "index" and self.is_register(base):
            self.write(base, value)
        elif base.kind in ("slice", "span", "index"):
            self.write(base, value)
        else:
            self.write_field(base, np.array([0]), type_[1], value)

    def write_field(self, base: Node, low: np.ndarray, count: int, value: Value) -> None:
        name = base
        while name.kind == "member":  # D0.u32[63 : 32] means bits of D0, whatever the type says
            name = name.parts[0]
        if name.kind == "name" and name.parts[0] not in self.variables:
            old = make("B", 32, [0])
        else:
            old = self.evaluate(name)
        old = make("B", old.width, old.bits)
        self.write(name, with_field(old, low, count, value))

    def write_index(self, base: Node, index: Node, value: Value) -> None:
        if self.is_register(Node("index", (base, index))):
            self.write_register(base, index, value)
            return
        if base.kind == "name" and base.parts[0] in ("MEM", "LDS"):
            self.store(index, value)
            return
        where = self.evaluate(index)
        stored = self.variables.get(base.parts[0]) if base.kind == "name" else None
        if isinstance(stored, list):
            places = np.broadcast_to(where.bits, self.count)
            for k in range(len(stored)):
                here = self.mask & (places == k)
                if here.any():
                    stored = list(stored)
                    stored[k] = choose(here, self.fitted(value, stored[k].kind, stored[k].width), stored[k])
            self.variables[base.parts[0]] = stored
            return
        bit = value if value.width == 1 else boolean(truth(value))
        self.write_field(base, where.bits, 1, bit)

    # Expressions.

    def evaluate(self, node: Node) -> Value:
        return getattr(self, f"of_{node.kind}")(*node.parts)

    def of_group(self, inside: Node) -> Value:
        return self.evaluate(inside)

    def of_number(self, kind: str, text: str) -> Value:
        if kind == "sized":
            width, rest = text.split("'")
            if "." in rest:
                return real(float(rest), int(width))
            letter = rest[-1] if rest[-1] in "UI" else ("B" if "x" in rest else "I")
            return constant(letter, int(width), int(rest.rstrip("UI"), 0))
        if kind == "float" or (kind == "int" and text.endswith("F")):
            return real(float(text.rstrip("F")), 32 if text.endswith("F") else 64)
        number = int(text.rstrip("UL"), 0)
        if text.endswith("ULL"):
            return constant("U", 64, number)
        if text.endswith("LL"):
            return constant("I", 64, number)
        if number >= 1 << 32:
            return constant("U", 64, number)
        return constant("U" if text.endswith("U") or kind == "hex" else "I", 32, number)

    def of_name(self, name: str) -> Value:
        found = self.variables.get(name)
        if found is None:
            found = _CONSTANTS.get(name)
        if found is None:
            raise PcodeError(f"{name} has no value")
        if not isinstance(found, Value):
            raise PcodeError(f"{name} is not a number")
        return found

    def of_member(self, base: Node, name: str) -> Value:
        root = self.memory_index(base)
        if root is not None:
            kind, width = typed(name) or ("", 0)
            return make(kind, width, self.load(root, width).bits)
        scalar = self.scalar_register(base, name)
        if scalar is not None:
            kind, width = typed(name) or ("", 0)
            rows = np.arange(self.count)
            parts = [self.arrays["SGPR"][rows, scalar + k].astype(np.uint64) for k in range(width // 32)]
            return make(kind, width, sum(part << np.uint64(32 * k) for k, part in enumerate(parts)))
        if base.kind == "name" and isinstance(self.variables.get(base.parts[0]), dict):
            return self.variables[base.parts[0]][name]
        type_ = typed(name)
        if type_ is None:
            raise PcodeError(f".{name} is not a type")
        return retyped(self.evaluate(base), *type_)

    def of_cast(self, type_: str, inside: Node) -> Value:
        width, kind = type_.split("'")
        value = self.evaluate(inside)
        if value.kind == "P2":
            return value
        if width == "1201":  # 1201'B(2.0 / PI) is the fraction's bits
            return constant("B", 1201, two_over_pi(1201))
        if value.width > 64 and kind == "F":
            return make(
                kind, int(width), [floats.from_integer(FLOATS[kind, int(width)], floats.ZERO, int(b)) for b in value.bits]
            )
        if kind in ("F", "BF"):
            if value.is_float:
                return values.converted(value, kind, int(width), self.rounding_of(FLOATS[kind, int(width)]), quiet=False)
            return make(kind, int(width), value.bits)
        return make(kind, int(width), value.bits if value.is_float else extended(value, int(width)))

    def of_unary(self, operator: str, inside: Node) -> Value:
        value = self.evaluate(inside)
        if operator == "+":
            return value
        if operator == "!":
            return boolean(~truth(value))
        if operator == "~":
            return make(value.kind, value.width, ~value.bits if value.width <= 64 else [~b for b in value.bits])
        if value.is_float:
            return make(value.kind, value.width, value.bits ^ np.uint64(value.format.sign))
        width = max(value.width, 32)
        return make(value.kind, width, [-n for n in numbers(value)])

    def of_select(self, condition: Node, yes: Node, no: Node) -> Value:
        flags = truth(self.evaluate(condition))
        return choose(flags, self.evaluate(yes), self.evaluate(no))

    def of_concat(self, *parts: Node) -> Value:
        total, width = np.array([0], object), 0
        for part in parts:
            value = self.evaluate(part)
            total = total * (1 << value.width) + value.bits.astype(object)
            width += value.width
        return make("B", width, list(total))

    def of_call(self, name: str, arguments: tuple[Node, ...]) -> Value:
        inside = [self.evaluate(a) for a in arguments]
        if name in self.lambdas:
            return self.apply(self.lambdas[name], inside)
        bound = self.variables.get(f"{name}()")
        if bound is not None:
            return bound(*inside)
        if name.startswith(("v_", "s_")):
            return self.operation(name, inside)
        if name == "pow":
            raise PcodeError("pow() is not exact")
        return find(name)(self, *inside)

    def apply(self, function: Node, inside: list[Value]) -> Value:
        names, body = function.parts
        saved, mask, outer = dict(self.variables), self.mask, self.returned
        self.variables.update(zip(names, inside))
        self.returned = []
        if len(body.parts) == 1 and body.parts[0].kind not in ("if", "for", "return", "declare"):
            result = self.evaluate(body.parts[0])
        else:
            self.execute(body)
            result = self.returned[0][1]
            for here, value in self.returned[1:]:
                result = choose(here, value, result)
        self.variables, self.mask, self.returned = saved, mask, outer
        return result

    def operation(self, name: str, inside: list[Value]) -> Value:
        """Another instruction's pseudocode, as a function of its sources."""
        text = self.library(name)
        if text is None and name in builtins.NAMED:  # an instruction that only other processors have
            return builtins.NAMED[name](self, *inside)
        if text is None:
            raise PcodeError(f"{name} is not in the table")
        keep = {k: v for k, v in self.variables.items() if k in ("WAVE_MODE", "ROUND_MODE", "laneId")}
        inner = Machine(self.count, keep, round32=self.round32, round64=self.round64, library=self.library)
        inner.variables.update({f"S{k}": make("B", v.width, v.bits) for k, v in enumerate(inside)})
        inner.variables["D0"] = constant("B", 64, 0)
        inner.mask = self.mask
        inner.run(text)
        self.made_nan |= inner.made_nan & self.mask
        types = [typed(part) for part in name.split("_") if typed(part)]
        if not types:
            raise PcodeError(f"{name} has no type")
        kind, width = types[0]
        return retyped(inner.variables["D0"], "U" if "sad" in name else kind, 32 if "sad" in name else width)

    def of_slice(self, base: Node, *_: Node) -> Value:
        low, count, backwards = self.bounds(Node("slice", (base, *_)))
        part = field(self.evaluate(self.untyped(base)), low, count)
        if backwards:
            return make("B", count, [int(f"{int(b):0{count}b}"[::-1], 2) for b in part.bits])
        return part

    def of_span(self, base: Node, first: Node, count: Node) -> Value:
        low, width, _ = self.bounds(Node("span", (base, first, count)))
        return field(self.evaluate(base), low, width)

    def untyped(self, base: Node) -> Node:
        """``S0.u32[63 : 32]`` means bits of S0, whatever the type says."""
        if base.kind == "member" and base.parts[0].kind == "name" and base.parts[0].parts[0] in self.variables:
            if isinstance(self.variables[base.parts[0].parts[0]], Value):
                return base.parts[0]
        return base

    def of_index(self, base: Node, index: Node) -> Value:
        whole = Node("index", (base, index))
        if self.is_register(whole):
            return self.read_register(base, index)
        if base.kind == "name" and base.parts[0] in ("MEM", "LDS"):
            return self.load(index, int(self.variables["MEM_WIDTH"].bits[0]))
        where = self.evaluate(index)
        stored = self.variables.get(base.parts[0]) if base.kind == "name" else None
        if isinstance(stored, list):
            rows = np.stack([np.broadcast_to(v.bits, self.count) for v in stored])
            picked = np.minimum(np.broadcast_to(where.bits, self.count), len(stored) - 1).astype(np.int64)
            return Value(stored[0].kind, stored[0].width, rows[picked, np.arange(self.count)])
        bit = field(self.evaluate(base), where.bits, 1)
        return Value("U", 1, bit.bits)

    def bounds(self, node: Node) -> tuple[np.ndarray, int, bool]:
        """Of a slice: the lowest bit (by element), how many, and whether it is written backwards."""
        _, first, last = node.parts
        a, b = signed(self.evaluate(first)), signed(self.evaluate(last))
        if node.kind == "span":
            return a, int(b[0]), False
        counts = np.unique(a - b)
        if len(counts) != 1:
            raise PcodeError("a slice of varying width")
        if counts[0] < 0:
            return a, int(-counts[0]) + 1, True
        return b, int(counts[0]) + 1, False

    def width_of(self, node: Node) -> int:
        if node.kind == "member":
            return (typed(node.parts[1]) or ("", 0))[1]
        return self.evaluate(node).width

    def uniform(self, value: Value) -> int:
        found = {n for n, here in zip(np.broadcast_to(signed(value), self.count), self.mask) if here}
        if len(found) != 1:
            raise PcodeError("a number that must not differ from lane to lane does")
        return int(found.pop())

    # Operators.

    def of_binary(self, operator: str, left: Node, right: Node) -> Value:
        if operator in ("&&", "||"):
            a, b = truth(self.evaluate(left)), truth(self.evaluate(right))
            return boolean(a & b if operator == "&&" else a | b)
        if operator in ("==", "!="):
            special = self.special_comparison(left, right)
            if special is not None:
                return boolean(special if operator == "==" else ~special)
        a, b = self.evaluate(left), self.evaluate(right)
        if operator == "**":
            if [int(x) for x in a.bits] != [floats.one(a.format) + (1 << a.format.fraction)]:
                raise PcodeError("a power of something other than 2")
            return Value("P2", 32, np.array(numbers(b), object))
        if "P2" in (a.kind, b.kind):
            x, power = (b, a) if a.kind == "P2" else (a, b)
            return find("ldexp")(self, x, make("I", 32, list(power.bits)))
        if operator in ("==", "!=", "<>", "<", ">", "<=", ">="):
            return boolean(self.compare(operator, a, b))
        if a.is_float or b.is_float:
            return self.float_arithmetic(operator, a, b)
        return self.integer_arithmetic(operator, a, b)

    def special_comparison(self, left: Node, right: Node) -> np.ndarray | None:
        if right.kind == "member" and right.parts[0] == Node("name", ("DENORM",)):
            value = self.evaluate(left)
            return (retyped(value, *typed(right.parts[1])).bits & np.uint64(value.format.sign - 1)) - np.uint64(1) < np.uint64(
                (1 << value.format.fraction) - 1
            )
        if right.kind == "unary" and right.parts[1].kind == "number" and right.parts[1].parts[0] in ("float", "sized"):
            zero, value = self.evaluate(right), self.evaluate(left)
            if value.is_float and not values.ordered(zero).any():
                same = retyped(zero, value.kind, value.width)
                return value.bits == same.bits
        return None

    def compare(self, operator: str, a: Value, b: Value) -> np.ndarray:
        unordered: Any = False
        if a.is_float or b.is_float:
            if not (a.is_float and b.is_float):
                raise PcodeError("compares a number with a floating-point number")
            a, b = values.unified(a, b)
            unordered = values.nans(a) | values.nans(b)
            x, y = values.ordered(a), values.ordered(b)
        elif a.kind == b.kind == "I" or max(a.width, b.width) <= 32:
            x, y = signed(a), signed(b)
        else:
            x, y = extended(a), extended(b)
        if operator == "==":
            return (x == y) & ~np.asarray(unordered)
        if operator == "!=":
            return (x != y) | unordered
        if operator == "<>":  # less or greater
            return (x != y) & ~np.asarray(unordered)
        found = {"<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y}[operator]
        return found & ~np.asarray(unordered)

    def float_arithmetic(self, operator: str, a: Value, b: Value) -> Value:
        if not (a.is_float and b.is_float):
            raise PcodeError(f"{operator} of a number and a floating-point number")
        a, b = values.unified(a, b)
        f, mode = a.format, self.rounding(a)
        if operator == "-":
            b, operator = make(b.kind, b.width, np.where(values.nans(b), b.bits, b.bits ^ np.uint64(f.sign))), "+"
        function = {"+": floats.add, "*": floats.multiply, "/": floats.divide}[operator]
        rows = zip(*np.broadcast_arrays(a.bits, b.bits))
        made = make(a.kind, a.width, [function(f, mode, int(x), int(y)) for x, y in rows])
        if self.flushes:
            small = (made.bits & np.uint64(f.sign - 1)) < np.uint64(1 << f.fraction)
            made = make(a.kind, a.width, np.where(small, made.bits & np.uint64(f.sign), made.bits))
        return self.watched(made)

    def integer_arithmetic(self, operator: str, a: Value, b: Value) -> Value:
        kind = "I" if a.kind == b.kind == "I" else "U"
        if operator in ("<<", ">>"):
            return self.shift(operator, a, b)
        width = max(a.width, b.width)
        if operator not in ("&", "|", "^"):
            width = max(width, 32)
        if width > 64:
            x, y = np.array(numbers(a), object), np.array(numbers(b), object)
        else:
            x, y = extended(a), extended(b)
        function = {
            "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.floor_divide, "%": np.remainder,
            "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
        }[operator]  # fmt: skip
        return make(kind, width, list(function(x, y)) if width > 64 else function(x, y))

    def shift(self, operator: str, a: Value, b: Value) -> Value:
        width = max(a.width, 32)
        counts = np.minimum(extended(b), np.uint64(width))
        if width > 64:
            counts = extended(b)
            rows = zip(*np.broadcast_arrays(np.array(numbers(a), object), counts))
            made = [n << int(c) if operator == "<<" else n >> int(c) for n, c in rows]
            return make(a.kind, width, made)
        last = np.uint64(63)
        if operator == "<<":
            moved = np.where(counts > last, np.uint64(0), extended(a) << np.minimum(counts, last))
        elif a.kind == "I":
            moved = (signed(a) >> np.minimum(counts, last).astype(np.int64)).view(np.uint64)
        else:
            moved = np.where(counts > last, np.uint64(0), extended(a) >> np.minimum(counts, last))
        return make(a.kind, width, moved)
