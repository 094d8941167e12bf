"""What a name in a hook stands for: looked up in the live Python objects around the function, never executed."""

from __future__ import annotations

import ast
import builtins
import importlib
import pickle
import types as pytypes
from dataclasses import dataclass
from typing import Any

from .constants import MOST_BYTES
from .errors import HookError, Span
from .types import Type

MISSING = object()


@dataclass(frozen=True)
class _Named:
    """A module, which another process imports."""

    module: str


def _is_sent(value: Any) -> bool:
    if isinstance(value, (bool, int, float, pytypes.ModuleType, Type)) or type(value).__module__ == "numpy":
        return getattr(value, "shape", ()) == () or getattr(value, "nbytes", 0) <= MOST_BYTES
    try:  # functions of the language, enumerations
        pickle.dumps(value)
    except Exception:
        return False
    return value is not MISSING and not isinstance(value, pytypes.BuiltinFunctionType)


class Scope:
    """The closure, the globals and the builtins that a function sees."""

    def __init__(self, names: dict[str, Any], cells: dict[str, pytypes.CellType]):
        self._globals, self._cells = names, cells

    @classmethod
    def of(cls, function: pytypes.FunctionType) -> Scope:
        """What a Python function sees, as of when it is looked up."""
        return cls(function.__globals__, dict(zip(function.__code__.co_freevars, function.__closure__ or ())))

    def only(self, names: set[str]) -> dict[str, Any]:
        """Of what these names stand for that which hooks can use and another process can be sent."""
        found = {name: self.lookup(name) for name in sorted(names)}
        return {name: _Named(v.__name__) if isinstance(v, pytypes.ModuleType) else v for name, v in found.items() if _is_sent(v)}

    def lookup(self, name: str) -> Any:
        """The object called ``name``, or MISSING."""
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # not assigned yet
                return MISSING
        if name in self._globals:
            found = self._globals[name]
            return importlib.import_module(found.module) if isinstance(found, _Named) else found
        return getattr(builtins, name, MISSING)

    def resolve(self, node: ast.expr, span: Span) -> Any:
        """The object that a name or a dotted name stands for; MISSING if the name is unknown."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id)
        assert isinstance(node, ast.Attribute)
        if not isinstance(node.value, (ast.Name, ast.Attribute)):
            return MISSING
        owner = self.resolve(node.value, span)
        if owner is MISSING and isinstance(node.value, ast.Name) and node.value.id == "self":
            raise HookError(
                f"a hook has no self: give it a parameter {node.attr}, and pass {ast.unparse(node)} where it is inserted", span
            )
        if owner is MISSING:
            return MISSING
        # Only where reading an attribute runs no code of the tool's: modules, classes and plain namespaces.
        if not isinstance(owner, (pytypes.ModuleType, type, pytypes.SimpleNamespace)):
            raise HookError(
                f"a hook cannot read attributes of a {type(owner).__name__} object: pass the value as an argument", span
            )
        found = getattr(owner, node.attr, MISSING)
        if found is MISSING:
            raise HookError(f"{ast.unparse(node.value)} has no {node.attr}", span)
        return found

    def type_object(self, node: ast.expr, span: Span) -> Any:
        """The object that an annotation stands for: names, attributes and subscriptions of them."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):  # from __future__ import annotations does not reach the tree; a quoted type does
                try:
                    quoted = ast.parse(node.value, mode="eval").body
                except (SyntaxError, ValueError):
                    raise HookError(f"{node.value!r} is not a type", span) from None
                return self.type_object(quoted, span)
            return node.value
        if isinstance(node, ast.Tuple):
            return tuple(self.type_object(e, span) for e in node.elts)
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = self.resolve(node, span)
            if found is MISSING:
                raise HookError(f"unknown type {ast.unparse(node)}", span)
            return found
        if isinstance(node, ast.Subscript):
            owner, key = self.type_object(node.value, span), self.literal(node.slice, span)
            try:
                return owner[key]
            except TypeError as error:
                raise HookError(str(error), span) from None
        raise HookError(f"{ast.unparse(node)} is not a type", span)

    def literal(self, node: ast.expr, span: Span) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple):
            return tuple(self.literal(e, span) for e in node.elts)
        return self.type_object(node, span)
