"""Types of expressions: each Python expression node becomes a :class:`Value` or a :class:`HookError`."""

from __future__ import annotations

import ast
import builtins
import operator
import types as pytypes
from typing import Any

from . import constants, intrinsics, records, tables, types
from .errors import HookError, Node, Span
from .facts import KERNARG_PTR, Fact, kernel_argument
from .intrinsics import INTRINSICS, Derived, Intrinsic
from .scope import MISSING, Scope
from .types import Array, Counter, InOut, Pointer, Scalar, Table, Type, bool_, f64, i64, u64
from .values import MOST_BITS, Value, as_type, constant, settle, spelling, too_large, truth, unify

_BINARY = {
    ast.Add: ("add", "+", operator.add),
    ast.Sub: ("sub", "-", operator.sub),
    ast.Mult: ("mul", "*", operator.mul),
    ast.Div: ("div", "/", operator.truediv),
    ast.FloorDiv: ("floordiv", "//", operator.floordiv),
    ast.Mod: ("mod", "%", operator.mod),
    ast.Pow: ("pow", "**", operator.pow),
    ast.BitAnd: ("and", "&", operator.and_),
    ast.BitOr: ("or", "|", operator.or_),
    ast.BitXor: ("xor", "^", operator.xor),
    ast.LShift: ("shl", "<<", operator.lshift),
    ast.RShift: ("shr", ">>", operator.rshift),
}
_UNARY: dict[type[ast.unaryop], tuple[str, str | None, Any]] = {
    ast.USub: ("-", "neg", operator.neg),
    ast.UAdd: ("+", None, operator.pos),
    ast.Invert: ("~", "invert", operator.invert),
}
_COMPARE = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
_BUILTINS = {builtins.abs: intrinsics.abs_, builtins.min: intrinsics.min_, builtins.max: intrinsics.max_}


#: Operators in one another; what walks the tree later calls itself as often.
MAX_DEPTH = 150


