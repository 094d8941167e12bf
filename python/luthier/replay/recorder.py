"""Recording a launch on a mock device as a case."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, CaseError, DeviceError
from .case import LIMIT, Case, Dispatch, Region

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..device.arguments import Place
    from ..device.launching import Launch, LaunchKeywords
    from ..device.mock_device import Device
    from ..device.module import Module

#: Bits of a segment's flags.
_WRITABLE = 2

Read = Callable[[int, int], bytes]


def segments(module_data: dict[str, Any], base: int) -> list[tuple[int, int]]:
    """Address and size of each writable segment of a code object (:meth:`CodeObject.inspect`) that lies at ``base``."""
    found = [s for s in module_data["segments"] if s["kind"] == "LOAD" and s["flags"] & _WRITABLE and s["memory_size"]]
    return [(base + s["address"], s["memory_size"]) for s in found]


class Recorder:
    """What a launch can reach, before and after."""

    def __init__(self, read: Read, limit: int = LIMIT):
        self._read, self._limit = read, limit
        self._known: list[Region] = []

    def add(self, address: int, size: int, writable: bool, what: str, is_of_object: bool = False) -> None:
        """Notes memory, as it is now. What is noted already is left out.

        CaseError where that is more than the case may have."""
        for start, end in self._unknown(address, address + size):
            total = sum(region.size for region in self._known) + end - start
            if total > self._limit:
                raise CaseError(
                    f"the launch can reach {total:,} bytes and more, and the case may have {self._limit:,}: give a higher limit"
                )
            self._known.append(Region(start, end - start, writable, what, is_of_object, self._read(start, end - start)))

    def _unknown(self, start: int, end: int) -> Iterable[tuple[int, int]]:
        """The parts of a range that are in no region."""
        for region in sorted(self._known, key=lambda region: region.address):
            if region.end <= start or region.address >= end:
                continue
            if start < region.address:
                yield start, region.address
            start = region.end
        if start < end:
            yield start, end

    def before(self) -> tuple[Region, ...]:
        """The regions of a launch that did not come to its end."""
        return tuple(self._known)

    def after(self) -> tuple[Region, ...]:
        """The regions, with what is in them now."""
        return tuple(self._now(region) for region in self._known)

    def _now(self, region: Region) -> Region:
        data = self._read(region.address, region.size)
        after = None if data == region.before else data
        return Region(region.address, region.size, region.writable, region.what, region.is_of_object, region.before, after)


class Recording:
    """Records one of a device's launches, while it is open: ``recording.case``, once the launch is over."""

    def __init__(self, device: Device, kernel: str = "*", launch: int = 1, limit: int = LIMIT):
        if launch < 1:
            raise ArgumentError(f"launch: {launch} is not the number of a launch, which count from 1")
        self._device, self._kernel, self._number, self._limit = device, kernel, launch, limit
        self._heard = 0
        self._recorder: Recorder | None = None
        self._begun: tuple[Module, Launch, bytes] | None = None
        self._case: Case | None = None

    @property
    def case(self) -> Case:
        """CaseError where there was no such launch."""
        if self._case is None:
            raise CaseError(f"no kernel {self._kernel} was launched {self._number} times: {self._heard:,} launches were heard of")
        return self._case

    def __enter__(self) -> Recording:
        if self._device.launch_watch is not None:
            raise ArgumentError("a launch of this device is being recorded already")
        self._device.launch_watch = self
        return self

    def __exit__(self, *_: object) -> None:
        self._device.launch_watch = None

    def begins(self, module: Module, launch: Launch, kernarg: bytes, places: list[Place]) -> None:
        """See :class:`luthier.device.module.LaunchWatch`."""
        self._heard += fnmatch.fnmatchcase(launch.kernel, self._kernel)
        if self._heard != self._number or self._begun is not None or not fnmatch.fnmatchcase(launch.kernel, self._kernel):
            return
        if module.tools:
            raise ArgumentError("a case is of the application's own code: launch it without tools, and replay the case with them")
        core = self._device.core
        recorder = Recorder(core.read, self._limit)
        for place in places:
            if place.address:
                recorder.add(place.address, place.size, place.writable, place.what)
        for start, end, writable in self._device.memory.ranges():
            recorder.add(start, end - start, writable, "memory shared with the device")
        for address, size in segments(module.code_object.inspect(), module.base):
            recorder.add(address, size, True, "the code object's variables", True)
        self._recorder, self._begun = recorder, (module, launch, kernarg)

    def ends(self, module: Module, launch: Launch, error: DeviceError | None) -> None:
        """As :meth:`begins`."""
        if self._begun is None or self._begun[1] is not launch or self._recorder is None:
            return
        regions = self._recorder.before() if error is not None else self._recorder.after()
        self._case = Case(
            processor=self._device.processor,
            kernel=launch.kernel,
            dispatch=Dispatch(launch.grid, launch.block, launch.lds, launch.cooperative, launch.cluster),
            data=module.code_object.data,
            base=module.base,
            kernarg=self._begun[2],
            regions=regions,
            error=None if error is None else str(error),
            origin=origin(),
        )
        self._recorder = None


def record(module: Module, kernel: str, *, limit: int = LIMIT, **launch: Unpack[LaunchKeywords]) -> Case:
    """Launches a kernel as :meth:`luthier.Module.run` does, and gives the case; that of a launch that was stopped says why
    (``case.error``)."""
    with Recording(module.device, kernel, limit=limit) as recording:
        try:
            module.run(kernel, **launch)
        except DeviceError:
            if recording._case is None:
                raise
    return recording.case


def origin(program: Sequence[str] = (), launch: int | None = None) -> dict[str, Any]:
    """Where a case comes from."""
    from .. import __version__

    made: dict[str, Any] = {"version": __version__}
    if program:
        made["program"] = list(program)
    if launch is not None:
        made["launch"] = launch
    return made
