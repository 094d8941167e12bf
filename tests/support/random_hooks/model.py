"""The hook language in NumPy: a hook's source, run by the lanes of one wave at a time, with masks for EXEC.

Each value is an array of one element for each lane, or a number of Python's where the language has a constant without a
type. What the lanes that are off have is anything, and never seen.

In a wave without active lanes all lanes run, so that what the wave computes for itself comes out, but they store nothing,
and no mask has them. Where they take different ways, nothing may act for the wave: the generator sees to it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

import numpy as np

from . import arithmetic
from .kinds import dtype, mix

Value = np.ndarray | int | float
#: More rounds of a loop than any that is generated has.
ROUNDS = 50

ARITHMETIC: dict[type[ast.operator], Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.FloorDiv: arithmetic.floor_divide, ast.Mod: arithmetic.remainder,
}  # fmt: skip
SHIFTS: dict[type[ast.operator], Callable] = {ast.LShift: arithmetic.shift_left, ast.RShift: arithmetic.shift_right}
COMPARISONS: dict[type[ast.cmpop], Callable] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
ONE_OPERAND: dict[str, Callable] = {
    "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "popcount": arithmetic.popcount, "ctz": arithmetic.ctz, "clz": arithmetic.clz,
}  # fmt: skip


ATOMICS: dict[str, np.ufunc] = {
    "atomic_add": np.add, "atomic_xor": np.bitwise_xor, "atomic_or": np.bitwise_or, "atomic_and": np.bitwise_and,
    "atomic_min": np.minimum, "atomic_max": np.maximum,
}  # fmt: skip
PACKED: dict[str, np.ufunc] = {"pk_add_u16": np.add, "pk_sub_u16": np.subtract, "pk_mul_u16": np.multiply}
REDUCTIONS: dict[str, Callable] = {"wave_sum": lambda v: v.sum(dtype=v.dtype), "wave_min": np.min, "wave_max": np.max}
#: What is one wave of one workgroup says.
PLACES = ("workgroup_size_x", "grid_size_x", "workgroup_id_x", "wave_size")


class Wave:
    """One wave that runs a hook: ``arrays`` and ``count`` are what memory and the counter hold afterwards."""

    def __init__(
        self,
        source: str,
        arrays: dict[str, np.ndarray],
        lanes: int,
        mask: int,
        states: dict[str, str] | None = None,
        times: int = 1,
    ):
        self.mask = mask
        self.arrays = {name: array.copy() for name, array in arrays.items()}
        self.count = 0
        self.lanes = lanes
        self.active = np.array([bool(mask >> lane & 1) for lane in range(lanes)])
        self.variables: dict[str, np.ndarray] = {}
        #: What lanes have returned from the function that is called.
        self.returned = np.zeros(lanes, np.uint32)
        #: The lanes that have left this round of the innermost loop for the next one.
        self.continued = np.zeros(lanes, bool)
        #: What lies in LDS, and the records that are put into the channel.
        self.lds = {"lds": np.zeros(128, np.uint32)}
        self.records: list[tuple[int, int]] = []
        body = ast.parse(source).body
        tables = ast.Module([node for node in body if isinstance(node, ast.Assign)], [])
        self.constants: dict[str, np.ndarray] = {"np": np}  # type: ignore[dict-item]
        exec(compile(tables, "tables", "exec"), self.constants)
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        hook, kept = self.functions.pop("hook"), {name: np.zeros(lanes, dtype(kind)) for name, kind in (states or {}).items()}
        with np.errstate(all="ignore"):
            for _ in range(times):
                self.variables = dict(kept)
                self.block(hook.body, self.active if mask else np.ones(lanes, bool))
                kept = {name: self.variables[name] for name in kept}

    # Statements. Each gets the lanes that run it, and says which of them go on behind it.

    def block(self, body: list[ast.stmt], on: np.ndarray) -> np.ndarray:
        for statement in body:
            if not on.any():
                break
            on = self.statement(statement, on)
        return on

    def statement(self, node: ast.stmt, on: np.ndarray) -> np.ndarray:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="array"), args=[kind, length])):
                self.variables[name] = np.zeros((self.lanes, ast.literal_eval(length)), dtype(_name(kind)))
            case ast.Assign(targets=[target], value=value):
                self.assign(target, self.value(value, on), on)
            case ast.AnnAssign(target=target, annotation=kind, value=ast.expr() as value):
                self.assign(target, self.typed(self.value(value, on), dtype(_name(kind))), on)
            case ast.AugAssign(target=ast.Name(id="count"), value=value):
                self.count = (self.count + self.of_the_wave(value, on)) % (1 << 64)
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign(target, self.binary(op, self.value(target, on), self.value(value, on)), on)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="wave_atomic_add"), args=[place, amount])):
                assert isinstance(place, ast.BinOp) and isinstance(place.left, ast.Name)
                array, index = self.arrays[place.left.id], ast.literal_eval(place.right)
                array[index] += np.uint64(self.of_the_wave(amount, on))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=str() as name)) as call) if name.startswith("scalar_atomic_"):
                self.value(call, on)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="record"), args=[_, *fields], keywords=keywords)):
                self.record(fields, bool(keywords), on)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=str() as name), args=[place, amount])) if name.startswith(
                "atomic_"
            ):
                assert isinstance(place, ast.BinOp) and isinstance(place.left, ast.Name)
                array = self.lds.get(place.left.id, self.arrays.get(place.left.id))
                acting = on & self.active
                at, amounts = self.array(self.value(place.right, on)), self.array(self.value(amount, on))
                np.ufunc.at(ATOMICS[name], array, at[acting].astype(np.int64), amounts[acting])
            case ast.Return(value=ast.expr() as value):
                self.returned = np.where(on, self.typed(self.value(value, on), self.returned.dtype), self.returned)
                return np.zeros_like(on)
            case ast.While(test=test, body=body):
                outer, looping = self.continued, on
                for _ in range(ROUNDS):
                    looping = looping & (self.value(test, looping) != 0)
                    if not looping.any():
                        break
                    self.continued = np.zeros(self.lanes, bool)
                    looping = self.block(body, looping) | self.continued
                else:
                    raise AssertionError("a loop with too many rounds")
                self.continued = outer
            case ast.If(test=test, body=body, orelse=orelse):
                taken = self.value(test, on) != 0
                return self.block(body, on & taken) | self.block(orelse, on & ~taken)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[start, stop, step])):
                self.loop(name, [self.array(self.value(one, on)) for one in (start, stop)], ast.literal_eval(step), node.body, on)
            case ast.Break():
                return np.zeros_like(on)
            case ast.Continue():
                self.continued |= on
                return np.zeros_like(on)
            case _:
                raise AssertionError(f"the model does not know: {ast.unparse(node)}")
        return on

    def loop(self, name: str, bounds: list[np.ndarray], step: int, body: list[ast.stmt], on: np.ndarray) -> None:
        """``range`` of Python's, whatever the type: no index wraps around."""
        kind = mix(bounds[0].dtype, bounds[1].dtype)
        now, stop = (bound.astype(object) for bound in bounds)
        outer = self.continued
        for _ in range(ROUNDS):
            on = on & ((now < stop) if step > 0 else (now > stop)).astype(bool)
            if not on.any():
                break
            self.assign(ast.Name(id=name), np.where(on, now, 0).astype(kind), on)
            self.continued = np.zeros(self.lanes, bool)
            on = self.block(body, on) | self.continued
            now = now + step
        else:
            raise AssertionError("a loop with too many rounds")
        self.continued = outer

    def record(self, fields: list[ast.expr], per_wave: bool, on: np.ndarray) -> None:
        """For each lane in their order, or once."""
        values = [self.array(self.value(one, on)) for one in fields]
        lanes = np.flatnonzero(on & self.active)
        chosen = np.flatnonzero(on)[:1] if per_wave else lanes
        self.records += [(int(values[0][lane]), int(values[1][lane])) for lane in chosen]

    def assign(self, target: ast.expr, value: Value, on: np.ndarray) -> None:
        match target:
            case ast.Name(id=name):
                value = self.array(value)
                self.variables[name] = np.where(on, value, self.variables.get(name, np.zeros_like(value)))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.variables:
                array = self.variables[name]
                at = self.array(self.value(index, on))
                array[on, at[on]] = self.typed(value, array.dtype)[on]
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                array = self.lds.get(name, self.arrays.get(name))
                at, storing = self.array(self.value(index, on)), on & self.active
                array[at[storing]] = self.typed(value, array.dtype)[storing]
            case _:
                raise AssertionError(f"the model does not assign to {ast.unparse(target)}")

    def of_the_wave(self, node: ast.expr, on: np.ndarray) -> int:
        """A value that all lanes share."""
        values = self.array(self.value(node, on))[on]
        assert (values == values[0]).all(), f"{ast.unparse(node)} differs between lanes"
        return int(values[0])

    # Expressions. What stops early is evaluated by the lanes that need it.

    def value(self, node: ast.expr, on: np.ndarray) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return self.variables[name]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.value(operand, on) == 0
            case ast.UnaryOp(op=op, operand=operand):
                value = self.value(operand, on)
                return -value if isinstance(op, ast.USub) else ~self.array(value)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left, on), self.value(right, on))
            case ast.BoolOp(op=op, values=values):
                return self.logical(isinstance(op, ast.And), values, on)
            case ast.Compare():
                return self.comparison(node, on)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                taken = self.value(test, on) != 0
                return np.where(taken, *self.same_type(self.value(body, on & taken), self.value(orelse, on & ~taken)))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.constants:
                table, at = self.constants[name], self.array(self.value(index, on))
                inside = (at >= 0) & (at < len(table))
                return np.where(inside, table[np.where(inside, at, 0).astype(np.int64)], table.dtype.type(0))
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.lds:
                return self.lds[name][self.array(self.value(index, on)).astype(np.int64) * on]
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                at = self.array(self.value(index, on)).astype(np.int64)
                in_lanes = self.variables.get(name)
                return self.arrays[name][at * on] if in_lanes is None else in_lanes[np.arange(self.lanes), at * on]
            case ast.Call(func=func, args=args):
                return self.call(_name(func), args, on)
            case _:
                raise AssertionError(f"the model does not know: {ast.unparse(node)}")

    def logical(self, conjunction: bool, values: list[ast.expr], on: np.ndarray) -> np.ndarray:
        out, undecided = np.full(self.lanes, conjunction), on
        for node in values:
            value = self.array(self.value(node, undecided)).astype(bool)
            out = np.where(undecided, value, out)
            undecided = undecided & (value == conjunction)
        return out

    def comparison(self, node: ast.Compare, on: np.ndarray) -> np.ndarray:
        left, out = self.value(node.left, on), np.ones(self.lanes, bool)
        for op, right_node in zip(node.ops, node.comparators):
            right = self.value(right_node, on & out)
            out = out & COMPARISONS[type(op)](*self.same_type(left, right))
            left = right
        return out

    def binary(self, op: ast.operator, left: Value, right: Value) -> np.ndarray:
        if type(op) in SHIFTS:
            return SHIFTS[type(op)](self.array(left), self.array(right))
        return ARITHMETIC[type(op)](*self.same_type(left, right))

    def call(self, name: str, args: list[ast.expr], on: np.ndarray) -> np.ndarray:
        if name in ("exec_mask", "active_lanes", "ballot"):
            seen = on & self.active
            if name == "ballot":
                seen = seen & self.array(self.value(args[0], on))
            if name == "active_lanes":
                return np.full(self.lanes, seen.sum(), np.uint32)
            return np.full(self.lanes, sum(1 << int(lane) for lane in np.flatnonzero(seen)), np.uint64)
        if name in self.functions:
            return self.device(self.functions[name], args, on)
        if name in PLACES:
            return np.full(self.lanes, 0 if name == "workgroup_id_x" else self.lanes, np.uint32)
        if name == "kernel_arg":
            return np.full(self.lanes, self.mask, np.uint64)
        if name in ("wave_sum", "wave_min", "wave_max"):
            value = self.array(self.value(args[0], on))
            seen = value[on & self.active]
            found = REDUCTIONS[name](seen) if len(seen) else value.dtype.type(0)
            return np.full(self.lanes, found, value.dtype)
        if name in ("lane_id", "workitem_id_x"):
            return np.arange(self.lanes, dtype=np.uint32)
        if name == "bitcast":
            return self.array(self.value(args[1], on)).view(dtype(_name(args[0])))
        if name.startswith("scalar_atomic_"):
            return self.scalar_atomic(name, args, on)
        values = [self.value(one, on) for one in args]
        if name.startswith("pk_"):
            halves = [np.ascontiguousarray(self.typed(value, np.dtype("u4"))).view(np.uint16) for value in values]
            return PACKED[name](*halves).view(np.uint32)
        if name == "readfirstlane":
            value = self.array(values[0])
            return np.full_like(value, value[np.argmax(on)])
        if name in ("min", "max"):
            # The first of two that are equal, as zeros of either sign are, and where one is a NaN.
            a, b = self.same_type(*values)
            return np.where(b < a if name == "min" else b > a, b, a)
        if name in ONE_OPERAND:
            return ONE_OPERAND[name](self.array(values[0]))
        return self.typed(values[0], dtype(name))

    def scalar_atomic(self, name: str, args: list[ast.expr], on: np.ndarray) -> np.ndarray:
        """Once for the wave: what was there before."""
        place, *given = args
        assert isinstance(place, ast.BinOp) and isinstance(place.left, ast.Name)
        array, index = self.arrays[place.left.id], ast.literal_eval(place.right)
        old = array[index]
        a, *more = [old.dtype.type(self.typed(self.value(one, on), old.dtype)[on][0]) for one in given]
        match name.removeprefix("scalar_atomic_"):
            case "inc":
                array[index] = 0 if old >= a else old + old.dtype.type(1)
            case "dec":
                array[index] = a if old == 0 or old > a else old - old.dtype.type(1)
            case "exchange":
                array[index] = a
            case "cas":
                array[index] = more[0] if old == a else old
            case op:
                array[index] = (np.subtract if op == "sub" else ATOMICS[f"atomic_{op}"])(old, a)
        return np.full(self.lanes, old)

    def device(self, function: ast.FunctionDef, args: list[ast.expr], on: np.ndarray) -> np.ndarray:
        """A call of a function of the hook's."""
        params = function.args.args
        given = {p.arg: self.typed(self.value(a, on), dtype(_name(p.annotation))) for p, a in zip(params, args) if p.annotation}
        outer, before = self.variables, self.returned
        self.variables, self.returned = given, np.zeros(self.lanes, dtype(_name(function.returns)))  # type: ignore[arg-type]
        self.block(function.body, on)
        self.variables, found, self.returned = outer, self.returned, before
        return found

    # Types.

    def array(self, value: Value) -> np.ndarray:
        """A constant alone is i32 or f32."""
        if isinstance(value, np.ndarray):
            return value
        return np.full(self.lanes, value, bool if isinstance(value, bool) else np.int32 if isinstance(value, int) else np.float32)

    def typed(self, value: Value, to: np.dtype) -> np.ndarray:
        return arithmetic.convert(value, to) if isinstance(value, np.ndarray) else np.full(self.lanes, value, to)

    def same_type(self, a: Value, b: Value) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            to = a.dtype if a.dtype == b.dtype else mix(a.dtype, b.dtype)
        else:
            to = a.dtype if isinstance(a, np.ndarray) else self.array(b).dtype
        return self.typed(a, to), self.typed(b, to)


def _name(node: ast.expr) -> str:
    """``lt.u32`` and ``bool`` by their last names."""
    assert isinstance(node, ast.Attribute | ast.Name)
    return node.attr if isinstance(node, ast.Attribute) else node.id
