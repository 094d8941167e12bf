"""A code object that is loaded on a device, and its launches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ..base.tracebacks import shortened
from ..errors import ArgumentError, DeviceError
from ..instrumenting.channels import Reader, channels_of
from ..instrumenting.planning import OnRejected, Planner, _distinct_names, check_on_rejected
from ..instrumenting.tool import AnyTool, check_sizes, instances
from ..objects.code_object import CodeObject, no_kernel
from ..reports import spool
from ..reports.findings import Finding
from ..reports.report import Report
from .arguments import Packed, Place, Signature, check_workgroup
from .launching import Launch, LaunchKeywords, launch_of, launches, warn_of_small_grid
from .observe import Session, Trace, request
from .printing import may_print
from .results import RunResult
from .where import explained, farthest, in_lds, place_of, source_text

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from ..objects.kernel import Kernel
    from .mock_device import Device


class LaunchWatch(Protocol):
    """What looks at each launch of a device's, before and after."""

    def begins(self, module: Module, launch: Launch, kernarg: bytes, places: list[Place]) -> None:
        """Memory is as the launch finds it."""

    def ends(self, module: Module, launch: Launch, error: DeviceError | None) -> None:
        """Memory is as the launch has left it, or it was stopped."""


class Module:
    """A code object that is loaded on a device, with the tools that watch it.

    Its global variables, and the tools', live as long as it does: they keep their values from launch to launch. ``alone``
    says that no other kernels than ``kernels`` will run.
    """

    def __init__(
        self,
        device: Device,
        code_object: CodeObject,
        tools: Sequence[AnyTool],
        kernels: Sequence[str | Kernel] | None,
        check: bool | None,
        loaded_as: int | None = None,
        on_rejected: OnRejected = "warn",
        calling_convention: bool = False,
        alone: bool = False,
    ):
        check_on_rejected(on_rejected)
        self.device = device
        #: The original.
        self.code_object = code_object
        self.tools = instances(tools)
        self.instrumentation: dict[str, Any] | None = None
        #: What runs: the instrumented copy, if there are tools.
        self.loaded = code_object
        for tool in self.tools:
            check_sizes(tool)
        planner = Planner(code_object, self.tools) if self.tools else None
        if planner is not None:
            started = time.perf_counter()
            planner.ask(kernels)
            self.loaded = planner.finish(check, on_rejected, calling_convention=calling_convention, alone=alone)
            self.instrumentation = {**(self.loaded.instrumentation or {}), "seconds": time.perf_counter() - started}
        self._kernels: dict[str, tuple[dict[str, Any], Signature]] = {}
        #: Whether each may print.
        self._printing: dict[str, bool] = {}
        self._id = device.core.load(self.loaded.core) if loaded_as is None else loaded_as
        if planner is not None:
            planner.bind(self)
        for _, channel in channels_of(self.tools):
            device.core.host_takes_part(*self._symbol(channel.symbol or ""))

    @shortened
    @launches
    def run(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> RunResult:
        """Runs a kernel to its end. The keywords are those of :class:`luthier.device.launching.LaunchKeywords`.

        :returns: what the launch did; arrays among the arguments hold their new contents.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        """
        return self._launch(kernel, launch_of(kernel, launch), None)[0]

    @shortened
    @launches
    def trace(
        self,
        kernel: str,
        *,
        events: Sequence[str] = (),
        snapshots: Sequence[int] = (),
        only: Sequence[int] = (),
        limit: int = 1 << 22,
        **launch: Unpack[LaunchKeywords],
    ) -> Trace:
        """Runs a kernel as :meth:`run` does, and says what happened on the way.

        ``events`` may hold ``"instructions"``, ``"blocks"`` and ``"memory"``; they come from the instructions at the
        addresses ``only``, or from all. Before each instruction at one of the addresses ``snapshots``, all registers of
        the wave and its LDS are copied. Each of the device's threads keeps ``limit`` events of a kind. Watching costs
        time: an event for each instruction makes a run about twice as long, one for each lane's access ten times, or
        sixty where there is little but LDS; counts and waves cost next to nothing.

        :returns: the events, the snapshots, and the result of the launch.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        """
        wanted = request(self, events, snapshots, only, limit)
        return Trace(*self._launch(kernel, launch_of(kernel, launch), wanted))

    @shortened
    @launches
    def session(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> Session:
        """A launch that goes on only when it is told to, one instruction of one wave at a time. Its workgroups take turns
        where one has ended, or waits for global wave sync or the barrier of its cluster."""
        told = launch_of(kernel, launch)
        if told.kinds is not None:
            raise ArgumentError("a session is not judged: strict= is for run and trace")
        if told.schedule is not None:
            raise ArgumentError("a session has no schedule, whoever steps says whose turn it is: schedule= is for run and trace")
        if channels_of(self.tools):
            raise ArgumentError("a session has nobody who reads a tool's channels: they are for run and trace")
        packed = self._prepare(kernel, told)
        packed.kept = self.device.memory.kept(anyhow=True)
        try:
            inner = self.device.core.session(
                self._id, kernel, told.grid, told.block, packed.kernarg, told.lds, told.cooperative, told.cluster
            )
            return Session(self, kernel, inner, packed)
        except BaseException:
            packed.free(self.device.core)
            raise

    def _prepare(self, kernel: str, launch: Launch) -> Packed:
        if kernel not in self._kernels:
            facts = self.loaded.core.kernel(kernel)
            if facts is None:
                raise ArgumentError(no_kernel(self.code_object, kernel))
            self._kernels[kernel] = facts, Signature(kernel, facts, self.code_object.core)
        facts, signature = self._kernels[kernel]
        check_workgroup(kernel, facts, launch.block)
        warn_of_small_grid(launch)
        self.device.memory.sweep()
        packed = signature.pack(list(launch.args), self.device.core, self.device.memory)
        try:
            told = replace(launch, places=lambda: packed.places)
            for tool in self.tools:
                tool.on_launch(told)
        except BaseException:
            packed.free(self.device.core)
            raise
        return packed

    def _launch(self, kernel: str, launch: Launch, watched: Any) -> tuple[RunResult, Any, list[Place]]:
        packed = self._prepare(kernel, launch)
        try:
            return self._run(kernel, launch, packed, watched)
        finally:
            packed.free(self.device.core)

    def run_packed(self, launch: Launch, kernarg: bytes, places: Callable[[], list[Place]]) -> RunResult:
        """Runs a kernel whose arguments are bytes already, as a launcher other than ours has packed them. ``places`` says
        what is where in memory, should it be asked."""
        told = replace(launch, places=places)
        for tool in self.tools:
            tool.on_launch(told)
        return self._run(launch.kernel, launch, Packed(kernarg), None, places)[0]

    def _run(
        self, kernel: str, launch: Launch, packed: Packed, watched: Any, places_of: Callable[[], list[Place]] = list
    ) -> tuple[RunResult, Any, list[Place]]:
        core, watch = self.device.core, self.device.launch_watch
        places = list(packed.places)
        if watch is not None:
            watch.begins(self, launch, packed.kernarg, places or places_of())
        printer = self.device.printer if self._may_print(kernel) else None
        kept = self.device.memory.kept(anyhow=printer is not None or self.device.progress is not None)
        try:
            reader = Reader(channels_of(self.tools))
            reader.start()
            try:
                report = core.launch(
                    self._id,
                    kernel,
                    launch.grid,
                    launch.block,
                    packed.kernarg,
                    launch.lds,
                    launch.kinds,
                    watched,
                    launch.cooperative,
                    launch.cluster,
                    launch.schedule,
                    self.device.progress,
                    printer.write if printer is not None else None,
                )
            finally:
                if printer is not None:
                    printer.flush()
                reader.stop()
                reader.read(True)
            if reader.error is not None:
                raise reader.error
            packed.fetch(core)
        except DeviceError as error:
            told = explained(error, [*(places or places_of()), *self._tools_places()])
            if watch is not None:
                watch.ends(self, launch, told)
            raise told from None
        finally:
            del kept
        if watch is not None:
            watch.ends(self, launch, None)
        seen = report.pop("seen", None)
        report["findings"] = [Finding(finding) for finding in report["findings"]]
        places = places or places_of() if report["findings"] else places
        known = [*places, *self._tools_places()] if report["findings"] else []
        for finding in report["findings"]:
            address = finding["address"]
            finding["place"] = None if address is None or in_lds(finding) else place_of(address, known)
            finding["worst"] = farthest(finding, known)
            finding["source_text"] = source_text(finding["source"])
        if launch.kinds is not None:
            spool.add(report["findings"])
        return RunResult(self, kernel, launch.grid, launch.block, list(launch.args), **report), seen, places

    def _may_print(self, kernel: str) -> bool:
        if kernel not in self._printing:
            self._printing[kernel] = may_print(self.loaded.core.kernel(kernel))
        return self._printing[kernel]

    def _tools_places(self) -> list[Place]:
        """Where on the device the tools' arrays and counters are."""
        variables = self.instrumentation["variables"] if self.instrumentation else ()
        found = [(name, self.device.core.symbol(self._id, name)) for name in variables]
        return [Place(at[0], at[1], -1, f"the tool's variable {name}", True) for name, at in found if at is not None]

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

    def read_symbol_part(self, name: str, start: int, size: int) -> bytes:
        """``size`` bytes from byte ``start`` on."""
        address, whole = self._symbol(name)
        if not 0 <= start <= start + size <= whole:
            raise ArgumentError(f"symbol {name} has {whole} bytes: {size} from {start} on are not all there")
        return self.device.core.read(address + start, size) if size else b""

    def write_symbol_bytes(self, name: str, data: bytes) -> None:
        """New contents for a global variable."""
        address, size = self._symbol(name)
        if len(data) != size:
            raise ArgumentError(f"symbol {name} has {size} bytes, not {len(data)}")
        self.device.core.write(address, data)

    def write_symbol_part(self, name: str, start: int, data: bytes) -> None:
        """New contents for some of its bytes, from ``start`` on."""
        self.device.core.write(self._symbol(name)[0] + start, data)

    def _symbol(self, name: str) -> tuple[int, int]:
        found = self.device.core.symbol(self._id, name)
        if found is None:
            raise ArgumentError(f"{self.code_object.path or 'the code object'} has no symbol {name}")
        return found

    def __repr__(self) -> str:
        return f"<Module {self.loaded!r}>"
