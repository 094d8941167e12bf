"""The source's variables: their values in each lane of a wave, by DWARF.

clang for AMD GPUs says where a variable is as an address in an address space, with ``DW_OP_litK, DW_OP_swap, DW_OP_xderef`` at the
end. It writes that for variables that optimization has moved into registers, too: there, what stands before it is the
value. So it is an address only where it counts from the function's frame, or is a constant of the linker's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .dwarf import Dwarf, Scoped

if TYPE_CHECKING:
    import numpy

    from .lines import Lines
    from .stage import Stage
    from .waves import StageWave

#: DWARF's numbers of registers: the first, how many, the letter and the first one's own number.
_REGISTERS = (
    (32, 64, "s", 0), (1088, 42, "s", 64), (1536, 256, "v", 0), (2560, 256, "v", 0), (2048, 256, "a", 0), (3072, 256, "a", 0),
)  # fmt: skip
_EXEC = (1, 17)
_PRIVATE, _LOCAL = 1, 2
#: The register that functions keep their frame's address in.
_FRAME = "s33"
_BINARY = ("and", "or", "xor", "plus", "minus", "mul", "shl", "shr", "shra")
#: Processors whose scratch the hardware finds by itself.
_ALWAYS_BY_LANE = ("gfx94", "gfx95", "gfx11", "gfx12")
OPTIMIZED_OUT = "optimized out"


@dataclass(frozen=True)
class Variable:
    """A variable of the source, in all lanes of a wave: ``values`` has one element for each lane, whichever are on; None where
    the compiler has not kept it, or it cannot be told, which ``note`` says."""

    name: str
    function: str
    type: str
    values: numpy.ndarray | None
    note: str = ""

    def text(self, exec: int) -> str:
        """Its value in lanes that are on: one where all have the same."""
        import numpy

        if self.values is None:
            return f"<{self.note}>"
        on = [lane for lane in range(len(self.values)) if exec >> lane & 1]
        if not on:
            return "<no lane is on>"
        values = self.values[on]
        if all(one.tobytes() == values[0].tobytes() for one in values):
            return _one(values[0])
        if values.dtype.names is not None or values.ndim > 1:
            return f"{{lane {on[0]}: {_one(values[0])}, ...}}"
        return "[" + " ".join(map(_one, values)) + "]" if len(on) == len(self.values) else _by_lane(on, numpy.asarray(values))


def _one(value: Any) -> str:
    if getattr(value.dtype, "names", None):
        return "{" + ", ".join(f"{name} = {_one(value[name])}" for name in value.dtype.names) + "}"
    return "[" + " ".join(map(_one, value)) + "]" if getattr(value, "shape", ()) else str(value)


def _by_lane(on: list[int], values: Any) -> str:
    shown = ", ".join(f"{lane}: {_one(value)}" for lane, value in list(zip(on, values))[:8])
    return f"{{lane {shown}{', ...' if len(on) > 8 else ''}}}"


class Variables:
    """The variables of a kernel and of what it reaches."""

    def __init__(self, stage: Stage, lines: Lines):
        self._stage, self._lines = stage, lines
        self._scoped: dict[int, list[Scoped]] = {}

    @cached_property
    def dwarf(self) -> Dwarf:
        """ArgumentError where there is none, or pyelftools is not installed."""
        return Dwarf(self._lines.code_object)

    def _at(self, pc: int) -> list[Scoped]:
        if pc not in self._scoped:
            self._scoped[pc] = self.dwarf.scoped(pc)
        return self._scoped[pc]

    def names_at(self, pc: int) -> set[str]:
        """The variables that can be named at an address; none without DWARF."""
        try:
            return {scoped.name for scoped in self._at(pc)}
        except ArgumentError:
            return set()

    def all_of(self, wave: StageWave) -> list[Variable]:
        """All that are in scope where a wave is, the innermost scope's first.
        ArgumentError without DWARF."""
        return [self._told(scoped, wave) for scoped in self._at(wave.pc)]

    def one_of(self, wave: StageWave, name: str) -> Variable:
        """The innermost one of a name.
        ArgumentError for a name that is not in scope."""
        found = next((scoped for scoped in self._at(wave.pc) if scoped.name == name), None)
        if found is None:
            raise ArgumentError(f"there is no variable {name!r} at {wave.pc:#x}")
        return self._told(found, wave)

    def _told(self, scoped: Scoped, wave: StageWave) -> Variable:
        dwarf = self.dwarf
        entry = dwarf.type_of(scoped.entry)
        type, values, note = dwarf.type_text(entry), None, ""
        try:
            values = self._values(scoped, wave, dwarf.dtype(entry))
        except ArgumentError as error:
            note = str(error)
        return Variable(scoped.name, scoped.function, type, values, note)

    def _values(self, scoped: Scoped, wave: StageWave, dtype: numpy.dtype) -> numpy.ndarray:
        import numpy

        lanes = self._lanes
        constant = self.dwarf.attribute(scoped.entry, "DW_AT_const_value")
        if constant is not None and isinstance(constant[0].value, int):
            bits = (constant[0].value & (1 << 8 * dtype.itemsize) - 1).to_bytes(dtype.itemsize, "little")
            return _typed(numpy.frombuffer(bits * lanes, "u1").reshape(lanes, -1), dtype)
        expression = self.dwarf.location(scoped.entry, wave.pc)
        if not expression:
            raise ArgumentError(OPTIMIZED_OUT)
        operations = self.dwarf.operations(scoped.entry, expression)
        machine = _Machine(self._stage, wave, scoped, lanes, self)
        pieces, simple = _pieces(operations)
        made = [machine.piece(part, size if not simple else dtype.itemsize, simple) for part, size in pieces]
        data = numpy.concatenate(made, axis=1)
        if data.shape[1] < dtype.itemsize:
            raise ArgumentError(f"partly {OPTIMIZED_OUT}")
        return _typed(data[:, : dtype.itemsize], dtype)

    @cached_property
    def _lanes(self) -> int:
        facts = self._lines.code_object.core.kernel(self._stage.kernel) or {}
        return int(facts["wavefront_size"])

    def frame(self, scoped: Scoped, wave: StageWave) -> int:
        """Where a function's frame begins in each lane's private memory.
        ArgumentError where that is not known."""
        low = next((begin for begin, _ in self.dwarf.ranges(scoped.owner)), 0)
        behind = next((end for end in self.dwarf.prologue_ends if end > low), low)
        if any(low <= wave.pc < min(end, behind) for _, end in self.dwarf.ranges(scoped.owner)):
            raise ArgumentError(f"not there before the function has begun, at {behind:#x}")
        first = self._lines.instruction(wave.pc)
        if first is None:
            raise ArgumentError("its frame is not known")
        valid = False
        for instruction in first.function.instructions:
            if instruction.address >= wave.pc:
                break
            if _FRAME in {f"s{r.index}" for r in instruction.writes if r.file == "sgpr" and r.index is not None}:
                valid = not valid
            if instruction.opcode.startswith("s_setpc"):
                valid = True
        if not valid:
            raise ArgumentError("its function's frame is not set up here")
        base = wave.value(_FRAME)
        return base if self._counts_by_lane else base // self._lanes

    @cached_property
    def _counts_by_lane(self) -> bool:
        """Whether frames count bytes of a lane: by scratch instructions, which LLVM uses on these processors always, and on others
        if it is told to. With buffers they count bytes of all lanes together."""
        if self._stage.device.processor.startswith(_ALWAYS_BY_LANE):
            return True
        reached = self._lines.code_object.program.select(self._stage.kernel)
        return any(one.opcode.startswith("scratch_") for function in reached for one in function.instructions)


def _typed(data: numpy.ndarray, dtype: numpy.dtype) -> numpy.ndarray:
    import numpy

    data = numpy.ascontiguousarray(data)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return data.view(base).reshape(len(data), *shape)
    return data.view(dtype).reshape(len(data))


def _pieces(operations: list[Any]) -> tuple[list[tuple[list[Any], int]], bool]:
    """The parts of a variable: their operations, and how many bytes each has; and whether it is in one piece."""
    found, part = [], list[Any]()
    for operation in operations:
        if operation.op_name == "DW_OP_bit_piece":
            raise ArgumentError("its DWARF has bit pieces, which are not followed")
        if operation.op_name == "DW_OP_piece":
            found.append((part, operation.args[0]))
            part = []
        else:
            part.append(operation)
    if not found:
        return [(part, 0)], True
    if part:
        raise ArgumentError("its DWARF has operations behind its pieces")
    return found, False


class _Machine:
    """Works expressions out, in all lanes at once."""

    def __init__(self, stage: Stage, wave: StageWave, scoped: Scoped, lanes: int, variables: Variables):
        self._stage, self._wave, self._scoped, self._lanes, self._variables = stage, wave, scoped, lanes, variables
        self._registers = wave.registers

    def piece(self, operations: list[Any], size: int, is_all: bool) -> numpy.ndarray:
        """The bytes of one, a row for each lane."""
        if not operations:
            raise ArgumentError(f"partly {OPTIMIZED_OUT}")
        names = [operation.op_name.removeprefix("DW_OP_") for operation in operations]
        operations = list(operations)
        is_value = names[-1] == "stack_value"
        if is_value:
            del names[-1], operations[-1]
        space = None
        if names[-2:] == ["swap", "xderef"] and len(names) >= 3 and names[-3].startswith("lit"):
            space = int(names[-3][3:])
            del names[-3:], operations[-3:]
        if names == ["fbreg"] and space == _PRIVATE and not is_value:
            return self._private(self._variables.frame(self._scoped, self._wave) + operations[0].args[0], size)
        if names in (["addr"], ["addrx"]) or names[:1] in (["addr"], ["addrx"]):
            if len(names) == 1 and space == _LOCAL:
                return self._local(operations[0].args[0] if names[0] == "addr" else self._address(operations[0].args[0]), size)
            raise ArgumentError("it is a variable of the module")
        if "fbreg" in names:
            raise ArgumentError("its place in the function's frame is computed in a way that is not followed")
        if names == ["regx"] or len(names) == 1 and names[0].startswith("reg"):
            number = operations[0].args[0] if names == ["regx"] else int(names[0][3:])
            values = self._register(number)
            if size > 4:
                raise ArgumentError("its DWARF names the first of its registers only")
            return _bytes(values, size)
        registers = [operation.args[0] for name, operation in zip(names, operations) if name == "bregx"]
        if registers and space is None and not is_value:
            raise ArgumentError("its DWARF gives an address in no address space, which is not followed")
        if any(_name(number) in ("s32", _FRAME) for number in registers):
            raise ArgumentError("its DWARF counts from the stack, in a way that is not followed")
        if registers and size > 4 and "convert" not in names:
            raise ArgumentError("its DWARF names the first of its registers only")
        return _bytes(self._worked_out(names, operations), size)

    def _worked_out(self, names: list[str], operations: list[Any]) -> numpy.ndarray:
        import numpy

        stack: list[numpy.ndarray] = []

        def constant(value: int) -> numpy.ndarray:
            return numpy.full(self._lanes, value & (1 << 64) - 1, "u8")

        try:
            for name, operation in zip(names, operations):
                if name.startswith("lit"):
                    stack.append(constant(int(name[3:])))
                elif name.startswith("const") and name[5:6] in ("1", "2", "4", "8", "u", "s"):
                    stack.append(constant(operation.args[0]))
                elif name == "bregx":
                    stack.append(self._register(operation.args[0]) + constant(operation.args[1]))
                elif name == "plus_uconst":
                    stack.append(stack.pop() + constant(operation.args[0]))
                elif name in _BINARY:
                    right, left = stack.pop(), stack.pop()
                    stack.append(_binary(name, left, right))
                elif name == "not":
                    stack.append(~stack.pop())
                elif name == "neg":
                    stack.append(constant(0) - stack.pop())
                elif name == "dup":
                    stack.append(stack[-1])
                elif name == "swap":
                    stack[-1], stack[-2] = stack[-2], stack[-1]
                elif name == "convert":
                    stack.append(self._converted(stack.pop(), operation.args[0]))
                elif name == "entry_value":
                    raise ArgumentError("only its caller has it still")
                else:
                    raise ArgumentError(f"its DWARF has DW_OP_{name}, which is not followed")
        except IndexError:
            raise ArgumentError("its DWARF takes more from the stack than there is") from None
        if len(stack) != 1:
            raise ArgumentError("its DWARF leaves no value, or several")
        return stack[0]

    def _converted(self, value: numpy.ndarray, offset: int) -> numpy.ndarray:
        """To an integer of another width; the generic type has 64 bits."""
        if not offset:
            return value
        unit = self._scoped.entry.cu
        attributes = unit.get_DIE_from_refaddr(unit.cu_offset + offset).attributes
        size, encoding = attributes["DW_AT_byte_size"].value, attributes["DW_AT_encoding"].value
        if encoding not in (5, 6, 7, 8) or size > 8:
            raise ArgumentError("its DWARF converts to something that is no integer")
        return value.astype(f"{'i' if encoding in (5, 6) else 'u'}{size}").astype("i8" if encoding in (5, 6) else "u8").view("u8")

    def _address(self, index: int) -> int:
        dwarf = self._variables.dwarf
        return int(dwarf.info.get_addr(self._scoped.entry.cu, index))

    def _register(self, number: int) -> numpy.ndarray:
        import numpy

        if number in _EXEC:
            return numpy.full(self._lanes, self._registers.exec, "u8")
        name = _name(number)
        if name is None:
            raise ArgumentError(f"its DWARF names register {number}, which is not known")
        index = int(name[1:])
        file = {"s": self._registers.sgprs, "v": self._registers.vgprs, "a": self._registers.agprs}[name[0]]
        if index >= len(file):
            raise ArgumentError(f"its DWARF names {name}, which the wave does not have")
        if name[0] == "s":
            return numpy.full(self._lanes, int(file[index]), "u8")
        return numpy.asarray(file[index][: self._lanes]).astype("u8")

    def _private(self, offset: int, size: int) -> numpy.ndarray:
        """Private memory: a word of each lane, one after another, then the next word."""
        import numpy

        base, whole = self._stage.core.scratch(self._wave.group, self._wave.number)
        first, behind = offset // 4, (offset + size + 3) // 4
        if offset < 0 or behind * 4 * self._lanes > whole:
            raise ArgumentError("its place is outside of the wave's scratch")
        data = self._stage.read(base + first * 4 * self._lanes, (behind - first) * 4 * self._lanes)
        words = numpy.frombuffer(data, "<u4").reshape(behind - first, self._lanes).T
        return numpy.ascontiguousarray(words).view("u1")[:, offset % 4 : offset % 4 + size]

    def _local(self, offset: int, size: int) -> numpy.ndarray:
        import numpy

        data = self._wave.lds[offset : offset + size]
        if len(data) < size:
            raise ArgumentError("its place is outside of the workgroup's LDS")
        return numpy.tile(numpy.frombuffer(data, "u1"), (self._lanes, 1))


def _name(number: int) -> str | None:
    return next(
        (f"{letter}{own + number - first}" for first, count, letter, own in _REGISTERS if 0 <= number - first < count), None
    )


def _bytes(values: numpy.ndarray, size: int) -> numpy.ndarray:
    if size > 8:
        raise ArgumentError("it is larger than what its DWARF gives")
    return values.astype("<u8").view("u1").reshape(len(values), 8)[:, :size]


def _binary(name: str, left: numpy.ndarray, right: numpy.ndarray) -> numpy.ndarray:
    import numpy

    if name in ("shl", "shr", "shra"):
        within, by = right < 64, numpy.minimum(right, 63)
        if name == "shra":
            return (left.view("i8") >> by.view("i8")).view("u8")
        moved = left << by if name == "shl" else left >> by
        return numpy.where(within, moved, numpy.zeros_like(moved))
    table = {
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "plus": "add",
        "minus": "subtract",
        "mul": "multiply",
    }
    result: numpy.ndarray = getattr(numpy, table[name])(left, right)
    return result
