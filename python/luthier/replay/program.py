"""Recording a launch of a running program: a tool that inserts nothing, and copies what the launch can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import CaseError
from ..instrumenting.tool import Tool
from .case import Case, Dispatch
from .recorder import Recorder, origin, segments

if TYPE_CHECKING:
    from ..agent.app import App
    from ..agent.events import Allocation
    from ..agent.launches import AppLaunch
    from ..device.launching import Launch
    from ..reports.report import Report

#: Bytes of the dispatch packet: dynamic and static LDS of a workgroup.
_GROUP = slice(28, 32)


@dataclass
class Wanted:
    """Which launch is recorded, and what came of it. All instances of the tool have the same."""

    command: list[str]
    #: A name or a pattern.
    kernel: str
    #: Of the launches of the selected kernels, from 1, in all processes.
    number: int
    limit: int
    heard: int = 0
    #: The case: of a launch that has not ended, without what it leaves.
    case: Case | None = None
    #: Why there is none, if that is known.
    trouble: str | None = None
    #: The launch that is under way.
    under_way: AppLaunch | None = field(default=None, repr=False)
    recorder: Recorder | None = field(default=None, repr=False)

    def recorded(self) -> Case:
        """The case. CaseError where there was no such launch, or it could not be recorded."""
        if self.case is not None:
            return self.case
        times = f"was launched {self.heard:,} time{'' if self.heard == 1 else 's'}" if self.heard else "was not launched"
        raise CaseError(
            self.trouble or f"{self.command[0]}: no kernel {self.kernel} was launched {self.number} times: it {times}"
        )


class Capture(Tool):
    """Records one launch."""

    holds = True

    def __init__(self, wanted: Wanted):
        self._wanted = wanted
        #: Of the instance that hears of the process's memory: by the GPU's address.
        self.memory: dict[int, Allocation] = {}

    def on_allocation(self, allocation: Allocation) -> None:
        if allocation.event in ("allocated", "locked"):
            self.memory[allocation.address] = allocation
        else:
            self.memory.pop(allocation.address, None)

    def on_launch(self, launch: Launch) -> None:
        wanted = self._wanted
        wanted.heard += 1
        if wanted.heard == wanted.number:
            wanted.under_way = launch  # type: ignore[assignment]

    def on_begin(self, launch: AppLaunch) -> None:
        wanted = self._wanted
        if wanted.under_way is not launch:
            return
        try:
            wanted.recorder, wanted.case = self._record(launch)
        except CaseError as error:
            wanted.trouble = str(error)

    def on_complete(self, launch: AppLaunch) -> None:
        wanted = self._wanted
        if wanted.under_way is not launch or wanted.case is None or wanted.recorder is None:
            return
        wanted.case = replace(wanted.case, regions=wanted.recorder.after(), error=None)
        wanted.under_way = wanted.recorder = None

    def on_exit(self, report: Report) -> None:
        report.result = None

    def _record(self, launch: AppLaunch) -> tuple[Recorder, Case]:
        loaded, app = launch.object, self.app
        assert loaded is not None and app is not None
        code = loaded.code_object
        facts: Any = code.core.kernel(launch.kernel)
        arguments = [arg for arg in facts["args"] or () if not arg["hidden"]]
        if facts["args"] is None:
            size = facts["kernarg_size"]
        else:
            size = max((arg["offset"] + arg["size"] for arg in arguments), default=0)
        kernarg = launch.read(launch.kernarg, size)
        names = _pointers(arguments, kernarg)
        memory = {a.address: a for hearer in app.tools if isinstance(hearer, Capture) for a in hearer.memory.values()}
        recorder = Recorder(_Reader(app, list(memory.values())).read, self._wanted.limit)
        for address, had in sorted(memory.items()):
            named = [name for pointer, name in names if address <= pointer < address + had.size]
            recorder.add(address, had.size, True, ", ".join(named) or f"memory {had.event} by {had.function}")
        for address, length in segments(code.inspect(), loaded.base):
            recorder.add(address, length, True, "the code object's variables", True)
        packet = b"".join(word.to_bytes(8, "little") for word in launch.packet)
        lds = int.from_bytes(packet[_GROUP], "little") - facts["group_segment"]
        return recorder, Case(
            processor=loaded.processor.partition(":")[0],
            kernel=launch.kernel,
            dispatch=Dispatch(launch.grid, launch.block, max(lds, 0)),
            data=loaded.data,
            base=loaded.base,
            kernarg=kernarg,
            regions=recorder.before(),
            error="the program ended before the launch did",
            origin=origin(self._wanted.command, self._wanted.number),
        )


class _Reader:
    """Reads a process's memory by the addresses that GPUs have for it."""

    def __init__(self, app: App, memory: list[Allocation]):
        self._app = app
        self._elsewhere = [had for had in memory if had.host != had.address]

    def read(self, address: int, size: int) -> bytes:
        for had in self._elsewhere:
            if had.address <= address and address + size <= had.address + had.size:
                address += had.host - had.address
                break
        return self._app.read(address, size)


def _pointers(arguments: Sequence[dict[str, Any]], kernarg: bytes) -> list[tuple[int, str]]:
    """What the arguments that are pointers point to, and their names."""
    found = []
    for index, arg in enumerate(arguments):
        if arg["kind"] == "global_buffer" and arg["size"] == 8:
            pointer = int.from_bytes(kernarg[arg["offset"] : arg["offset"] + 8], "little")
            found.append((pointer, f"argument {index}" + (f" '{arg['name']}'" if arg["name"] else "")))
    return found
