"""What a hook can ask of the machine. Outside a hook these are names only.

"The wave" is the hardware's unit of execution, 64 lanes on gfx90a; "active" lanes are those in EXEC where the hook is,
which inside an ``if`` on a per-lane condition are the lanes that took it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import HookError, Span
from .types import Pointer, Scalar, Type, bool_, f64, u32, u64
from .values import Value, as_type, settle, truth, unify

Check = Callable[[str, Span, list[Value]], Value]


class Intrinsic:
    """A function that only hooks can call."""

    def __init__(self, name: str, signature: str, doc: str, check: Check, count: int):
        self.name, self.signature, self.check, self.count = name, signature, check, count
        self.__name__ = name
        self.__doc__ = f"{name}{signature}\n\n{doc}"

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"lt.{self.name} runs on the GPU: it can only be called inside a hook")

    def __repr__(self) -> str:
        return f"lt.{self.name}"

    def apply(self, span: Span, args: list[Value]) -> Value:
        """The checked call."""
        if len(args) != self.count:
            raise HookError(f"{self.name}{self.signature} takes {self.count} arguments, {len(args)} given", span)
        return self.check(self.name, span, args)


class Unavailable:
    """A function of the language that this version cannot compile, and why."""

    def __init__(self, name: str, reason: str):
        self.name, self.reason = name, reason
        self.__name__ = name
        self.__doc__ = f"Not available yet: {name} {reason}."

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.name} {self.reason}")


def _call(name: str, span: Span, type: Type | None, args: list[Value]) -> Value:
    kind = {"intrinsic": {"name": name, "args": [a.to_json() for a in args]}}
    return Value(span, type, kind)


def _scalar(value: Value, kinds: tuple[str, ...], name: str, bits: tuple[int, ...] = (8, 16, 32, 64)) -> Value:
    value = settle(value)
    if not isinstance(value.type, Scalar) or value.type.kind not in kinds or value.type.bits not in bits:
        wanted = " or ".join({"int": "an integer", "float": "a float", "bool": "a truth value"}[k] for k in kinds)
        size = "" if len(bits) == 4 else f" of {' or '.join(map(str, bits))} bits"
        raise HookError(f"{name} needs {wanted}{size}, not {value.type}", value.span)
    return value


def _gives(result: Type | None) -> Check:
    return lambda name, span, args: _call(name, span, result, args)


def _bits(name: str, span: Span, args: list[Value]) -> Value:
    return _call(name, span, u32, [_scalar(args[0], ("int",), name)])


def _uniform(name: str, span: Span, args: list[Value]) -> Value:
    value = _scalar(args[0], ("int", "float"), name, (32, 64))
    return _call(name, span, value.type, [value, *(as_type(a, u32) for a in args[1:])])


def _float(name: str, span: Span, args: list[Value]) -> Value:
    args = [_scalar(a, ("float",), name) for a in unify(args, name)]
    return _call(name, span, args[0].type, args)


def _number(name: str, span: Span, args: list[Value]) -> Value:
    args = [_scalar(a, ("int", "float"), name) for a in unify(args, name)]
    return _call(name, span, args[0].type, args)


def _atomic(kinds: tuple[str, ...]) -> Check:
    def check(name: str, span: Span, args: list[Value]) -> Value:
        pointer = args[0]
        if not isinstance(pointer.type, Pointer) or pointer.type.space not in ("global", "lds"):
            raise HookError(f"{name} needs a pointer to global memory or LDS, not {pointer.type or 'a number'}", pointer.span)
        to = pointer.type.to
        if (
            to.kind not in kinds
            or to.bits not in (32, 64)
            or (name != "atomic_exchange" and to == f64 and pointer.type.space == "lds")
        ):
            raise HookError(f"{name} has no form for {pointer.type}", pointer.span)
        if name == "wave_atomic_add" and pointer.type.space != "global":
            raise HookError(f"{name} adds to global memory, not {pointer.type.space}", pointer.span)
        result = None if name == "wave_atomic_add" else to
        return _call(name, span, result, [pointer, *(as_type(a, to) for a in args[1:])])

    return check


def _bitcast(name: str, span: Span, args: list[Value]) -> Value:
    raise AssertionError("bitcast takes a type and is checked with the casts")


INTRINSICS: dict[str, Intrinsic] = {}


def _define(name: str, signature: str, check: Check, doc: str) -> Intrinsic:
    count = 0 if signature.startswith("()") else signature.split(")")[0].count(",") + 1
    return INTRINSICS.setdefault(name, Intrinsic(name, signature, doc, check, count))


exec_mask = _define("exec_mask", "() -> u64", _gives(u64), "One bit for each active lane.")
active_lanes = _define("active_lanes", "() -> u32", _gives(u32), "How many lanes are active.")
lane_id = _define("lane_id", "() -> u32", _gives(u32), "The lane's number in the wave, from 0.")
clock = _define(
    "clock",
    "() -> u64",
    _gives(u64),
    "A count of cycles of 64 bits, which never goes back within a wave (docs/hooks.md says what counts on which processor).",
)
realtime = _define(
    "realtime", "() -> u64", _gives(u64), "A count of 64 bits whose frequency never changes: 100 MHz, on CDNA2 25 MHz."
)
access_in_range = _define(
    "access_in_range",
    "() -> bool",
    _gives(bool_),
    "Whether the instruction's access is made: false in lanes that are outside of their buffer, in whole or in part, where\n"
    "hardware reads zero and writes nothing. True where nothing bounds the access but the memory itself.",
)
trap = _define("trap", "()", _gives(None), "Stops the wave (s_trap 2): the dispatch fails.")
popcount = _define("popcount", "(x) -> u32", _bits, "How many bits of an integer are set.")
ctz = _define("ctz", "(x) -> u32", _bits, "Zero bits below the lowest set one; all of them when x is 0.")
clz = _define("clz", "(x) -> u32", _bits, "Zero bits above the highest set one; all of them when x is 0.")
ballot = _define(
    "ballot",
    "(condition) -> u64",
    lambda n, s, a: _call(n, s, u64, [truth(a[0])]),
    "One bit for each active lane with a true condition.",
)
readfirstlane = _define(
    "readfirstlane", "(x)", _uniform, "The value that the first active lane has (lane 0 when none is), the same in all lanes."
)
readlane = _define("readlane", "(x, lane)", _uniform, "The value that one lane has, active or not; lane must be uniform.")
sqrt = _define("sqrt", "(x)", _float, "The square root of a float.")
floor = _define("floor", "(x)", _float, "The largest whole float that is not above x.")
fma = _define("fma", "(x, y, z)", _float, "x * y + z, rounded once.")
abs_ = _define("abs", "(x)", _number, "The absolute value (Python's abs); the most negative integer stays itself.")
min_ = _define("min", "(a, b)", _number, "The smaller of two (Python's min).")
max_ = _define("max", "(a, b)", _number, "The larger of two (Python's max).")
atomic_add = _define(
    "atomic_add", "(p, x)", _atomic(("int", "float")), "Each active lane adds x to *p; gives what was there before."
)
atomic_and = _define(
    "atomic_and", "(p, x)", _atomic(("int",)), "Each active lane keeps the bits of *p that are in x; gives the old value."
)
atomic_or = _define("atomic_or", "(p, x)", _atomic(("int",)), "Each active lane sets the bits of x in *p; gives the old value.")
atomic_xor = _define(
    "atomic_xor", "(p, x)", _atomic(("int",)), "Each active lane flips the bits of x in *p; gives the old value."
)
atomic_min = _define("atomic_min", "(p, x)", _atomic(("int",)), "Each active lane lowers *p to x; gives the old value.")
atomic_max = _define("atomic_max", "(p, x)", _atomic(("int",)), "Each active lane raises *p to x; gives the old value.")
atomic_exchange = _define(
    "atomic_exchange", "(p, x)", _atomic(("int", "float")), "Each active lane stores x to *p; gives the old value."
)
atomic_cas = _define(
    "atomic_cas",
    "(p, expected, x)",
    _atomic(("int",)),
    "Each active lane stores x to *p if expected is there; gives what was there.",
)
wave_atomic_add = _define(
    "wave_atomic_add",
    "(p, x)",
    _atomic(("int",)),
    "The wave adds x to *p once, however many lanes are active, none included. p and x must be the same in all lanes.\n"
    "Inside an `if` on a per-lane condition it happens when at least one lane takes the branch.",
)

#: Type conversions that need the bits and not the value: ``lt.bitcast(lt.u32, x)``.
bitcast = Intrinsic("bitcast", "(type, x)", "The same bits as another type of the same size.", _bitcast, 2)

_SVA = "needs the state value array, which this version does not have"
UNAVAILABLE: dict[str, Unavailable] = {
    name: Unavailable(name, reason)
    for names, reason in (
        ("workgroup_id_x workgroup_id_y workgroup_id_z", _SVA),
        ("workgroup_size_x workgroup_size_y workgroup_size_z", _SVA),
        ("grid_size_x grid_size_y grid_size_z", _SVA),
        ("work_item_id_x work_item_id_y work_item_id_z", _SVA),
        ("kernarg_ptr dispatch_ptr queue_ptr implicit_args dispatch_id", _SVA),
        ("memory_address", "needs the instrumented instruction's address operands, which this version does not pass on"),
        ("record", "needs a channel to the host, which this version does not have"),
    )
    for name in names.split()
}
