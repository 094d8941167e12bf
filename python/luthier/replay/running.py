"""Replaying a case: the same launch, in memory with the same addresses and contents, and what it leaves compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..device.arguments import Place
from ..device.instrumented import FULL, Instrumented, Variant
from ..errors import ArgumentError, CaseError, DeviceError
from ..instrumenting.channels import Reader
from ..instrumenting.options import Instrumenting
from ..instrumenting.toolset import Toolset
from ..reports.findings import Finding, in_lds
from .case import Case, Region

if TYPE_CHECKING:
    import numpy

    from ..device.launching import Strict
    from ..device.mock_device import Device
    from ..instrumenting.tool import Tool
    from ..objects.code_object import CodeObject
    from ..reports.report import Report


@dataclass(frozen=True)
class Difference:
    """Memory that a replay has left with other contents than the recorded launch, or than another replay."""

    region: Region
    #: The first byte that differs, from the region's start.
    offset: int
    #: How many bytes differ.
    count: int
    #: Up to 16 bytes from there on, of the one and of the other.
    expected: bytes
    found: bytes

    @property
    def address(self) -> int:
        """Of the first byte that differs."""
        return self.region.address + self.offset

    def __str__(self) -> str:
        return (
            f"{self.region.what}: {self.count:,} of {self.region.size:,} bytes differ, the first at byte {self.offset:,} "
            f"(address {self.address:#x}): expected {self.expected.hex(' ')}, found {self.found.hex(' ')}"
        )


@dataclass(frozen=True)
class Replayed:
    """What a replay did."""

    case: Case
    #: Memory as the launch has left it, in the order of the case's regions.
    memory: tuple[bytes, ...] = field(repr=False)
    #: Against what was recorded; none where the recorded launch was stopped.
    differences: list[Difference]
    #: Why the launch was stopped, if it was.
    stop: DeviceError | None
    findings: list[Finding]
    #: Instructions that waves retired; 0 if the launch was stopped.
    instructions: int
    #: What the tools say.
    reports: list[Report] = field(default_factory=list)
    #: Events of memory accesses, where they were asked for: as of :attr:`luthier.Trace.memory`.
    events: Any = field(default=None, repr=False)

    @property
    def error(self) -> str | None:
        """The same in words."""
        return None if self.stop is None else str(self.stop)

    @property
    def is_same(self) -> bool:
        """The replay has done what the recorded launch did: the same memory, or stopped as it was."""
        return not self.differences and (self.error is None) == (self.case.error is None)

    @property
    def tools(self) -> dict[str, Any]:
        """Each tool's result, by name."""
        return {report.tool: report.result for report in self.reports}


@dataclass(frozen=True)
class Way:
    """How a case is replayed."""

    strict: Strict = False
    schedule: str | None = None
    tools: Sequence[Tool] = ()
    #: Another code object with the kernel, and the processor that it is for.
    code: CodeObject | None = None
    processor: str | None = None
    threads: int = 0
    watchdog: int | None = None
    timeout: float | None = None
    #: Whether all workgroups are under way together; None for what was recorded.
    cooperative: bool | None = None
    #: How many events of memory accesses are kept for each thread.
    events: int = 0


