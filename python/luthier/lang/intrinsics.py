"""What a hook can ask of the machine. Outside a hook these are names only.

"The wave" is the hardware's unit of execution, 64 lanes on gfx90a; "active" lanes are those in EXEC where the hook is,
which inside an ``if`` on a per-lane condition are the lanes that took it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import facts
from .errors import HookError, Span
from .types import Pointer, Scalar, Type, bool_, f64, u32, u64
from .values import Value, as_type, settle, truth, unify

Check = Callable[[str, Span, list[Value]], Value]


class Derived:
    """What :mod:`.where` has a function for."""


class Intrinsic:
    """A function that only hooks can call."""

    def __init__(
        self, name: str, signature: str, doc: str, check: Check, count: int, stands_for: Derived | facts.Fact | None = None
    ):
        self.name, self.signature, self.check, self.count = name, signature, check, count
        #: Not an operation of the compiler's, but one of these.
        self.stands_for = stands_for
        self.__name__ = name
        self.__doc__ = f"{name}{signature}\n\n{doc}"

    @staticmethod
    def of_fact(name: str) -> Intrinsic:
        """A fact by its name in :mod:`.facts`, which has no name in the language."""
        fact: facts.Fact = getattr(facts, name)
        return Intrinsic(fact.name, "()", "", _gives(fact.type), 0, fact)

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"lt.{self.name} runs on the GPU: it can only be called inside a hook")

    def __repr__(self) -> str:
        return f"lt.{self.name}"

    def __reduce__(self) -> Any:
        return _by_name, (self.name,)  # there is one of each

    def apply(self, span: Span, args: list[Value]) -> Value:
        """The checked call."""
        if len(args) != self.count:
            raise HookError(f"{self.name}{self.signature} takes {self.count} arguments, {len(args)} given", span)
        return self.check(self.name, span, args)


def _by_name(name: str) -> Intrinsic:
    return {**INTRINSICS, "bitcast": bitcast, "record": record, "printf": printf}[name]


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
            or (not name.endswith("atomic_exchange") and to == f64 and pointer.type.space == "lds")
        ):
            raise HookError(f"{name} has no form for {pointer.type}", pointer.span)
        if name == "wave_atomic_add":
            # What gives the old value; where nothing asks for it, the statement takes it back.
            name = "wave_fetch_add" if pointer.type.space == "global" else "wave_lane_add"
        name = "wave_exchange" if name == "wave_atomic_exchange" else name
        return _call(name, span, to, [pointer, *(as_type(a, to) for a in args[1:])])

    return check


def _scalar_atomic(name: str, span: Span, args: list[Value]) -> Value:
    pointer = args[0]
    if not isinstance(pointer.type, Pointer) or pointer.type.space != "global":
        raise HookError(f"{name} needs a pointer to global memory, not {pointer.type or 'a number'}", pointer.span)
    to = pointer.type.to
    counts = name.endswith(("_inc", "_dec"))
    if to.kind != "int" or to.bits not in (32, 64) or (counts and to.signed):
        what = "unsigned integers" if counts else "integers"
        raise HookError(f"{name} has no form for {pointer.type}: it needs {what} of 32 or 64 bits", pointer.span)
    return _call(name, span, to, [pointer, *(as_type(a, to) for a in args[1:])])


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
access_in_range = INTRINSICS["access_in_range"] = Intrinsic(
    "access_in_range",
    "() -> bool",
    "Whether the instruction's access is made: false in lanes that are outside of their buffer, in whole or in part, where\n"
    "hardware reads zero and writes nothing. True where nothing bounds the access but the memory itself.",
    _gives(facts.IN_RANGE.type),
    0,
    facts.IN_RANGE,
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


def _narrow_float(name: str, span: Span, args: list[Value]) -> Value:
    value = _scalar(args[0], ("float",), name, (16, 32))
    return _call(name, span, value.type, [value])


def _integers(name: str, span: Span, args: list[Value]) -> Value:
    args = [_scalar(a, ("int",), name) for a in unify(args, name)]
    return _call(name, span, args[0].type, args)


def _packed(name: str, span: Span, args: list[Value]) -> Value:
    return _call(name, span, u32, [as_type(a, u32) for a in args])


def _across(name: str, span: Span, args: list[Value]) -> Value:
    value = _scalar(args[0], ("int", "float"), name, (32, 64))
    return _call(name, span, value.type, [value])


def _shuffle(name: str, span: Span, args: list[Value]) -> Value:
    value, lane = _scalar(args[0], ("int", "float"), name, (32, 64)), as_type(args[1], u32)
    if name != "shuffle":
        this = _call("lane_id", span, u32, [])
        op = {"shuffle_xor": "xor", "shuffle_up": "sub", "shuffle_down": "add"}[name]
        lane = Value(span, u32, {"binary": {"op": op, "left": this.to_json(), "right": lane.to_json()}})
    return _call("shuffle", span, value.type, [value, lane])


def _match(name: str, span: Span, args: list[Value]) -> Value:
    return _call(name, span, u64, [_scalar(args[0], ("int", "float"), name, (32, 64))])


exp2 = _define("exp2", "(x)", _narrow_float, "2 to the power of a float of 16 or 32 bits, as exactly as the hardware has it.")
log2 = _define(
    "log2", "(x)", _narrow_float, "The binary logarithm of a float of 16 or 32 bits, as exactly as the hardware has it."
)
rsqrt = _define("rsqrt", "(x)", _float, "1 divided by the square root of a float, both rounded.")
add_sat = _define("add_sat", "(a, b)", _integers, "The sum of two integers, or the value of their type that is nearest to it.")
sub_sat = _define("sub_sat", "(a, b)", _integers, "a - b of integers, or the value of their type that is nearest to it.")
for _name, _signature, _doc in (
    ("pk_add_f16", "(a, b)", "The sums of the two floats of 16 bits in a u32, low and high, each rounded."),
    ("pk_mul_f16", "(a, b)", "The products of the two floats of 16 bits in a u32, each rounded."),
    ("pk_fma_f16", "(a, b, c)", "a * b + c of the two floats of 16 bits in a u32, each rounded once."),
    ("pk_add_u16", "(a, b)", "The sums of the two integers of 16 bits in a u32, each modulo 65536."),
    ("pk_sub_u16", "(a, b)", "The differences of the two integers of 16 bits in a u32, each modulo 65536."),
    ("pk_mul_u16", "(a, b)", "The products of the two integers of 16 bits in a u32, each modulo 65536."),
):
    _define(_name, _signature, _packed, _doc)
wave_sum = _define(
    "wave_sum",
    "(x)",
    _across,
    "The sum over the active lanes, the same in all: floats are added in the order of the lanes. As the four below, of numbers of\n"
    "32 or 64 bits, and 0 in a wave without active lanes.",
)
wave_min = _define("wave_min", "(x)", _across, "The smallest that an active lane has, the same in all; NaNs are left out.")
wave_max = _define("wave_max", "(x)", _across, "The largest that an active lane has, the same in all; NaNs are left out.")
prefix_sum = _define("prefix_sum", "(x)", _across, "The sum of what the active lanes below this one have; floats in their order.")
wave_any = _define(
    "wave_any", "(condition) -> bool", lambda n, s, a: _call(n, s, bool_, [truth(a[0])]), "Whether it is true in any active lane."
)
wave_all = _define(
    "wave_all",
    "(condition) -> bool",
    lambda n, s, a: _call(n, s, bool_, [truth(a[0])]),
    "Whether it is true in all active lanes.",
)
match_any = _define(
    "match_any", "(x) -> u64", _match, "One bit for each active lane that has the same bits as this one, itself among them."
)
shuffle = _define(
    "shuffle", "(x, lane)", _shuffle, "What another lane has, each lane its own choice; 0 if that lane is not active."
)
shuffle_xor = _define(
    "shuffle_xor", "(x, mask)", _shuffle, "What the lane has whose number is this one's xor mask; 0 if it is not active."
)
shuffle_up = _define("shuffle_up", "(x, n)", _shuffle, "What the lane n below has; 0 if there is none, or it is not active.")
shuffle_down = _define("shuffle_down", "(x, n)", _shuffle, "What the lane n above has; 0 if there is none, or it is not active.")
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
    "The wave adds x to *p, in memory or LDS, once, however many lanes are active, none included; gives what was there before,\n"
    "the same in all lanes. p and x must be the same in all lanes.\n"
    "Inside an `if` on a per-lane condition it happens when at least one lane takes the branch.",
)

wave_atomic_exchange = _define(
    "wave_atomic_exchange",
    "(p, x)",
    _atomic(("int",)),
    "The wave stores x to *p once, however many lanes are active, none included; gives what was there before, the same in all\n"
    "lanes. p and x must be the same in all lanes.",
)

for _name, _doc in (
    ("add", "adds x to *p"),
    ("sub", "subtracts x from *p"),
    ("min", "lowers *p to x"),
    ("max", "raises *p to x"),
    ("and", "keeps the bits of *p that are in x"),
    ("or", "sets the bits of x in *p"),
    ("xor", "flips the bits of x in *p"),
    ("inc", "counts *p up, and from x (or more) to 0"),
    ("dec", "counts *p down, and from 0 (or more than x) to x"),
    ("exchange", "stores x to *p"),
):
    _define(
        f"scalar_atomic_{_name}",
        "(p, x)",
        _scalar_atomic,
        f"The wave {_doc} once by a scalar instruction, however many lanes are active, none included; gives what was there before,\n"
        "the same in all lanes. p and x must be the same in all lanes. GCN 5, CDNA and RDNA 1 have it.",
    )
_define(
    "scalar_atomic_cas",
    "(p, expected, x)",
    _scalar_atomic,
    "The wave stores x to *p once by a scalar instruction if expected is there; gives what was there before. As the others of its\n"
    "name, it needs values that all lanes share.",
)

#: All waves of the workgroup come there before any goes on. It has no name in the language, since a hook is not where all of
#: them come to; at a kernel's entry they do.
BARRIER = Intrinsic("barrier", "()", "", _gives(None), 0)

#: Type conversions that need the bits and not the value: ``lt.bitcast(lt.u32, x)``.
bitcast = Intrinsic("bitcast", "(type, x)", "The same bits as another type of the same size.", _bitcast, 2)

#: Records for the host, checked by :mod:`luthier.lang.records`.
record = Intrinsic(
    "record",
    "(channel, ..., per_wave=False)",
    "Puts a record of these values into a channel, for each active lane, or with ``per_wave=True`` one for the wave (none active\n"
    "included), of values that all lanes share. The tool's on_records gets it.",
    _bitcast,
    0,
)
printf = Intrinsic(
    "printf",
    "(text, ..., per_wave=False)",
    "Prints a text in quotes with up to six values in it (%d, %u, %x, %o, %c, %e, %f, %g), for each active lane, or once for the wave.",
    _bitcast,
    0,
)


for _name, _doc in {
    "hw_id": "The register that says where the wave runs, as it is: HW_ID, from RDNA 1 on HW_ID1.",
    "hw_xcc": "The die that the wave runs on (CDNA 3 and 4).",
    "hw_shader_engine": "The shader engine that the wave runs on.",
    "hw_shader_array": "The shader array in its engine.",
    "hw_compute_unit": "The compute unit in its array; on RDNA the workgroup processor, which is two of them.",
    "hw_simd": "The SIMD of the compute unit, or workgroup processor.",
    "hw_wave_slot": "The wave's slot on its SIMD.",
}.items():
    _define(_name, "() -> u32", _gives(u32), _doc)


def _where(name: str, type: Type, doc: str) -> None:
    INTRINSICS[name] = Intrinsic(name, f"() -> {type}", doc, _gives(type), 0, Derived())


def _fact(name: str, fact: facts.Fact, doc: str) -> None:
    INTRINSICS[name] = Intrinsic(name, f"() -> {fact.type}", doc, _gives(fact.type), 0, fact)


for _axis, _which in zip("xyz", ("first", "second", "third")):
    _where(f"workgroup_id_{_axis}", u32, f"The workgroup's place in the grid, {_which} dimension, from 0.")
    _where(f"workitem_id_{_axis}", u32, f"The lane's place in its workgroup, {_which} dimension, from 0.")
    _where(
        f"workgroup_size_{_axis}",
        u32,
        f"Work-items of a workgroup, {_which} dimension, as launched (at the grid's edges it has fewer).",
    )
    _where(f"grid_size_{_axis}", u32, f"Work-items in all, {_which} dimension.")
    _where(f"num_workgroups_{_axis}", u32, f"Workgroups in all, {_which} dimension, one that is not whole among them.")
    _where(f"cluster_id_{_axis}", u32, f"The cluster's place in the grid, {_which} dimension; without clusters, the workgroup's.")
    _where(f"cluster_size_{_axis}", u32, f"Workgroups of a cluster, {_which} dimension; 1 without clusters.")
    _where(f"workgroup_id_in_cluster_{_axis}", u32, f"The workgroup's place in its cluster, {_which} dimension.")
_where("private_segment_size", u32, "Bytes of scratch that the launch gives each lane, with those of hooks.")
_where("wave_in_group", u32, "The wave's number in its workgroup, from 0.")
_where("wave_id", u64, "A number that no other wave of the dispatch has: workgroups in order, x fastest, and their waves.")
_where("implicitarg_ptr", u64, "The address of the kernel's hidden arguments.")
_fact("dispatch_ptr", facts.DISPATCH_PTR, "The address of the dispatch packet.")
_fact("queue_ptr", facts.QUEUE_PTR, "The address of the queue (amd_queue_t).")
_fact("kernarg_ptr", facts.KERNARG_PTR, "The address of the kernel's arguments.")
_fact("dispatch_id", facts.DISPATCH_ID, "The dispatch's number in its queue.")
_fact("wave_size", facts.WAVE_SIZE, "Lanes of a wave: 32 or 64.")


def _kernel_arg(name: str, span: Span, args: list[Value]) -> Value:
    raise AssertionError("kernel_arg takes a name and a type and is checked with the casts")


#: An argument of the kernel by name, as it was when the kernel was launched: ``lt.kernel_arg("n", lt.u32)``.
kernel_arg = Intrinsic("kernel_arg", '("name", type)', "A kernel's argument by name.", _kernel_arg, 2)
