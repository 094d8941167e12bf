"""The mock loader: code objects in host memory, linked as a device's loader would link them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..errors import ArgumentError
from .code_object import CodeObject


@dataclass(frozen=True)
class LoadedSymbol:
    """A symbol with an address."""

    name: str
    address: int
    #: In bytes.
    size: int
    #: ``OBJECT``, ``FUNC``, ``NOTYPE`` ...; ``NOTYPE`` for an external.
    kind: str
    #: ``GLOBAL``, ``WEAK`` or ``LOCAL``.
    binding: str
    #: Other objects see it.
    exported: bool
    #: The object that defines it, None for an external.
    object: LoadedObject | None
    #: The agent's number, None for an external for all agents.
    agent: int | None
    executable: str


@dataclass(frozen=True)
class Segment:
    """A loaded segment, or the GOT that the loader has made for an object."""

    address: int
    #: In bytes.
    size: int
    readable: bool
    writable: bool
    executable: bool


@dataclass(frozen=True)
class Location:
    """What an address belongs to."""

    #: None in an external.
    object: LoadedObject | None
    #: The object's or the external's.
    name: str
    #: The address as the object states it; None in an external, and in the GOT that the loader has made.
    vaddr: int | None
    section: str | None
    #: The symbol that covers the address, or else the last one before it in its section ...
    symbol: str | None
    #: ... and the distance from it.
    offset: int | None
    #: None in zero-filled memory, too.
    file_offset: int | None
    readable: bool
    writable: bool
    executable: bool


class LoadedObject:
    """A code object that a :class:`MockLoader` has copied into memory."""

    def __init__(self, loader: MockLoader, number: int):
        facts = loader.core.object(number)
        self.loader = loader
        #: Its number in ``loader.objects``.
        self.number = number
        #: What errors call it: its path, or the name it was loaded under.
        self.name: str = facts["name"]
        #: The number of its agent.
        self.agent: int = facts["agent"]
        self.executable: str = loader.core.executables[facts["executable"]]
        #: Added to an address that the object states (modulo 2**64), it gives the address in memory.
        self.base: int = facts["base"]
        #: Its first address, and the first one behind it.
        self.start: int = facts["start"]
        self.end: int = facts["end"]
        #: By address.
        self.segments = [Segment(**segment) for segment in facts["segments"]]
        #: The address of the GOT that the loader has made, for slots that the linker had not; else None.
        self.got: int | None = facts["got"]

    @property
    def code_object(self) -> CodeObject:
        """What was loaded."""
        return CodeObject(self.loader.core.code_object(self.number))

    def symbol(self, name: str) -> LoadedSymbol:
        """The symbol ``name`` that the object defines, local ones included."""
        return self.loader.symbol(name, self)

    def resolve(self, name: str) -> int | None:
        """The address that the symbol ``name`` of the object stands for, defined in it or elsewhere. Once the loader is finalized."""
        return self.loader.core.resolve(self.number, name)

    def __repr__(self) -> str:
        return f"<LoadedObject {self.name} at {self.start:#x}>"


class Memory:
    """The loaded memory: ``memory[address:address + size]`` are bytes, and can be assigned to."""

    def __init__(self, core: _core.MockLoader):
        self._core = core

    def read(self, address: int, size: int) -> bytes:
        """Bytes of one segment, or of an external that the loader keeps."""
        return self._core.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Overwrites bytes, code and constants too. What lies where a relocation goes is overwritten by ``finalize()``."""
        self._core.write(address, bytes(data))

    def __getitem__(self, where: slice) -> bytes:
        start, size = _range(where)
        return self.read(start, size)

    def __setitem__(self, where: slice, data: bytes) -> None:
        start, size = _range(where)
        if len(data) != size:
            raise ArgumentError(f"{size} bytes of memory cannot be set to {len(data)} bytes")
        self.write(start, data)


def _range(where: Any) -> tuple[int, int]:
    if not isinstance(where, slice) or where.start is None or where.stop is None or where.step is not None:
        raise ArgumentError("memory is read as memory[first:last + 1], both addresses given")
    if not 0 <= where.start <= where.stop < 1 << 64:
        raise ArgumentError(f"{where.start:#x} to {where.stop:#x} is not a range of addresses")
    return where.start, where.stop - where.start


