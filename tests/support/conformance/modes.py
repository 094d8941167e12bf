"""MODE register settings to try, and what they do to sources and results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pcode import floats
from .pcode.values import FLOATS
from .samples import element
from .targets import Operand, Target


@dataclass(frozen=True)
class Mode:
    """MODE's bits: rounding of 32-bit results [1:0], of others [3:2]; denormals kept: 32-bit sources [4], results [5],
    others [6], [7]; DX10_CLAMP [8]; IEEE [9]."""

    name: str
    bits: int

    @property
    def round32(self) -> int:
        return self.bits & 3

    @property
    def round64(self) -> int:
        return self.bits >> 2 & 3

    @property
    def ieee(self) -> int:
        return self.bits >> 9 & 1

    @property
    def dx10_clamp(self) -> int:
        return self.bits >> 8 & 1

    def keeps(self, width: int, result: bool) -> bool:
        return bool(self.bits >> ((4 if width == 32 else 6) + result) & 1)


DEFAULT = Mode("nearest, denormals kept", 0x3F0)
ALL = (
    DEFAULT,
    Mode("nearest, denormals flushed", 0x300),
    Mode("up and down, denormals kept", 0x3F0 | floats.UP | floats.DOWN << 2),
    Mode("zero, IEEE off", 0x1F0 | floats.ZERO | floats.ZERO << 2),
    Mode("down and up, DX10_CLAMP off", 0x2F0 | floats.DOWN | floats.UP << 2),
    Mode("nearest, denormal sources flushed", 0x3F0 & ~0x50),
    Mode("nearest, denormal results flushed", 0x3F0 & ~0xA0),
    Mode("nearest, IEEE off, denormals flushed", 0x100),
)


def of(target: Target) -> tuple[Mode, ...]:
    """The settings that a target has: RDNA4 neither chooses what clamping makes of NaNs nor knows IEEE mode."""
    if target.major < 12:
        return ALL
    return tuple(Mode(mode.name, mode.bits & ~0x200 | 0x100) for mode in ALL)


def flush(mode: Mode, operand: Operand, words: np.ndarray, result: bool) -> np.ndarray:
    """Denormal parts of an operand (count, words) become zeros of their sign where the mode says so."""
    pieces, kind, width = element(operand)
    f = FLOATS.get((kind, width))
    if f is None or width < 16 or mode.keeps(width, result):
        return words
    parts = np.ascontiguousarray(words).view(f"u{width // 8}").copy()
    here = parts[:, :pieces]
    lowest = np.array(1 << f.fraction, here.dtype)
    magnitude = here & np.array(f.sign - 1, here.dtype)
    parts[:, :pieces] = np.where(magnitude < lowest, here & np.array(f.sign, here.dtype), here)
    return parts.view(np.uint32)
