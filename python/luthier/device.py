"""The mock device: loads code objects, runs kernels, shows what happened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from . import _core
from .arguments import Packed, Signature, check_workgroup, dimensions
from .code_object import CodeObject
from .errors import ArgumentError, DeviceError
from .linked import Linked
from .loader import MockLoader
from .observe import Session, Trace, request
from .planning import OnRejected, Planner, _distinct_names, check_on_rejected, no_kernel
from .report import Report, plain
from .tool import Tool

if TYPE_CHECKING:
    import numpy

#: Whether a launch is judged, or what by.
Strict: TypeAlias = "bool | Sequence[str]"


def finding_kinds() -> list[str]:
    """The kinds of findings that strict mode knows."""
    return _core.finding_kinds()


def strict_kinds(strict: Strict) -> list[str] | None:
    """What the native module is to look for; None for nothing."""
    if isinstance(strict, str):
        raise ArgumentError(f"strict={strict!r}: expected True, False or a list of kinds: {', '.join(finding_kinds())}")
    if isinstance(strict, bool):
        return _core.finding_kinds(usual=True) if strict else None
    return [str(kind) for kind in strict]


@dataclass
class RunResult:
    """What one launch did. Arrays among the arguments hold their new contents already."""

    module: Module
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    #: The arguments as given.
    args: list[Any]
    #: Instructions that waves retired, all of them ...
    instructions: int
    #: ... and those that are the original kernel's.
    app_instructions: int
    #: How long the device computed.
    seconds: float
    workgroups: int
    waves: int
    #: Instructions retired by mnemonic.
    histogram: dict[str, int]
    #: The same for the original kernel's instructions.
    app_histogram: dict[str, int]
    #: What strict mode found wrong; empty when all is well.
    findings: list[dict[str, Any]] = field(default_factory=list)

    @cached_property
    def reports(self) -> list[Report]:
        """The tools' reports, as of when they are first asked for."""
        return self.module.reports()

    @property
    def tools(self) -> dict[str, Any]:
        """Each tool's result, by name."""
        return {report.tool: report.result for report in self.reports}

    def to_dict(self) -> dict[str, Any]:
        """What ``luthier run --json`` writes (docs/report.md)."""
        return {
            "kernel": self.kernel,
            "target": self.module.code_object.target,
            "dispatch": {
                "grid": list(self.grid),
                "workgroup": list(self.block),
                "workgroups": self.workgroups,
                "waves": self.waves,
            },
            "emulator": {
                "instructions": self.instructions,
                "app_instructions": self.app_instructions,
                "seconds": self.seconds,
                "histogram": self.histogram,
                "app_histogram": self.app_histogram,
                "findings": self.findings,
            },
            "tools": plain(self.tools),
            "instrumentation": self.module.instrumentation,
        }


