"""Bugs in shared memory: barriers that are missing, or too late, or reached by some."""

from __future__ import annotations

import numpy as np

from .exhibit import Exhibit, Launch, u32, zeros

#: What other tools would have seen.
RACECHECK = "compute-sanitizer's racecheck, of the CUDA form. Nothing of AMD's."
RACECHECK_VOLATILE = (
    "compute-sanitizer's racecheck says nothing of the CUDA form as it is built, since the compiler moves the read behind a barrier; "
    "with `volatile`, as here, it does. Nothing of AMD's."
)
SYNCCHECK = "compute-sanitizer's synccheck, of the CUDA form. Nothing of AMD's: there it is a hang, or a wrong result."
NOTHING_AMD = "Nothing: the code is for AMD GPUs alone, and AMD has no such tool. racecheck would report the same in CUDA."
NOTHING_WAITS = "Nothing: nothing else looks at the waits of AMD's machine code."


def potf2() -> Launch:
    rng = np.random.default_rng(1)
    low = np.tril(rng.integers(-3, 4, (16, 16))).astype(np.float32)
    np.fill_diagonal(low, 2)
    # Column by column.
    return Launch([(low @ low.T).T.ravel().copy(), zeros(256, of=np.float32)], {1: low.T.ravel()}, block=256)


def getf2() -> Launch:
    columns = np.random.default_rng(2).permutation(512).astype(np.float32).reshape(4, 128)
    pivot = int(columns[0].argmax())
    want = columns * columns[0, pivot] - columns[0] * columns[:, pivot : pivot + 1]
    return Launch([columns, zeros(4, 128, of=np.float32)], {1: want})


def syevj() -> Launch:
    x, y = np.arange(256, dtype=np.float32), np.arange(256, 512, dtype=np.float32)
    given, pair = np.concatenate([x, y]), np.arange(256) % 4
    for sweep in range(3):
        c, s = (pair + sweep).astype(np.float32), (pair * sweep).astype(np.float32)
        x, y = c * x - s * y, s * x + c * y
    return Launch([given, zeros(512, of=np.float32)], {1: np.concatenate([x, y])}, block=256)


def surfel() -> Launch:
    surfels, k = np.arange(384, dtype=np.float32) % 7, np.arange(128)
    weights = (k[:, None] ^ k[None, :]).astype(np.float32)
    return Launch([surfels, zeros(128, of=np.float32)], {1: surfels.reshape(3, 128).sum(0) @ weights})


def marching_cubes() -> Launch:
    return Launch([zeros(2), zeros(128)], {1: 2 * u32(128)})


def scan() -> Launch:
    given = u32(256) % 13
    return Launch([given, zeros(256)], {1: np.cumsum(given, dtype=np.uint32)})


def flash_attention() -> Launch:
    given = u32(2, 256)
    far = given[:, np.arange(256) ^ 128]
    first = (far[0] * 3 + far[1]) * 3
    return Launch([given, zeros(256)], {1: np.where(np.arange(256) < 128, first, far.sum(0))}, block=256)


def moe_align() -> Launch:
    experts = (u32(128) * 37) % 128 // 3
    return Launch([experts, zeros(128)], {1: np.bincount(experts, minlength=128)})


def mx4() -> Launch:
    given, n = (u32(100) * 2654435761) % 1000, 100
    padded = np.concatenate([given, zeros(156)])
    return Launch([given, zeros(100), np.uint32(n)], {1: padded.reshape(8, 32).max(1).repeat(32)[:n]}, block=256)


