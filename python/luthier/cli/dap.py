"""``luthier dap``: the debugger for editors, by the Debug Adapter Protocol on standard input and output."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from ..dap import Adapter, Wire
from ..errors import ArgumentError
from .debug import stage_of

if TYPE_CHECKING:
    from ..device.debug.stage import Stage

#: The options of ``luthier debug`` that a launch configuration may set, and the types that each takes.
_KNOWN: dict[str, tuple[type, ...]] = {
    "program": (str,), "kernel": (str,), "grid": (str, int), "blocks": (str, int), "block": (str, int), "cluster": (str, int), "args": (list,),
    "lds": (int,), "strict": (bool, list), "schedule": (str,), "cooperative": (bool,), "target": (str,), "entry": (int,), "watchdog": (int,),
    "app": (list,), "launch": (int,), "mock": (str,), "rocm": (str,),
}  # fmt: skip
#: What clients add for themselves.
_THEIRS = (
    "type",
    "request",
    "name",
    "noDebug",
    "stopOnEntry",
    "presentation",
    "console",
    "cwd",
    "preLaunchTask",
    "postDebugTask",
)


def main(args: Any) -> int:
    """Serves one client."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What is printed in this process meanwhile must not get among the messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Of its own, since the thread that reads from it may still do so when the interpreter ends.
    reader = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    # A program that is started must not read what the client says.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return Adapter(Wire(reader, out), begun).serve()


def begun(configuration: dict[str, Any]) -> Stage:
    """The launch of a configuration.
    ArgumentError for a key or a value that it cannot have."""
    told = {key: value for key, value in configuration.items() if key not in _THEIRS and not key.startswith("_")}
    for key, value in told.items():
        if key not in _KNOWN:
            raise ArgumentError(f"launch: there is no {key!r}; there are {', '.join(_KNOWN)}")
        if not isinstance(value, _KNOWN[key]):
            raise ArgumentError(f"launch: {key!r} is {value!r}: expected {' or '.join(kind.__name__ for kind in _KNOWN[key])}")
    if ("program" in told) == ("app" in told):
        raise ArgumentError("launch: give 'program', a code object or a case file, or 'app', a program's words")

    def text(key: str) -> str | None:
        return None if key not in told else str(told[key])

    strict = told.get("strict", False)
    return stage_of(
        Namespace(
            file=told.get("program"), kernel=told.get("kernel"), grid=text("grid"), blocks=text("blocks"), block=text("block"),
            cluster=text("cluster"), arg=[str(arg) for arg in told.get("args", [])], lds=str(told.get("lds", 0)), strict=bool(strict),
            strict_kinds=",".join(map(str, strict)) if isinstance(strict, list) else None, schedule=told.get("schedule"),
            cooperative=told.get("cooperative", False), target=told.get("target"), entry=text("entry"), watchdog=text("watchdog"),
            timeout=None, app=[str(word) for word in told.get("app", [])], launch=text("launch"), mock=told.get("mock"), rocm=told.get("rocm"),
            limit=None,
        )
    )  # fmt: skip
