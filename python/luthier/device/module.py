"""A code object that is loaded on a device, and its launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..base.tracebacks import shortened
from ..errors import ArgumentError, DeviceError
from ..instrumenting.channels import Reader
from ..instrumenting.options import Instrumenting
from ..instrumenting.selection import Chooser, Select
from ..instrumenting.tool import AnyTool, Tool
from ..instrumenting.toolset import Toolset
from ..objects.code_object import CodeObject, no_kernel
from ..reports import spool
from ..reports.findings import Finding, in_lds
from ..reports.report import Report
from .arguments import Packed, Place, Signature
from .instrumented import FULL, ORIGINAL, Instrumented, Variant
from .launching import Launch, LaunchKeywords, launch_of, launches, warn_of_small_grid
from .observe import Events, Session, Trace, request
from .printing import may_print
from .results import RunResult
from .sizes import check_workgroup
from .where import explained, farthest, place_of, source_text

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack

    from .. import _core
    from ..objects.kernel import Kernel
    from .debug.lines import Lines
    from .debug.stage import Stage
    from .exploring import Explored, Outcome
    from .mock_device import Device


Made = TypeVar("Made")


#: Where there are no channels to be read.
_NO_READER = nullcontext()


class LaunchWatch(Protocol):
    """What looks at each launch of a device's, before and after."""

    def begins(self, module: Module, launch: Launch, kernarg: bytes, places: list[Place]) -> None:
        """Memory is as the launch finds it."""

    def ends(self, module: Module, launch: Launch, error: DeviceError | None) -> None:
        """Memory is as the launch has left it, or it was stopped."""


