"""Bugs in device memory that several waves or workgroups share: barriers, fences and atomics that are missing."""

from __future__ import annotations

import numpy as np

from .exhibit import Exhibit, Launch, u32, zeros

GLOBAL = "Nothing: compute-sanitizer's racecheck looks at shared memory alone, and AMD has no such tool."


def myocyte() -> Launch:
    init = np.arange(1, 92, dtype=np.float32)
    final = np.concatenate([init[:46] * 2, init[46:] * 3])
    return Launch([init, zeros(91, of=np.float32), zeros(3, of=np.float32)], {1: final, 2: init[:3] * 5}, blocks=2, block=32)


def simplemoc() -> Launch:
    source, segment = u32(8, 16), (u32(256) * 5) % 8
    flux = (source[segment] * 3).sum(0).astype(np.uint32)
    return Launch([source, segment, zeros(16), zeros(256, 16), np.uint32(16)], {2: flux}, blocks=2)


def particlefilter() -> Launch:
    drawn = np.uint32((7 * 1103515245 + 12345) % 2**32)
    return Launch([u32(1, start=7), zeros(200), np.uint32(200)], {1: drawn + u32(200)}, blocks=2)


def roots(parent: np.ndarray) -> np.ndarray:
    """Of each node the root of its tree."""
    while not np.array_equal(above := parent[parent], parent):
        parent = above
    return parent


def components() -> Launch:
    # Paths, so that trees become deep: each node and the one 16 further on.
    n = 512
    order = np.random.default_rng(5).permutation(n - 16).astype(np.uint32)
    return Launch([u32(n), order, order + 16], {0: np.arange(n, dtype=np.uint32) % 16}, blocks=4, block=124, view=roots)


def reduce() -> Launch:
    given = u32(512)
    return Launch([given, zeros(4), zeros(1), zeros(128)], {3: np.full(128, given.sum(), np.uint32)}, blocks=4)


def last_block() -> Launch:
    return Launch([u32(4, start=5), zeros(4), zeros(1), zeros(128)], {3: np.full(128, 26, np.uint32)}, blocks=4)


def split_k() -> Launch:
    given = u32(4, 128)
    return Launch([given, zeros(128), zeros(1)], {1: given.sum(0).astype(np.uint32)}, blocks=4)


def sytrf() -> Launch:
    return Launch([zeros(128), np.uint32(1000)], {0: u32(128, start=1000)})


EXHIBITS = (
    Exhibit(
        "hecbench_myocyte",
        ("https://github.com/zjin-lcf/HeCBench/blob/8fc336b5d2c11783ede6b9002b28e4185f0b4335/src/myocyte-hip/kernel_cam.cu",),
        "HeCBench's myocyte: two blocks run two models. The last line of the second one stores what is meant for "
        "the array `d_com` into `d_finavalu`, in which the first one stores. Mended by the right array.",
        GLOBAL,
        myocyte,
    ),
    Exhibit(
        "hecbench_simplemoc",
        ("https://github.com/zjin-lcf/HeCBench/blob/8fc336b5d2c11783ede6b9002b28e4185f0b4335/src/simplemoc-hip/main.cu",),
        "HeCBench's simplemoc: all threads share one scratch vector in device memory, and add to one flux without "
        "atomics. Here each thread has its own, and the flux is added to by atomics.",
        GLOBAL,
        simplemoc,
    ),
    Exhibit(
        "hecbench_particlefilter",
        (
            "https://github.com/zjin-lcf/HeCBench/blob/8fc336b5d2c11783ede6b9002b28e4185f0b4335/src/particlefilter-cuda/kernel_normalize_weights.h",
        ),
        "HeCBench's particlefilter: block 0 stores a number that all blocks read, behind `__syncthreads()`, which "
        "orders the threads of one block. Here each block computes it.",
        GLOBAL,
        particlefilter,
    ),
    Exhibit(
        "hecbench_cc",
        ("https://github.com/ORNL/HeCBench/pull/295",),
        "HeCBench's connected components on gfx942: paths are shortened by plain stores while other threads "
        "change the same words by compare and swap. One run of fourteen was wrong on MI300X. Mended by atomic "
        "loads and stores. (On gfx90a and RDNA1 to 3 both compile to the same instruction, so that there is "
        "nothing to find.)",
        GLOBAL,
        components,
        ("gfx942", "gfx1201", "gfx950"),
    ),
    Exhibit(
        "kokkos_reduce",
        (
            "https://github.com/kokkos/kokkos/pull/4332",
            "https://github.com/kokkos/kokkos/blob/0322976690a17e27d1d784d2ed6a571adaa59edb/core/src/HIP/Kokkos_HIP_ReduceScan.hpp",
        ),
        "Kokkos 4.0.01's reductions for HIP: each block leaves its result in memory and counts itself in by an "
        "atomic, with no fence before it. The block that comes last may see the count and not the results. "
        "Today's code has `__threadfence()` there.",
        GLOBAL,
        reduce,
    ),
    Exhibit(
        "pytorch_reduce",
        (
            "https://github.com/pytorch/pytorch/pull/193321",
            "https://github.com/pytorch/pytorch/pull/128455",
        ),
        "PyTorch's reductions on ROCm: the block that comes last reads what the others have left without an "
        "acquire, so that its own cache may answer. argmax gave indices out of range, rarely. Mended by "
        "`__threadfence()` in all threads of the last block.",
        GLOBAL,
        last_block,
    ),
    Exhibit(
        "fuser_split_k",
        ("https://github.com/NVIDIA/Fuser/pull/2391",),
        "nvFuser's split-K: blocks add to a tile one after the other, and hand it on behind `__syncthreads()` and "
        "without a fence of the device's scope. Mended by `__threadfence()`. (On RDNA the barrier's own fence waits "
        "for the stores already, and caches need not be written back: the machine code is right.)",
        GLOBAL,
        split_k,
        ("gfx90a", "gfx942"),
    ),
    Exhibit(
        "rocsolver_sytrf",
        ("https://github.com/ROCm/rocSOLVER/pull/364",),
        "rocSOLVER's sytrf: thread 0 stores the last pivot, and all threads shift the pivots without a barrier in "
        "between. Pivots were wrong on gfx1010 and right elsewhere. Mended by a barrier.",
        GLOBAL,
        sytrf,
    ),
)
