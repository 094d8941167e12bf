"""HIP's streams and copies, as calls of HIP's functions tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luthier.agent.calls import Call

#: HIP's own handles: the null stream and the two that stand for it and for each thread's.
_HANDLES = {0: "default stream", 1: "default stream", 2: "stream of the thread"}
#: By ``hipMemcpyKind``.
_DIRECTIONS = ("host to host", "host to device", "device to host", "device to device", "as the pointers say")
#: What a function's name says.
_NAMED = (
    ("HtoD", "host to device"), ("DtoH", "device to host"), ("DtoD", "device to device"), ("HtoA", "host to device"),
    ("AtoH", "device to host"), ("Peer", "device to device"),
)  # fmt: skip
_ELEMENTS = {"hipMemsetD16": 2, "hipMemsetD32": 4}


class Streams:
    """The streams of a process by name, in the order in which they were made or first seen: ``stream 1``, ``stream 2``. The null stream is
    ``default stream``."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._made = 0

    def made(self, call: Call) -> None:
        """A stream has been made: its handle may have been another one's."""
        handle = call.pointee("stream")
        if handle:
            self._names[handle] = self._next()

    def of(self, call: Call) -> str | None:
        """The stream that a call is about; None for functions that have none."""
        names = set(call.args)
        for name in ("stream", "hStream"):
            if name in names:
                handle = call.args[name]
                if handle in _HANDLES:
                    is_threads = handle == 0 and call.name.endswith("_spt")
                    return _HANDLES[2 if is_threads else handle]
                if handle not in self._names:
                    self._names[handle] = self._next()
                return self._names[handle]
        return None

    def _next(self) -> str:
        self._made += 1
        return f"stream {self._made}"


def is_creation(name: str) -> bool:
    return name.startswith(("hipStreamCreate", "hipExtStreamCreate"))


def copied(call: Call) -> dict[str, Any] | None:
    """Bytes and direction of a call that copies or fills memory; None for other calls. Bytes are None where a structure in memory has
    them."""
    name = call.name
    if not name.startswith(("hipMemcpy", "hipMemset")):
        return None
    args, names = call.args, set(call.args)
    size = None
    if "sizeBytes" in names:
        size = args["sizeBytes"]
    elif "count" in names:
        size = args["count"] * next((width for prefix, width in _ELEMENTS.items() if name.startswith(prefix)), 1)
    elif {"width", "height"} <= names:
        size = args["width"] * args["height"]
    elif "extent" in names:
        width, height, depth = args["extent"]
        size = width * height * depth
    if name.startswith("hipMemset"):
        direction = "fill"
    elif "kind" in names:
        kind = args["kind"]
        direction = _DIRECTIONS[kind] if kind < len(_DIRECTIONS) else f"kind {kind}"
    else:
        direction = next((text for part, text in _NAMED if part in name), _DIRECTIONS[4])
    return {"direction": direction, "bytes": size}