class Module:
    """A code object that is loaded on a device, with the tools that watch it.

    Its global variables, and the tools', live as long as it does: they keep their values from launch to launch. With ``select``
    or ``variants`` the original is loaded as it is, and what is made of it for tools is loaded beside it: all use one set of the
    original's variables, and each launch runs one of them.
    """

    def __init__(
        self,
        device: Device,
        code_object: CodeObject,
        tools: Sequence[AnyTool] = (),
        kernels: Sequence[str | Kernel] | None = None,
        how: Instrumenting | None = None,
        *,
        select: Sequence[Select | str] = (),
        variants: Mapping[str, Sequence[AnyTool]] | None = None,
        alone: bool = False,
        loaded_as: int | None = None,
    ):
        """``alone`` says that no other kernels than ``kernels`` will run; ``loaded_as`` is the number of a module that is there
        already."""
        how = how or Instrumenting()
        self.device = device
        #: The original.
        self.code_object = code_object
        #: What launches can run, by name.
        self.variants: dict[str, Variant] = {}
        wanted = {FULL: Toolset(tools)} if tools else {}
        for name, some in (variants or {}).items():
            if name in (ORIGINAL, FULL) or not isinstance(name, str):
                raise ArgumentError(f"variants: {name!r} is not a name for a variant: {ORIGINAL} and {FULL} are there already")
            wanted[name] = Toolset(some)
        #: The tools of all variants.
        self._toolset = Toolset({id(tool): tool for toolset in wanted.values() for tool in toolset.tools}.values())
        if select and list(wanted) != [FULL]:
            raise ArgumentError("select= is about the launches that run the tools of tools=: variants are chosen by variant=")
        self._chooser = Chooser(select, code_object) if select else None
        if self._chooser is not None and kernels is None:
            kernels = self._chooser.kernels
        #: What is known of a variant of a name and a kernel.
        self._known: dict[tuple[str, str], _Known] = {}
        of = (device, self)
        if list(wanted) == [FULL] and not select and variants is None and loaded_as is None:
            made = Instrumented(code_object, wanted[FULL], kernels)
            loaded = made.whole(how, alone)
            self.variants[FULL] = made.bind(device.core, device.core.load(loaded.core), FULL, loaded, of)
        else:
            number = device.core.load(code_object.core) if loaded_as is None else loaded_as
            self.variants[ORIGINAL] = Variant(ORIGINAL, number, code_object, Toolset())
            base = device.core.load_address(number) if wanted else 0
            for name, toolset in wanted.items():
                made = Instrumented(code_object, toolset, kernels)
                self.variants[name] = made.beside(device.core, base, name, how, of)
        #: The original, or, where it is not loaded, what has been made of it.
        self._first = next(iter(self.variants.values()))
        self._usual = self.variants.get(FULL, self._first)

    @property
    def tools(self) -> list[Tool]:
        """The tools, those of all variants."""
        return self._toolset.tools

    @property
    def loaded(self) -> CodeObject:
        """What launches run that do not say: the instrumented copy, if there are tools."""
        return self._usual.loaded

    @property
    def instrumentation(self) -> dict[str, Any] | None:
        """What was done to it; see docs/report.md."""
        return self._usual.instrumentation

    def chosen(self, launch: Launch) -> Variant:
        """What a launch is going to run, and whose tools hear of it. Each launch is asked about once."""
        if launch.variant is not None:
            found = self.variants.get(launch.variant)
            if found is None:
                more = ": select= or variants= keep the original beside it" if launch.variant == ORIGINAL else ""
                raise ArgumentError(
                    f"kernel {launch.kernel}: there is no variant {launch.variant!r} here, only {', '.join(self.variants)}{more}"
                )
            return found
        if self._chooser is None or self._chooser.wants(launch.kernel, launch.grid):
            return self._usual
        return self.variants[ORIGINAL]

    def runs(self, name: str, kernel: str) -> Variant:
        """What runs of ``kernel`` for a variant of that name: the original where nothing was inserted beside it."""
        return self._of(name, kernel).runs

    def _of(self, name: str, kernel: str) -> _Known:
        found = self._known.get((name, kernel))
        if found is None:
            variant = self.variants[name]
            runs = variant if variant.loaded.core.kernel(kernel) is not None else self._first
            found = self._known[name, kernel] = _Known(self.code_object, runs, kernel)
        return found

    @shortened
    @launches
    def run(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> RunResult:
        """Runs a kernel to its end.

        :param kernel: its name.
        :param launch: the keywords of :class:`luthier.LaunchKeywords`.
        :returns: what the launch did; arrays among the arguments hold their new contents.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        """
        return self._launch(launch_of(kernel, launch), None)[0]

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
        on_events: Callable[[Events], object] | None = None,
        **launch: Unpack[LaunchKeywords],
    ) -> Trace:
        """Runs a kernel as :meth:`run` does, and says what happened on the way.

        ``events`` may hold ``"instructions"``, ``"blocks"`` and ``"memory"``; they come from the instructions at the
        addresses ``only``, or from all. Before each instruction at one of the addresses ``snapshots``, all registers of
        the wave and its LDS are copied. Each of the device's threads keeps ``limit`` events of a kind. Watching costs
        time: an event for each instruction makes a run two to seven times as long, one for each lane's access ten times, or a
        hundred and more where there is little but LDS, and a tenth of that if ``on_events`` hears of them; counts and waves
        cost little.

        :param kernel: its name.
        :param events: any of ``"instructions"``, ``"blocks"`` and ``"memory"``.
        :param snapshots: addresses of instructions before which registers are copied.
        :param only: the addresses that events come from; all without.
        :param limit: events of a kind that each of the device's threads keeps.
        :param on_events: is called with some events of one wave, again and again while the kernel runs; the trace has no
            events then, and ``limit`` means nothing. Calls come one at a time, from any thread. What it raises ends the launch.
        :param launch: the keywords of :class:`luthier.LaunchKeywords`.
        :returns: the events, the snapshots, and the result of the launch.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin or go on: a fault, a deadlock, an operation that is refused.
        """
        told = launch_of(kernel, launch)
        watched = lambda runs: request(runs.loaded, events, snapshots, only, limit, on_events)  # noqa: E731
        return self._traced(told, watched, on_events)

    @shortened
    @launches
    def session(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> Session:
        """A launch that goes on only when it is told to, one instruction of one wave at a time. Its workgroups take turns
        where one has ended, or waits for global wave sync or the barrier of its cluster. ``kernel`` and the keywords are those of :meth:`run`, without ``strict`` and
        ``schedule`` (:class:`luthier.LaunchKeywords`)."""
        told = launch_of(kernel, launch)
        if told.kinds is not None:
            raise ArgumentError("a session is not judged: strict= is for run and trace")
        if told.schedule is not None:
            raise ArgumentError("a session has no schedule: its steps say whose turn it is, and schedule= is for run and trace")
        variant = self.chosen(told)
        if variant.sources:
            raise ArgumentError("a session does not read a tool's channels: they are for run and trace")
        runs, packed = self._prepare(told, variant)
        packed.kept = self.device.memory.kept(anyhow=True)
        try:
            inner = self.device.core.session(runs.id, told, packed.kernarg)
            return Session(self, kernel, inner, packed)
        except BaseException:
            packed.free(self.device.core)
            raise

    @shortened
    @launches
    def debug(self, kernel: str, **launch: Unpack[LaunchKeywords]) -> Stage:
        """A launch that stops at breakpoints, watchpoints, findings and faults, and goes back: see
        :class:`luthier.device.debug.Stage`. ``schedule`` is ``"fair"`` (as with None), ``"pct:..."`` or ``"choices:..."``.

        :param kernel: its name.
        :param launch: the keywords of :class:`luthier.LaunchKeywords`.
        :returns: the launch, before its first instruction.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin.
        """
        from .debug.lines import Lines
        from .debug.stage import Stage

        told = launch_of(kernel, launch)
        variant = self.chosen(told)
        if variant.sources:
            raise ArgumentError("debug: nothing reads the channels of tools here: they are for run and trace")
        runs, packed = self._prepare(told, variant)
        packed.kept = self.device.memory.kept(anyhow=True)
        try:
            inner = self.device.core.stage(runs.id, told, packed.kernarg)
            return Stage(self.device, kernel, inner, packed, told.args, Lines(runs.loaded, kernel))
        except BaseException:
            packed.free(self.device.core)
            raise

    def debug_packed(
        self, launch: Launch, packed: Packed, make: Callable[[Device, str, _core.Stage, Packed, Sequence[Any], Lines], Made]
    ) -> Made:
        """The same of a ``launch`` whose arguments are ``packed`` already, by a launcher other than ours; ``make`` makes the stage."""
        from .debug.lines import Lines

        variant = self.chosen(launch)
        if variant.sources:
            raise ArgumentError("debug: nothing reads the channels of tools here: they are for run and trace")
        variant.toolset.launched(replace(launch, places=lambda: packed.places))
        packed.kept += self.device.memory.kept(anyhow=True)
        runs = self.runs(variant.name, launch.kernel)
        inner = self.device.core.stage(runs.id, launch, packed.kernarg)
        return make(self.device, launch.kernel, inner, packed, launch.args, Lines(runs.loaded, launch.kernel))

    @shortened
    @launches
    def explore(
        self,
        kernel: str,
        *,
        by: str = "usual",
        schedules: int = 64,
        seed: int = 0,
        depth: int = 3,
        preemptions: int = 2,
        watchdog: int = 1_000_000,
        weak: bool = False,
        **launch: Unpack[LaunchKeywords],
    ) -> Explored[Outcome]:
        """Runs a launch under many schedules, each in memory as it is now, and says which outcomes there are: see
        :class:`luthier.device.exploring.How`. The arrays are left as they were.

        :param kernel: its name.
        :param by: which schedules: ``"usual"``, ``"order"``, ``"pct"`` or ``"preemptions"``.
        :param schedules: how many at most.
        :param seed: of the first random priorities.
        :param depth: how often the running wave loses its priority, and one.
        :param preemptions: how often running waves are interrupted at most.
        :param watchdog: instructions after which a workgroup is taken for one that never ends.
        :param weak: memory answers as weakly as caches and stores under way let it.
        :param launch: the keywords of :class:`luthier.LaunchKeywords`, without ``schedule``.
        :returns: the outcomes, each with a schedule that repeats it.
        :raises ArgumentError: for a kernel that is not there, and arguments, sizes and keywords that do not suit it.
        :raises DeviceError: for a launch that cannot begin, or not be taken back: its kernel calls the host, or can write too
            much memory.
        """
        from .exploring import How, explore

        how = How(by, schedules, seed, depth, preemptions, watchdog, weak)
        told = launch_of(kernel, launch)
        if told.schedule is not None:
            raise ArgumentError("explore chooses the schedules itself: leave schedule= out")
        variant = self.chosen(told)
        if variant.sources:
            raise ArgumentError("explore: nothing reads the channels of tools here: they are for run and trace")
        runs, packed = self._prepare(told, variant)
        kept = self.device.memory.kept(anyhow=True)
        try:
            return explore(self.device.core, runs.id, told, packed.kernarg, how)
        finally:
            del kept
            packed.free(self.device.core)

    def _prepare(self, launch: Launch, variant: Variant) -> tuple[Variant, Packed]:
        """What runs, and its arguments; the tools are told."""
        known = self._of(variant.name, launch.kernel)
        signature = known.signature
        check_workgroup(launch.kernel, known.facts, launch.block)
        warn_of_small_grid(launch)
        memory = self.device.memory
        memory.sweep()
        packed = signature.pack(list(launch.args), self.device.core, memory)
        if variant.toolset.tools:
            try:
                variant.toolset.launched(replace(launch, places=lambda: packed.places))
            except BaseException:
                packed.free(self.device.core)
                raise
        return known.runs, packed

    def _launch(
        self,
        launch: Launch,
        watched: Callable[[Variant], Any] | None,
        on_events: Callable[[Events], object] | None = None,
    ) -> tuple[RunResult, Any, Packed]:
        variant = self.chosen(launch)
        wanted = None if watched is None else watched(self.runs(variant.name, launch.kernel))
        _, packed = self._prepare(launch, variant)
        try:
            result, seen = self._run(launch, variant, packed, wanted, lambda: packed.places, on_events)
        finally:
            packed.free(self.device.core)

        def again(wanted: Sequence[Any]) -> Trace:
            same = replace(launch, variant=variant.name)
            return self._traced(same, lambda runs: request(runs.loaded, *wanted))

        result.again = again
        return result, seen, packed

    def _traced(
        self, launch: Launch, watched: Callable[[Variant], Any], on_events: Callable[[Events], object] | None = None
    ) -> Trace:
        result, seen, packed = self._launch(launch, watched, on_events)
        return Trace(result, seen, packed.places)

    def run_packed(self, launch: Launch, kernarg: bytes, places: Callable[[], list[Place]]) -> RunResult:
        """Makes ``launch`` of a kernel whose arguments are bytes already, ``kernarg``, as a launcher other than ours has packed them. ``places`` says
        what is where in memory, should it be asked."""
        variant = self.chosen(launch)
        if variant.toolset.tools:
            variant.toolset.launched(replace(launch, places=places))
        return self._run(launch, variant, Packed(kernarg), None, places)[0]

    def trace_packed(self, launch: Launch, kernarg: bytes, places: Callable[[], list[Place]], wanted: Sequence[Any]) -> Trace:
        """The same (``launch``, ``kernarg`` and ``places`` are those of :meth:`run_packed`), watched: ``wanted`` are the events, snapshots, addresses and limit of :meth:`trace`."""
        variant = self.chosen(launch)
        watched = request(self.runs(variant.name, launch.kernel).loaded, *wanted)
        variant.toolset.launched(replace(launch, places=places))
        return Trace(*self._run(launch, variant, Packed(kernarg), watched, places), places())

    def _run(
        self,
        launch: Launch,
        variant: Variant,
        packed: Packed,
        watched: Any,
        places: Callable[[], list[Place]],
        on_events: Callable[[Events], object] | None = None,
    ) -> tuple[RunResult, Any]:
        device, known = self.device, self._of(variant.name, launch.kernel)
        core, watch = device.core, device.launch_watch
        if watch is not None:
            watch.begins(self, launch, packed.kernarg, places())
        printer = device.printer if known.may_print else None
        kept = device.memory.kept(anyhow=printer is not None or device.progress is not None)
        try:
            with Reader(known.runs.sources) if known.runs.sources else _NO_READER:
                try:
                    report = core.launch(
                        known.runs.id,
                        launch,
                        packed.kernarg,
                        watched=watched,
                        progress=device.progress,
                        printed=printer.write if printer is not None else None,
                        heard=None if on_events is None else lambda seen: on_events(Events(seen, places())),
                    )
                finally:
                    if printer is not None:
                        printer.flush()
            packed.fetch(core)
        except DeviceError as error:
            told = explained(error, [*places(), *self._tools_places()])
            if watch is not None:
                watch.ends(self, launch, told)
            raise told from None
        finally:
            del kept
        if watch is not None:
            watch.ends(self, launch, None)
        seen = report.pop("seen", None)
        if report["findings"]:
            report["findings"] = self._placed(report["findings"], [*places(), *self._tools_places()])
        if launch.strict is not False and launch.kinds is not None:
            spool.add(report["findings"])
        return RunResult.of(self, launch, variant.name, report), seen

    @staticmethod
    def _placed(found: Sequence[dict[str, Any]], known: Sequence[Place]) -> list[Finding]:
        """The findings of a launch, with where in the buffers ``known`` and at which line of the source each is."""
        findings = [Finding(finding) for finding in found]
        for finding in findings:
            address = finding["address"]
            finding["place"] = None if address is None or in_lds(finding) else place_of(address, known)
            finding["worst"] = farthest(finding, known)
            finding["source_text"] = source_text(finding["source"])
        return findings

    def _tools_places(self) -> list[Place]:
        """Where on the device the tools' arrays and counters are."""
        homes = [variant.home for variant in self.variants.values() if variant.home is not None]
        found = [(name, at) for home in homes for name, at in home.places.items()]
        return [Place(at[0], at[1], -1, f"the tool's variable {name}", True) for name, at in found]

    def reports(self) -> list[Report]:
        """Every tool's report on all launches so far."""
        return self._toolset.reports()

    def read_symbol(self, name: str, dtype: Any = "uint8") -> numpy.ndarray:
        """The contents of the global variable ``name``, as an array of ``dtype``, the tools' among them."""
        import numpy

        data = self.read_symbol_bytes(name)
        dtype = numpy.dtype(dtype)
        if len(data) % dtype.itemsize:
            raise ArgumentError(f"symbol {name} has {len(data)} bytes: not a whole number of {dtype}")
        return numpy.frombuffer(data, dtype).copy()

    def read_symbol_bytes(self, name: str) -> bytes:
        """The contents of the global variable ``name``."""
        address, size = self._symbol(name)
        return self.device.core.read(address, size) if size else b""

    def write_symbol_bytes(self, name: str, data: bytes) -> None:
        """New contents ``data`` for the global variable ``name``."""
        address, size = self._symbol(name)
        if len(data) != size:
            raise ArgumentError(f"symbol {name} has {size} bytes, not {len(data)}")
        self.device.core.write(address, data)

    def _symbol(self, name: str) -> tuple[int, int]:
        found = self.device.core.symbol(self._first.id, name)
        for variant in self.variants.values():
            if found is None and variant.home is not None:
                found = variant.home.places.get(name)
        if found is None:
            raise ArgumentError(f"{self.code_object.path or 'the code object'} has no symbol {name}")
        return found

    @property
    def base(self) -> int:
        """Where vaddr 0 of the code object is."""
        return self.device.core.load_address(self._first.id)

    def _repr_html_(self) -> str:
        """For notebooks: what is loaded, the tools that watch it, and what could not be inserted."""
        from ..reports.as_html import html_table

        did = self.instrumentation or {}
        facts = [
            ("code object", self.code_object.path or "bytes"),
            ("target", self.code_object.target),
            ("device", self.device.processor),
            ("variants", ", ".join(self.variants)),
            ("tools", ", ".join(tool.name for tool in self.tools)),
            ("insertions", did.get("points", "")),
            ("rejected", len(did.get("rejected", ())) or ""),
        ]
        return html_table("module", (), [fact for fact in facts if fact[1]])

    def __repr__(self) -> str:
        return f"<Module {self.loaded!r}>"


class _Known:
    """What is known of a kernel that a variant runs, ``runs``, worked out once."""

    def __init__(self, code_object: CodeObject, runs: Variant, kernel: str):
        self.runs = runs
        self._original, self._kernel = code_object, kernel
        self._facts = runs.loaded.core.kernel(kernel)
        #: Whether it may print.
        self.may_print = may_print(self._facts)

    @property
    def facts(self) -> dict[str, Any]:
        """The kernel's metadata. ArgumentError if there is no such kernel."""
        if self._facts is None:
            raise ArgumentError(no_kernel(self._original, self._kernel))
        return self._facts

    @cached_property
    def signature(self) -> Signature:
        """What it takes. ArgumentError if there is no such kernel, and where its metadata do not say what it takes."""
        return Signature(self._kernel, self.facts, self._original.core)