class Module:
    """A code object that is loaded on a device, with the tools that watch it.

    Its global variables, and the tools', live as long as it does: they keep their values from launch to launch.
    """

    def __init__(
        self,
        device: Device,
        code_object: CodeObject,
        tools: Sequence[Tool],
        kernels: Sequence[str] | None,
        check: bool,
        loaded_as: int | None = None,
        on_rejected: OnRejected = "warn",
    ):
        check_on_rejected(on_rejected)
        self.device = device
        #: The original.
        self.code_object = code_object
        self.tools = list(tools)
        self.instrumentation: dict[str, Any] | None = None
        #: What runs: the instrumented copy, if there are tools.
        self.loaded = code_object
        if tools:
            started = time.perf_counter()
            planner = Planner(code_object, tools)
            planner.ask(kernels)
            self.loaded = planner.finish(check, on_rejected)
            self.instrumentation = {**(self.loaded.instrumentation or {}), "seconds": time.perf_counter() - started}
        self._kernels: dict[str, tuple[dict[str, Any], Signature]] = {}
        self._id = device.core.load(self.loaded.core) if loaded_as is None else loaded_as
        if tools:
            planner.bind(self)

    def run(
        self,
        kernel: str,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any] = (),
        lds: int = 0,
        strict: Strict = False,
        cooperative: bool = False,
        cluster: Any = None,
        schedule: str | None = None,
    ) -> RunResult:
        """Runs a kernel: ``grid`` work-items in workgroups of ``block`` (an int, or up to three).

        ``args`` are the kernel's explicit arguments: NumPy arrays for pointers, None for a null pointer, an int for an
        address on the device; NumPy scalars, numbers or bytes for values. The kernel works on the arrays' own memory
        (a read-only array, or one that does not begin at a multiple of 16 bytes, is copied); its address on the device
        is good for this launch only. ``lds`` bytes
        of dynamic LDS are added to what the kernel declares. ``strict`` looks for mistakes that real hardware would
        hide, or make unpredictable: ``result.findings``. It may be the kinds of findings to look for, of
        :func:`finding_kinds`, instead of True for all but ``barrier-place``. ``cooperative`` has all workgroups under way together,
        so that each may wait for any other; a grid that no GPU could hold is a DeviceError. ``cluster`` is how many
        workgroups (an int, or up to three) make a cluster of gfx1250; without it, as many as the kernel was compiled for,
        or one. ``schedule`` is how waves take turns: ``"fair"``, ``"alternate"`` or ``"random:SEED"``.
        """
        return self._launch(kernel, grid, block, args, lds, strict_kinds(strict), None, cooperative, cluster, schedule)[0]

    def trace(
        self,
        kernel: str,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any] = (),
        lds: int = 0,
        events: Sequence[str] = (),
        snapshots: Sequence[int] = (),
        only: Sequence[int] = (),
        limit: int = 1 << 22,
        cooperative: bool = False,
        cluster: Any = None,
        schedule: str | None = None,
    ) -> Trace:
        """Runs a kernel as :meth:`run` does, and says what happened on the way.

        ``events`` may hold ``"instructions"``, ``"blocks"`` and ``"memory"``; they come from the instructions at the
        addresses ``only``, or from all. Before each instruction at one of the addresses ``snapshots``, all registers of
        the wave and its LDS are copied. Each of the device's threads keeps ``limit`` events of a kind. Watching costs time: an event for
        each instruction makes a run about twice as long, one for each lane's access ten times, or sixty where there is
        little but LDS; counts and waves come for next to nothing.
        """
        wanted = request(events, snapshots, only, limit)
        return Trace(*self._launch(kernel, grid, block, args, lds, None, wanted, cooperative, cluster, schedule))

    def session(
        self,
        kernel: str,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any] = (),
        lds: int = 0,
        cooperative: bool = False,
        cluster: Any = None,
    ) -> Session:
        """A launch that goes on only when it is told to, one instruction of one wave at a time. Its workgroups take turns
        where one has ended, or waits for global wave sync or the barrier of its cluster."""
        workgroups = None if cluster is None else dimensions("cluster", cluster)
        sizes, group, packed = self._prepare(kernel, grid, block, args, lds)
        try:
            inner = self.device.core.session(self._id, kernel, sizes, group, packed.kernarg, lds, cooperative, workgroups)
            return Session(self, kernel, inner, packed)
        except BaseException:
            packed.free(self.device.core)
            raise

    def _prepare(self, kernel: str, grid: Any, block: Any, args: Sequence[Any], lds: int) -> tuple[Any, Any, Packed]:
        if kernel not in self._kernels:
            facts = self.loaded.core.kernel(kernel)
            if facts is None:
                raise ArgumentError(no_kernel(self.code_object, kernel))
            self._kernels[kernel] = facts, Signature(kernel, facts)
        facts, signature = self._kernels[kernel]
        sizes, group = dimensions("grid", grid), dimensions("block", block)
        check_workgroup(kernel, facts, group)
        if not 0 <= lds < 1 << 32:
            raise ArgumentError(f"lds: {lds} is not a number of bytes")
        return sizes, group, signature.pack(list(args), self.device.core)

    def _launch(
        self,
        kernel: str,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        lds: int,
        strict: list[str] | None,
        watched: Any,
        cooperative: bool = False,
        cluster: Any = None,
        schedule: str | None = None,
    ) -> tuple[RunResult, Any]:
        core = self.device.core
        workgroups = None if cluster is None else dimensions("cluster", cluster)
        sizes, group, packed = self._prepare(kernel, grid, block, args, lds)
        try:
            how = cooperative, workgroups, schedule
            report = core.launch(self._id, kernel, sizes, group, packed.kernarg, lds, strict, watched, *how)
            packed.fetch(core)
        finally:
            packed.free(core)
        seen = report.pop("seen", None)
        return RunResult(self, kernel, sizes, group, list(args), **report), seen

    def reports(self) -> list[Report]:
        """Every tool's report on all launches so far."""
        names = _distinct_names(self.tools)
        found = []
        for tool in self.tools:
            report = Report(names[id(tool)])
            tool.on_exit(report)
            found.append(report)
        return found

    def read_symbol(self, name: str, dtype: Any = "uint8") -> numpy.ndarray:
        """The contents of a global variable, the tools' among them."""
        import numpy

        data = self.read_symbol_bytes(name)
        dtype = numpy.dtype(dtype)
        if len(data) % dtype.itemsize:
            raise ArgumentError(f"symbol {name} has {len(data)} bytes: not a whole number of {dtype}")
        return numpy.frombuffer(data, dtype).copy()

    def read_symbol_bytes(self, name: str) -> bytes:
        """The same as bytes."""
        address, size = self._symbol(name)
        return self.device.core.read(address, size) if size else b""

    def write_symbol_bytes(self, name: str, data: bytes) -> None:
        """New contents for a global variable."""
        address, size = self._symbol(name)
        if len(data) != size:
            raise ArgumentError(f"symbol {name} has {size} bytes, not {len(data)}")
        self.device.core.write(address, data)

    def _symbol(self, name: str) -> tuple[int, int]:
        found = self.device.core.symbol(self._id, name)
        if found is None:
            raise ArgumentError(f"{self.code_object.path or 'the code object'} has no symbol {name}")
        return found

    def __repr__(self) -> str:
        return f"<Module {self.loaded!r}>"


