"""Statements: what is assigned where, control flow, and a whole function's tree."""

from __future__ import annotations

import ast
import types as pytypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import tables, types
from .constants import ConstantTable
from .errors import HookError, Node, Span
from .expressions import Expressions, is_of_language, spelling
from .facts import Fact
from .intrinsics import Intrinsic
from .records import PRINTED, Printed, check_record
from .scope import MISSING
from .types import Array, ChannelType, Counter, InOut, Pointer, Scalar, Table, Type, bool_, channel, u32, u64
from .values import Value, as_type, constant, settle, truth, unify

#: The parameter with which functions that print are given the tool's channel for that; no name that Python could have.
PRINTING = "lt.printf"


#: What is done for the wave by one of its lanes.
_FOR_THE_WAVE = ("wave_fetch_add", "wave_lane_add", "wave_exchange")


def offset_in_lds(name: str) -> str:
    """The tree's name of a parameter that is LDS of the tool's: an offset in it. No name that Python could have."""
    return f"{name} in lt.shared"


class FunctionChecker(Expressions):
    """Checks one function and builds its tree.

    ``unit`` is the :class:`~.functions.Unit` being compiled, which checks the device functions that are called.
    """

    def __init__(self, unit: Any, function: Any):
        self.unit, self.function = unit, function
        self.source = function.source
        self.file, self.scope = self.source.file, self.source.scope
        self.types: dict[str, Type] = {}
        self.declared_at: dict[str, Span] = {}
        self.assigned: set[str] = set()
        self.parameters: set[str] = set()
        self.bounds: dict[str, tuple[int, int]] = {}
        nodes = list(ast.walk(self.source.tree))
        stores = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.assigned_names = {n.id for n in stores}
        loops = [(n, n.target.id) for n in nodes if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
        counted = {id(loop.target) for loop, _ in loops}
        self.changed_names = {n.id for n in stores if id(n) not in counted}
        for loop, name in loops:  # one within a loop of the same variable changes it, too
            inside = {id(n) for statement in loop.body for n in ast.walk(statement)}
            if any(other == name and id(n) in inside for n, other in loops):
                self.changed_names.add(name)

    def span(self, node: Node) -> Span:
        return self.source.span(node)

    def own_names(self) -> None:
        """Complains of variables that are called like something of the language: the function could not use that any more,
        and a reader would take the one for the other."""
        advice = "has a meaning in hooks: give the variable another name"
        nodes = list(ast.walk(self.source.tree))
        # A module matters where something is taken from it, as lt.u32 is.
        roots = {n.value.id for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}

        def is_taken(name: str) -> bool:
            found = self.scope.lookup(name)
            return is_of_language(found) or isinstance(found, pytypes.ModuleType) and name in roots

        for parameter in self.function.params:
            if is_taken(parameter.name):
                raise HookError(f"{parameter.name} {advice}", parameter.span)
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and is_taken(node.id):
                raise HookError(f"{node.id} {advice}", self.span(node))

    def check(self) -> dict[str, Any]:
        """The function's tree."""
        self.own_names()
        for parameter in self.function.params:
            self.types[parameter.name] = parameter.type
            self.declared_at[parameter.name] = parameter.span
            self.assigned.add(parameter.name)
            self.parameters.add(parameter.name)
        shared = self.unit.shared if self.function.is_hook else frozenset()
        body = [self._shared(p) for p in self.function.params if p.name in shared]
        body += self.block(self.source.tree.body)
        returns = self.function.returns
        if returns is not None and not _always_returns(self.source.tree.body):
            raise HookError(
                f"{self.function.name} gives a {returns}, but its end can be reached without a return", self.function.span
            )
        params = [
            {"name": name, "type": kind.to_json(), "at": [p.span.line, p.span.col + 1]}
            for p in self.function.params
            for name, kind in ([(offset_in_lds(p.name), u32)] if p.name in shared else p.parts)
        ]
        at = [self.function.span.line, self.function.span.col + 1]
        params += [{"name": f.name, "type": f.type.to_json(), "at": at} for f in self.unit.facts(self.function)]
        if self.function in self.unit.prints:
            params.append({"name": PRINTING, "type": channel.to_json(), "at": at})
        locals_ = [{"name": n, "type": t.to_json()} for n, t in self.types.items() if n not in self.parameters or n in shared]
        return {
            "name": self.unit.name(self.function),
            "file": self.file,
            "at": [self.function.span.line, self.function.span.col + 1],
            "params": params,
            "returns": returns.to_json() if returns is not None else None,
            "locals": locals_,
            "body": body,
        }

    def _shared(self, parameter: Any) -> dict[str, Any]:
        """A parameter that is LDS of the tool's begins as the address of that."""
        from .where import SHARED_BASE

        span, kind = parameter.span, parameter.type
        base = self.call_device(SHARED_BASE, span, [])
        offset = Value(span, u32, {"local": offset_in_lds(parameter.name)})
        place = Value(span, u32, {"binary": {"op": "add", "left": base.to_json(), "right": offset.to_json()}})
        wide = Value(span, u64, {"cast": place.to_json()})
        address = Value(span, kind, {"cast": wide.to_json()})
        return self.node(span, {"assign": {"name": parameter.name, "value": address.to_json()}})

    # Variables

    def variable(self, name: str, span: Span) -> Type | None:
        if name not in self.types:
            if name in self.assigned_names:
                raise HookError(f"{name} is used before it is assigned", span)
            return None
        if name not in self.assigned:
            raise HookError(f"{name} may be used before it is assigned", span)
        return self.types[name]

    def declare(self, name: str, kind: Type, span: Span) -> None:
        self.types[name] = kind
        self.declared_at[name] = span
        self.assigned.add(name)

    def assign(self, name: str, value: Value, span: Span) -> dict[str, Any]:
        if name not in self.types:
            value = settle(value)
            self.declare(name, value.type, span)
        kind = self.types[name]
        if isinstance(kind, (Array, Table)):
            what = "an array" if isinstance(kind, Array) else "a table"
            raise HookError(f"{name} is {what}: assign its elements", span)
        if isinstance(kind, ChannelType):
            raise HookError(f"{name} is a channel: it is used under the name of its parameter", span)
        target = u64 if isinstance(kind, Counter) else kind.of if isinstance(kind, InOut) else kind
        try:
            value = as_type(value, target)
        except HookError as error:
            where = f"{name} is {_a(kind)} since line {self.declared_at[name].line}"
            raise HookError(f"{where}; {error.message}", error.span) from None
        self.assigned.add(name)
        return self.node(span, {"assign": {"name": name, "value": value.to_json()}})

    @staticmethod
    def node(span: Span, kind: Any) -> dict[str, Any]:
        return {"at": [span.line, span.col + 1], "kind": kind}

    # Statements

    def block(self, statements: list[ast.stmt]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for statement in statements:
            method = getattr(self, f"_{type(statement).__name__.lower()}_stmt", None)
            if method is None:
                raise HookError(f"`{ast.unparse(statement).splitlines()[0]}` cannot be used in a hook", self.span(statement))
            out.extend(method(statement))
        return out

    def _pass_stmt(self, _: ast.Pass) -> Iterator[dict[str, Any]]:
        return iter(())

    def _expr_stmt(self, node: ast.Expr) -> Iterator[dict[str, Any]]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        needed_a_lane = self.unit.needs_a_lane
        value = self.expr_or_void(node.value)
        if isinstance(value.kind, dict) and value.kind.get("intrinsic", {}).get("name") == "wave_fetch_add":
            # Nothing asks for the old value: an add alone is shorter.
            self.unit.needs_a_lane = needed_a_lane
            value = Value(value.span, None, {"intrinsic": {**value.kind["intrinsic"], "name": "wave_atomic_add"}})
        if value.kind is not None:
            yield self.node(value.span, {"expr": value.to_json()})

    def _assign_stmt(self, node: ast.Assign) -> Iterator[dict[str, Any]]:
        span = self.span(node)
        if len(node.targets) != 1:
            raise HookError("a = b = value cannot be used in a hook: write two assignments", span)
        target = node.targets[0]
        if isinstance(target, ast.Name) and (array := self._array(node.value)) is not None:
            if target.id in self.types and self.types[target.id] != array:
                raise HookError(f"{target.id} is {_a(self.types[target.id])} since line {self.declared_at[target.id].line}", span)
            self.declare(target.id, array, span)
            yield self.node(span, {"array": target.id})
        elif isinstance(target, ast.Name):
            yield self.assign(target.id, self.expr(node.value), self.span(target))
        elif isinstance(target, ast.Subscript) and (table := self.table(target)) is not None:
            first, index = tables.chosen(self, *table, span)
            yield from first
            yield from tables.write(self, *table[:2], index, self.expr(node.value), span)
        elif isinstance(target, ast.Subscript):
            place = self.writable(target)
            value = as_type(self.expr(node.value), place.type.to)
            yield self.node(span, {"store": {"ptr": place.to_json(), "value": value.to_json()}})
        else:
            raise HookError(f"cannot assign to {ast.unparse(target)}", self.span(target))

    def _array(self, node: ast.expr) -> Array | None:
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return None
        span = self.span(node)
        root: ast.expr = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if (
            isinstance(root, ast.Name)
            and root.id in self.assigned_names
            or self.scope.resolve(node.func, span) is not types.array
        ):
            return None
        if len(node.args) != 2 or node.keywords:
            raise HookError("lt.array(type, length) takes 2 arguments", span)
        of, length = self.scope.type_object(node.args[0], span), self.expr(node.args[1])
        of = bool_ if of is bool else of
        if not isinstance(of, Scalar):
            raise HookError(f"lt.array needs an element type such as lt.u32, not {of!r}", span)
        if not length.untyped or not isinstance(length.const, int) or not 0 < length.const <= 4096:
            raise HookError("an array's length is a constant from 1 to 4096", length.span)
        return Array(of, length.const)

    def _annassign_stmt(self, node: ast.AnnAssign) -> Iterator[dict[str, Any]]:
        span = self.span(node)
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise HookError("a declaration is written name: type = value", span)
        kind = self.unit.type_of(self.scope, node.annotation, self.span(node.annotation))
        if not isinstance(kind, (Scalar, Pointer)):
            raise HookError(f"a variable cannot be {_a(kind)}", span)
        name = node.target.id
        if name in self.types and self.types[name] != kind:
            raise HookError(f"{name} is {_a(self.types[name])} since line {self.declared_at[name].line}", span)
        value = self.expr(node.value)
        self.types[name] = kind
        self.declared_at.setdefault(name, span)
        yield self.assign(name, value, span)

    def _augassign_stmt(self, node: ast.AugAssign) -> Iterator[dict[str, Any]]:
        span = self.span(node)
        if isinstance(node.target, ast.Name):
            old = self.expr(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            yield self.assign(node.target.id, self._combined(node, span, old), span)
        elif isinstance(node.target, ast.Subscript) and (table := self.table(node.target)) is not None:
            first, index = tables.chosen(self, *table, span)
            yield from first
            old = tables.read(*table[:2], index, span)
            yield from tables.write(self, *table[:2], index, self._combined(node, span, old), span)
        elif isinstance(node.target, ast.Subscript):
            place = self.writable(node.target)
            new = self._combined(node, span, Value(span, place.type.to, "old"))
            yield self.node(span, {"update": {"ptr": place.to_json(), "value": new.to_json()}})
        else:
            raise HookError(f"cannot assign to {ast.unparse(node.target)}", span)

    def _combined(self, node: ast.AugAssign, span: Span, old: Value) -> Value:
        """``old op value`` in the type of ``old``: the right side must fit it."""
        value = self.expr(node.value)
        if not isinstance(old.type, Pointer) and not isinstance(node.op, (ast.LShift, ast.RShift)):
            value = as_type(value, old.type)
        return self.binary(node.op, span, old, value)

    def writable(self, node: ast.Subscript) -> Value:
        place = self.place(node)
        if place.type.space == "const":
            raise HookError(f"{ast.unparse(node.value)} is a {place.type}: it can only be read", place.span)
        return place

    def _if_stmt(self, node: ast.If) -> Iterator[dict[str, Any]]:
        condition = self.expr(node.test)
        if condition.const is not None:  # known now: the other side need not even make sense
            yield from self.block(node.body if condition.const else node.orelse)
            return
        before = set(self.assigned)
        then = self.block(node.body)
        after_then = self.assigned
        self.assigned = set(before)
        other = self.block(node.orelse)
        ends = _leaves(node.body), _leaves(node.orelse)
        if ends == (True, False):
            pass
        elif ends == (False, True):
            self.assigned = after_then
        else:
            self.assigned = self.assigned & after_then
        yield self.node(self.span(node), {"if": {"cond": truth(condition).to_json(), "then": then, "else": other}})

    @contextmanager
    def _loop(self, node: ast.While | ast.For) -> Iterator[None]:
        if node.orelse:
            raise HookError("a loop's else cannot be used in a hook", self.span(node.orelse[0]))
        before = set(self.assigned)
        yield
        self.assigned = before

    def _while_stmt(self, node: ast.While) -> Iterator[dict[str, Any]]:
        with self._loop(node):
            condition = truth(self.expr(node.test))
            body = self.block(node.body)
        yield self.node(self.span(node), {"while": {"cond": condition.to_json(), "body": body}})

    def _for_stmt(self, node: ast.For) -> Iterator[dict[str, Any]]:
        span = self.span(node)
        call = node.iter
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or self.scope.lookup(call.func.id) is not range
            or call.keywords
            or not 1 <= len(call.args) <= 3
        ):
            raise HookError("a hook can only loop over range(...)", self.span(node.iter))
        if not isinstance(node.target, ast.Name):
            raise HookError("the loop variable must be a name", self.span(node.target))
        args = [self.expr(a) for a in call.args]
        step = args.pop() if len(args) == 3 else constant(span, 1)
        if not step.untyped or not isinstance(step.const, int) or step.const == 0:
            raise HookError("range's step must be a constant integer other than 0", step.span)
        start, stop = args if len(args) == 2 else (constant(span, 0), args[0])
        name = node.target.id
        known = self.types.get(name)
        bounds = None
        if start.untyped and stop.untyped and isinstance(start.const, int) and isinstance(stop.const, int):
            first, last = start.const, stop.const + (-1 if step.const > 0 else 1)
            bounds = (min(first, last), max(first, last))
        start, stop = unify([start, stop], "range")
        if known is not None and isinstance(known, Scalar):
            start, stop = as_type(start, known), as_type(stop, known)
        if not isinstance(start.type, Scalar) or start.type.kind != "int":
            raise HookError(f"range counts integers, not {start.type}", start.span)
        if known is not None and known != start.type:
            raise HookError(f"{name} is {_a(known)} since line {self.declared_at[name].line}, not a {start.type}", span)
        with self._loop(node):
            self.types[name] = start.type
            self.declared_at.setdefault(name, span)
            self.assigned.add(name)
            outer = self.bounds.pop(name, None)
            if bounds and name not in self.changed_names:
                self.bounds[name] = bounds
            body = self.block(node.body)
            self.bounds.pop(name, None)
            if outer:
                self.bounds[name] = outer
        loop = {"name": name, "start": start.to_json(), "stop": stop.to_json(), "step": step.const, "body": body}
        yield self.node(span, {"for": loop})

    def _break_stmt(self, node: ast.Break) -> Iterator[dict[str, Any]]:
        yield self.node(self.span(node), "break")

    def _continue_stmt(self, node: ast.Continue) -> Iterator[dict[str, Any]]:
        yield self.node(self.span(node), "continue")

    def _return_stmt(self, node: ast.Return) -> Iterator[dict[str, Any]]:
        span, returns = self.span(node), self.function.returns
        if node.value is None or isinstance(node.value, ast.Constant) and node.value.value is None:
            if returns is not None:
                raise HookError(f"{self.function.name} gives a {returns}: return one", span)
            yield self.node(span, {"return": None})
            return
        if returns is None:
            kind = "a hook gives no value" if self.function.is_hook else f"declare what {self.function.name} gives: -> lt.u32"
            raise HookError(kind, span)
        yield self.node(span, {"return": as_type(self.expr(node.value), returns).to_json()})

    # What is passed on

    def fact(self, fact: Fact, span: Span) -> Value:
        self.unit.ask(self.function, fact)
        return Value(span, fact.type, {"local": fact.name})

    def constant_table(self, table: ConstantTable) -> int:
        return self.unit.constant_table(table)

    def printed(self, text: Printed, span: Span) -> Value:
        self.unit.prints.add(self.function)
        if self.unit.texts.setdefault(text.number, text) != text:
            raise HookError("two texts have the same number: change one of them", span)
        return Value(span, channel, {"local": PRINTING})

    def put(self, span: Span, channel: Value, args: list[Value], per_wave: bool, name: str = "record") -> Value:
        shape = None
        if name == "printf":
            shape = PRINTED
        elif isinstance(channel.kind, dict) and self.function.is_hook:
            shape = self.unit.channels.get(channel.kind.get("local"))
        self.unit.needs_a_lane |= per_wave
        return check_record(channel, span, args, per_wave, shape, name)

    def applied(self, target: Intrinsic, span: Span, args: list[Value]) -> Value:
        value = target.apply(span, args)
        if isinstance(value.kind, dict) and value.kind.get("intrinsic", {}).get("name") in _FOR_THE_WAVE:
            self.unit.needs_a_lane = True
        return value

    # Calls of other functions

    def call_device(self, function: Any, span: Span, args: list[Value]) -> Value:
        self.unit.require(function, span)
        if len(args) != len(function.params):
            raise HookError(f"{function.name} takes {len(function.params)} arguments, {len(args)} given", span)
        checked = []
        for value, parameter in zip(args, function.params):
            if isinstance(parameter.type, (Counter, InOut, Table, ChannelType)):
                raise HookError(f"{function.name} has a {parameter.type} parameter: it can be inserted, not called", span)
            checked.append(as_type(value, parameter.type).to_json())
        checked += [self.fact(fact, span).to_json() for fact in self.unit.facts(function)]
        if function in self.unit.prints:
            self.unit.prints.add(self.function)
            checked.append({"at": [span.line, span.col + 1], "type": channel.to_json(), "kind": {"local": PRINTING}})
        return Value(span, function.returns, {"call": {"function": self.unit.name(function), "args": checked}})


def _a(kind: Type) -> str:
    return f"{'an' if kind.name[0] in 'ai' else 'a'} {kind}"


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether control surely does not come out at the end of ``body``."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        return True
    return isinstance(last, ast.If) and _leaves(last.body) and _leaves(last.orelse)


def _always_returns(body: list[ast.stmt]) -> bool:
    for statement in body:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and _always_returns(statement.body) and _always_returns(statement.orelse):
            return True
        if isinstance(statement, ast.While) and isinstance(statement.test, ast.Constant) and statement.test.value is True:
            if not any(isinstance(n, ast.Break) for n in ast.walk(statement)):
                return True
    return False


__all__ = ["FunctionChecker", "MISSING", "spelling"]
