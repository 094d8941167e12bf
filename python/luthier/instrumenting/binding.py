"""What a tool passes to a hook, checked against the hook's parameter, as placement takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core import Operand, Register
from ..errors import ToolError
from . import given
from .channels import Channel
from .values import Counter, DeviceArray, Element, Shared, State

if TYPE_CHECKING:
    from ..lang.functions import Param
    from ..objects.code_object import CodeObject
    from .values import Variable

_OF_THE_PLACE = {
    given.Address: "address",
    given.AccessCount: "access_count",
    given.AccessWidth: "access_width",
    given.AccessKind: "access_kind",
    given.AccessDirection: "access_direction",
    given.Pc: "pc",
    given.PointId: "point_id",
}


class Number:
    """A plain number: compiled in or patched in, as is best for all that the hook is given."""

    def __init__(self, bits: int):
        self.bits = bits


def is_the_same_everywhere(arg: Any) -> bool:
    """Whether an argument means the same in every kernel, as numbers and a tool's variables do."""
    return isinstance(arg, (int, float, given.Imm, given.Literal, Channel, Counter, DeviceArray, Element, Shared, State))


def told_apart(arg: Any) -> Any:
    """What differs between equal arguments that are not the same: 1, 1.0 and True, or 0.0 and -0.0."""
    kind = type(arg)
    if kind in (given.Imm, given.Literal):
        return kind, told_apart(arg.value)
    return (kind, repr(arg)) if kind is float or kind.__module__ == "numpy" else kind


def text_of(bound: list[Any]) -> str:
    """A list of arguments as JSON."""
    return json.dumps(bound, separators=(",", ":"), default=lambda number: {"number": number.bits})


class Arguments:
    """A hook's arguments at the places that have them in common."""

    def __init__(self, hook: int, number: int, bound: list[Any]):
        self.hook, self.number, self.bound = hook, number, bound
        #: At how many places.
        self.uses = 0


#: In at most this many ways the plain numbers of a hook are compiled in.
COMPILED_IN = 16


def settle_numbers(lists: list[Arguments]) -> None:
    """Has the most frequent plain numbers of each hook compiled in, and the others patched in."""
    of_hook: dict[int, dict[tuple[int, ...], list[Arguments]]] = {}
    for arguments in lists:
        numbers = tuple(arg.bits for arg in arguments.bound if isinstance(arg, Number))
        of_hook.setdefault(arguments.hook, {}).setdefault(numbers, []).append(arguments)
    for ways in of_hook.values():
        ordered = sorted(ways.values(), key=lambda users: -sum(arguments.uses for arguments in users))
        for rank, users in enumerate(ordered):
            how = "const" if rank < COMPILED_IN else "literal"
            for arguments in users:
                arguments.bound = [{how: arg.bits} if isinstance(arg, Number) else arg for arg in arguments.bound]