def crs() -> Launch:
    size = 60
    given = np.random.default_rng(3).integers(0, 1 << 60, (3, size)).astype(np.uint64)
    want, at = np.zeros(size, np.uint64), np.arange(size)
    for k in range(3):
        for j in range(5):
            want ^= given[k, at // 5 * 5 + j] << np.uint64(j ^ k)
    return Launch([given, np.zeros(size, np.uint64), np.uint32(size)], {1: want}, block=128)


def convolution() -> Launch:
    given = (np.arange(200) % 9).astype(np.float32)
    padded = np.concatenate([given, np.zeros(4, np.float32)])
    want = sum(padded[k : k + 200] * (k + 1) for k in range(4))
    return Launch([given, zeros(200, of=np.float32), np.uint32(200)], {1: want.astype(np.float32)}, blocks=2)


def sort() -> Launch:
    keys = np.random.default_rng(4).permutation(256).astype(np.uint32)
    return Launch([keys], {0: u32(256)}, block=256)


def pingpong() -> Launch:
    given = u32(2, 512)
    a, b = given[0, :256], given[0, 256:]
    sums = np.tile(a + 3 * b, 2)
    back = np.concatenate([given[1, 256:], given[1, :256]])
    return Launch([given, zeros(512)], {1: sums + back}, block=512)


def wavefront() -> Launch:
    return Launch([u32(64), zeros(1)], {1: np.array([2016], np.uint32)}, block=64)


def vector_product() -> Launch:
    return Launch([u32(256), zeros(1)], {1: np.array([256 * 255 // 2], np.uint32)}, block=256)


EXHIBITS = (
    Exhibit(
        "rocsolver_potf2",
        (
            "https://github.com/ROCm/legacy-rocm-build/issues/6623",
            "https://github.com/ROCm/rocm-libraries/pull/10909",
        ),
        "Small Cholesky factors in rocSOLVER of ROCm 7.2: all threads read the diagonal element, and thread 0 overwrites "
        "it with its root before the first barrier. A wave that comes late takes the root of the root, scales its "
        "part of the column by it, and `info` says 0. Mended by a barrier between the read and the write.",
        NOTHING_AMD,
        potf2,
    ),
    Exhibit(
        "rocsolver_getf2",
        ("https://github.com/ROCm/rocm-libraries/pull/3743",),
        "rocSOLVER's LU of small matrices keeps a column in LDS, in which all threads look for the pivot, and "
        "then the pivot's row in the same array. The thread that has the row writes it while other waves still "
        "read the column. Mended by a barrier.",
        NOTHING_AMD,
        getf2,
    ),
    Exhibit(
        "rocsolver_syevj",
        (
            "https://github.com/ROCm/rocm-libraries/pull/12266",
            "https://github.com/llvm/llvm-project/issues/207883",
        ),
        "rocSOLVER's Jacobi eigenvalues gave wrong results on gfx11 and were taken for a miscompilation. A few "
        "threads put cosines and sines into LDS, all use them, and nothing keeps the next ones from being written "
        "meanwhile. Mended by barriers.",
        NOTHING_AMD,
        syevj,
    ),
    Exhibit(
        "hecbench_surfel",
        ("https://github.com/ORNL/HeCBench/issues/253",),
        "HeCBench's surfel renderer brings surfels to shared memory a tile at a time, with a barrier behind the "
        "store and none behind the last read: the next tile overwrites what slower waves still read. Mended by a "
        "second barrier in the loop.",
        RACECHECK,
        surfel,
    ),
    Exhibit(
        "hecbench_marching_cubes",
        ("https://github.com/ORNL/HeCBench/issues/254",),
        "HeCBench's marchingCubes: one thread leaves in shared memory where the block's vertices begin, and all "
        "threads read that at once. Mended by a barrier in between.",
        RACECHECK_VOLATILE,
        marching_cubes,
    ),
    Exhibit(
        "kokkos_scan",
        (
            "https://github.com/kokkos/kokkos/issues/8607",
            "https://github.com/kokkos/kokkos/pull/8648",
        ),
        "Kokkos' parallel_scan for HIP wrote a total that other threads were about to read, behind "
        "`__threadfence_block()`: a fence orders the accesses of one thread, and has no other thread wait. Mended "
        "by `__syncthreads()`.",
        NOTHING_AMD,
        scan,
    ),
    Exhibit(
        "llama_flash_attention",
        (
            "https://github.com/ggml-org/llama.cpp/pull/13438",
            "https://github.com/ggml-org/llama.cpp/pull/13469",
        ),
        "A barrier that llama.cpp's FlashAttention got against a race was reached by some of the waves only. From "
        "there on the waves wait for each other at different barriers, and long contexts gave wrong results. "
        "Mended by having all waves reach it.",
        SYNCCHECK,
        flash_attention,
    ),
    Exhibit(
        "vllm_moe_align",
        ("https://github.com/vllm-project/vllm/pull/13140",),
        "vLLM's moe_align_block_size sets counters in shared memory to zero and adds to them at once, each thread "
        "to another thread's counter. Counts were lost, and DeepSeek R1 wrote garbage now and then. Mended by a "
        "barrier in between.",
        RACECHECK,
        moe_align,
    ),
    Exhibit(
        "fbgemm_mx4",
        ("https://github.com/pytorch/FBGEMM/pull/5857",),
        "FBGEMM's quantisation to MX4: threads beyond the last element return before barriers that the others "
        "wait at, with whole waves of such threads in the last block. Mended by threads that stay and do nothing.",
        SYNCCHECK,
        mx4,
    ),
    Exhibit(
        "hecbench_crs",
        ("https://github.com/zjin-lcf/HeCBench/blob/2f1b12f5e42b1358ce72648bc20d1ab8863a0224/src/crs-hip/kernels.cu",),
        "HeCBench's Reed-Solomon coder: threads that make no whole group, and threads beyond the end, return "
        "before the barriers of the loop. Here they stay.",
        SYNCCHECK,
        crs,
    ),
    Exhibit(
        "mojo_convolution",
        ("https://github.com/modular/mojo-gpu-puzzles/issues/9",),
        "A convolution over tiles in shared memory: the elements beyond the end of the input, and those beside "
        "the last tile, are read and were never written. Mended by zeros there.",
        "initcheck of compute-sanitizer looks at device memory alone: nothing.",
        convolution,
    ),
    Exhibit(
        "xla_sort",
        (
            "https://github.com/ROCm/tensorflow-upstream/pull/1857",
            "https://github.com/GPUOpen-Drivers/llpc/pull/1886",
        ),
        "From gfx90a on LLVM does not wait for memory at a barrier unless a fence stands beside it. XLA's barriers got "
        "fences for gfx90a in 2022; its sort on gfx942 has barriers without, and strict mode found 116 missing waits in it, "
        "in a JAX program.",
        NOTHING_WAITS,
        sort,
        targets=("gfx90a", "gfx942", "gfx1201"),
    ),
    Exhibit(
        "triton_pingpong",
        (
            "https://github.com/triton-lang/triton/issues/11696",
            "https://github.com/triton-lang/triton/pull/11765",
        ),
        "Triton's two-cluster ping-pong schedule on gfx942 had a bare `s_barrier` behind loads of LDS: the other "
        "group of waves overwrote the buffer before the loads were done, and products came out wrong. Mended "
        "by the barrier with a fence for LDS.",
        NOTHING_WAITS,
        pingpong,
        targets=("gfx90a", "gfx942", "gfx950"),
    ),
    Exhibit(
        "amrex_wavefront",
        ("https://github.com/AMReX-Codes/amrex/pull/3776",),
        "AMReX took waves for 64 lanes wide on Navi, as the compiler's macro said, where they have 32: what one wave does without "
        "barriers two do. Results were wrong on Navi cards. Here the mended kernel has barriers.",
        NOTHING_AMD,
        wavefront,
        targets=("gfx1030", "gfx1100", "gfx1201"),
    ),
    Exhibit(
        "llama_vector_product",
        ("https://github.com/ggml-org/llama.cpp/issues/10739", "https://github.com/ggml-org/llama.cpp/pull/10740"),
        "llama.cpp's product of a matrix and a vector has an array of 32 sums in shared memory, from which 33 threads read: `>` "
        "stood for `>=`. It was an illegal access on some GPUs.",
        "compute-sanitizer's memcheck, of the CUDA form. On AMD GPUs the read gives zero, or what lies there: nothing.",
        vector_product,
    ),
)
