"""Luthier: instrument AMD GPU machine code, and run it with no GPU.

::

    import luthier as lt

    class Launches(lt.Tool):
        '''Count the waves that a kernel starts.'''
        waves = lt.DeviceArray(lt.u64, 1)

        @lt.hook
        def bump(waves: lt.ptr[lt.u64]):
            lt.wave_atomic_add(waves, 1)

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.bump, self.waves)

    tool = Launches()
    lt.Device("gfx90a").run("vecadd.hsaco", "vecadd", grid=1024, block=256, args=[a, b, c, n], tools=[tool])
    print(tool.waves[0])

Names are imported when they are first used, so that ``import luthier`` is quick.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import (
        Block,
        Blocks,
        Container,
        Frame,
        Function,
        Instruction,
        Instructions,
        KernelDescriptor,
        Loop,
        Operand,
        Register,
        TargetId,
        flag_bits,
    )
    from .captured import capture
    from .device.debug.stage import Stage
    from .device.debug.stops import Stop
    from .device.debug.waves import StageWave
    from .device.debug.why import Origin
    from .device.exploring import Explored
    from .device.launching import Launch, LaunchKeywords, Strict
    from .device.linked import Linked
    from .device.mock_device import Device, Progress, finding_kinds
    from .device.module import Module
    from .device.observe import Events, Registers, Session, Snapshot, Trace
    from .device.properties import Properties
    from .device.results import RunResult
    from .errors import *  # noqa: F403
    from .instrumenting.channels import Channel
    from .instrumenting.container import InstrumentedFile, instrument_file
    from .instrumenting.given import (
        AccessCount,
        AccessDirection,
        AccessKind,
        AccessWidth,
        Address,
        Imm,
        Literal,
        Old,
        Pc,
        PointId,
        Reg,
        Symbol,
    )
    from .instrumenting.library import HookLibrary
    from .instrumenting.options import InstrumentKeywords
    from .instrumenting.planning import instrument
    from .instrumenting.selection import Select
    from .instrumenting.tool import Tool
    from .instrumenting.values import Counter, DeviceArray, LaneState, Shared, WaveState, shared
    from .judging import judge
    from .lang import *  # noqa: F403
    from .objects.code_object import CodeObject
    from .objects.kernel import Kernel
    from .objects.loader import LoadedObject, LoadedSymbol, Location, MockLoader
    from .replay.case import Case
    from .reports.report import Report
    from .traced import TracedProgram, TraceProgress, trace
    from .views.annotation import Annotation

__version__ = "0.1.0"

_HOME = {
    "Annotation": "views.annotation",
    "AccessCount": "instrumenting.given",
    "AccessDirection": "instrumenting.given",
    "AccessKind": "instrumenting.given",
    "AccessWidth": "instrumenting.given",
    "Address": "instrumenting.given",
    "Block": "_core",
    "Blocks": "_core",
    "CodeObject": "objects.code_object",
    "Container": "_core",
    "Counter": "instrumenting.values",
    "Device": "device.mock_device",
    "DeviceArray": "instrumenting.values",
    "HookLibrary": "instrumenting.library",
    "finding_kinds": "device.mock_device",
    "flag_bits": "_core",
    "Frame": "_core",
    "Function": "_core",
    "Imm": "instrumenting.given",
    "Instruction": "_core",
    "Instructions": "_core",
    "instrument": "instrumenting.planning",
    "InstrumentKeywords": "instrumenting.options",
    "instrument_file": "instrumenting.container",
    "InstrumentedFile": "instrumenting.container",
    "Kernel": "objects.kernel",
    "LaneState": "instrumenting.values",
    "KernelDescriptor": "_core",
    "judge": "judging",
    "Launch": "device.launching",
    "LaunchKeywords": "device.launching",
    "Linked": "device.linked",
    "Literal": "instrumenting.given",
    "LoadedObject": "objects.loader",
    "LoadedSymbol": "objects.loader",
    "Location": "objects.loader",
    "Loop": "_core",
    "MockLoader": "objects.loader",
    "Module": "device.module",
    "Old": "instrumenting.given",
    "Operand": "_core",
    "Pc": "instrumenting.given",
    "PointId": "instrumenting.given",
    "Progress": "device.mock_device",
    "Reg": "instrumenting.given",
    "Register": "_core",
    "Registers": "device.observe",
    "Properties": "device.properties",
    "Report": "reports.report",
    "RunResult": "device.results",
    "Select": "instrumenting.selection",
    "Session": "device.observe",
    "Shared": "instrumenting.values",
    "shared": "instrumenting.values",
    "Snapshot": "device.observe",
    "Stage": "device.debug.stage",
    "StageWave": "device.debug.waves",
    "Stop": "device.debug.stops",
    "Origin": "device.debug.why",
    "Events": "device.observe",
    "Explored": "device.exploring",
    "Strict": "device.launching",
    "Symbol": "instrumenting.given",
    "TargetId": "_core",
    "Tool": "instrumenting.tool",
    "Trace": "device.observe",
    "capture": "captured",
    "Case": "replay.case",
    "Channel": "instrumenting.channels",
    "trace": "traced",
    "TracedProgram": "traced",
    "TraceProgress": "traced",
    "WaveState": "instrumenting.values",
    **dict.fromkeys(
        (
            "ArgumentError",
            "CaseError",
            "DeviceError",
            "DuplicateSymbolError",
            "FinalizedError",
            "FindingWarning",
            "InstrumentError",
            "InternalError",
            "LiftError",
            "LaunchWarning",
            "LinkError",
            "LoadError",
            "LuthierError",
            "NothingInsertedError",
            "RejectedError",
            "RejectedWarning",
            "RelocationError",
            "StrictError",
            "ToolError",
            "UnresolvedSymbolError",
        ),
        "errors",
    ),
}

# In full, for type checkers.
__all__ = [
    "AccessCount", "AccessDirection", "AccessKind", "AccessWidth", "Address", "Annotation", "ArgumentError", "Block", "Blocks", "Case", "CaseError", "Channel", "CodeObject",
    "Container", "Counter", "Device", "DeviceArray", "DeviceError", "DuplicateSymbolError", "Events", "Explored", "FinalizedError", "FindingWarning", "Frame", "Function", "HookLibrary", "Imm",
    "Instruction", "Instructions", "InstrumentError", "InstrumentKeywords", "InstrumentedFile", "InternalError", "Kernel", "KernelDescriptor",
    "LaneState", "Launch", "LaunchKeywords", "LaunchWarning", "LiftError", "LinkError", "Linked", "Literal", "LoadError", "LoadedObject",
    "LoadedSymbol", "Location", "Loop", "LuthierError", "MockLoader", "Module", "NothingInsertedError", "Old", "Operand", "Origin", "Pc", "PointId", "Progress", "Properties",
    "Reg",
    "Register", "Registers", "RejectedError", "RejectedWarning", "RelocationError", "Report", "RunResult", "Select", "Session", "Shared",
    "Snapshot", "Stage", "StageWave", "Stop", "Strict", "StrictError", "Symbol", "TargetId", "Tool", "ToolError", "Trace", "TraceProgress", "TracedProgram", "UnresolvedSymbolError", "WaveState", "capture",
    "finding_kinds", "flag_bits", "instrument", "instrument_file", "judge", "shared", "trace", "__version__",
]  # fmt: skip
if TYPE_CHECKING:
    from . import lang

    __all__ += lang.__all__


def _find(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("lang", "replay", "tools", "triton"):
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    else:
        try:
            value = getattr(importlib.import_module(".lang", __name__), name)
        except AttributeError:
            raise AttributeError(f"module 'luthier' has no attribute {name!r}") from None
    globals()[name] = value
    return value


class _Package(types.ModuleType):
    """``lt.device`` marks functions, whether the room of that name has been imported or not."""

    @property
    def device(self) -> Any:
        return importlib.import_module(".lang", __name__).device

    @device.setter
    def device(self, room: types.ModuleType) -> None:
        """The import system's, when the room is imported."""


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # checkers see the imports above, and what is not among them is a mistake
    __getattr__ = _find


def __dir__() -> list[str]:
    lang = importlib.import_module(".lang", __name__)
    return sorted({*globals(), *_HOME, *getattr(lang, "__all__", ())})
