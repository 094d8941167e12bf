"""The objects of a mock loader on a mock device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.tracebacks import shortened
from ..errors import ArgumentError
from ..instrumenting.selection import kernel_names
from ..instrumenting.tool import AnyTool, Tool
from ..instrumenting.toolset import Toolset
from ..objects.code_object import CodeObject
from .launching import LaunchKeywords, launches

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from ..instrumenting.options import Instrumenting
    from ..instrumenting.selection import Select
    from ..objects.kernel import Kernel
    from ..objects.loader import MockLoader
    from ..reports.report import Report
    from .mock_device import Device
    from .module import Module
    from .results import RunResult


class Linked:
    """What :meth:`Device.load` makes of a finalized :class:`MockLoader`: the objects that are for this device, each a
    module, at the addresses that the loader gave them. They call each other's functions and use each other's variables.

    The device has its own copy of their memory: what kernels write is read here, not in the loader.
    """

    def __init__(
        self,
        device: Device,
        loader: MockLoader,
        tools: Sequence[AnyTool] = (),
        kernels: Sequence[str | Kernel] | None = None,
        how: Instrumenting | None = None,
        *,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
    ):
        from .module import Module

        self.device = device
        self.loader = loader
        objects = loader.objects
        wanted = kernel_names(kernels)
        made = Toolset(tools).tools
        some = {name: Toolset(given).tools for name, given in (variants or {}).items()}
        loaded = device.core.load_linked(loader.core)
        #: By the number of the loader's object.
        self.modules: dict[int, Module] = {}
        for number, module in loaded:
            code_object = CodeObject.from_memory(objects[number]) if made or some else objects[number].code_object
            code_object.path = objects[number].name
            mine = [name for name in code_object.core.kernels if wanted is None or name in wanted]
            if not mine or not (made or some):
                self.modules[number] = Module(device, code_object, loaded_as=module)
                continue
            self.modules[number] = Module(device, code_object, made, mine, how, select=select, variants=some, loaded_as=module)
        for name in wanted or ():
            self.module(name)

    def module(self, kernel: str) -> Module:
        """The only module that has a kernel of this name."""
        found = [m for m in self.modules.values() if m.code_object.core.kernel(kernel) is not None]
        if len(found) == 1:
            return found[0]
        names = ", ".join(str(m.code_object.path) for m in found or self.modules.values())
        if not found:
            raise ArgumentError(f"none of the loader's objects has a kernel {kernel}: {names}")
        raise ArgumentError(f"several of the loader's objects have a kernel {kernel}: {names}; run it through modules[number]")

    @shortened
    @launches
    def run(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> RunResult:
        """Runs a kernel of any of the objects; see :meth:`Module.run`. The keywords are those of :class:`luthier.LaunchKeywords`."""
        return self.module(kernel).run(kernel, **launch)

    def read_symbol(self, name: str, dtype: Any = "uint8") -> numpy.ndarray:
        """The contents of the variable ``name`` of any of the objects, or of an external that the loader keeps, as an array of ``dtype``."""
        import numpy

        symbol = self.loader.symbol(name)
        dtype = numpy.dtype(dtype)
        if symbol.size % dtype.itemsize:
            raise ArgumentError(f"symbol {name} has {symbol.size} bytes: not a whole number of {dtype}")
        data = self.device.core.read(symbol.address, symbol.size) if symbol.size else b""
        return numpy.frombuffer(data, dtype).copy()

    def write_symbol_bytes(self, name: str, data: bytes) -> None:
        """New contents ``data`` for the variable ``name``."""
        symbol = self.loader.symbol(name)
        if len(data) != symbol.size:
            raise ArgumentError(f"symbol {name} has {symbol.size} bytes, not {len(data)}")
        self.device.core.write(symbol.address, data)

    @property
    def tools(self) -> list[Tool]:
        """The tools of all modules."""
        return list({id(tool): tool for module in self.modules.values() for tool in module.tools}.values())

    def reports(self) -> list[Report]:
        """Every tool's report on all launches so far, of all modules."""
        return Toolset(self.tools).reports()

    def __repr__(self) -> str:
        return f"<Linked {len(self.modules)} objects>"
