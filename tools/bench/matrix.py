"""Matrix instructions a second on one core, of each type, beside what any machine that runs the tests reaches with other work on it.

``python tools/bench/matrix.py`` prints the figures alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from device import load
from rows import at_least

import luthier as lt

HERE = Path(__file__).parent


class Kind(NamedTuple):
    """A loop of one matrix instruction."""

    source: str
    kernel: str
    processor: str
    #: Lanes of a wave.
    lanes: int
    instruction: str
    #: Millions a second.
    least: float


KINDS = {
    "matrix instructions": Kind("mfma", "mfma", "gfx90a", 64, "v_mfma_f32_16x16x16f16", 4),
    # CDNA3's sums, which are not those of f32.
    "matrix instructions, gfx942": Kind("mfma", "mfma", "gfx942", 64, "v_mfma_f32_16x16x16_f16", 1),
    # Waves of 32 lanes, which multiply twice or four times as much.
    "matrix instructions, gfx1100": Kind("wmma", "wmma", "gfx1100", 32, "v_wmma_f32_16x16x16_f16", 0.9),
    "matrix instructions, gfx1250": Kind("wmma", "wmma", "gfx1250", 32, "v_wmma_f32_16x16x32_f16", 3),
    "matrix instructions, f32": Kind("matrix_kinds", "f32", "gfx90a", 64, "v_mfma_f32_32x32x2f32", 1.5),
    "matrix instructions, bytes": Kind("matrix_kinds", "i8", "gfx90a", 64, "v_mfma_i32_32x32x8i8", 3),
    "matrix instructions, bytes, gfx942": Kind("matrix_kinds", "i8", "gfx942", 64, "v_mfma_i32_16x16x32_i8", 3.5),
    "matrix instructions, bytes, gfx1100": Kind("matrix_kinds", "i8", "gfx1100", 32, "v_wmma_i32_16x16x16_iu8", 1.8),
    "matrix instructions, scaled, gfx950": Kind("matrix_kinds", "scaled", "gfx950", 64, "v_mfma_scale_f32_16x16x128_f8f6f4", 0.03),
}  # fmt: skip


def launched(kind: Kind, rounds: int) -> lt.RunResult:
    """One launch of its loop, whose instruction is retired twice in each round."""
    module = load(HERE / f"{kind.source}.hip", processor=kind.processor)
    return _run(module, kind, rounds)


def _run(module: lt.Module, kind: Kind, rounds: int) -> lt.RunResult:
    return module.run(kind.kernel, grid=kind.lanes, block=kind.lanes, args=[np.zeros(64, np.float32), np.uint32(rounds)])


def per_second(kind: Kind, rounds: int = 4_000) -> float:
    """Millions of its instruction in a second of the processor's time, by the fastest of some launches."""
    module, best = load(HERE / f"{kind.source}.hip", processor=kind.processor), float("inf")
    for _ in range(8):
        start = time.thread_time()
        _run(module, kind, rounds)
        best = min(best, time.thread_time() - start)
    return 2 * rounds / best / 1e6


def measured() -> dict[str, dict]:
    """A row for each."""
    return {name: at_least(per_second(kind), kind.least, f"M {kind.instruction}/s, one core") for name, kind in KINDS.items()}


if __name__ == "__main__":
    for name, found in measured().items():
        print(f"{name}: {found['ours']:.2f} {found['unit']}, at least {found['other']}")
