"""LDS of tools' own: where each has its part, and how it is zero when a workgroup starts."""

from __future__ import annotations

from typing import Any

from ..lang import active_lanes, exec_mask, hook, lane_id, popcount, ptr, u32, u64, wave_in_group
from ..lang.intrinsics import BARRIER as _barrier
from .values import Shared

#: What the address of the first one is rounded up by, at most.
_ALIGNMENT = 15


class SharedMemory:
    """The LDS of all tools in one code object."""

    def __init__(self) -> None:
        self._offsets: dict[Shared, int] = {}
        #: Up to where there are any.
        self.end = 0

    def offset(self, shared: Shared) -> int:
        """Where it begins in the LDS of all tools."""
        if shared not in self._offsets:
            self._offsets[shared] = self.end
            self.end += shared.size
        return self._offsets[shared]

    @property
    def bytes(self) -> int:
        """What each kernel is given for it on top of its own."""
        return self.end + _ALIGNMENT if self.end else 0

    def fill(self, bound: list[Any]) -> list[Any]:
        """Arguments with the number of all bytes in them, which is known in the end."""
        return [{"shared_bytes": self.bytes} if arg == "shared_bytes" else arg for arg in bound]


@hook
def clear(memory: ptr[u32, "lds"], words: u32):  # noqa: F821, UP037
    # At the entry of a kernel, which all waves of a workgroup come to, once: so they may wait for one another.
    if wave_in_group() == 0:
        word = popcount(exec_mask() & ((u64(1) << lane_id()) - 1))
        while word < words:
            memory[word] = 0
            word += active_lanes()
    _barrier()
