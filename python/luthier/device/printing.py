"""Where the text goes that kernels print."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Protocol


class TextOutput(Protocol):
    """What has a ``write`` for text: an open file, ``io.StringIO()``."""

    def write(self, text: str, /) -> object: ...


class Printer:
    """Takes what kernels have printed to one output, or to the standard one that each kernel means."""

    def __init__(self, core: Any, output: TextOutput | None):
        self._core = core
        self._output = output

    def write(self, printed: Iterable[tuple[bytes, bool]]) -> None:
        for text, is_error in printed:
            # Looked up now: the program may have put another one in its place.
            output = self._output or (sys.stderr if is_error else sys.stdout)
            if output is not None:  # a process without a console has none
                output.write(text.decode("utf-8", "replace"))

    def flush(self) -> None:
        """Writes what has not been written yet."""
        self.write(self._core.take_printed())


def may_print(facts: dict[str, Any] | None) -> bool:
    """Whether a kernel with these facts of its metadata may call its host, or print into a buffer."""
    kinds = ("hidden_hostcall_buffer", "hidden_printf_buffer")
    return any(arg["kind"] in kinds for arg in (facts or {}).get("args") or ())