class Stage:
    """A device with a case's memory in it. It is good for one launch."""

    def __init__(self, case: Case, way: Way):
        from ..device.mock_device import Device

        if way.code is not None and way.tools:
            raise ArgumentError("replay: tools are for the case's own code object, not for another one")
        self.processor = way.processor or (way.code.devices[0] if way.code is not None and way.code.devices else case.processor)
        if way.code is None and self.processor != case.processor:
            raise ArgumentError(f"replay: the case's code is for {case.processor}: give a code object for {self.processor}")
        self.case, self.way = case, way
        self._new = lambda: Device(self.processor, threads=way.threads, watchdog=way.watchdog, timeout=way.timeout)
        self._toolset = Toolset(way.tools)
        self._variant: Variant | None = None
        tools = Instrumented(case.code_object, self._toolset, [case.kernel]) if way.tools else None
        self.places = [
            Place(region.address, region.size, -1, region.what, region.writable)
            for region in case.regions
            if not region.is_of_object
        ]
        if tools is None:
            self.device, self.module = self._place(None if way.code is not None else case.code_object)
            if way.code is not None:
                self.module = self._load_other(way.code)
            return
        how = Instrumenting()
        try:
            loaded = tools.whole(how, True)
            self.device, self.module = self._place(loaded)
            self._variant = tools.bind(self.device.core, self.module, FULL, loaded)
        except CaseError:  # the instrumented object is longer than the original, and something lies behind that
            self.device, _ = self._place(case.code_object)
            self._variant = tools.beside(self.device.core, case.base, FULL, how)
            self.module = self._variant.id

    def _place(self, code: CodeObject | None) -> tuple[Device, int]:
        """A new device with the case's memory, and the code object where the case's was."""
        case, device = self.case, self._new()
        core, module = device.core, -1
        try:
            if code is not None:
                module = core.load(code.core, case.base)
            for region in case.regions:
                if not region.is_of_object:
                    core.alloc_at(region.address, region.size, region.writable)
                elif code is None:
                    continue
                core.write(region.address, region.before)
        except DeviceError as error:
            raise CaseError(f"the memory of the case cannot be had: {error}") from None
        return device, module

    def _load_other(self, code: CodeObject) -> int:
        """Another code object, with the contents of the variables that both have."""
        core, case = self.device.core, self.case
        module = core.load(code.core)
        for symbol in code.inspect()["symbols"]:
            known, found = case.code_object.core.symbol(symbol["name"]), core.symbol(module, symbol["name"])
            if symbol["kind"] != "OBJECT" or known is None or found is None or known["size"] != found[1] or not found[1]:
                continue
            at = case.base + known["address"]
            for region in case.regions:
                if region.is_of_object and region.address <= at and at + found[1] <= region.end:
                    core.write(found[0], region.before[at - region.address :][: found[1]])
        return module

    def run(self) -> Replayed:
        """The launch, to its end."""
        from ..device.launching import Launch

        case, way, core = self.case, self.way, self.device.core
        d = case.dispatch if way.cooperative is None else replace(case.dispatch, cooperative=way.cooperative)
        launch = Launch(case.kernel, d.grid, d.block, (), d.lds, way.strict, d.cooperative, d.cluster, way.schedule)
        watched: Any = (["memory"], [], [], way.events, []) if way.events else None
        self._toolset.launched(launch)
        stop, findings, instructions, events = None, list[Finding](), 0, None
        try:
            with Reader(self._variant.sources if self._variant is not None else ()):
                did = core.launch(self.module, launch, case.kernarg, watched=watched)
            findings = [self._finding(found) for found in did["findings"]]
            instructions = did["instructions"]
            if watched is not None:
                events = self._events(did["seen"])
        except DeviceError as stopped:
            from ..device.where import explained

            stop = explained(stopped, self.places)
        memory = tuple(self._left(region) for region in case.regions)
        compared = zip(case.regions, memory) if case.error is None and stop is None else ()
        differences = [found for region, data in compared if (found := difference(region, region.left, data)) is not None]
        reports = self._toolset.reports()
        return Replayed(case, memory, differences, stop, findings, instructions, reports, events)

    def _left(self, region: Region) -> bytes:
        if region.is_of_object and self.way.code is not None:
            return region.left  # where another object's variables are is its own affair
        return self.device.core.read(region.address, region.size)

    def _finding(self, found: dict[str, Any]) -> Finding:
        from ..device.where import farthest, place_of, source_text

        finding = Finding(found)
        address = finding["address"]
        finding["place"] = None if address is None or in_lds(finding) else place_of(address, self.places)
        finding["worst"] = farthest(finding, self.places)
        finding["source_text"] = source_text(finding["source"])
        return finding

    def _events(self, seen: dict[str, Any]) -> numpy.ndarray:
        import numpy

        from ..device.observe import MEMORY_EVENT

        if seen["dropped"]:
            raise CaseError(f"the launch has {seen['dropped']:,} more accesses than are kept")
        return numpy.frombuffer(seen["memory"], numpy.dtype(MEMORY_EVENT).newbyteorder("<"))


def difference(region: Region, expected: bytes, found: bytes) -> Difference | None:
    """Where two contents of a region differ, if they do."""
    if expected == found:
        return None
    import numpy

    differ = numpy.flatnonzero(numpy.frombuffer(expected, "u1") != numpy.frombuffer(found, "u1"))
    first = int(differ[0])
    return Difference(region, first, len(differ), expected[first : first + 16], found[first : first + 16])


def replay(case: Case, way: Way | None = None) -> Replayed:
    """Replays a case once."""
    return Stage(case, way or Way()).run()
