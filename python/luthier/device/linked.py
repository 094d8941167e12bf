"""The objects of a mock loader on a mock device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from .launching import LaunchKeywords, launches

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from ..objects.loader import MockLoader
    from .mock_device import Device
    from .module import Module
    from .results import RunResult
from ..base.tracebacks import shortened


class Linked:
    """What :meth:`Device.load` makes of a finalized :class:`MockLoader`: the objects that are for this device, each a
    module, at the addresses that the loader gave them. They call each other's functions and use each other's variables.

    The device has its own copy of their memory: what kernels write is read here, not in the loader.
    """

    def __init__(self, device: Device, loader: MockLoader):
        from .module import Module

        self.device = device
        self.loader = loader
        objects = loader.objects
        loaded = device.core.load_linked(loader.core)
        #: By the number of the loader's object.
        self.modules: dict[int, Module] = {}
        for number, module in loaded:
            code_object = objects[number].code_object
            code_object.path = objects[number].name
            self.modules[number] = Module(device, code_object, (), None, False, module)

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
        """Runs a kernel of any of the objects; see :meth:`Module.run`."""
        return self.module(kernel).run(kernel, **launch)

    def read_symbol(self, name: str, dtype: Any = "uint8") -> numpy.ndarray:
        """The contents of a variable of any of the objects, or of an external that the loader keeps."""
        import numpy

        symbol = self.loader.symbol(name)
        dtype = numpy.dtype(dtype)
        if symbol.size % dtype.itemsize:
            raise ArgumentError(f"symbol {name} has {symbol.size} bytes: not a whole number of {dtype}")
        data = self.device.core.read(symbol.address, symbol.size) if symbol.size else b""
        return numpy.frombuffer(data, dtype).copy()

    def write_symbol_bytes(self, name: str, data: bytes) -> None:
        """New contents for such a variable."""
        symbol = self.loader.symbol(name)
        if len(data) != symbol.size:
            raise ArgumentError(f"symbol {name} has {symbol.size} bytes, not {len(data)}")
        self.device.core.write(symbol.address, data)

    def __repr__(self) -> str:
        return f"<Linked {len(self.modules)} objects>"
