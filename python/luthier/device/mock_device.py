"""The mock device: loads code objects, runs kernels, shows what happened."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from .. import _core
from ..base.tracebacks import shortened
from ..errors import ArgumentError, DeviceError
from ..instrumenting.options import Instrumenting, InstrumentKeywords, instrumenting, instruments, taken
from ..instrumenting.selection import Select, listed
from ..instrumenting.tool import AnyTool
from ..objects.code_object import CodeObject
from ..objects.loader import MockLoader
from .launching import LaunchKeywords, launches
from .linked import Linked
from .memory import HostMemory, allocate
from .module import LaunchWatch, Module
from .observe import Events, Session, Trace
from .printing import Printer, TextOutput
from .properties import Properties, properties_of
from .results import RunResult
from .unwritten import empty

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from ..objects.kernel import Kernel
    from .debug.stage import Stage

_M = TypeVar("_M", bound=Callable[..., Any])


def finding_kinds() -> list[str]:
    """The kinds of findings that strict mode knows."""
    return _core.finding_kinds()


class RunKeywords(LaunchKeywords, InstrumentKeywords, total=False):
    """The keywords of ``run``, ``trace`` and ``session`` of :class:`luthier.Device`: those of a launch, those of everything that
    instruments, and which tools. See :meth:`luthier.Device.load`."""

    tools: Sequence[AnyTool]
    select: Sequence[Select | str]
    variants: Mapping[str, Sequence[AnyTool]] | None


def _runs(method: _M) -> _M:
    """Shows all that :class:`RunKeywords` takes in the signature of a method."""
    shown = inspect.signature(launches(instruments(method)))
    given: dict[str, Any] = {"tools": (), "select": (), "variants": None}
    tools = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in given.items()]
    method.__signature__ = shown.replace(parameters=[*shown.parameters.values(), *tools])  # type: ignore[attr-defined]
    return method


class Progress(NamedTuple):
    """How far a launch is."""

    #: Since it began.
    seconds: float
    #: Retired by all waves, up to a few thousand.
    instructions: int
    #: That have ended, ...
    workgroups: int
    #: ... and all.
    of: int

    def __str__(self) -> str:
        done = f"{self.workgroups:,} of {self.of:,} workgroups done, {self.instructions:,} instructions"
        return f"running for {self.seconds:.0f} s: {done}"


class Device:
    """A mock GPU, the processor ``processor``. ``threads`` is how many CPU threads run workgroups (0: one for each core).

    A launch is given up, with a DeviceError that says where all waves are, when one workgroup has run ``watchdog``
    instructions (100 billion unless told), or when it has taken ``timeout`` seconds (never, unless told). ``progress`` is
    called about once a second while a launch goes on, with a :class:`Progress`. ``compute_units`` is what
    :attr:`properties` says; nothing else depends on it. ``output`` has a ``write`` that gets the text that kernels print
    (``printf``, failed assertions), in the thread that launches; without it, ``sys.stdout`` and ``sys.stderr`` get it."""

    def __init__(
        self,
        processor: str = "gfx90a",
        *,
        threads: int = 0,
        watchdog: int | None = None,
        timeout: float | None = None,
        progress: Callable[[Progress], object] | None = None,
        compute_units: int = 8,
        output: TextOutput | None = None,
    ):
        if timeout is not None and not 0 < timeout < 1e9:
            raise ArgumentError(f"timeout: {timeout!r} is not a number of seconds")
        if watchdog is not None and not 0 < watchdog < 1 << 64:
            raise ArgumentError(f"watchdog: {watchdog} is not a number of instructions")
        if processor not in _core.TARGETS:
            raise DeviceError(f"there is no mock device for {processor}: there is one for {', '.join(_core.TARGETS)}")
        self.processor = processor
        self.core = _core.Device(processor, threads, watchdog, timeout)
        #: What is shared with the device for as long as it lives.
        self.memory = HostMemory(self.core)
        #: Takes what kernels print to its output.
        self.printer = Printer(self.core, output)
        #: Looks at launches, if there is one.
        self.launch_watch: LaunchWatch | None = None
        self._compute_units = compute_units
        self.progress = None if progress is None else lambda *facts: progress(Progress(*facts))
        self._modules: dict[tuple[Any, ...], tuple[Module, Any]] = {}

    @property
    def properties(self) -> Properties:
        """LDS, wave sizes, registers and other limits of the processor."""
        return properties_of(self.processor, self._compute_units)

    def share(self, array: Any) -> int:
        """Makes the memory of a NumPy array or of a torch tensor on the CPU the device's as well, for as long as the array
        lives, at the addresses that it has in this process. Gives the address of its first element (``array.ctypes.data``,
        ``tensor.data_ptr()``), which kernels can be given as an argument or find in memory. Of a view, all the memory that
        it is a view of is shared. Nothing is copied. ArgumentError for what has no memory of its own here, and for arrays
        that map a file; DeviceError where the device has something else at these addresses."""
        return self.memory.share(array)

    def alloc(self, size: int) -> numpy.ndarray:
        """``size`` bytes of zeros, shared (see :meth:`share`), as an array of uint8 that begins at a multiple of 256. They
        are freed with the last array that looks at them."""
        if not hasattr(size, "__index__") or size.__index__() < 0:
            raise ArgumentError(f"alloc: {size!r} is not a number of bytes")
        array = allocate(size.__index__())
        self.memory.share(array)
        return array

    def array(self, values: Any, dtype: Any = None) -> numpy.ndarray:
        """A new array with these ``values``, made as by :func:`numpy.asarray` with ``dtype``, in memory of :meth:`alloc`."""
        import numpy

        given = numpy.asarray(values, dtype)
        if given.dtype.hasobject:
            raise ArgumentError("array: Python objects have no bytes that a kernel could read")
        array = self.alloc(given.nbytes).view(given.dtype).reshape(given.shape)
        array[...] = given
        return array

    def empty(self, shape: Any, dtype: Any = float) -> numpy.ndarray:
        """A new array of ``shape`` and ``dtype`` in memory of :meth:`alloc` whose elements nothing has written. They hold NaNs, and a launch with
        ``strict=["undefined-memory"]`` finds what depends on them. What this process or a kernel stores there is written."""
        array = empty(shape, dtype)
        self.memory.share(array)
        return array

    @overload
    def load(  # pyright: ignore[reportOverlappingOverload]  # Any takes all
        self,
        source: MockLoader,
        *,
        tools: Sequence[AnyTool] = (),
        kernels: Sequence[str | Kernel] | None = None,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
        **how: Unpack[InstrumentKeywords],
    ) -> Linked: ...
    @overload
    def load(
        self,
        source: Any,
        *,
        tools: Sequence[AnyTool] = (),
        kernels: Sequence[str | Kernel] | None = None,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
        **how: Unpack[InstrumentKeywords],
    ) -> Module: ...
    @shortened
    @instruments
    def load(
        self,
        source: Any,
        *,
        tools: Sequence[AnyTool] = (),
        kernels: Sequence[str | Kernel] | None = None,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
        **how: Unpack[InstrumentKeywords],
    ) -> Module | Linked:
        """Loads ``source``, a code object (a :class:`CodeObject`, a file name, bytes), instrumented by ``tools``: all its kernels,
        or those named. An instance of a tool may serve several modules and devices; its variables tell of all of them.

        With ``select`` (:class:`luthier.Select`, or texts as for ``--select``) the tools are about some launches only, and the
        others run the original. ``variants`` are tools by name: ``{"counts": [...], "addresses": [...]}``; a launch says what it
        runs with ``variant=``, one of these, ``"full"`` (what ``tools`` insert) or ``"original"``. In both cases what is made for
        tools lies beside the original, and all use one set of its variables; kernels that call through pointers cannot be
        instrumented so, which is told as any rejection is.

        Of a finalized :class:`MockLoader` it loads the objects that are for this device's processor, linked as they are, and
        what is made of them beside them.

        The other keywords are those of :class:`luthier.instrumenting.options.InstrumentKeywords`."""
        options = instrumenting(how)
        if isinstance(source, MockLoader):
            return Linked(self, source, tools, kernels, options, select=select, variants=variants)
        code_object = CodeObject.of(source, target=self.processor)
        return Module(self, code_object, tools, kernels, options, select=select, variants=variants)

    @shortened
    @_runs
    def run(self, source: Any, kernel: str, **keywords: Unpack[RunKeywords]) -> RunResult:
        """Loads a code object and launches a kernel (see :meth:`Module.run`). Tools instrument this kernel only; to watch
        several kernels of an object with the same tools, :meth:`load` it once and run them from there.

        The same :class:`CodeObject` with the same tools and the same kernel again is not loaded again: its variables keep
        their values.

        :param source: a code object, the path of a file, or bytes.
        :param kernel: the name of the kernel.
        :param keywords: those of a launch (:class:`luthier.LaunchKeywords`), ``tools``, ``select`` and ``variants`` of :meth:`load`, and how to
            instrument (:class:`luthier.instrumenting.options.InstrumentKeywords`).
        :returns: what the launch did; arrays among the arguments hold their new contents.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        :raises LoadError: for a file that holds no code object for this processor.
        :raises NothingInsertedError: if nothing of a tool could be inserted.
        """
        module, launch = self._module(source, kernel, keywords)
        return module.run(kernel, **launch)

    @shortened
    @_runs
    def trace(
        self,
        source: Any,
        kernel: str,
        *,
        events: Sequence[str] = (),
        snapshots: Sequence[int] = (),
        only: Sequence[int] = (),
        limit: int = 1 << 22,
        on_events: Callable[[Events], object] | None = None,
        **keywords: Unpack[RunKeywords],
    ) -> Trace:
        """Loads a code object and watches a launch (see :meth:`Module.trace`).

        :param source: a code object, the path of a file, or bytes.
        :param kernel: the name of the kernel.
        :param events: any of ``"instructions"``, ``"blocks"`` and ``"memory"``.
        :param snapshots: addresses of instructions before which registers are copied.
        :param only: the addresses that events come from; all without.
        :param limit: events of a kind that each of the device's threads keeps.
        :param on_events: hears of events while the kernel runs, so that none are kept.
        :param keywords: those of a launch (:class:`luthier.LaunchKeywords`), ``tools``, ``select`` and ``variants`` of :meth:`load`, and how to
            instrument (:class:`luthier.instrumenting.options.InstrumentKeywords`).
        :returns: the events, the snapshots, and the result of the launch.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        :raises LoadError: for a file that holds no code object for this processor.
        """
        module, launch = self._module(source, kernel, keywords)
        return module.trace(kernel, events=events, snapshots=snapshots, only=only, limit=limit, on_events=on_events, **launch)

    @shortened
    @_runs
    def session(self, source: Any, kernel: str, **keywords: Unpack[RunKeywords]) -> Session:
        """Loads a code object and begins a launch that is told when to go on (see :meth:`Module.session`).

        :param source: a code object, the path of a file, or bytes.
        :param kernel: the name of the kernel.
        :param keywords: those of a launch (:class:`luthier.LaunchKeywords`), ``tools``, ``select`` and ``variants`` of :meth:`load`, and how to
            instrument (:class:`luthier.instrumenting.options.InstrumentKeywords`).
        :returns: the launch, before its first instruction.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        :raises LoadError: for a file that holds no code object for this processor.
        """
        module, launch = self._module(source, kernel, keywords)
        return module.session(kernel, **launch)

    @shortened
    @_runs
    def debug(self, source: Any, kernel: str, **keywords: Unpack[RunKeywords]) -> Stage:
        """Loads a code object and begins a launch that stops anywhere and goes back (see :meth:`Module.debug`).

        :param source: a :class:`CodeObject`, a file name, or bytes.
        :param kernel: its name.
        :param keywords: those of a launch (:class:`luthier.LaunchKeywords`), ``tools``, ``select`` and ``variants`` of :meth:`load`, and how to
            instrument (:class:`luthier.instrumenting.options.InstrumentKeywords`).
        :returns: the launch, before its first instruction.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin.
        :raises LoadError: for a file that holds no code object for this processor.
        """
        module, launch = self._module(source, kernel, keywords)
        return module.debug(kernel, **launch)

    def _module(self, source: Any, kernel: str, keywords: RunKeywords) -> tuple[Module, LaunchKeywords]:
        """The module that is to run, and what is left of the keywords."""
        launch: Any = dict(keywords)
        how = taken(launch)
        tools, select, variants = launch.pop("tools", ()), launch.pop("select", ()), launch.pop("variants", None)
        if not isinstance(source, CodeObject):
            code_object = CodeObject.open(source, target=self.processor, kernel=kernel)
            return self.load_alone(code_object, kernel, tools, how, select=select, variants=variants), launch
        every = [tools, *(variants or {}).values()]
        key = (
            how,
            (kernel,) if any(every) else None,
            id(source),
            listed(select),
            tuple(variants or ()),
            *(tuple(tool if isinstance(tool, str) else id(tool) for tool in some) for some in every),
        )
        if key not in self._modules:
            module = self.load_alone(source, kernel, tools, how, select=select, variants=variants)
            self._modules[key] = module, (source, *map(tuple, every))
        return self._modules[key][0], launch

    def load_alone(
        self,
        code_object: CodeObject,
        kernel: str,
        tools: Sequence[AnyTool],
        how: Instrumenting | None = None,
        *,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
    ) -> Module:
        """The same as :meth:`load` of ``code_object``, of which, if there are tools, only ``kernel`` will run: what it calls through a
        pointer can then lead to instrumented code, even where other kernels might call it, unless the original is kept beside it
        (``select``, ``variants``). ``how`` says how to instrument."""
        kernels = (kernel,) if tools or variants else None
        return Module(self, code_object, tools, kernels, how, select=select, variants=variants, alone=True)

    def __repr__(self) -> str:
        return f"<Device {self.processor}>"
