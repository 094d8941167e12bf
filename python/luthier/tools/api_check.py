"""api_check: memory of HIP's that a program never gives back, frees that are wrong, and calls that fail. Nothing is inserted.

luthier trace --mock gfx90a --tool api_check -- ./app

It hears of HIP's functions when they have returned. ``quiet=hipDeviceCanAccessPeer+hipModule*`` are functions whose failures are no
news. Where a call stands is told by its line if the program has DWARF (``-g``), otherwise by the file with its code and the place in that.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import luthier as lt

if TYPE_CHECKING:
    from luthier.agent.app import App
    from luthier.agent.calls import Call
    from luthier.agent.sites import Stack

#: Function -> the parameter that its memory is stored to, and what kind of memory it is.
ALLOCATES = {
    "hipMalloc": ("ptr", "device"), "hipMallocAsync": ("dev_ptr", "device"), "hipMallocFromPoolAsync": ("dev_ptr", "device"),
    "hipMallocManaged": ("dev_ptr", "device"), "hipMallocPitch": ("ptr", "device"), "hipMallocHost": ("ptr", "host"),
    "hipHostMalloc": ("ptr", "host"), "hipExtMallocWithFlags": ("ptr", "device"), "hipMallocArray": ("array", "array"),
    "hipMalloc3DArray": ("array", "array"), "hipArrayCreate": ("pHandle", "array"), "hipArray3DCreate": ("array", "array"),
    "hipMallocMipmappedArray": ("mipmappedArray", "mipmapped array"), "hipMemAllocHost": ("ptr", "host"),
    "hipMemAllocPitch": ("dptr", "device"), "hipHostAlloc": ("ptr", "host"),
}  # fmt: skip
#: Function -> the parameter that it gives back, and the kinds of memory that it takes.
FREES = {
    "hipFree": ("ptr", ("device", "host")), "hipFreeAsync": ("dev_ptr", ("device",)), "hipFreeHost": ("ptr", ("host",)),
    "hipHostFree": ("ptr", ("host",)), "hipFreeArray": ("array", ("array",)), "hipArrayDestroy": ("array", ("array",)),
    "hipFreeMipmappedArray": ("mipmappedArray", ("mipmapped array",)),
}  # fmt: skip
#: Functions that say what the thread's last failure was.
ASKS = ("hipGetLastError", "hipPeekAtLastError")
#: Results that are answers: not ready yet.
_NOT_READY = 600
#: Functions that do not give back HIP's error codes.
_NO_STATUS = ("hipGetErrorName", "hipGetErrorString")
#: Names of HIP's error codes.
ERRORS = {
    1: "hipErrorInvalidValue", 2: "hipErrorOutOfMemory", 3: "hipErrorNotInitialized", 4: "hipErrorDeinitialized",
    9: "hipErrorInvalidConfiguration", 12: "hipErrorInvalidPitchValue", 13: "hipErrorInvalidSymbol", 17: "hipErrorInvalidDevicePointer",
    21: "hipErrorInvalidMemcpyDirection", 35: "hipErrorInsufficientDriver", 53: "hipErrorPriorLaunchFailure",
    98: "hipErrorInvalidDeviceFunction", 100: "hipErrorNoDevice", 101: "hipErrorInvalidDevice", 200: "hipErrorInvalidImage",
    201: "hipErrorInvalidContext", 209: "hipErrorNoBinaryForGpu", 300: "hipErrorInvalidSource", 301: "hipErrorFileNotFound",
    304: "hipErrorOperatingSystem", 400: "hipErrorInvalidHandle", 500: "hipErrorNotFound", 700: "hipErrorIllegalAddress",
    701: "hipErrorLaunchOutOfResources", 702: "hipErrorLaunchTimeOut", 704: "hipErrorPeerAccessAlreadyEnabled",
    705: "hipErrorPeerAccessNotEnabled", 709: "hipErrorContextIsDestroyed", 710: "hipErrorAssert", 719: "hipErrorLaunchFailure",
    720: "hipErrorCooperativeLaunchTooLarge", 801: "hipErrorNotSupported", 999: "hipErrorUnknown",
}  # fmt: skip


@dataclass(frozen=True)
class Allocated:
    """Memory that a call has brought."""

    address: int
    #: Bytes; None where the function does not say.
    size: int | None
    kind: str
    function: str
    thread: int
    call: int
    stack: Stack


class ApiCheck(lt.Tool):
    """Of each process ``{"calls": N, "leaks": [{"function", "bytes", "address", "site", "stack", "thread", "call"}], "invalid frees":
    [{"function", "address", "why", "site", "stack", "thread", "call"}], "failed": [{"function", "result", "error", "site", "stack",
    "thread", "call", "asked"}]}``. ``site`` is the call's place in the program, ``stack`` what led to it, the innermost first; ``call``
    counts the calls that the tool has heard of; ``why`` is ``freed before`` (a double free), ``never allocated``, ``inside of other memory``
    or ``of another kind``; ``asked`` says whether the thread has called ``hipGetLastError`` or ``hipPeekAtLastError`` afterwards. Whether
    the program has looked at what a function returned is not known."""

    hip = ("hip*",)
    phases = ("exit",)
    stacks = True

    def __init__(self, quiet: str = "") -> None:
        self.quiet = [pattern for pattern in quiet.split("+") if pattern]
        self.is_process = False
        self.calls = 0
        self.memory: dict[int, Allocated] = {}
        #: The last free of each address, by the call's number.
        self.freed: dict[int, int] = {}
        self.invalid: list[dict[str, Any]] = []
        self.failed: list[dict[str, Any]] = []

    def on_start(self, app: App) -> None:
        self.is_process = True

    def on_hip(self, call: Call) -> None:
        self.calls += 1
        name, result = call.name, call.result
        if name in ASKS:
            for told in self.failed:
                if told["thread"] == call.thread:
                    told["asked"] = True
            return
        if name in _NO_STATUS:
            return
        if name in FREES:
            self._freed(call, *FREES[name])
        if result:
            if result != _NOT_READY and not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.quiet):
                error = ERRORS.get(result, f"error {result}")
                self.failed.append({"function": name, "result": result, "error": error, **self._where(call), "asked": False})
            return
        if name in ALLOCATES:
            parameter, kind = ALLOCATES[name]
            address = call.pointee(parameter)
            if address:
                self.memory[address] = Allocated(address, _size(call), kind, name, call.thread, self.calls, call.stack)
                self.freed.pop(address, None)
        elif name == "hipDeviceReset":
            self.memory.clear()

    def _freed(self, call: Call, parameter: str, kinds: tuple[str, ...]) -> None:
        address = getattr(call.args, parameter)
        if not address:  # a null pointer is no mistake
            return
        known = self.memory.get(address)
        if known is not None and known.kind in kinds:
            if not call.result:
                del self.memory[address]
                self.freed[address] = self.calls
            return
        why = "of another kind" if known is not None else "freed before" if address in self.freed else "never allocated"
        around = [m.address for m in self.memory.values() if m.size and m.address < address < m.address + m.size]
        if around:
            why = "inside of other memory"
            if not call.result:  # HIP 5 takes the address for that of the whole
                del self.memory[around[0]]
                self.freed[around[0]] = self.calls
        self.invalid.append({"function": call.name, "address": f"{address:#x}", "why": why, **self._where(call)})

    def _where(self, call: Call) -> dict[str, Any]:
        return {**_places(call.stack), "thread": call.thread, "call": self.calls}

    def on_exit(self, report: lt.Report) -> None:
        if not self.is_process:
            report.result = {}
            return
        leaks = [
            {
                "function": m.function,
                "bytes": m.size,
                "address": f"{m.address:#x}",
                **_places(m.stack),
                "thread": m.thread,
                "call": m.call,
            }  # fmt: skip
            for m in sorted(self.memory.values(), key=lambda m: -(m.size or 0))
        ]
        report.result = {"calls": self.calls, "leaks": leaks, "invalid frees": self.invalid, "failed": self.failed}
        show(report.result, report)


def show(result: dict[str, Any], report: lt.Report) -> None:
    """Has a report show the result of a process."""
    if not result["calls"]:
        report.table("api_check", [("no call of HIP was heard of: nothing was checked",)])
        return
    none: list[Any] = [("none",)]
    sums: Counter[tuple[str, int | None, str]] = Counter((m["function"], m["bytes"], m["site"]) for m in result["leaks"])
    rows = [(name, n, size, "" if size is None else n * size, site) for (name, size, site), n in sums.most_common()]
    report.table("never freed", rows or none, ("function", "times", "bytes of each", "bytes", "called at") if rows else ())
    about = ("function", "address", "why", "site", "call")
    wrong = [tuple(told[name] for name in about) for told in result["invalid frees"]]
    report.table("invalid frees", wrong or none, ("function", "address", "why", "called at", "call") if wrong else ())
    failed = Counter((one["function"], one["error"], one["site"], one["asked"]) for one in result["failed"])
    news = [(name, error, n, site, "yes" if asked else "no") for (name, error, site, asked), n in failed.most_common()]
    headers = ("function", "error", "times", "called at", "hipGetLastError was called")
    report.table("calls that failed", news or none, headers if news else ())


def _places(stack: Stack) -> dict[str, Any]:
    """A stack as text."""
    return {"site": "" if stack.site is None else str(stack.site), "stack": [str(frame) for frame in stack.frames]}


def _size(call: Call) -> int | None:
    """How many bytes a call asks for."""
    names = list(call.args)
    for name in ("size", "sizeBytes"):
        if name in names:
            return int(call.args[name])
    if "pitch" in names and "height" in names:
        return int(call.pointee("pitch")) * int(call.args["height"])
    return None