class MockLoader:
    """Loads code objects for mock agents, at addresses that a device could have, and links them.

    Nothing is relocated before :meth:`finalize`, so objects may refer to each other in circles. As a context manager it
    finalizes at the end of the block, unless the block has failed::

        with lt.MockLoader("gfx90a") as loader:
            loader.load("a.hsaco")
            loader.load("b.hsaco")
            loader.define("table", data=bytes(4096))
        lt.Device("gfx90a").load(loader).run("kernel_of_a", grid=64, block=64)

    ``agents`` are target ids; more can be added, and an object that suits none of them gets one of its own. ``base`` is
    the address from which on objects are placed.
    """

    def __init__(self, *agents: str, base: int | None = None):
        self.core = _core.MockLoader(base)
        #: The loaded bytes.
        self.memory = Memory(self.core)
        self._executables = {"default": 0}
        for agent in agents:
            self.add_agent(agent)

    def add_agent(self, target: str) -> int:
        """One more mock agent: gives its number. Several may have the same target."""
        return self.core.add_agent(target)

    @property
    def agents(self) -> list[str]:
        """The agents' target ids, by number."""
        return self.core.agents

    @property
    def finalized(self) -> bool:
        """Everything is linked, and nothing can be added any more."""
        return self.core.finalized

    @property
    def objects(self) -> list[LoadedObject]:
        """In the order of loading."""
        return [LoadedObject(self, number) for number in range(self.core.object_count)]

    def load(
        self,
        source: Any,
        *,
        agent: int | None = None,
        executable: str = "default",
        base: int | None = None,
        name: str | None = None,
    ) -> list[LoadedObject]:
        """Copies objects into memory, and gives them.

        ``source`` is a :class:`CodeObject`, a file's name, bytes (any buffer: a slice of a memoryview is a range of memory),
        or a ``file://`` or ``memory://`` name as the ROCm runtime gives them to loaded code objects. Of a file that holds
        several code objects, such as a fat binary, those that suit the agent are loaded, one of each translation unit.

        ``agent`` is an agent's number; without it the first agent that suits is taken. Objects of different ``executable``
        do not see each other's symbols. ``base`` is what is added to the addresses that the object states; without it,
        the object is placed behind what is there.
        """
        if executable not in self._executables:
            self._executables[executable] = self.core.add_executable(executable)
        number = self._executables[executable]
        if isinstance(source, CodeObject):
            loaded = [self.core.load(source.core, name or source.path, agent, number, base)]
        elif isinstance(source, (bytes, bytearray, memoryview)):
            loaded = self.core.load_bytes(bytes(source), name, agent, number, base)
        else:
            path = os.fspath(source)
            load = self.core.load_uri if path.startswith(("file://", "memory://")) else self.core.load_path
            loaded = load(path, name, agent, number, base)
        return [LoadedObject(self, number) for number in loaded]

    def define(
        self,
        name: str,
        address: int | None = None,
        size: int = 0,
        *,
        data: bytes | None = None,
        agent: int | None = None,
        executable: str = "default",
    ) -> int:
        """Says where the symbol ``name`` is that objects refer to, and gives its address: ``size`` bytes at ``address``, or a variable
        with the contents ``data`` that the loader keeps. For one ``agent``, or for all, of the executable ``executable``. It may stand for a symbol of any type.
        """
        if (address is None) == (data is None):
            raise ArgumentError(f"external {name}: either an address or data")
        if executable not in self._executables:
            self._executables[executable] = self.core.add_executable(executable)
        number = self._executables[executable]
        if data is not None:
            return self.core.define_data(name, bytes(data), agent, number)
        assert address is not None
        self.core.define(name, address, size, agent, number)
        return address

    def finalize(self) -> None:
        """Links and relocates everything. When this fails nothing has changed, and it can be tried again.

        Raises :class:`UnresolvedSymbolError` with all undefined names, :class:`RelocationError`, :class:`FinalizedError`.
        """
        self.core.finalize()

    @property
    def symbols(self) -> list[LoadedSymbol]:
        """What all objects define, local symbols included, then the externals."""
        objects, names = self.objects, self.core.executables
        return [_symbol(facts, objects, names) for facts in self.core.symbols()]

    def symbol(self, name: str, object: LoadedObject | None = None) -> LoadedSymbol:
        """A symbol of an object; without an object, the only exported definition or external of this name."""
        facts = self.core.symbol(name, None if object is None else object.number)
        return _symbol(facts, self.objects, self.core.executables)

    def read_symbol(self, name: str, object: LoadedObject | None = None) -> bytes:
        """The contents of the variable ``name``, of ``object`` if given."""
        symbol = self.symbol(name, object)
        return self.memory.read(symbol.address, symbol.size)

    def write_symbol(self, name: str, data: bytes, object: LoadedObject | None = None) -> None:
        """New contents ``data`` for the variable ``name``, all of it; of ``object`` if given."""
        symbol = self.symbol(name, object)
        if len(data) != symbol.size:
            raise ArgumentError(f"symbol {name} has {symbol.size} bytes, not {len(data)}")
        self.memory.write(symbol.address, data)

    def locate(self, address: int) -> Location | None:
        """The object, section, symbol and place in the file that a loaded address belongs to."""
        facts = self.core.locate(address)
        if facts is None:
            return None
        number = facts.pop("object")
        return Location(object=None if number is None else LoadedObject(self, number), **facts)

    def __enter__(self) -> MockLoader:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and not self.finalized:
            self.finalize()

    def __repr__(self) -> str:
        return repr(self.core)


def _symbol(facts: dict[str, Any], objects: list[LoadedObject], executables: list[str]) -> LoadedSymbol:
    number = facts["object"]
    owner = None if number is None else objects[number]
    return LoadedSymbol(**{**facts, "object": owner, "executable": executables[facts["executable"]]})
