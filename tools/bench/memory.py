"""What memory costs on the mock device: copies in words of each width, and a stencil, on one thread."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from inputs import compile_kernel

import luthier as lt

SIZE = 1 << 18
#: Kernels, and how many floats a lane moves.
LANES = {"copy1": 1, "copy2": 2, "copy4": 4, "rows4": 4, "stencil": 1}


def rates(processor: str, rounds: int = 15) -> dict[str, float]:
    """Megabytes that are loaded and stored in a second of the processor's time."""
    code = lt.CodeObject.open(compile_kernel(Path(__file__).parent / "memory.hip", processor))
    module = lt.Device(processor, threads=1).load(code)
    found = {}
    for kernel, floats in LANES.items():
        given, out = np.arange(SIZE + 1024, dtype=np.float32), np.zeros(SIZE + 1024, np.float32)
        best = float("inf")
        for _ in range(rounds):
            start = time.thread_time()
            module.run(kernel, grid=SIZE // floats, block=256, args=[out, given])
            best = min(best, time.thread_time() - start)
        found[kernel] = SIZE * 4 * (6 if kernel == "stencil" else 2) / best / 1e6
    return found


def measured() -> dict[str, dict]:
    """Wide words move at least as many bytes as narrow ones; a stencil, which loads five times, no fewer than half."""
    rows = {}
    for processor in ("gfx90a", "gfx1100"):
        found = rates(processor)
        for kernel, least in (("copy2", 1), ("copy4", 1), ("rows4", 0.5), ("stencil", 0.5)):
            rows[f"memory, {kernel}, {processor}"] = {
                "ours": found[kernel], "other": found["copy1"], "ratio": found[kernel] / found["copy1"], "unit": "MB/s, one core",
                "against": "copies of single words", "least": least,
            }  # fmt: skip
    return rows


if __name__ == "__main__":
    for processor in ("gfx90a", "gfx1100", "gfx1201"):
        print(processor, {kernel: round(rate) for kernel, rate in rates(processor).items()})
