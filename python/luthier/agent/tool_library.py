"""The hooks of a HIP library that is a tool itself: from the bitcode that it embeds, with the variables that HIP has loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import LoadError, LuthierError, ToolError
from ..instrumenting.homes import Home
from ..instrumenting.library import HookLibrary
from ..instrumenting.values import Borrowed, DeviceArray
from . import bundles

if TYPE_CHECKING:
    from .. import _core
    from .loaded import Loaded
    from .modules import ToolModule


class ModuleLibrary(HookLibrary):
    """The hooks of a tool module. Its variables are those that HIP has made for the module: one of each on each GPU, and one of
    a managed variable for all."""

    def __init__(self, module: ToolModule):
        try:
            made = HookLibrary.from_code_object(bundles.plain(module.code_objects), identity=module.cuid)
        except LoadError as error:
            raise ToolError(f"the tool module {module.cuid or module.handle}: {error}") from None
        vars(self).update(vars(made))
        self._tool_module = module

    def module(self, processor: str, wave: int) -> _core.HookModule:
        """As of :class:`HookLibrary`. ToolError where the module has nothing for the processor: its tool cannot do anything."""
        try:
            return super().module(processor, wave)
        except LoadError as error:
            raise ToolError(f"{self!r}: {error}") from None

    @property
    def variables(self) -> dict[str, DeviceArray]:
        """By name, as :attr:`HookLibrary.variables`; they are read in the process, and when HIP is about to free them for the
        last time."""
        if self._variables is None:
            found = super().variables
            managed = {spoken for _, spoken, *_, is_managed in self._any().variables if is_managed}
            self._variables = {name: ModuleVariable(self._tool_module, v, name in managed) for name, v in found.items()}
        return self._variables

    def keep(self) -> None:
        """HIP is going to free the variables: from now on they have what they have now."""
        for variable in self.variables.values():
            if isinstance(variable, ModuleVariable):
                variable.keep()

    def __repr__(self) -> str:
        return f"<HookLibrary of the tool module {self._tool_module.cuid}>"


class ModuleVariable(Borrowed):
    """A variable of a tool module, in memory of the process."""

    def __init__(self, module: ToolModule, like: DeviceArray, is_managed: bool):
        super().__init__(like.dtype, like.n, name=like.name)
        self.init, self.align, self.is_numbers = like.init, like.align, like.is_numbers
        self._tool_module, self._is_managed = module, is_managed
        self._is_kept = False

    def address(self, where: Loaded) -> int:
        """Where it is on the GPU of a loaded code object."""
        if self._is_managed:
            return self._managed()
        for loaded in self._tool_module.loaded:
            if loaded.gpu == where.gpu:
                return loaded.address(str(self.name))
        raise ToolError(f"{self.name}: HIP has not loaded the tool module on GPU {where.gpu}")

    def _managed(self) -> int:
        known = self._tool_module.managed.get(str(self.name))
        if known is None or not known.address:
            raise ToolError(f"the managed variable {self.name} is not there before HIP has initialised its module")
        return known.address

    def _places(self) -> Iterator[tuple[tuple[object, ...], int]]:
        if self._is_managed:
            yield (), self._managed()
            return
        for loaded in self._tool_module.loaded:
            yield (loaded, loaded.gpu), loaded.address(str(self.name))

    def _look(self) -> None:
        if not self._is_kept:
            app = self._tool_module.app
            self._homes = [(_InProcess(app, address, of), "") for of, address in self._places()]

    def _part(self, start: int, size: int) -> bytes:
        self._look()
        return super()._part(start, size)

    def _write(self, data: bytes) -> None:
        self._look()
        super()._write(data)

    def on(self, what: object) -> ModuleVariable:
        """The variable on one GPU, by its number, or of one of the module's loaded code objects."""
        self._look()
        alone = super().on(what)
        alone._is_kept = True  # the place, not what is in it
        return alone

    def keep(self) -> None:
        """Remembers what is in it now."""
        try:
            self._look()
            self._homes = [(_Kept(home.read(symbol, 0, self.size), home.of), symbol) for home, symbol in self._homes]
        except LuthierError:
            self._homes = []  # HIP has never initialised the module: it has what it begins with
        self._is_kept = True


class _InProcess(Home):
    """Memory of a process."""

    def __init__(self, app: Any, address: int, of: tuple[object, ...]):
        self._app, self._address, self.of = app, address, of

    def read(self, symbol: str, start: int, size: int) -> bytes:
        return self._app.read(self._address + start, size) if size else b""

    def write(self, symbol: str, start: int, data: bytes) -> None:
        self._app.write(self._address + start, data)


class _Kept(Home):
    """What was in such memory."""

    def __init__(self, data: bytes, of: tuple[object, ...]):
        self._data, self.of = data, of

    def read(self, symbol: str, start: int, size: int) -> bytes:
        return self._data[start : start + size]

    def write(self, symbol: str, start: int, data: bytes) -> None:
        raise ToolError("a tool module's variables cannot be changed any more: HIP has freed them")
