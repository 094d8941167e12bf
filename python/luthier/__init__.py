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
    from .agent.traced import TracedProgram, TraceProgress, trace
    from .code_object import CodeObject
    from .container import InstrumentedFile, instrument_file
    from .errors import *  # noqa: F403
    from .given import (
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
    from .kernel import Kernel
    from .lang import *  # noqa: F403
    from .launching import Launch, LaunchKeywords, Strict
    from .linked import Linked
    from .loader import LoadedObject, LoadedSymbol, Location, MockLoader
    from .mock_device import Device, Progress, finding_kinds
    from .module import Module
    from .observe import Registers, Session, Snapshot, Trace
    from .planning import instrument
    from .properties import Properties
    from .report import Report
    from .results import RunResult
    from .tool import Tool
    from .values import Counter, DeviceArray

__version__ = "0.1.0"

_HOME = {
    "AccessCount": "given",
    "AccessDirection": "given",
    "AccessKind": "given",
    "AccessWidth": "given",
    "Address": "given",
    "Block": "_core",
    "Blocks": "_core",
    "CodeObject": "code_object",
    "Container": "_core",
    "Counter": "values",
    "Device": "mock_device",
    "DeviceArray": "values",
    "finding_kinds": "mock_device",
    "flag_bits": "_core",
    "Frame": "_core",
    "Function": "_core",
    "Imm": "given",
    "Instruction": "_core",
    "Instructions": "_core",
    "instrument": "planning",
    "instrument_file": "container",
    "InstrumentedFile": "container",
    "Kernel": "kernel",
    "KernelDescriptor": "_core",
    "Launch": "launching",
    "LaunchKeywords": "launching",
    "Linked": "linked",
    "Literal": "given",
    "LoadedObject": "loader",
    "LoadedSymbol": "loader",
    "Location": "loader",
    "Loop": "_core",
    "MockLoader": "loader",
    "Module": "module",
    "Old": "given",
    "Operand": "_core",
    "Pc": "given",
    "PointId": "given",
    "Progress": "mock_device",
    "Reg": "given",
    "Register": "_core",
    "Registers": "observe",
    "Properties": "properties",
    "Report": "report",
    "RunResult": "results",
    "Session": "observe",
    "Snapshot": "observe",
    "Strict": "launching",
    "Symbol": "given",
    "TargetId": "_core",
    "Tool": "tool",
    "Trace": "observe",
    "trace": "agent.traced",
    "TracedProgram": "agent.traced",
    "TraceProgress": "agent.traced",
    **dict.fromkeys(
        (
            "ArgumentError",
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
    "AccessCount", "AccessDirection", "AccessKind", "AccessWidth", "Address", "ArgumentError", "Block", "Blocks", "CodeObject",
    "Container", "Counter", "Device", "DeviceArray", "DeviceError", "DuplicateSymbolError", "FinalizedError", "FindingWarning", "Frame", "Function", "Imm",
    "Instruction", "Instructions", "InstrumentError", "InstrumentedFile", "InternalError", "Kernel", "KernelDescriptor",
    "Launch", "LaunchKeywords", "LaunchWarning", "LiftError", "LinkError", "Linked", "Literal", "LoadError", "LoadedObject",
    "LoadedSymbol", "Location", "Loop", "LuthierError", "MockLoader", "Module", "NothingInsertedError", "Old", "Operand", "Pc", "PointId", "Progress", "Properties",
    "Reg",
    "Register", "Registers", "RejectedError", "RejectedWarning", "RelocationError", "Report", "RunResult", "Session",
    "Snapshot", "Strict", "StrictError", "Symbol", "TargetId", "Tool", "ToolError", "Trace", "TraceProgress", "TracedProgram", "UnresolvedSymbolError", "finding_kinds",
    "flag_bits", "instrument", "instrument_file", "trace", "__version__",
]  # fmt: skip
if TYPE_CHECKING:
    from . import lang

    __all__ += lang.__all__


def _find(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("lang", "tools", "triton"):
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


if not TYPE_CHECKING:  # checkers see the imports above, and what is not among them is a mistake
    __getattr__ = _find


def __dir__() -> list[str]:
    lang = importlib.import_module(".lang", __name__)
    return sorted({*globals(), *_HOME, *getattr(lang, "__all__", ())})
