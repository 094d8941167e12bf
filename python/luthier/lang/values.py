"""A checked expression: its type and its place in the tree that goes to the compiler."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from .errors import HookError, Span
from .types import Pointer, Scalar, Type, bool_, common, f32, i32, i64, u64, widens


@dataclass
class Value:
    """An expression with its type, or a Python number that has no type yet.

    A literal, a global constant and anything computed from them alone is *untyped* (``type`` is None, ``const`` is the
    number) and exact, as in Python. It takes the type of what it meets; alone it becomes an i32 (i64, u64 when too
    large) or an f32.
    """

    span: Span
    #: A :class:`~.types.Type`, None of an untyped number; which kind of type, the checks that come before say.
    type: Any
    #: Its place in the tree; ``"old"`` is what an update finds.
    kind: dict[str, Any] | str | None = None
    #: int, float or bool.
    const: Any = None
    #: The least and the greatest value, of a loop variable that counts between constants.
    bounds: tuple[int, int] | None = None

    @property
    def untyped(self) -> bool:
        return self.type is None

    def fits(self, to: Type) -> bool:
        """Whether it becomes a ``to`` without a change of value, whatever it is."""
        if self.bounds and isinstance(to, Scalar) and to.kind == "int":
            return to.low <= self.bounds[0] and self.bounds[1] <= to.high
        return self.type is not None and widens(self.type, to)

    def to_json(self) -> dict[str, Any]:
        assert self.kind is not None, "an untyped constant has to be settled first"
        kind = self.type.to_json() if self.type is not None else None
        return {"at": [self.span.line, self.span.col + 1], "type": kind, "kind": self.kind}


#: Bits of the largest numbers that constants may be computed with.
MOST_BITS = 4096


def constant(span: Span, value: int | float | bool) -> Value:
    """A Python number met in a hook."""
    if isinstance(value, bool):
        return Value(span, bool_, {"int": int(value)}, value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise too_large(span)
    return Value(span, None, None, value)


def too_large(span: Span) -> HookError:
    """What to say of a number that nothing in a hook could hold, and that takes time and room to write down."""
    return HookError(f"the number has more than {MOST_BITS} bits, and no type of the hook language has more than 64", span)


def as_type(value: Value, to: Type) -> Value:
    """``value`` as a ``to``, if that changes nothing: an untyped constant that fits, or a widening."""
    if value.untyped:
        return _typed_constant(value, to)
    if value.type == to:
        return value
    if not value.fits(to):
        raise HookError(f"{value.type} does not become {to} by itself: write {spelling(to)}(...) to convert it", value.span)
    return Value(value.span, to, {"cast": value.to_json()})


def settle(value: Value) -> Value:
    """``value`` with a type: an untyped constant gets the one it has when nothing else decides."""
    if not value.untyped:
        return value
    if isinstance(value.const, float):
        return _typed_constant(value, f32)
    for candidate in (i32, i64, u64):
        if candidate.low <= value.const <= candidate.high:
            return _typed_constant(value, candidate)
    raise HookError(f"{value.const} does not fit in 64 bits", value.span)


def unify(values: list[Value], what: str) -> list[Value]:
    """All of them in the one type that they have in common."""
    to: Any = None
    # What is flexible (constants, loop variables between constants) takes the type of what is not.
    typed = [v for v in values if not v.untyped and not v.bounds] or [v for v in values if not v.untyped]
    for value in typed:
        assert value.type is not None
        joined = value.type if to is None else common(to, value.type)
        if joined is None:
            raise HookError(f"{what}: {to} and {value.type} have no common type: convert one of them", value.span)
        to = joined
    if to is None:
        kinds = [settle(v).type for v in values]
        to = f32 if f32 in kinds else max(kinds, key=lambda kind: kind.high)
    for value in values:
        if value.bounds and not value.fits(to):
            raise HookError(f"{what}: {to} does not hold all values of {value.type} here: convert one of them", value.span)
    return [as_type(v, to) for v in values]


def truth(value: Value) -> Value:
    """``value`` as a condition: numbers are true when they are not zero."""
    value = settle(value)
    if value.type == bool_:
        return value
    if not isinstance(value.type, Scalar):
        raise HookError(f"a {value.type} is neither true nor false: compare it with something", value.span)
    zero = _typed_constant(Value(value.span, None, None, 0), value.type)
    return Value(value.span, bool_, {"chain": {"first": value.to_json(), "links": [["ne", zero.to_json()]]}})


def spelling(to: Type) -> str:
    """How a tool's author writes the type."""
    return "bool" if to == bool_ else f"lt.{to}"


def _typed_constant(value: Value, to: Type) -> Value:
    number = value.const
    if isinstance(to, Pointer) or not isinstance(to, Scalar):
        raise HookError(f"a number is not a {to}", value.span)
    if to.kind == "float":
        try:
            bits = struct.unpack("<Q", struct.pack("<d", float(number)))[0]
        except OverflowError:
            raise HookError(f"an integer of {number.bit_length()} bits does not fit {to}", value.span) from None
        return Value(value.span, to, {"float": bits}, number)
    if isinstance(number, float) or to.kind == "bool":
        raise HookError(f"{number!r} does not become {to} by itself: write {spelling(to)}(...) to convert it", value.span)
    if not to.low <= number <= to.high:
        raise HookError(f"{number} does not fit {to} ({to.low} to {to.high})", value.span)
    return Value(value.span, to, {"int": number}, number)
