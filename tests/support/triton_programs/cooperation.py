"""Programs that share work: products of many shapes and split unevenly, phases of a whole grid, clusters."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, empty, equal, rng, tensor


@triton.jit
def uneven_kernel(a, b, c, locks, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns, steps = N // BN, K // BK
    total = (M // BM) * columns * steps
    step, end = tl.program_id(0) * total // PROGRAMS, (tl.program_id(0) + 1) * total // PROGRAMS
    while step < end:
        tile = step // steps
        rm = tile // columns * BM + tl.arange(0, BM)
        rn = tile % columns * BN + tl.arange(0, BN)
        last = tl.minimum(end, (tile + 1) * steps)
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(step, last):
            rk = s % steps * BK + tl.arange(0, BK)
            acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc)
        # Who else has a part of this tile waits for its turn.
        while tl.atomic_cas(locks + tile, 0, 1, sem="acquire") == 1:
            pass
        place = c + rm[:, None] * N + rn[None, :]
        tl.store(place, tl.load(place, volatile=True) + acc)
        tl.debug_barrier()
        tl.atomic_xchg(locks + tile, 0, sem="release")
        step = last


@case()
def matmul_split_unevenly(target):
    m, n, k = 64, 32, 96
    a, b = rng(100).standard_normal((m, k)).astype(np.float16), rng(101).standard_normal((k, n)).astype(np.float16)
    c, locks = tensor(np.zeros((m, n), np.float32)), tensor(np.zeros(4, np.int32))
    uneven_kernel[(5,)](tensor(a), tensor(b), c, locks, m, n, k, PROGRAMS=5, BM=32, BN=16, BK=16)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)


@triton.jit
def grouped_kernel(places, sizes, count, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile, before = tl.program_id(0), 0
    for group in range(count):
        m, n, k = tl.load(sizes + 3 * group), tl.load(sizes + 3 * group + 1), tl.load(sizes + 3 * group + 2)
        columns = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * columns
        a = tl.load(places + 3 * group).to(tl.pointer_type(tl.float16))
        b = tl.load(places + 3 * group + 1).to(tl.pointer_type(tl.float16))
        c = tl.load(places + 3 * group + 2).to(tl.pointer_type(tl.float32))
        while tile < before + tiles:
            rm = (tile - before) // columns * BM + tl.arange(0, BM)
            rn = (tile - before) % columns * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for first in range(0, k, BK):
                rk = first + tl.arange(0, BK)
                x = tl.load(a + rm[:, None] * k + rk[None, :], mask=(rm[:, None] < m) & (rk[None, :] < k), other=0.0)
                y = tl.load(b + rk[:, None] * n + rn[None, :], mask=(rk[:, None] < k) & (rn[None, :] < n), other=0.0)
                acc = tl.dot(x, y, acc)
            tl.store(c + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n))
            tile += PROGRAMS
        before += tiles


@case()
def matmul_of_groups(target):
    sizes = np.array([[40, 24, 32], [8, 50, 20], [33, 16, 64]], np.int32)
    r = rng(102)
    groups = [(r.standard_normal((m, k)).astype(np.float16), r.standard_normal((k, n)).astype(np.float16)) for m, n, k in sizes]
    tensors = [(tensor(a), tensor(b), empty((a.shape[0], b.shape[1]), "f32")) for a, b in groups]
    places = tensor(np.array([[x.data_ptr() for x in group] for group in tensors], np.int64))
    grouped_kernel[(3,)](places, tensor(sizes), 3, PROGRAMS=3, BM=32, BN=16, BK=32)
    for (a, b), (_, _, c) in zip(groups, tensors):
        close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)


@triton.jit
def all_arrive(counter, programs):
    tl.debug_barrier()
    tl.atomic_add(counter, 1, sem="release")
    while tl.atomic_add(counter, 0, sem="acquire") < programs:
        pass
    tl.debug_barrier()


@triton.jit
def phases_kernel(x, out, tops, sums, counters, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    program, each = tl.program_id(0), tl.arange(0, PROGRAMS)
    at = program * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(tops + program, tl.max(v, 0))
    all_arrive(counters, PROGRAMS)
    e = tl.exp(v - tl.max(tl.load(tops + each, volatile=True), 0))
    tl.store(sums + program, tl.sum(e, 0))
    all_arrive(counters + 1, PROGRAMS)
    tl.store(out + at, e / tl.sum(tl.load(sums + each, volatile=True), 0))


@case()
def softmax_by_phases_of_a_cooperative_launch(target):
    x = rng(103).standard_normal(8 * 128).astype(np.float32)
    out, tops, sums, counters = empty(1024, "f32"), empty(8, "f32"), empty(8, "f32"), tensor(np.zeros(2, np.int32))
    phases_kernel[(8,)](tensor(x), out, tops, sums, counters, PROGRAMS=8, BLOCK=128, launch_cooperative_grid=True, num_warps=2)
    e = np.exp(x.astype(np.float64) - x.max())
    close(out, e / e.sum(), 1e-5)


@triton.jit
def cluster_rows_kernel(x, out, tops, M: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + rm[:, None] * N + rn[None, :])
    top = tl.max(v, 1)
    e = tl.exp(v - top[:, None])
    tl.store(tops + rm, top)
    tl.store(out + rm[:, None] * N + rn[None, :], e / tl.sum(e, 1)[:, None])


@case(2, 4, targets=("gfx1250",))
def softmax_by_clusters(target, workgroups):
    x = rng(104).standard_normal((128, 32)).astype(np.float32)
    out, tops = empty((128, 32), "f32"), empty(128, "f32")
    cluster_rows_kernel[(2,)](tensor(x), out, tops, M=64, N=32, num_ctas=workgroups)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    equal(tops, x.max(1))
    close(out, e / e.sum(1, keepdims=True), 1e-5)


@triton.jit
def asked_kernel(a, b, c, N: tl.constexpr, K, BM: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N)
    acc = tl.zeros((BM, N), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True, num_stages=3):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@case()
def matmul_that_asks_for_warp_specialisation(target):
    a, b = rng(106).standard_normal((64, 128)).astype(np.float16), rng(107).standard_normal((128, 32)).astype(np.float16)
    c = empty((64, 32), "f32")
    asked_kernel[(2,)](tensor(a), tensor(b), c, N=32, K=128, BM=32, BK=32, num_warps=4)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)


@triton.jit
def edges_kernel(x, out, M, N, P: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    to = tl.make_tensor_descriptor(out, [M, N], [P, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    rm, rn = m + tl.arange(0, BM), n + tl.arange(0, BN)
    v = tl.load(x + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=7.0)
    to.store([m, n], (v * 2).to(out.dtype.element_ty))


@case("f16", "f32", "i8")
def descriptors_store_within_their_edges(target, name):
    m, n, pitch = 20, 50, 64
    x = rng(108).integers(-60, 60, (m, n)).astype(np.float32)
    out = tensor(np.full((m + 4, pitch), 99), name)
    edges_kernel[(2, 2)](tensor(x), out, m, n, P=pitch, BM=16, BN=32)
    want = np.full((m + 4, pitch), 99.0)
    want[:m, :n] = 2 * x
    equal(out, want)
