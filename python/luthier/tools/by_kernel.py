"""What a tool counts, by kernel: functions may be shared, so it is not the place that tells the kernel, but the launch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from luthier.instrumenting.tool import Tool


class ByKernel:
    """Splits numbers that only grow by the kernel that ran when they grew. ``read`` gives them as they are now."""

    def __init__(self, read: Callable[[], Mapping[str, int]]):
        self._read = read
        self._kernel: str | None = None
        self._before: Mapping[str, int] = {}
        self._kernels: dict[str, Counter[str]] = {}

    def begin(self, kernel: str) -> None:
        """A launch of a kernel begins."""
        if kernel != self._kernel:
            self._settle()
            self._kernel = kernel

    def kernels(self) -> dict[str, Counter[str]]:
        """The numbers of each kernel that was launched, in the order of their first launches."""
        self._settle()
        return self._kernels

    def _settle(self) -> None:
        now = dict(self._read())
        if self._kernel is not None:
            grown = Counter({name: n - self._before.get(name, 0) for name, n in now.items() if n != self._before.get(name, 0)})
            self._kernels.setdefault(self._kernel, Counter()).update(grown)
        self._before = now


def not_counted(tool: Tool) -> dict[str, Any]:
    """How many of a tool's insertions could not be made, and why the first of them."""
    first = tool.rejected[0]
    return {"insertions": len(tool.rejected), "why": f"at {first['address']:#x}: {first['reason']}"}
