"""Memory that the program's process and this one have: it stays when the program has ended, however that was."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct

from ..errors import ToolError
from ..instrumenting.homes import Home
from ..instrumenting.values import Variable
from .wire import WireError, too_many_files


class Memory:
    """A file that the agent has sent, mapped."""

    def __init__(self, file: int, writable: bool = True):
        try:
            # If it could be cut short, a process that reads what was there would be killed.
            if not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise ValueError("it is not sealed against being cut short")
            size = os.fstat(file).st_size
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            self.map = mmap.mmap(file, size, access=access)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                raise too_many_files() from None
            raise WireError(f"a file of the agent's cannot be mapped: {error}") from None
        finally:
            os.close(file)

    def __len__(self) -> int:
        return len(self.map)


#: ``amd_signal_t``: kind and value, and what is 0 for a signal that no thread sleeps for.
_SIGNAL = struct.Struct("<qq48x")
#: Bytes of variables that are copied when their kernel is unloaded.
_COPIED = 1 << 20
#: ``AMD_SIGNAL_KIND_USER``.
_USER = 1


class Variables(Home):
    """Tools' variables, by symbol, in one piece of memory, and a signal that counts launches that are over."""

    def __init__(self, variables: dict[str, Variable], of: tuple[object, ...] = ()):
        self._known = variables
        self.of = of
        self._offsets: dict[str, int] = {}
        self.size = 0
        for symbol, variable in variables.items():
            self._offsets[symbol] = -(-self.size // variable.align) * variable.align
            self.size = self._offsets[symbol] + max(variable.size, 1)
        self._signal = -(-self.size // _SIGNAL.size) * _SIGNAL.size
        self.size = self._signal + _SIGNAL.size

    def place(self, memory: Memory) -> None:
        """Has them live there."""
        if len(memory) < self.size:
            raise WireError("the memory for variables is smaller than was asked for")
        self._contents: bytes | mmap.mmap = memory.map
        self._is_kept = False
        _SIGNAL.pack_into(memory.map, self._signal, _USER, 0)
        for symbol, variable in self._known.items():
            offset = self._offsets[symbol]
            if variable.init:
                memory.map[offset : offset + len(variable.init)] = variable.init

    def keep(self) -> None:
        """Keeps what they have now, and gives the memory back."""
        # Another thread may be reading: the mapping goes when nothing refers to it any more. A large one stays, with what the program
        # has written into it, for as long as the variables do: nothing writes there any more.
        if self.size <= _COPIED:
            self._contents = bytes(self._contents)
        self._is_kept = True

    def addresses(self, start: int) -> dict[str, int]:
        """Where each is, by symbol, if the memory begins at an address."""
        return {symbol: start + offset for symbol, offset in self._offsets.items()}

    def signal(self, start: int) -> int:
        """Where the signal is, if the memory begins at an address."""
        return start + self._signal

    @property
    def over(self) -> int:
        """How many launches the signal has counted."""
        return -int(_SIGNAL.unpack_from(self._contents, self._signal)[1])

    def read(self, symbol: str, start: int, size: int) -> bytes:
        """What is in some bytes of a variable now."""
        offset = self._offsets[symbol] + start
        return self._contents[offset : offset + min(size, self._known[symbol].size - start)]

    def write(self, symbol: str, start: int, data: bytes) -> None:
        """New contents for some of its bytes. ToolError where the kernel is not loaded any more."""
        offset, contents = self._offsets[symbol] + start, self._contents
        if isinstance(contents, bytes) or self._is_kept:
            raise ToolError(f"{symbol} cannot be changed any more: the kernel is not loaded")
        contents[offset : offset + len(data)] = data