class Expressions:
    """The expression half of the checker; :class:`~.statements.FunctionChecker` adds the statements.

    Subclasses provide ``file``, ``scope``, ``span(node)``, ``variable(name, span)``, ``call_device(function, ...)`` and
    ``fact(fact, span)``.
    """

    file: str
    scope: Scope
    #: How many expressions are open.
    depth = 0
    #: The least and the greatest value of the loop variables that count between constants.
    bounds: dict[str, tuple[int, int]]

    def span(self, node: Node) -> Span:
        raise NotImplementedError

    def variable(self, name: str, span: Span) -> Type | None:
        """The type of a local variable that is surely assigned here; None if it is no local."""
        raise NotImplementedError

    def call_device(self, function: Any, span: Span, args: list[Value]) -> Value:
        raise NotImplementedError

    def fact(self, fact: Fact, span: Span) -> Value:
        """What the hook is given because it asks for it."""
        raise NotImplementedError

    def constant_table(self, table: constants.ConstantTable) -> int:
        """The number of a table that the hook reads at a place that is not known now."""
        raise NotImplementedError

    def put(self, span: Span, channel: Value, args: list[Value], per_wave: bool, name: str = "record") -> Value:
        raise NotImplementedError

    def printed(self, text: records.Printed, span: Span) -> Value:
        raise NotImplementedError

    def expr(self, node: ast.expr) -> Value:
        """A checked expression that has a value."""
        value = self.expr_or_void(node)
        if value.type is None and value.const is None:
            raise HookError(f"{ast.unparse(node)} has no value", value.span)
        return value

    def expr_or_void(self, node: ast.expr) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise HookError(f"{_describe(node)} cannot be used in a hook", self.span(node))
        if self.depth == MAX_DEPTH:
            raise HookError(
                f"the expression is more than {MAX_DEPTH} operators deep: use a variable for a part of it", self.span(node)
            )
        self.depth += 1
        value = method(node)
        self.depth -= 1
        return value

    # Names and constants

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, (bool, int, float)):
            return constant(self.span(node), node.value)
        raise HookError(f"a {type(node.value).__name__} cannot be used in a hook", self.span(node))

    def _name(self, node: ast.Name) -> Value:
        span = self.span(node)
        kind = self.variable(node.id, span)
        if kind is None:
            return self._global(node, span)
        if isinstance(kind, Array):
            return Value(span, Pointer(kind.of, "scratch"), {"address": node.id})
        if isinstance(kind, Table):
            raise HookError(f"{node.id} is a table: name one of its elements, {node.id}[0]", span)
        readable = u64 if isinstance(kind, Counter) else kind.of if isinstance(kind, InOut) else kind
        return Value(span, readable, {"local": node.id}, bounds=self.bounds.get(node.id))

    def _attribute(self, node: ast.Attribute) -> Value:
        return self._global(node, self.span(node))

    def _global(self, node: ast.expr, span: Span) -> Value:
        found = self.scope.resolve(node, span)
        text = ast.unparse(node)
        if found is MISSING:
            raise HookError(f"unknown name {text}", span)
        if isinstance(found, (bool, int, float)):
            return constant(span, found)
        if type(found).__module__ == "numpy" and hasattr(found, "item") and getattr(found, "shape", None) == ():
            return constant(span, found.item())
        if constants.is_table(found):
            raise HookError(f"{text} is a table of constants: name one of its elements, {text}[0]", span)
        if hasattr(found, "__array_interface__") or isinstance(found, list):
            raise HookError(
                f"{text} is {_a(type(found).__name__)} of the host's, which a hook cannot read: make it a tuple, or pass a parameter lt.ptr[...] and "
                f"insert the hook with a DeviceArray of the tool, lt.DeviceArray(lt.f32, n, init={text})",
                span,
            )
        raise HookError(
            f"{text} is {_a(type(found).__name__)}: a hook can use numbers from outside, and functions marked @lt.device", span
        )

    # Operators

    def _binop(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.span(node), self.expr(node.left), self.expr(node.right))

    def binary(self, op: ast.operator, span: Span, left: Value, right: Value) -> Value:
        """``left op right``."""
        if type(op) not in _BINARY:
            raise HookError("matrix multiplication cannot be used in a hook", span)
        name, symbol, compute = _BINARY[type(op)]
        if left.untyped and right.untyped:
            if _grows(name, left.const, right.const):
                raise too_large(span)
            try:
                result = compute(left.const, right.const)
            except (ArithmeticError, TypeError, ValueError) as error:
                raise HookError(str(error), span) from None
            if isinstance(result, complex):
                raise HookError("the result is a complex number, which a hook cannot use", span)
            return constant(span, result)
        if name == "pow":
            raise HookError("** needs constants on both sides in a hook", span)
        for pointer, other, wanted in ((left, right, ("add", "sub")), (right, left, ("add",))):
            if isinstance(pointer.type, Pointer):
                if name not in wanted:
                    raise HookError(f"{symbol} cannot be applied to a {pointer.type}", span)
                return self.offset(span, pointer, other, negate=name == "sub")
        if name in ("shl", "shr"):
            return self._shift(name, symbol, span, left, right)
        left, right = unify([left, right], symbol)
        kind = left.type.kind
        if kind == "bool" and name in ("and", "or", "xor"):
            pass
        elif kind == "bool":
            raise HookError(f"{symbol} cannot be applied to truth values: convert them, as in lt.u32(x)", span)
        elif kind == "int" and name == "div":
            raise HookError("/ divides floats: use // for integers", span)
        elif kind == "float" and name not in ("add", "sub", "mul", "div"):
            raise HookError(f"{symbol} cannot be applied to floats{': use lt.floor(a / b)' if name == 'floordiv' else ''}", span)
        return Value(span, left.type, {"binary": {"op": name, "left": left.to_json(), "right": right.to_json()}})

    def _shift(self, name: str, symbol: str, span: Span, left: Value, right: Value) -> Value:
        left = as_type(left, right.type) if left.untyped and right.type is not None else left
        right = settle(right)
        for side in (left, right):
            if not isinstance(side.type, Scalar) or side.type.kind != "int":
                raise HookError(f"{symbol} shifts integers, not {side.type}", side.span)
        return Value(span, left.type, {"binary": {"op": name, "left": left.to_json(), "right": right.to_json()}})

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        span, value = self.span(node), self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            if value.untyped or isinstance(value.const, bool):
                return constant(span, not value.const)
            return Value(span, bool_, {"unary": {"op": "not", "value": truth(value).to_json()}})
        symbol, name, compute = _UNARY[type(node.op)]
        if value.untyped:
            try:
                return Value(span, None, None, compute(value.const))
            except TypeError as error:
                raise HookError(str(error), span) from None
        if not isinstance(value.type, Scalar) or value.type.kind == "bool" or (value.type.kind == "float" and name == "invert"):
            raise HookError(f"{symbol} cannot be applied to a {value.type}", span)
        return value if name is None else Value(span, value.type, {"unary": {"op": name, "value": value.to_json()}})

    def _compare(self, node: ast.Compare) -> Value:
        span = self.span(node)
        values = [self.expr(node.left)]
        for op, right in zip(node.ops, node.comparators):
            if type(op) not in _COMPARE:
                raise HookError(f"`{'is' if isinstance(op, (ast.Is, ast.IsNot)) else 'in'}` cannot be used in a hook", span)
            values.append(self.expr(right))
        names = [_COMPARE[type(op)] for op in node.ops]
        if all(v.untyped for v in values):
            return constant(span, all(f(a.const, b.const) for (_, f), a, b in zip(names, values, values[1:])))
        values = unify(values, "comparison")
        if any(name not in ("eq", "ne") for name, _ in names) and values[0].type == bool_:
            raise HookError("truth values have no order", span)
        links = [[name, v.to_json()] for (name, _), v in zip(names, values[1:])]
        return Value(span, bool_, {"chain": {"first": values[0].to_json(), "links": links}})

    def _boolop(self, node: ast.BoolOp) -> Value:
        name = "and" if isinstance(node.op, ast.And) else "or"
        kept = []
        for operand in node.values:
            value = self.expr(operand)
            if value.const is not None and value.untyped or isinstance(value.const, bool):
                if bool(value.const) == (name == "or"):  # decides everything after it
                    kept.append(constant(value.span, bool(value.const)))
                    break
                continue
            kept.append(truth(value))
        if not kept:
            return constant(self.span(node), name == "and")
        if len(kept) == 1:
            return kept[0]
        return Value(self.span(node), bool_, {"logical": {"op": name, "values": [v.to_json() for v in kept]}})

    def _ifexp(self, node: ast.IfExp) -> Value:
        condition = self.expr(node.test)
        if condition.const is not None:
            return self.expr(node.body if condition.const else node.orelse)
        then, other = unify([self.expr(node.body), self.expr(node.orelse)], "the two sides of if/else")
        kind = {"select": {"cond": truth(condition).to_json(), "then": then.to_json(), "else": other.to_json()}}
        return Value(self.span(node), then.type, kind)

    # Memory

    def offset(self, span: Span, pointer: Value, index: Value, negate: bool = False) -> Value:
        """``pointer + index`` in elements."""
        if (
            index.untyped
            and isinstance(index.const, float)
            or isinstance(index.type, Pointer)
            or not index.untyped
            and index.type.kind != "int"
        ):
            raise HookError("a pointer is moved by an integer", index.span)
        if negate and index.untyped:
            index, negate = Value(index.span, None, None, -index.const), False
        index = as_type(index, i64 if index.const < 0 else u64) if index.untyped else index
        if negate:
            wide = Value(span, i64, {"cast": index.to_json()})
            index = Value(span, i64, {"unary": {"op": "neg", "value": wide.to_json()}})
        return Value(span, pointer.type, {"offset": {"ptr": pointer.to_json(), "index": index.to_json()}})

    def outside(self, node: ast.expr) -> constants.ConstantTable | None:
        """The table of constants that a name from outside of the hook stands for."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or self.variable(root.id, self.span(root)) is not None:
            return None
        found = self.scope.resolve(node, self.span(node))
        return constants.table_of(found, ast.unparse(node), self.span(node)) if constants.is_table(found) else None

    def place(self, node: ast.Subscript) -> Value:
        """The pointer to what ``p[i]`` names."""
        if self.outside(node.value) is not None:
            raise HookError(f"{ast.unparse(node.value)} is a table of constants: it can only be read", self.span(node))
        span, base = self.span(node), self.expr(node.value)
        if not isinstance(base.type, Pointer):
            raise HookError(f"{ast.unparse(node.value)} is not a pointer or an array, it cannot be indexed", base.span)
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise HookError("only single elements can be indexed in a hook", span)
        index = self.expr(node.slice)
        local = self.variable(node.value.id, span) if isinstance(node.value, ast.Name) else None
        if isinstance(local, Array) and index.untyped and not 0 <= index.const < local.length:
            raise HookError(f"{ast.unparse(node.value)} has {local.length} elements, {index.const} is outside", index.span)
        return self.offset(span, base, index)

    def table(self, node: ast.Subscript) -> tuple[str, Table, Value] | None:
        """The table that an element is named of, and the element's number."""
        if not isinstance(node.value, ast.Name):
            return None
        kind = self.variable(node.value.id, self.span(node.value))
        if not isinstance(kind, Table):
            return None
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            raise HookError("only single elements can be indexed in a hook", self.span(node))
        return node.value.id, kind, self.expr(node.slice)

    def _subscript(self, node: ast.Subscript) -> Value:
        table = self.table(node)
        if table is not None:
            return tables.read(*table, self.span(node))
        outside = self.outside(node.value)
        if outside is not None:
            listed = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(place, ast.Slice) for place in listed):
                raise HookError("only single elements can be indexed in a hook", self.span(node))
            places = [self.expr(place) for place in listed]
            known = all(place.untyped for place in places)
            return outside.element(self.span(node), places, -1 if known else self.constant_table(outside))
        place = self.place(node)
        return Value(place.span, place.type.to, {"load": place.to_json()})

    # Calls

    def _call(self, node: ast.Call) -> Value:
        span = self.span(node)
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise HookError("calls in a hook take positional arguments only", span)
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Subscript):  # lt.ptr[lt.u32](address)
            return self.call_object(node, span, name, self.scope.type_object(node.func, self.span(node.func)))
        if not isinstance(node.func, (ast.Name, ast.Attribute)):
            raise HookError("this cannot be called in a hook", self.span(node.func))
        if isinstance(node.func, ast.Name) and self.variable(node.func.id, span) is not None:
            raise HookError(f"{node.func.id} is a variable, it cannot be called", span)
        target = self.scope.resolve(node.func, span)
        if target is MISSING:
            raise HookError(f"unknown function {name}", self.span(node.func))
        return self.call_object(node, span, name, target)

    def call_object(self, node: ast.Call, span: Span, name: str, target: Any) -> Value:
        """A call of the Python object ``target``, which the source calls ``name``."""
        from .functions import Function

        if target is intrinsics.record or target is intrinsics.printf:
            per_wave = self._per_wave(node, span)
            return (self._record if target is intrinsics.record else self._printf)(node, span, per_wave)
        if node.keywords:
            raise HookError("calls in a hook take positional arguments only", span)
        if target is intrinsics.bitcast:
            return self._bitcast(node, span)
        if target is intrinsics.kernel_arg:
            return self._kernel_arg(node, span)
        if target is types.array:
            raise HookError("a local array is declared by itself: a = lt.array(lt.u32, 8)", span)
        if target is bool or target is bool_:
            target = bool_
        elif target is len:
            return self._len(node, span)
        target = _BUILTINS.get(target, target) if callable(target) and getattr(target, "__hash__", None) else target
        args = [self.expr(a) for a in node.args]
        if isinstance(target, Intrinsic):
            if target.name in ("min", "max", "abs") and len(args) == target.count and all(a.untyped for a in args):
                return Value(span, None, None, getattr(builtins, target.name)(*(a.const for a in args)))
            applied = self.applied(target, span, args)
            if isinstance(target.stands_for, Fact):
                return self.fact(target.stands_for, span)
            if isinstance(target.stands_for, Derived):
                from .where import FUNCTIONS

                return self.call_device(FUNCTIONS[target.name], span, [])
            return applied
        if isinstance(target, (Scalar, Pointer)):
            if len(args) != 1:
                raise HookError(f"{name}(x) converts one value", span)
            return self.convert(span, args[0], target)
        if isinstance(target, Function):
            return self.call_device(target, span, args)
        if target in (int, float):
            raise HookError(f"{name}() has no width: use lt.{'i32' if target is int else 'f32'}(...)", span)
        raise HookError(_not_callable(name, target), span)

    def applied(self, target: Intrinsic, span: Span, args: list[Value]) -> Value:
        """A call of an intrinsic."""
        return target.apply(span, args)

    def _per_wave(self, node: ast.Call, span: Span) -> bool:
        told = [keyword for keyword in node.keywords if keyword.arg == "per_wave"]
        if len(told) != len(node.keywords):
            raise HookError("only per_wave=True is said by name here", span)
        if told and not (isinstance(told[0].value, ast.Constant) and isinstance(told[0].value.value, bool)):
            raise HookError("per_wave is True or False", span)
        return bool(told) and bool(told[0].value.value)  # type: ignore[attr-defined]

    def _record(self, node: ast.Call, span: Span, per_wave: bool) -> Value:
        if not node.args:
            raise HookError("record needs a channel, and the values of a record", span)
        channel, *args = [self.expr(a) for a in node.args]
        return self.put(span, channel, args, per_wave)

    def _printf(self, node: ast.Call, span: Span, per_wave: bool) -> Value:
        if not node.args:
            raise HookError("printf needs a text in quotes first", span)
        found = records.text_of(node.args[0], lambda name: self.scope.resolve(name, self.span(name)))
        text, args = records.printed(found, self.span(node.args[0]), [self.expr(a) for a in node.args[1:]])
        return self.put(span, self.printed(text, span), args, per_wave, "printf")

    def convert(self, span: Span, value: Value, to: Scalar | Pointer) -> Value:
        """``lt.u32(x)``: cuts off or extends integers, rounds floats toward zero and clamps them to the range."""
        if isinstance(to, Pointer):
            if isinstance(value.type, Pointer) and value.type.space == to.space or value.type in (u64, i64):
                return Value(span, to, {"cast": value.to_json()})
            raise HookError(
                f"{value.type or value.const} does not convert to {to}: a u64 address or a pointer of that space does", span
            )
        if to == bool_:
            return constant(span, bool(value.const)) if value.untyped else truth(value)
        if isinstance(value.type, Pointer) and to not in (u64, i64):
            raise HookError(f"a pointer converts to lt.u64, not {to}", span)
        if value.untyped:
            if to.kind == "int" and not isinstance(value.const, float):
                wrapped = value.const & ((1 << to.bits) - 1)
                value = Value(span, None, None, wrapped - (1 << to.bits) if wrapped > to.high else wrapped)
            elif to.kind == "int":
                value = Value(span, to, {"cast": as_type(value, f64).to_json()})
            return as_type(value, to)
        return value if value.type == to else Value(span, to, {"cast": value.to_json()})

    def _bitcast(self, node: ast.Call, span: Span) -> Value:
        if len(node.args) != 2:
            raise HookError("bitcast(type, x) takes 2 arguments", span)
        to, value = self.scope.type_object(node.args[0], span), settle(self.expr(node.args[1]))
        if (
            not isinstance(to, Scalar)
            or not isinstance(value.type, Scalar)
            or to.bits != value.type.bits
            or bool_ in (to, value.type)
        ):
            raise HookError(f"bitcast needs types of one size, not {value.type} and {to}", span)
        return Value(span, to, {"bitcast": value.to_json()})

    def _kernel_arg(self, node: ast.Call, span: Span) -> Value:
        """``lt.kernel_arg("n", lt.u32)``: loaded from where the kernel finds it."""
        if len(node.args) != 2:
            raise HookError('kernel_arg("name", type) takes 2 arguments', span)
        name, to = node.args[0], self.scope.type_object(node.args[1], self.span(node.args[1]))
        to = bool_ if to is bool else to
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise HookError("kernel_arg takes the argument's name as text", self.span(name))
        if not isinstance(to, (Scalar, Pointer)) or isinstance(to, Pointer) and to.space not in ("global", "const"):
            raise HookError(f"a kernel has no argument of type {to}", self.span(node.args[1]))
        held = u64 if isinstance(to, Pointer) else to
        offset = self.fact(kernel_argument(name.value, held.size), span)
        base, wide = self.fact(KERNARG_PTR, span), Value(span, u64, {"cast": offset.to_json()})
        address = Value(span, u64, {"binary": {"op": "add", "left": base.to_json(), "right": wide.to_json()}})
        place = Value(span, Pointer(held, "const"), {"cast": address.to_json()})
        value = Value(span, held, {"load": place.to_json()})
        return Value(span, to, {"cast": value.to_json()}) if isinstance(to, Pointer) else value

    def _len(self, node: ast.Call, span: Span) -> Value:
        outside = self.outside(node.args[0]) if len(node.args) == 1 else None
        if outside is not None:
            return constant(span, outside.shape[0])
        local = self.variable(node.args[0].id, span) if len(node.args) == 1 and isinstance(node.args[0], ast.Name) else None
        if not isinstance(local, Array):
            raise HookError("len() takes a local array, or a table of constants", span)
        return constant(span, local.length)


