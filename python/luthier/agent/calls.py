"""Calls of HSA's and HIP's functions that tools hear of."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..errors import ToolError
from .functions import Function, Parameter
from .sites import Frame, Sites, Stack

_INTEGERS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "bool": "?"}
#: Of what is passed in place: HIP's dim3 and extent.
_STRUCTURES = {"struct:12": "3I", "struct:24": "3Q"}
_NO_STACK = Stack()


class Memory(Protocol):
    """What a call's memory is read and written through."""

    def read(self, address: int, size: int) -> bytes: ...
    def write(self, address: int, data: bytes) -> None: ...


def _decoded(kind: str, word: int) -> int | bool:
    """An argument of one word."""
    code = _INTEGERS.get(kind)
    if code is None:
        return word
    value: int | bool = struct.unpack_from("<" + code, word.to_bytes(8, "little"))[0]
    return value


def _text(memory: Memory, address: int) -> str:
    """A C string, read in pieces that end where pages do."""
    data = b""
    while b"\0" not in data:
        size = 256 - (address + len(data)) % 256
        data += memory.read(address + len(data), size)
        if len(data) > 1 << 16:
            raise ToolError(f"no C string begins at {address:#x}")
    return data.partition(b"\0")[0].decode(errors="replace")


class Arguments:
    """A call's arguments by name, as attributes or items. Integers, handles and pointers are ints, strings are read from
    the process, ``dim3`` and extents are tuples, other structures bytes. What is set before the call is what the function
    gets."""

    def __init__(self, function: Function, words: list[int], memory: Memory, open_: bool):
        own = self.__dict__  # setting an attribute sets an argument
        own["_function"], own["_words"], own["_memory"], own["_open"] = function, words, memory, open_

    def _parameter(self, name: str) -> Parameter:
        for parameter in self._function.parameters:
            if parameter.name == name:
                return parameter
        known = ", ".join(p.name for p in self._function.parameters) or "none"
        raise AttributeError(f"{self._function.name} has no parameter {name}: it has {known}")

    def __getattr__(self, name: str) -> Any:
        parameter = self._parameter(name)
        word = self._words[parameter.word]
        if parameter.kind == "str":
            return _text(self._memory, word) if word else None
        if parameter.kind.startswith("struct:"):
            size = int(parameter.kind[7:])
            data = struct.pack(f"<{-(-size // 8)}Q", *self._words[parameter.word : parameter.word + -(-size // 8)])[:size]
            layout = _STRUCTURES.get(parameter.kind)
            return data if layout is None else struct.unpack("<" + layout, data)
        return _decoded(parameter.kind, word)

    def __setattr__(self, name: str, value: Any) -> None:
        parameter = self._parameter(name)
        if not self._open:
            raise ToolError(f"{self._function.name}: arguments can be changed in the phase `enter` only")
        try:
            if parameter.kind.startswith("struct:"):
                layout = _STRUCTURES.get(parameter.kind)
                size = int(parameter.kind[7:])
                data = bytes(value) if layout is None else struct.pack("<" + layout, *value)
                if len(data) != size:
                    raise ToolError(f"{self._function.name}: {name} has {size} bytes, not {len(data)}")
                words = struct.unpack(f"<{-(-size // 8)}Q", data.ljust(-(-size // 8) * 8, b"\0"))
                self._words[parameter.word : parameter.word + len(words)] = words
            else:
                code = _INTEGERS.get(parameter.kind, "Q")
                data = struct.pack("<" + code, value)
                self._words[parameter.word] = int.from_bytes(data.ljust(8, b"\0"), "little")
        except (struct.error, TypeError) as error:
            raise ToolError(f"{self._function.name}: {name}={value!r} is no {parameter.kind}: {error}") from None

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return (p.name for p in self._function.parameters)

    def __repr__(self) -> str:
        return ", ".join(f"{p.name}={self._words[p.word]:#x}" for p in self._function.parameters)


class Call:
    """A call, from before the function runs until after it."""

    def __init__(
        self,
        function: Function,
        number: int,
        thread: int,
        memory: Memory,
        words: list[int],
        sites: Sites | None = None,
        stack: Sequence[int] = (),
    ):
        self._function, self._memory = function, memory
        #: What has led to the call; empty unless a tool has ``stacks = True``.
        self.stack = sites.stack(stack) if stack and sites is not None else _NO_STACK
        #: Counts the calls of the process that tools hear of.
        self.number = number
        #: The thread's number, as the kernel knows it.
        self.thread = thread
        #: ``enter`` before the function runs, ``exit`` after it.
        self.phase = "enter"
        self.args = Arguments(function, words, memory, True)
        self.skipped = False
        self._result: int | None = None

    @property
    def name(self) -> str:
        return self._function.name

    @property
    def site(self) -> Frame | None:
        """Where the call stands: the innermost frame of the stack that is not in AMD's runtime or a library of the system's."""
        return self.stack.site

    def _made(self, words: list[int], result: int) -> None:
        """The function has run, with these arguments."""
        self.phase, self._result = "exit", result
        self.args = Arguments(self._function, words, self._memory, False)

    @property
    def result(self) -> int | None:
        """The function's result; None before it, and if there is none. HSA's and HIP's statuses are 0 for success. It may be
        set in the phase ``exit``: the application gets that."""
        if self._result is None or self._function.returns == "void":
            return None
        return _decoded(self._function.returns, self._result)

    @result.setter
    def result(self, value: int) -> None:
        if self.phase != "exit":
            raise ToolError(f"{self.name}: the result can be set in the phase `exit`; before it, call.skip(result) gives one")
        self._result = value & (1 << 64) - 1

    def skip(self, result: int = 0) -> None:
        """The function does not run, and the application gets this result. There is no phase ``exit``. What the function
        should have written is to be written with :meth:`write`."""
        if self.phase != "enter":
            raise ToolError(f"{self.name} has run already: it can be skipped in the phase `enter`")
        self.skipped, self._result = True, result & (1 << 64) - 1

    def read(self, address: int, size: int) -> bytes:
        """Memory of the process, as far as its processor can read it."""
        return self._memory.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Changes memory of the process."""
        self._memory.write(address, data)

    def pointee(self, name: str) -> Any:
        """What an argument points to, a number or a handle; None for a null pointer."""
        parameter = self.args._parameter(name)
        which, _, kind = parameter.kind.partition(":")
        if which not in ("in", "out"):
            raise ToolError(f"{self.name}: {name} is no pointer to a number or a handle, but {parameter.kind}")
        address = self.args._words[parameter.word]
        if not address:
            return None
        code = {"f32": "f", "f64": "d"}.get(kind) or _INTEGERS.get(kind, "Q")
        return struct.unpack("<" + code, self.read(address, struct.calcsize("<" + code)))[0]

    def set_pointee(self, name: str, value: int | float) -> None:
        """Writes what an argument points to."""
        parameter = self.args._parameter(name)
        which, _, kind = parameter.kind.partition(":")
        if which not in ("in", "out"):
            raise ToolError(f"{self.name}: {name} is no pointer to a number or a handle, but {parameter.kind}")
        code = {"f32": "f", "f64": "d"}.get(kind) or _INTEGERS.get(kind, "Q")
        try:
            data = struct.pack("<" + code, value)
        except struct.error as error:
            raise ToolError(f"{self.name}: *{name}={value!r} is no {kind}: {error}") from None
        self.write(self.args._words[parameter.word], data)

    def __repr__(self) -> str:
        done = f" = {self._result:#x}" if self._result is not None else ""
        return f"{self.name}({self.args!r}){done}"
