"""``@lt.hook`` and ``@lt.device``: functions that are parsed, never run."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import re
import textwrap
import types as pytypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import tables
from .constants import ConstantTable
from .errors import HookError, Node, Span
from .facts import Fact
from .records import Printed, RecordShape
from .scope import Scope
from .statements import PRINTING, FunctionChecker
from .types import ChannelType, Counter, InOut, Pointer, Scalar, Table, Type, bool_

#: Version of the tree's schema (crates/codegen/src/hook/ast.rs describes it).
SCHEMA = 1


@dataclass(frozen=True)
class Param:
    """A hook's parameter."""

    name: str
    type: Type
    span: Span

    @property
    def parts(self) -> list[tuple[str, Type]]:
        """The parameters of the tree that stand for it, with their types: one for each element of a table."""
        if isinstance(self.type, Table):
            return [(tables.element(self.name, n), InOut(self.type.of)) for n in range(self.type.length)]
        return [(self.name, self.type)]

    def given(self, argument: object) -> Any:
        """The parameter's type, whatever it is given."""
        return self.type

    def raw_bits(self, value: Any) -> int:
        """The bits of a Python number passed for this parameter; raises HookError at the parameter if it cannot be."""
        try:
            if isinstance(self.type, Scalar):
                return self.type.raw_bits(value)
            if isinstance(self.type, Pointer):
                return _address.raw_bits(value)
            raise TypeError(f"{value!r} is a number")
        except (TypeError, OverflowError) as error:
            raise HookError(f"argument {self.name} must be {self.type}: {error}", self.span) from None


