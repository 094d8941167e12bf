"""What a program's loads and stores address, by Triton's own representation of the kernel (TTIR), worked out with NumPy.

Integers and pointers are followed, through loops whose bounds are known. What depends on data of memory, or on an operation
that is not followed, is not known, and says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy

from ..errors import ArgumentError

#: A file and a line of it.
Line = tuple[str, int]

#: Steps that one program may take.
_MOST = 1 << 20
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_INTEGERS = {"i1": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "index": "i8"}
_COMPARED = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_BINARY = {
    "arith.addi": "add", "arith.subi": "subtract", "arith.muli": "multiply", "arith.andi": "bitwise_and",
    "arith.ori": "bitwise_or", "arith.xori": "bitwise_xor", "arith.minsi": "minimum", "arith.maxsi": "maximum",
    "arith.shli": "left_shift", "arith.shrsi": "right_shift", "arith.remsi": "fmod",
}  # fmt: skip
_UNSIGNED = {
    "arith.minui": "minimum", "arith.maxui": "maximum", "arith.shrui": "right_shift", "arith.divui": "floor_divide",
    "arith.remui": "fmod",
}  # fmt: skip
_DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui")
_SAME = ("arith.extsi", "arith.trunci", "arith.index_cast", "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "ttg.convert_layout")
_MEMORY = {"tt.load": "load", "tt.store": "store", "amdg.buffer_load": "load", "amdg.buffer_store": "store"}

_ASSIGNED = re.compile(r"(?:(%\w+)(?::(\d+))? = )?\"?([\w.]+)\"?(.*)")
_OPERAND = re.compile(r"%\w+(?:#\d+)?")
_ALIAS = re.compile(r"(#loc\d*) = loc\((.*)\)$")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*)>")


@dataclass(frozen=True)
class Unknown:
    """A value that is not followed, and why."""

    why: str


#: Integers, bits and addresses of a program: one, or one for each element of a tensor.
Value: TypeAlias = numpy.ndarray | Unknown


@dataclass(frozen=True)
class Operation:
    """A load or a store, as one program makes it once: where its elements are, and which its mask has on."""

    #: What the source calls the value that is loaded; "" for none.
    name: str
    action: str
    #: Where it is in the source, calls that were inlined among them, innermost first.
    lines: tuple[Line, ...]
    addresses: Value
    mask: Value
    #: Triton's type of the elements, ``f16`` say.
    element: str
    #: Which load or store of the text it is, and how often the program has made it before.
    number: int
    iteration: int


class Locations:
    """Where operations are in the source: the ``loc(...)`` that ends a line of the text, and the names of those."""

    def __init__(self, text: str):
        self._known = {found[1]: found[2] for line in text.splitlines() if (found := _ALIAS.match(line.strip()))}

    def of(self, text: str) -> tuple[str, tuple[Line, ...]]:
        """The name, if there is one, and the lines."""
        text = self._known.get(text, text)
        if (line := re.fullmatch(r'"(.*)":(\d+):\d+', text)) is not None:
            return "", ((line[1], int(line[2])),)
        if (named := re.fullmatch(r'"([^"]*)"\((.*)\)', text)) is not None:
            return named[1], self.of(named[2])[1]
        if (call := re.fullmatch(r"callsite\((.*) at (.*)\)", text)) is not None:
            return self.of(call[1])[0], (*self.of(call[1])[1], *self.of(call[2])[1])
        return "", ()


def _split(line: str) -> tuple[str, str]:
    """A line without its location, and that."""
    line = line.strip()
    at = line.rfind(" loc(")
    return (line[:at].rstrip(), line[at + 5 : -1]) if at >= 0 and line.endswith(")") else (line, "")


def _type(text: str) -> tuple[tuple[int, ...], str]:
    """The shape and the elements of a type."""
    found = _TENSOR.fullmatch(text.strip())
    if found is None:
        return (), text.strip()
    return tuple(int(size) for size in found[1].split("x") if size), found[2].split(", #")[0]


def _pointed(text: str) -> str:
    """What the first pointer among some types points to; of no pointer the type itself."""
    found = re.search(r"!tt\.ptr<([^<>,]+)", text)
    return text if found is None else found[1].strip()


def size_of(element: str) -> int | None:
    """Bytes of one element; None for a type that is not known."""
    return _SIZES.get(element, 1 if element.startswith("f8") else None)


def _cast(value: numpy.ndarray, element: str) -> Value:
    if element.startswith("!tt.ptr"):
        return value.astype("i8")
    if element not in _INTEGERS:
        return Unknown(f"of a value of type {element}")
    return value & 1 != 0 if element == "i1" and value.dtype.kind != "b" else value.astype(_INTEGERS[element])


def _unsigned(value: numpy.ndarray) -> numpy.ndarray:
    return value if value.dtype.kind == "b" else value.view(f"u{value.dtype.itemsize}")


class Program:
    """One program of a kernel, ``program`` of ``programs``: ``values`` are those of the kernel's arguments, in order, numbers and
    the addresses of pointers; None for what is neither."""

    def __init__(self, text: str, program: tuple[int, int, int], programs: tuple[int, int, int], values: Sequence[int | None]):
        self._lines = [_split(line) for line in text.splitlines()]
        self._locations = Locations(text)
        self._program, self._programs = program, programs
        begin = next((at for at, (line, _) in enumerate(self._lines) if line.startswith("tt.func public")), None)
        if begin is None:
            raise ArgumentError("Triton's IR of the kernel has no public function")
        head = self._lines[begin][0]
        arguments = re.findall(r"(%\w+): ([^\s{,)]+(?:<[^)]*?>)?)", head)
        if len(arguments) > len(values):
            raise ArgumentError(f"Triton's IR of the kernel has {len(arguments)} arguments, and its launch {len(values)}")
        self._values: dict[str, Value] = {}
        for (name, kind), value in zip(arguments, values):
            known = None if value is None else _cast(numpy.asarray(value, "i8"), kind)
            self._values[name] = Unknown(f"of argument {name[1:]}") if known is None else known
        self._begin, self._left = begin, _MOST
        self._made: dict[int, int] = {}
        #: What was yielded last.
        self._yielded: list[Value] = []
        #: Why it is not known whether the program comes here.
        self._unsure: Unknown | None = None

    def operations(self) -> Generator[Operation, None, None]:
        """Its loads and stores, in the order in which it makes them."""
        with numpy.errstate(all="ignore"):
            yield from self._block(self._begin + 1, self._close(self._begin))

    def _close(self, begin: int) -> int:
        """The line that closes what a line opens."""
        depth = 1
        for at in range(begin + 1, len(self._lines)):
            line = self._lines[at][0]
            depth -= line.startswith("}")
            if not depth:
                return at
            depth += line.endswith("{")
        raise ArgumentError("Triton's IR of the kernel ends in the middle")

    def _block(self, at: int, end: int) -> Generator[Operation, None, None]:
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise ArgumentError(f"the program makes more than {_MOST:,} steps, which are too many to work out")
            at = yield from self._step(at)

    def _step(self, at: int) -> Generator[Operation, None, int]:
        """One line, or all that it opens; gives the next one."""
        line, location = self._lines[at]
        found = _ASSIGNED.fullmatch(line)
        if found is None or line.startswith("}"):
            return at + 1
        name, count, operation, rest = found[1], found[2], found[3], found[4]
        if line.endswith("{"):
            results, behind = yield from self._region(at, operation, rest)
        elif operation in _MEMORY:
            results, behind = [Unknown("of what was loaded from memory")], at + 1
            yield self._memory(at, operation, rest, location)
        elif operation in ("scf.yield", "tt.return"):
            self._yielded = [self._value(one) for one in _OPERAND.findall(rest.partition(" : ")[0])]
            return at + 1
        else:
            results, behind = [self._worked_out(operation, rest)], at + 1
        if name is not None:
            names = [name] if count is None else [f"{name}#{number}" for number in range(int(count))]
            results += [Unknown(f"of {operation}")] * (len(names) - len(results))
            self._values.update(zip(names, results))
            self._values.setdefault(name, results[0])
        return behind

    def _value(self, name: str) -> Value:
        return self._values.get(name, Unknown(f"of {name}"))

    def _region(self, at: int, operation: str, rest: str) -> Generator[Operation, None, tuple[list[Value], int]]:
        """A loop, a branch, or something else that has operations inside."""
        end = self._close(at)
        self._yielded = []
        if operation == "scf.for":
            bounds = [self._value(one) for one in _OPERAND.findall(rest.partition("iter_args")[0])[1:4]]
            variable, carried = (
                rest.strip().split(" ")[0],
                re.findall(r"(%\w+) = (%\w+(?:#\d+)?)", rest.partition("iter_args")[2]),
            )
            values = [self._value(given) for _, given in carried]
            if not any(isinstance(bound, Unknown) for bound in bounds):
                begin, behind, step = (int(bound) for bound in bounds)  # type: ignore[arg-type]
                kind = bounds[0].dtype  # type: ignore[union-attr]
                for index in range(begin, behind, max(step, 1)):
                    self._values[variable] = numpy.asarray(index, kind)
                    self._values.update(zip((inner for inner, _ in carried), values))
                    yield from self._block(at + 1, end)
                    values = list(self._yielded)
                return values, end + 1
        other = end if self._lines[end][0] == "} else {" else None
        behind = end if other is None else self._close(other)
        if operation == "scf.if":
            condition = self._value(_OPERAND.findall(rest)[0])
            if not isinstance(condition, Unknown):
                if bool(condition):
                    yield from self._block(at + 1, end)
                elif other is not None:
                    yield from self._block(other + 1, behind)
                return list(self._yielded), behind + 1
        before, self._unsure = self._unsure, self._unsure or Unknown(f"in {operation}, which is not followed")
        yield from self._block(at + 1, end)
        while self._lines[end][0].endswith("{"):
            begin, end = end, self._close(end)
            yield from self._block(begin + 1, end)
        self._unsure = before
        return [Unknown(f"of {operation}")], end + 1

    def _memory(self, at: int, operation: str, rest: str, location: str) -> Operation:
        text, _, types = rest.rpartition(" : ")
        named, lines = self._locations.of(location)
        shape, element = _type(types.split(" -> ")[0])
        operands = [self._value(one) for one in _OPERAND.findall(text)]
        first = 1 if operation == "tt.load" else 2
        addresses = operands[0]
        if operation.startswith("amdg."):
            is_load = operation.endswith("load")
            operands = operands if is_load else operands[1:]
            addresses, first = self._added(operands[0], operands[1], _pointed(element)), 2
            shape = _type(types.split(" -> ")[-1])[0]
        mask: Value = operands[first] if len(operands) > first else numpy.asarray(True)
        if not isinstance(mask, Unknown):
            mask = numpy.broadcast_to(mask, shape) if mask.dtype.kind == "b" else Unknown("of a mask that is none")
        iteration = self._made.get(at, 0)
        self._made[at] = iteration + 1
        addresses = self._unsure or addresses
        return Operation(named, _MEMORY[operation], lines, addresses, mask, _pointed(element), at, iteration)

    @staticmethod
    def _added(pointer: Value, offset: Value, element: str) -> Value:
        size = size_of(element)
        if isinstance(pointer, Unknown):
            return pointer
        if isinstance(offset, Unknown):
            return offset
        return Unknown(f"of a pointer to {element}") if size is None else numpy.asarray(pointer + offset.astype("i8") * size)

    def _worked_out(self, operation: str, rest: str) -> Value:
        text, _, types = rest.rpartition(" : ")
        shape, element = _type(types.split(" -> ")[-1])
        if operation == "arith.constant":
            return _constant(text.strip(), shape, element)
        if operation in ("tt.get_program_id", "tt.get_num_programs"):
            which = self._program if operation.endswith("id") else self._programs
            return numpy.asarray(which["xyz".index(text.split()[0])], "i4")
        if operation == "tt.make_range":
            begin, end = (int(re.search(rf"{word} = (-?\d+)", text)[1]) for word in ("start", "end"))  # type: ignore[index]
            return numpy.arange(begin, end, dtype="i4")
        operands = [self._value(one) for one in _OPERAND.findall(text)]
        known = [one for one in operands if not isinstance(one, Unknown)]
        if len(known) < len(operands):
            return next(one for one in operands if isinstance(one, Unknown))
        if operation == "tt.addptr":
            return self._added(known[0], known[1], _pointed(types))
        made = _OPERATIONS.get(operation)
        if made is None or not known:
            return Unknown(f"of {operation}, which is not followed")
        if operation in _DIVISIONS and not known[1].all():
            return Unknown("of a division by zero")
        return made(known, text, shape, element)


def _constant(text: str, shape: tuple[int, ...], element: str) -> Value:
    found = re.fullmatch(r"(?:dense<)?(-?\d+|true|false)>?", text)
    if found is None or element not in _INTEGERS:
        return Unknown("of a constant that is no integer")
    number = {"true": 1, "false": 0}.get(found[1])
    value = _cast(numpy.asarray(int(found[1]) if number is None else number, "i8"), element)
    return value if isinstance(value, Unknown) else numpy.broadcast_to(value, shape)


def _divided(operands: list[numpy.ndarray], *_: Any) -> Value:
    left, right = operands
    quotient = numpy.abs(left) // numpy.abs(right)
    return numpy.asarray(numpy.where((left < 0) != (right < 0), -quotient, quotient))


def _compared(operands: list[numpy.ndarray], text: str, *_: Any) -> Value:
    how = text.strip().partition(",")[0]
    left, right = map(_unsigned, operands) if how[0] == "u" else operands
    return numpy.asarray(getattr(numpy, _COMPARED[how[-2:]])(left, right))


def _reshaped(operands: list[numpy.ndarray], text: str, shape: tuple[int, ...], _: str) -> Value:
    return Unknown("of a reshape in any order") if "allow_reorder" in text else operands[0].reshape(shape)


def _turned(operands: list[numpy.ndarray], text: str, *_: Any) -> Value:
    order = re.search(r"array<i32: ([\d, ]+)>", text)
    return Unknown("of a transposition") if order is None else operands[0].transpose([int(n) for n in order[1].split(",")])


#: What is done with known operands: text, shape and elements of the result tell how.
_OPERATIONS: dict[str, Callable[[list[numpy.ndarray], str, tuple[int, ...], str], Value]] = {
    "arith.divsi": _divided,
    "arith.cmpi": _compared,
    "arith.select": lambda of, text, shape, element: numpy.where(*of),
    "arith.extui": lambda of, text, shape, element: _cast(_unsigned(of[0]), element),
    "tt.splat": lambda of, text, shape, element: numpy.broadcast_to(of[0], shape),
    "tt.unsplat": lambda of, text, shape, element: of[0].reshape(()),
    "tt.broadcast": lambda of, text, shape, element: numpy.broadcast_to(of[0], shape),
    "tt.expand_dims": lambda of, text, shape, element: of[0].reshape(shape),
    "tt.reshape": _reshaped,
    "tt.trans": _turned,
}


def _binary(name: str, view: Callable[[numpy.ndarray], numpy.ndarray]) -> Any:
    def made(of: list[numpy.ndarray], text: str, shape: tuple[int, ...], element: str) -> Value:
        return _cast(numpy.asarray(getattr(numpy, name)(view(of[0]), view(of[1]))), element)

    return made


_OPERATIONS |= {operation: _binary(name, lambda value: value) for operation, name in _BINARY.items()}
_OPERATIONS |= {operation: _binary(name, _unsigned) for operation, name in _UNSIGNED.items()}
_OPERATIONS |= {operation: lambda of, text, shape, element: _cast(of[0], element) for operation in _SAME}
