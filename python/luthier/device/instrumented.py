"""Tools over a code object on a mock device: instrumented as a whole, or beside the original."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..instrumenting.channels import Source, sources_of
from ..instrumenting.homes import Home
from ..instrumenting.options import Instrumenting
from ..instrumenting.toolset import Toolset

if TYPE_CHECKING:
    from .. import _core
    from ..objects.code_object import CodeObject
    from ..objects.kernel import Kernel

#: The names of the original, and of the kernels with all that the tools of ``tools=`` insert.
ORIGINAL, FULL = "original", "full"


class DeviceHome(Home):
    """Memory of a mock device in which tools' variables are."""

    def __init__(self, core: _core.Device, places: dict[str, tuple[int, int]], of: tuple[object, ...] = ()):
        self._core = core
        #: Address and size of each, by symbol.
        self.places = places
        self.of = of

    def read(self, symbol: str, start: int, size: int) -> bytes:
        """``size`` bytes of a variable, from byte ``start`` on."""
        return self._core.read(self.places[symbol][0] + start, size) if size else b""

    def write(self, symbol: str, start: int, data: bytes) -> None:
        """New contents for some of its bytes, from ``start`` on."""
        self._core.write(self.places[symbol][0] + start, data)


@dataclass(eq=False)
class Variant:
    """What a launch can run: the original, or what has been made of it for some tools."""

    name: str
    #: The module's number on the device.
    id: int
    #: What runs.
    loaded: CodeObject
    toolset: Toolset
    #: Where the tools' variables are; none of the original.
    home: DeviceHome | None = None
    #: What was done; see docs/report.md.
    instrumentation: dict[str, Any] | None = None
    #: The rings of the tools' channels.
    sources: Sequence[Source] = ()


class Instrumented:
    """What tools want of a code object: asked once, and then made."""

    def __init__(self, code_object: CodeObject, toolset: Toolset, kernels: Iterable[str | Kernel] | None):
        from ..instrumenting.planning import Planner

        self._started = time.perf_counter()
        self.toolset = toolset
        toolset.check_sizes()
        self._planner = Planner(code_object, toolset)
        self._planner.ask(kernels)
        toolset.check_sizes()  # some variables are made for a kernel

    def whole(self, how: Instrumenting, alone: bool) -> CodeObject:
        """The code object with the hooks in it: what the original has is where it was, and the hooks are behind it. ``alone``:
        no other kernels than those that tools were asked about will run."""
        return self._planner.finish(how, alone=alone)

    def bind(self, core: _core.Device, id: int, name: str, loaded: CodeObject, of: tuple[object, ...] = ()) -> Variant:
        """Has the tools' variables be those of a module that was loaded from :meth:`whole`."""
        found = {symbol: core.symbol(id, symbol) for symbol in self._planner.variables}
        home = DeviceHome(core, {symbol: at for symbol, at in found.items() if at is not None}, of)
        return self._variant(core, id, name, loaded, home)

    def beside(self, core: _core.Device, base: int, name: str, how: Instrumenting, of: tuple[object, ...] = ()) -> Variant:
        """Loads an object with the instrumented kernels beside the original, whose vaddr 0 is at ``base``. Both have one set of
        the original's variables."""
        from ..instrumenting.planning import Beside

        variables = self._planner.variables
        places = {symbol: (core.alloc(max(variable.size, 1)), variable.size) for symbol, variable in variables.items()}
        for symbol, variable in variables.items():
            if variable.init:
                core.write(places[symbol][0], variable.init)
        addresses = {symbol: address for symbol, (address, _) in places.items()}
        made = self._planner.finish(how, beside=Beside(base, addresses, of))
        return self._variant(core, core.load(made.core), name, made, DeviceHome(core, places, of))

    def _variant(self, core: _core.Device, id: int, name: str, loaded: CodeObject, home: DeviceHome) -> Variant:
        self._planner.bind(home)
        sources = sources_of(self.toolset.tools, home)
        for source in sources:
            core.host_takes_part(*home.places[source.ring.symbol])
        did = {**(loaded.instrumentation or {}), "seconds": time.perf_counter() - self._started}
        return Variant(name, id, loaded, self.toolset, home, did, sources)
