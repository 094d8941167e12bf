"""HIP libraries that are tools themselves: recognised when they are registered, and their kernels kept apart.

A tool module is compiled by HIP like any other; it has hooks as device functions, reached from kernels that are never launched,
and a managed variable named ``__luthier_reserved``, which marks it. HIP loads it, so that its variables are there; its kernels
are not registered.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import LuthierError, ToolError
from . import bundles
from .calls import Call

if TYPE_CHECKING:
    from ..instrumenting.library import HookLibrary
    from .app import App
    from .loaded import Loaded

#: The managed variable that marks a tool module.
MARK = "__luthier_reserved"
_CUID = "__hip_cuid_"
_WRAPPER = struct.Struct("<IIQQ")
_WRAPPERS_MAGIC = 0x48495046
_REGISTER = "__hipRegisterFatBinary"
_UNREGISTER = "__hipUnregisterFatBinary"
_PARTS = ("__hipRegisterFunction", "__hipRegisterManagedVar", "__hipRegisterVar")


@dataclass(frozen=True)
class ManagedVariable:
    """A managed variable of a tool module: memory that both processors have, once HIP has initialised the module."""

    name: str
    size: int
    #: Where HIP writes the variable's address.
    pointer: int
    app: App = field(repr=False)

    @property
    def address(self) -> int:
        """Where it is; 0 before HIP has initialised the module."""
        return int.from_bytes(self.app.read(self.pointer, 8), "little")

    def read(self) -> bytes:
        """What it has now."""
        if not self.address:
            raise ToolError(f"the managed variable {self.name} is not there before HIP has initialised its module")
        return self.app.read(self.address, self.size)


@dataclass
class ToolModule:
    """A tool module of a process."""

    #: HIP's handle.
    handle: int
    #: Its code objects, by target id.
    code_objects: dict[str, bytes]
    #: Tells it from other modules: what follows ``__hip_cuid_`` in the name of a symbol of each of its code objects. None for
    #: compilers that make none.
    cuid: str | None
    app: App = field(repr=False)
    #: Kernels that were not registered, by the address of their host stubs.
    kernels: dict[int, str] = field(default_factory=dict)
    managed: dict[str, ManagedVariable] = field(default_factory=dict)
    #: Other device variables, by the address of their host shadows.
    variables: dict[int, str] = field(default_factory=dict)

    @cached_property
    def library(self) -> HookLibrary:
        """Its device functions as hooks, of the bitcode that it embeds: ``module.library["name"]``. Their variables are those that
        HIP has loaded, which the module's own host code has, too: ``module.library.variables["name"]`` reads them. LoadError
        where it embeds none."""
        from .tool_library import ModuleLibrary

        return ModuleLibrary(self)

    def keep(self) -> None:
        """HIP is going to take it down."""
        library = vars(self).get("library")
        if library is not None:
            library.keep()

    @property
    def loaded(self) -> list[Loaded]:
        """Its code objects as they are loaded now, on each GPU."""
        if self.cuid is None:
            known = set(self.code_objects.values())
            return [loaded for loaded in self.app.objects if loaded.data in known]
        symbol = _CUID + self.cuid
        return [o for o in self.app.objects if o.code_object.core.symbol(symbol) is not None]


class Registrations:
    """Hears of what is registered with HIP."""

    def __init__(self, app: App):
        self._app = app
        self.modules: list[ToolModule] = []
        self._open: ToolModule | None = None
        self.first = _Hearer(("enter", "exit"), self._fat_binary)
        self._rest = _Hearer(("enter",), self._part)
        self._last = _Hearer(("enter",), self._taken_down)
        self._app._hear((_REGISTER,), self.first, True)

    def _fat_binary(self, call: Call) -> None:
        if call.phase == "enter":
            self._open = self._recognised(call)
            return
        # What a compiler registers next belongs to this module.
        self._app._hear(_PARTS, self._rest, self._open is not None)
        if self._open is not None:
            self._open.handle = call.result or 0
            self.modules.append(self._open)
            self._app._hear((_UNREGISTER,), self._last, True)
            # HIP loads it when it starts, not when a kernel of it is launched: none is.
            self._app.set_variable("HIP_ENABLE_DEFERRED_LOADING", "0")

    def _recognised(self, call: Call) -> ToolModule | None:
        """The module that is registered, if it is a tool's."""
        from .. import _core

        found: dict[str, bytes] = {}
        magic, version, binary, _ = _WRAPPER.unpack(call.read(call.args.data, _WRAPPER.size))
        if magic != _WRAPPERS_MAGIC:
            return None
        compressed = bundles.is_compressed(call.read, binary)
        try:
            entries = bundles.entries(call.read, binary)
        except LuthierError:
            return None  # HIP will say what is wrong with it
        for target, data in entries:
            try:
                core = _core.CodeObject.parse(data)
            except LuthierError:
                return None
            if core.symbol(MARK) is None:
                return None
            found[target] = data
        if not found:
            return None
        if compressed:
            # HIP loads it when it starts, and need not know of compression.
            bundle = bundles.plain(found)
            wrapper = _WRAPPER.pack(magic, version, 0, 0)
            address = self._app._keep(bundle + wrapper)
            self._app.write(address + len(bundle), _WRAPPER.pack(magic, version, address, 0))
            call.args.data = address + len(bundle)
        symbols = _core.CodeObject.parse(next(iter(found.values()))).inspect()["symbols"]
        names = [s["name"] for s in symbols if s["name"].startswith(_CUID)]
        return ToolModule(0, found, names[0].removeprefix(_CUID) if names else None, self._app)

    def _part(self, call: Call) -> None:
        module, args = self._open, call.args
        if module is None or args.modules != module.handle:
            return
        if call.name == "__hipRegisterFunction":
            module.kernels[args.hostFunction] = args.deviceName
            call.skip()
        elif call.name == "__hipRegisterManagedVar":
            module.managed[args.name] = ManagedVariable(args.name, args.size, args.pointer, self._app)
        else:
            module.variables[args.var] = args.deviceVar

    def _taken_down(self, call: Call) -> None:
        for module in self.modules:
            if module.handle == call.args.modules:
                module.keep()


@dataclass(frozen=True)
class _Hearer:
    """What hears of calls, as a tool does."""

    phases: tuple[str, ...]
    on_hip: object
    stacks: bool = False