class Source:
    """A function's tree, with positions in its file."""

    def __init__(self, file: str, lines: list[str], first: int, scope: Scope):
        self.file, self.lines, self.first = file, lines, first
        self._first = first - 1
        text = "".join(lines)
        dedented = textwrap.dedent(text)
        self._indent = len(lines[0]) - len(dedented.splitlines(True)[0])
        self._lines = dedented.splitlines()
        tree = ast.parse(dedented).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise HookError("a hook is a plain function: def name(...)", self.span(tree))
        self.tree = tree
        self.scope = scope

    @classmethod
    def of(cls, function: pytypes.FunctionType) -> Source:
        """A Python function's."""
        file = inspect.getsourcefile(function) or function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise HookError(
                f"the source of {function.__name__} cannot be read: a hook has to be written in a file",
                Span(file, function.__code__.co_firstlineno, 0),
            ) from None
        return cls(file, lines, first, Scope.of(function))

    def names(self) -> set[str]:
        """What the function may look up: names in it, and words of types in quotes."""
        nodes = list(ast.walk(self.tree))
        quoted = " ".join(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
        return {n.id for n in nodes if isinstance(n, ast.Name)} | set(re.findall(r"[A-Za-z_]\w*", quoted))

    def for_another_process(self) -> tuple[Any, ...]:
        """All that makes it again there."""
        return self.file, self.lines, self.first, self.scope.only(self.names())

    def span(self, node: Node) -> Span:
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        col = len(line.encode()[: node.col_offset].decode(errors="replace"))
        end = None
        if node.end_lineno == node.lineno and node.end_col_offset is not None:
            end = len(line.encode()[: node.end_col_offset].decode(errors="replace")) + self._indent
        return Span(self.file, node.lineno + self._first, col + self._indent, end)


class Function:
    """A function of the hook language: what ``@lt.hook`` and ``@lt.device`` leave in place of the Python function."""

    is_hook = False

    def __init__(self, function: Callable[..., Any]):
        if not isinstance(function, pytypes.FunctionType):
            raise TypeError(f"@lt.{'hook' if self.is_hook else 'device'} marks a function, not {function!r}")
        self.name = function.__name__
        self.unique_name = f"{function.__module__}.{function.__qualname__}"
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<{'hook' if self.is_hook else 'device function'} {self.unique_name}>"

    def __call__(self, *args: Any) -> Any:
        use = "insert it: kernel.insert_before(instr, hook, ...)" if self.is_hook else "call it from a hook"
        raise TypeError(f"{self.name} runs on the GPU: {use}")

    @cached_property
    def source(self) -> Source:
        return Source.of(self.__wrapped__)

    def __getstate__(self) -> dict[str, Any]:
        # Another process has the function's source from here, and of what it sees that which it looks up.
        kept = ("name", "unique_name", "__name__", "__doc__", "__module__")
        return {**{name: vars(self)[name] for name in kept}, "source": self.source.for_another_process()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        file, lines, first, names = state["source"]
        self.__dict__["source"] = Source(file, lines, first, Scope(names, {}))
        if not linecache.getline(file, first):  # errors show the line all the same
            linecache.cache[file] = (0, None, [""] * (first - 1) + lines, file)

    @property
    def file(self) -> str:
        """Where its source is."""
        return self.source.file

    @cached_property
    def span(self) -> Span:
        """Where the function's ``def`` is."""
        start = self.source.span(self.source.tree)
        return Span(start.file, start.line, start.col, None)

    @cached_property
    def params(self) -> list[Param]:
        args = self.source.tree.args
        starred = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
        odds: list[Node] = [*args.posonlyargs, *args.kwonlyargs, *starred, *args.defaults]
        for odd in odds:
            raise HookError("a hook's parameters are plain: name: type", self.source.span(odd))
        found = []
        for arg in args.args:
            span = self.source.span(arg)
            if arg.annotation is None and arg.arg == "self":
                raise HookError(
                    "a hook has no self, as it runs on the GPU: leave the parameter out, and pass what it needs as arguments",
                    span,
                )
            if arg.annotation is None:
                raise HookError(f"parameter {arg.arg} has no type: write {arg.arg}: lt.u32", span)
            kind = type_of(self.source.scope, arg.annotation, self.source.span(arg.annotation))
            if isinstance(kind, (Counter, InOut, Table, ChannelType)) and not self.is_hook:
                raise HookError(f"a device function cannot have a {kind} parameter", span)
            found.append(Param(arg.arg, kind, span))
        return found

    @cached_property
    def returns(self) -> Type | None:
        node = self.source.tree.returns
        if node is None or isinstance(node, ast.Constant) and node.value is None:
            return None
        span = self.source.span(node)
        if self.is_hook:
            raise HookError("a hook gives no value", span)
        kind = type_of(self.source.scope, node, span)
        if not isinstance(kind, (Scalar, Pointer)):
            raise HookError(f"a function cannot give a {kind}", span)
        return kind


class DeviceFunction(Function):
    """A function that hooks can call."""


class Hook(Function):
    """A function that can be inserted into kernels."""

    is_hook = True

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The checked hook and the device functions that it calls, as the compiler takes them, before it is known which
        channels it is given. Raises HookError."""
        return self.given({}).tree

    @property
    def json(self) -> str:
        """:attr:`tree` as JSON text."""
        return self.given({}).json

    def _unit(
        self, channels: dict[str, RecordShape], shared: frozenset[str]
    ) -> tuple[dict[str, Any], dict[int, Printed], list[Fact]]:
        unit = Unit(channels, shared)
        unit.require(self, self.span)
        tree: dict[str, Any] = {"schema": SCHEMA, "name": self.name, "functions": unit.functions}
        if unit.tables:
            tree["tables"] = [{"of": of, "data": data} for of, data in unit.tables]
        if unit.needs_a_lane:
            tree["needs_a_lane"] = True
        return tree, unit.texts, unit.facts(self)

    def given(self, channels: dict[str, RecordShape], shared: frozenset[str] = frozenset()) -> GivenHook:
        """The hook with these channels for its parameters, and with LDS of the tool's for those in ``shared``: they are given
        the offset in it. Raises HookError where it records something else."""
        key = tuple(channels.items()), shared
        if key not in self._given:
            self._given[key] = GivenHook(self, *self._unit(channels, shared))
        return self._given[key]

    @cached_property
    def _given(self) -> dict[Any, GivenHook]:
        return {}

    def check(self) -> None:
        """Raises HookError if the hook is not well typed."""
        _ = self.tree

    @property
    def facts(self) -> list[Fact]:
        """What it asks for, be it in a function that it calls, and is given behind its arguments."""
        return self.given({}).facts


class GivenHook:
    """A hook for which it is known what channels it is given."""

    def __init__(self, hook: Hook, tree: dict[str, Any], texts: dict[int, Printed], facts: list[Fact]):
        self.hook, self.tree = hook, tree
        #: What it asks for, and is given behind its arguments.
        self.facts = facts
        #: As the compiler takes it, as JSON text.
        self.json = json.dumps(tree, separators=(",", ":"))
        #: What it prints, by the numbers that its records have.
        self.texts = texts
        #: It prints, be it in a function that it calls: then it takes the tool's channel for that behind all else.
        self.prints = any(param["name"] == PRINTING for param in tree["functions"][0]["params"])


class Unit:
    """The functions that are compiled together; the hook is the first."""

    def __init__(self, channels: dict[str, RecordShape], shared: frozenset[str] = frozenset()) -> None:
        #: Of the hook's parameters, as far as is known.
        self.channels = channels
        #: The hook's parameters that are LDS of the tool's.
        self.shared = shared
        #: Functions that print, or call one that does, and what.
        self.prints: set[Function] = set()
        self.texts: dict[int, Printed] = {}
        #: Something is done for the wave that takes a lane.
        self.needs_a_lane = False
        self.functions: list[dict[str, Any]] = []
        #: The tables of constants that are read, each once.
        self.tables: dict[tuple[str, str], int] = {}
        self._names: dict[Function, str] = {}
        self._open: list[Function] = []
        #: What functions ask for, or functions that they call.
        self._asked: dict[Function, dict[str, Fact]] = {}

    type_of = staticmethod(lambda scope, node, span: type_of(scope, node, span))

    def constant_table(self, table: ConstantTable) -> int:
        """The number of a table, the same for the same numbers."""
        return self.tables.setdefault((table.of.name, table.data), len(self.tables))

    def name(self, function: Function) -> str:
        """What the compiler calls a required function."""
        return self._names[function]

    def ask(self, function: Function, fact: Fact) -> None:
        """Notes what a function asks for."""
        self._asked.setdefault(function, {})[fact.name] = fact

    def facts(self, function: Function) -> list[Fact]:
        """What a required function has to be given besides its parameters, in order."""
        return list(self._asked.get(function, {}).values())

    def require(self, function: Function, span: Span) -> None:
        """Checks ``function``, once, for a call at ``span``."""
        if function in self._open:
            raise HookError(f"{function.name} calls itself: the hook language has no recursion", span)
        if function in self._names:
            return
        # Two closures of one def have one qualified name.
        again = sum(f.unique_name == function.unique_name for f in self._names)
        self._names[function] = f"{function.unique_name}#{again + 1}" if again else function.unique_name
        self._open.append(function)
        place = len(self.functions)
        self.functions.append({})
        self.functions[place] = FunctionChecker(self, function).check()
        self._open.pop()


def type_of(scope: Scope, node: ast.expr, span: Span) -> Type:
    """The type that an annotation names."""
    kind = scope.type_object(node, span)
    if kind is bool:
        return bool_
    if not isinstance(kind, Type):
        hint = {int: ": use lt.i32 or another integer with a width", float: ": use lt.f32, lt.f16 or lt.f64"}.get(kind, "")
        raise HookError(f"{ast.unparse(node)} is not a type of the hook language{hint}", span)
    return kind


def hook(function: Callable[..., Any]) -> Hook:
    """Marks a function as a hook: code for the GPU that a tool inserts into kernels.

    The function is parsed, not run. Its parameters' annotations say what it takes; see :mod:`luthier.lang.types`.
    """
    return Hook(function)


def device(function: Callable[..., Any]) -> DeviceFunction:
    """Marks a function that hooks may call. Calls are inlined."""
    return DeviceFunction(function)


_address = Scalar("u64", "int", 64)
