"""Tables that waves or lanes carry from hook to hook: parameters of a few elements; each is an ``inout`` of its own
in the tree. An element whose number is known only when the hook runs is chosen among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import HookError, Span
from .types import Scalar, Table, bool_, i64, u64
from .values import Value, as_type, constant, settle

#: What reads nothing but variables, so that it can be read again for each element.
_PLAIN = {"int", "local", "unary", "binary", "cast", "op", "value", "left", "right", "type", "kind", "at"}


def element(table: str, number: int) -> str:
    """The name of an element's parameter."""
    return f"{table}[{number}]"


def number(name: str, table: Table, index: Value) -> int | None:
    """The element's number, if it is known now. Raises HookError for one that the table does not have, or no integer."""
    if not index.untyped:
        if not isinstance(index.type, Scalar) or index.type.kind != "int":
            raise HookError("an element has a number: an integer", index.span)
        return None
    if not isinstance(index.const, int):
        raise HookError("an element has a number: an integer", index.span)
    if not 0 <= index.const < table.length:
        raise HookError(f"{name} has {table.length} elements, {index.const} is outside", index.span)
    return index.const


def read(name: str, table: Table, index: Value, span: Span) -> Value:
    """An element's value; zero for a number that the table does not have."""
    known = number(name, table, index)
    if known is not None:
        return Value(span, table.of, {"local": element(name, known)})
    if not _is_plain(index.to_json()):
        raise HookError("assign the element's number to a variable first", index.span)
    found = as_type(constant(span, 0), table.of)
    for n in range(table.length):
        found = _choose(index, n, Value(span, table.of, {"local": element(name, n)}), found, span)
    return found


def chosen(checker: Any, name: str, table: Table, index: Value, span: Span) -> tuple[list[dict[str, Any]], Value]:
    """An element's number, worked out once: the statement for that, if there is one, and the number."""
    if number(name, table, index) is not None:
        return [], index
    index = settle(index)
    variable = f"{name}[] {index.type}"
    checker.types[variable] = index.type
    return [_assign(checker, span, variable, index)], Value(span, index.type, {"local": variable})


def write(checker: Any, name: str, table: Table, index: Value, value: Value, span: Span) -> Iterator[dict[str, Any]]:
    """An element gets a value; none does for a number that the table does not have. ``index`` is one of :func:`chosen`."""
    value = as_type(value, table.of)
    known = number(name, table, index)
    if known is not None:
        yield _assign(checker, span, element(name, known), value)
        return
    # It is worked out once, before any element changes.
    new = f"{name}[]"
    checker.types[new] = table.of
    yield _assign(checker, span, new, value)
    for n in range(table.length):
        old = Value(span, table.of, {"local": element(name, n)})
        yield _assign(checker, span, element(name, n), _choose(index, n, Value(span, table.of, {"local": new}), old, span))


def _choose(index: Value, n: int, then: Value, other: Value, span: Span) -> Value:
    """``then`` if the index is ``n``, else ``other``."""
    wide = i64 if index.type.signed else u64
    left, right = as_type(index, wide), as_type(constant(span, n), wide)
    is_it = Value(span, bool_, {"chain": {"first": left.to_json(), "links": [["eq", right.to_json()]]}})
    kind = {"select": {"cond": is_it.to_json(), "then": then.to_json(), "else": other.to_json()}}
    return Value(span, then.type, kind)


def _assign(checker: Any, span: Span, name: str, value: Value) -> dict[str, Any]:
    return checker.node(span, {"assign": {"name": name, "value": value.to_json()}})


def _is_plain(tree: Any) -> bool:
    if isinstance(tree, dict):
        return all(key in _PLAIN and _is_plain(value) for key, value in tree.items())
    return not isinstance(tree, list) or all(map(_is_plain, tree))