class Binder:
    """Turns the arguments of one tool in one kernel into those of placement (``luthier_codegen::Arg`` as JSON).

    ``symbol`` gives a variable's symbol, ``slot`` the number of what each wave carries: a
    counter's, or of an element of a state, ``shared`` where LDS of the tools' begins in all of it.
    """

    def __init__(
        self,
        code_object: CodeObject,
        who: str,
        kernel: str,
        symbol: Callable[[Variable], str],
        slot: Callable[[Counter | State, int | None], int],
        shared: Callable[[Shared], int],
    ):
        self._code_object, self._who, self._kernel = code_object, who, kernel
        self._symbol, self._slot, self._shared = symbol, slot, shared

    def bind(self, hook: Any, args: tuple[Any, ...], behind: int | None) -> list[Any]:
        """All arguments of an insertion. ``behind``: the address of the instruction after which the hook runs."""
        params = hook.params
        if len(args) != len(params):
            names = ", ".join(f"{p.name}: {p.type}" for p in params)
            raise self._error(f"hook {hook.name}({names}) takes {len(params)} arguments, {len(args)} were given")
        bound: list[Any] = []
        for param, arg in zip(params, args):
            if isinstance(arg, State):
                bound += self._state(hook, param, arg, bound)
            else:
                bound.append(self._argument(hook, param, arg, bound, behind))
        return bound

    def _argument(self, hook: Any, param: Param, arg: Any, before: list[Any], behind: int | None) -> Any:
        from .. import lang

        def wrong(needs: str) -> ToolError:
            advice = f': lt.Reg("{arg}") passes what the register holds' if given.is_register(arg) else ""
            return self._error(f"hook {hook.name}, argument {param.name}: {param.type} needs {needs}, not {arg!r}{advice}")

        kind = param.given(arg)
        if isinstance(kind, lang.Counter):
            if not isinstance(arg, Counter):
                raise wrong("an lt.Counter")
            self._symbol(arg)
            bound = {"slot": self._slot(arg, None)}
            if bound in before:
                raise self._error(f"hook {hook.name} gets {arg.name} twice: pass it once and add to it there")
            return bound
        if isinstance(kind, lang.types.ChannelType):
            if not isinstance(arg, Channel):
                raise wrong("an lt.Channel")
            return self._variable(hook, self._symbol(arg), 0, before)
        if isinstance(arg, Channel):
            raise wrong("something else than a channel: declare it lt.channel")
        if isinstance(arg, (DeviceArray, Element, Counter)):
            array, offset = (arg.array, arg.offset) if isinstance(arg, Element) else (arg, 0)
            dtype = lang.u64 if isinstance(array, Counter) else array.dtype
            if not isinstance(kind, lang.Pointer) or kind.space not in ("global", "const") or kind.to != dtype:
                raise wrong(f"something else than the address of {dtype} elements")
            return self._variable(hook, self._symbol(array), offset, before)
        if isinstance(arg, Shared):
            if not isinstance(kind, lang.Pointer) or kind.space != "lds" or kind.to != arg.dtype:
                raise wrong(f'something else than LDS: declare it lt.ptr[lt.{arg.dtype}, "lds"]')
            return {"literal": self._shared(arg)}
        if isinstance(arg, given.Symbol):
            if not (isinstance(kind, lang.Pointer) and kind.space in ("global", "const") or kind in (lang.u64, lang.i64)):
                raise wrong("something else than an address of global memory")
            return self._application_symbol(hook, arg, before)
        old = isinstance(arg, given.Old)
        source = arg.of if old else arg
        if isinstance(source, Operand):
            if source.kind == "special":
                raise self._error(f"hook {hook.name}, argument {param.name}: {source} is neither a register nor a number")
            if source.register is None:
                if isinstance(kind, lang.InOut):
                    raise wrong("a register, and the operand is a constant")
                return {"const": _constant(source, param, wrong)}
        if isinstance(source, (given.Reg, Register, Operand)):
            place = self._register(source)
            if old:
                if isinstance(kind, lang.InOut):
                    raise wrong("a register that can be written, and the value before the instruction has gone")
                return {"reg" if behind is None else "old": place}
            if not isinstance(kind, lang.InOut):
                # What the instruction has read, it may have overwritten.
                read = isinstance(source, Operand) and source.address == behind and not source.is_written
                return {"source" if read else "reg": place}
            if {"in_out": place} in before:
                raise self._error(f"hook {hook.name} gets {source} twice to write it: pass it once")
            return {"in_out": place}
        if old:
            raise wrong("lt.Old of a register or an operand")
        if isinstance(kind, lang.InOut):
            raise wrong('a register, lt.Reg("v3"), or an lt.WaveState or lt.LaneState')
        for fact, name in _OF_THE_PLACE.items():
            if isinstance(arg, fact):
                return self._of_the_place(name, arg, kind, wrong)
        exact = isinstance(arg, (given.Imm, given.Literal))
        value: Any = arg.value if exact else arg
        if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
            value = value.item()
        if not isinstance(value, (int, float)) and (not hasattr(value, "__index__") or hasattr(value, "shape")):
            raise wrong("an lt.DeviceArray" if isinstance(kind, lang.Pointer) else "a number")
        bits = param.raw_bits(value)
        if isinstance(arg, given.Literal):
            return {"literal": bits}
        return {"const": bits} if exact else Number(bits)

    def _state(self, hook: Any, param: Param, state: State, before: list[Any]) -> list[Any]:
        """What a state is bound to: one slot for each of its elements."""
        from .. import lang

        kind = param.type
        declared = (kind.of, kind.length) if isinstance(kind, lang.Table) else (getattr(kind, "of", None), None)
        if not isinstance(kind, (lang.InOut, lang.Table)) or declared != (state.dtype, state.n):
            raise self._error(
                f"hook {hook.name}, argument {param.name}: {param.type} cannot be {state!r}: declare it {state.parameter}"
            )
        bound = [{"slot": self._slot(state, n)} for n in range(state.n or 1)]
        if bound[0] in before:
            raise self._error(f"hook {hook.name} gets {state.name} twice: pass it once and change it there")
        return bound

    def _of_the_place(self, name: str, arg: Any, kind: Any, wrong: Callable[[str], ToolError]) -> Any:
        from .. import lang

        integer = isinstance(kind, lang.Scalar) and kind.kind == "int"
        if name in ("address", "pc"):
            if not (integer and kind.bits == 64 or name == "address" and isinstance(kind, lang.Pointer)):
                raise wrong("something else than an address: give it to an lt.u64")
        elif not integer or kind.bits < (32 if name == "point_id" else 16):
            raise wrong("something else than this number: give it to an lt.u32")
        return {name: arg.number} if hasattr(arg, "number") else name

    def _variable(self, hook: Any, symbol: str, offset: int, before: list[Any]) -> Any:
        # The compiler takes different variables for different memory: one passed twice has to be the same.
        for other in before:
            named = other.get("variable") if isinstance(other, dict) else None
            if named and named["symbol"] == symbol and named["offset"] != offset:
                raise self._error(f"hook {hook.name} gets {symbol} twice: pass it once and index it there")
        return {"variable": {"symbol": symbol, "offset": offset}}

    def _application_symbol(self, hook: Any, arg: given.Symbol, before: list[Any]) -> Any:
        whole = isinstance(arg.offset, int) and -(1 << 63) <= arg.offset < 1 << 63
        found = self._code_object.core.symbol(arg.name) if isinstance(arg.name, str) else None
        if not whole or isinstance(arg.offset, bool):
            raise self._error(f"hook {hook.name} gets {arg!r}: its offset is no number of bytes")
        if found is None:
            raise self._error(f"hook {hook.name} gets {arg!r}: the code object defines no symbol of that name")
        for other in before:
            named = other.get("variable") if isinstance(other, dict) else None
            known = self._code_object.core.symbol(named["symbol"]) if named and named["symbol"] != arg.name else None
            if named and known and _overlap(known, found):
                raise self._error(f"hook {hook.name} gets {named['symbol']} and {arg.name}, which are the same memory: pass one")
        return self._variable(hook, arg.name, arg.offset, before)

    def _register(self, source: Any) -> tuple[Any, ...]:
        """The register, which the kernel has to have."""
        code_object, name = self._code_object, str(source)
        if not isinstance(source, given.Reg):
            return ("unit", *source.place)
        place = source.place
        if place is None:
            masks = 1 if code_object.program.wavefront_size == 32 and name in ("vcc", "exec") else 2
            place = (f"{name}_lo", 0, masks, "")
        file, first, count, _ = place
        if file in ("s", "v", "a"):
            has = code_object.named_registers(self._kernel).get(file, 0)
            if first + count > has:
                what = {"s": "scalar registers", "v": "vector registers", "a": "AGPRs"}[file]
                raise self._error(f"there is no {name}: the kernel {self._kernel} has {has or 'no'} {what}")
        gfx9 = code_object.target.startswith("gfx9")
        if file.startswith("xnack_mask") and not gfx9:
            raise self._error(f"there is no {name}: {code_object.target} has no XNACK_MASK")
        if file.startswith("flat_scratch") and not gfx9:
            file = file.replace("flat_scratch", "flat_scratch_base")
        return (file, *place[1:])

    def _error(self, message: str) -> ToolError:
        return ToolError(f"{self._who}: {message}")


def _constant(operand: Any, param: Param, wrong: Callable[[str], ToolError]) -> int:
    """The bits of a constant operand, for a parameter as wide as the operation takes it."""
    from .. import lang

    kind = param.type
    width = kind.bits if isinstance(kind, lang.Scalar) else 64
    if operand.kind == "immediate":
        return param.raw_bits(operand.value)
    if operand.bits is None or operand.units > 1 and width < 64:
        raise wrong("a number of its width")
    if width < 32 and operand.bits >> width:
        raise wrong("a number of its width")
    return operand.bits


def _overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    low, high = sorted((a, b), key=lambda s: s["address"])
    return low["address"] + max(low["size"], 1) > high["address"]