def is_of_language(thing: Any) -> bool:
    """Whether a Python object is a word of the hook language: an intrinsic, a type, ``range`` and the like."""
    if isinstance(thing, (Intrinsic, Type)):
        return True
    words = (range, len, bool, int, float, types.array, types.ptr, types.inout, *_BUILTINS)
    return any(thing is word for word in words)


def _grows(name: str, left: int | float, right: int | float) -> bool:
    """Whether a result would be too large even to be computed."""
    if not isinstance(left, int) or not isinstance(right, int) or right <= 0:
        return False
    if name == "shl":
        return left != 0 and right > MOST_BITS
    return name == "pow" and abs(left) > 1 and right * (left.bit_length() - 1) > MOST_BITS


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _not_callable(name: str, target: Any) -> str:
    """Why a Python object cannot be called, and what can be instead."""
    if target is print:
        return 'print cannot be called on the GPU: lt.printf("%d", x) can'
    own = getattr(target, "__name__", "")
    if own in INTRINSICS and not isinstance(target, pytypes.FunctionType):
        return f"{name} is Python's and runs on the host: lt.{own} is the hook language's"
    if isinstance(target, pytypes.FunctionType):
        return f"{name} cannot be called in a hook: mark it with @lt.device"
    return f"{name} runs on the host and cannot be called in a hook; the hook language has {', '.join(INTRINSICS)}"


def _describe(node: ast.AST) -> str:
    names = {
        ast.List: "a list",
        ast.Tuple: "a tuple",
        ast.Dict: "a dict",
        ast.Set: "a set",
        ast.ListComp: "a comprehension",
        ast.Lambda: "a lambda",
        ast.JoinedStr: "an f-string",
        ast.Await: "await",
        ast.Yield: "yield",
        ast.NamedExpr: "the := operator",
    }
    return names.get(type(node), f"`{ast.unparse(node).splitlines()[0]}`")


__all__ = ["Expressions", "spelling"]
