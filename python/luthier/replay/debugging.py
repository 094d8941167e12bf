"""A case on the stage of the debugger, and under many schedules on one device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..device.arguments import Packed
from ..device.debug.lines import Lines
from ..device.debug.stage import Stage
from ..device.launching import Launch
from ..errors import ArgumentError
from .running import Stage as Placed
from .running import Way

if TYPE_CHECKING:
    from ..device.debug.why import Origin
    from ..objects.code_object import CodeObject
    from .case import Case
    from .comparing import Compared


def placed(case: Case, way: Way) -> tuple[Placed, Launch]:
    """A device with the case's memory, and the launch that it runs."""
    if way.tools:
        raise ArgumentError("a case is debugged and explored without tools: they are for replay")
    there = Placed(case, replace(way, threads=1))
    d = case.dispatch if way.cooperative is None else replace(case.dispatch, cooperative=way.cooperative)
    return there, Launch(case.kernel, d.grid, d.block, (), d.lds, way.strict, d.cooperative, d.cluster, way.schedule)


def debug(case: Case, way: Way | None = None) -> Stage:
    """A case's launch, before its first instruction. What it leaves goes with the device.
    CaseError if the memory of the case cannot be had."""
    way = way or Way()
    there, launch = placed(case, way)
    core = there.device.core.stage(there.module, launch, case.kernarg)
    packed = Packed(case.kernarg, places=list(there.places))
    return Stage(there.device, case.kernel, core, packed, (), Lines(way.code or case.code_object, case.kernel))


def why_they_differ(case: Case, compared: Compared, code: CodeObject, way: Way | None = None) -> tuple[Origin, Origin] | None:
    """Where the first word that differs comes from, in the case's code and in the other; None where nothing differs.
    DeviceError where a launch cannot be taken back."""
    if not compared.differences:
        return None
    address, way = compared.differences[0].address & ~3, replace(way or Way(), strict=False)
    found = []
    for side in (way, replace(way, code=code)):
        with debug(case, side) as stage:
            stage.resume()
            found.append(stage.why(address=address))
    return found[0], found[1]