class Device:
    """A mock GPU. ``threads`` is how many CPU threads run workgroups (0: one for each core). A launch is given up, with a
    DeviceError that says where all waves are, when one workgroup has run ``watchdog`` instructions (100 billion unless
    told)."""

    def __init__(self, processor: str = "gfx90a", *, threads: int = 0, watchdog: int | None = None):
        if watchdog is not None and not 0 < watchdog < 1 << 64:
            raise ArgumentError(f"watchdog: {watchdog} is not a number of instructions")
        if processor not in _core.TARGETS:
            raise DeviceError(f"there is no mock device for {processor}: there is one for {', '.join(_core.TARGETS)}")
        self.processor = processor
        self.core = _core.Device(processor, threads, watchdog)
        self._modules: dict[tuple[Any, ...], tuple[Module, Any]] = {}

    @overload
    def load(self, source: MockLoader) -> Linked: ...
    @overload
    def load(
        self,
        source: Any,
        *,
        tools: Sequence[Tool] = (),
        kernels: Sequence[str] | None = None,
        check: bool = False,
        on_rejected: OnRejected = "warn",
    ) -> Module: ...
    def load(
        self,
        source: Any,
        *,
        tools: Sequence[Tool] = (),
        kernels: Sequence[str] | None = None,
        check: bool = False,
        on_rejected: OnRejected = "warn",
    ) -> Module | Linked:
        """Loads a code object (a :class:`CodeObject`, a file name, bytes), instrumented by ``tools``: all its kernels,
        or those named. ``check`` and ``on_rejected`` are those of :func:`luthier.instrument`.

        Of a finalized :class:`MockLoader` it loads the objects that are for this device's processor, linked as they are;
        objects are instrumented (:func:`luthier.instrument`) before they go into a loader."""
        if isinstance(source, MockLoader):
            if tools or kernels is not None or check:
                raise ArgumentError("a loader's objects are linked as they are: instrument them before they are loaded")
            return Linked(self, source)
        return Module(self, CodeObject.of(source, target=self.processor), tools, kernels, check, on_rejected=on_rejected)

    def run(
        self,
        source: Any,
        kernel: str,
        *,
        grid: Any,
        block: Any,
        args: Sequence[Any] = (),
        tools: Sequence[Tool] = (),
        lds: int = 0,
        strict: Strict = False,
        on_rejected: OnRejected = "warn",
    ) -> RunResult:
        """Loads a code object and launches a kernel (see :meth:`load` and :meth:`Module.run`).

        The same :class:`CodeObject` with the same tools again is not loaded again: its variables keep their values.
        """
        module = self._module(source, kernel, tools, on_rejected)
        return module.run(kernel, grid=grid, block=block, args=args, lds=lds, strict=strict)

    def trace(
        self, source: Any, kernel: str, *, tools: Sequence[Tool] = (), on_rejected: OnRejected = "warn", **launch: Any
    ) -> Trace:
        """Loads a code object and watches a launch (see :meth:`Module.trace`)."""
        return self._module(source, kernel, tools, on_rejected).trace(kernel, **launch)

    def session(
        self, source: Any, kernel: str, *, tools: Sequence[Tool] = (), on_rejected: OnRejected = "warn", **launch: Any
    ) -> Session:
        """Loads a code object and begins a launch that is told when to go on (see :meth:`Module.session`)."""
        return self._module(source, kernel, tools, on_rejected).session(kernel, **launch)

    def _module(self, source: Any, kernel: str, tools: Sequence[Tool], on_rejected: OnRejected) -> Module:
        if not isinstance(source, CodeObject):
            code_object = CodeObject.open(source, target=self.processor, kernel=kernel)
            return self.load(code_object, tools=tools, on_rejected=on_rejected)
        key = (on_rejected, id(source), *map(id, tools))
        if key not in self._modules:
            self._modules[key] = self.load(source, tools=tools, on_rejected=on_rejected), (source, tuple(tools))
        return self._modules[key][0]

    def __repr__(self) -> str:
        return f"<Device {self.processor}>"
