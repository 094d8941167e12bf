"""Kernels that never end: locks within a wave, and barriers over the grid."""

from __future__ import annotations

import numpy as np

from .exhibit import Exhibit, Launch, zeros

HANGS = "Nothing: the GPU hangs. ROCgdb shows where the waves are, when it is attached."


def grid_barrier() -> Launch:
    return Launch(
        [zeros(1), zeros(100 * 64)], {1: np.ones(6400, np.uint32)}, blocks=100, block=64, more_if_mended={"cooperative": True}
    )


def lock() -> Launch:
    return Launch([zeros(1), zeros(1)], {1: np.array([64], np.uint32)}, block=64)


def grid_sync() -> Launch:
    return Launch([zeros(2), zeros(256)], {1: np.ones(256, np.uint32)}, blocks=4, block=64)


EXHIBITS = (
    Exhibit(
        "cub_grid_barrier",
        ("https://github.com/NVIDIA/cub/issues/369",),
        "A barrier that all blocks of a grid count themselves in at, launched with more blocks than the GPU can hold: those that run "
        "wait for those that cannot begin. Mended by a grid that fits; a cooperative launch sees to that.",
        HANGS,
        grid_barrier,
        strict=False,
        stops_within=1,
        flags=("-DBLOCKS=100",),
    ),
    Exhibit(
        "openmp_lock",
        ("https://github.com/ROCm-Developer-Tools/llvm-project/pull/89",),
        "OpenMP's lock for AMD GPUs spun for each lane. The lane that has the lock waits, with its wave, for the lanes that do not get "
        "it. Mended by one lock for the lanes of a wave, which one lane takes; here lane after lane takes it.",
        HANGS,
        lock,
        strict=False,
        stops_within=1,
    ),
    Exhibit(
        "cuml_grid_sync",
        ("https://github.com/NVIDIA/cuml/issues/458",),
        "A barrier over the grid that is used several times, with a flag that is set back for the next round: a block that is late "
        "finds the flag down again and waits for good. Mended by counts that only grow.",
        HANGS,
        grid_sync,
        strict=False,
        stops_within=3,
    ),
)
