"""Gluon: warps with tasks of their own, workgroups of one cluster, copies ahead of their use."""

from __future__ import annotations

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from triton_programs.case import CDNA, case, close, empty, equal, rng, tensor


@gluon.jit
def cluster_product_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    # Two workgroups have half of the rows each.
    acc: gl.constexpr = gl.amd.AMDWMMALayout(
        version=3, transposed=True, warp_bases=[[0, 1], [1, 0]], instr_shape=[16, 16, 32], cga_layout=[[1, 0]]
    )
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=acc, k_width=8)
    right: gl.constexpr = gl.DotOperandLayout(operand_index=1, parent=acc, k_width=8)
    r = gl.arange(0, M, layout=gl.SliceLayout(1, left))[:, None]
    s = gl.arange(0, K, layout=gl.SliceLayout(0, left))[None, :]
    t = gl.arange(0, K, layout=gl.SliceLayout(1, right))[:, None]
    u = gl.arange(0, N, layout=gl.SliceLayout(0, right))[None, :]
    z = gl.amd.gfx1250.wmma(gl.load(a + r * K + s), gl.load(b + t * N + u), gl.zeros([M, N], gl.float32, acc))
    row = gl.arange(0, M, layout=gl.SliceLayout(1, acc))[:, None]
    column = gl.arange(0, N, layout=gl.SliceLayout(0, acc))[None, :]
    gl.store(c + row * N + column, z)


@case(targets=("gfx1250",))
def gluon_matmul_by_a_cluster(target):
    a, b = rng(115).standard_normal((128, 64)).astype(np.float16), rng(105).standard_normal((64, 32)).astype(np.float16)
    c = empty((128, 32), "f32")
    cluster_product_kernel[(1,)](tensor(a), tensor(b), c, M=128, N=32, K=64, num_warps=4, num_ctas=2)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)


@gluon.jit
def doubled(x, out, at):
    gl.store(out + at, gl.load(x + at) * 2)


@gluon.jit
def added(x, out, N: gl.constexpr, LANES: gl.constexpr, WARPS: gl.constexpr):
    at = N + gl.arange(0, N, layout=gl.BlockedLayout([1], [LANES], [WARPS], [0]))
    gl.store(out + at, gl.load(x + at) + 1)


@gluon.jit
def tasks_kernel(x, out, N: gl.constexpr, LANES: gl.constexpr):
    at = gl.arange(0, N, layout=gl.BlockedLayout([1], [LANES], [4], [0]))
    gl.warp_specialize([(doubled, (x, out, at)), (added, (x, out, N, LANES, 4))], [4])


#: Triton's compiler: "Warp specialization is only supported on gfx1250".
@case(targets=("gfx1250",))
def gluon_warps_with_tasks(target):
    x, out = rng(109).standard_normal(512).astype(np.float32), empty(512, "f32")
    tasks_kernel[(1,)](tensor(x), out, N=256, LANES=32, num_warps=4)
    equal(out[:256], x[:256] * 2)
    equal(out[256:], x[256:] + np.float32(1))


@gluon.jit
def bring(source, kept, full, free, COUNT: gl.constexpr, DEEP: gl.constexpr, N: gl.constexpr):
    for i in range(COUNT):
        gl.amd.gfx1250.mbarrier.wait(free.index(i % DEEP), (i // DEEP & 1) ^ 1)
        gl.amd.gfx1250.tdm.async_load(source, [i * N, 0], kept.index(i % DEEP), mbarrier=full.index(i % DEEP))


@gluon.jit
def sum_up(out, kept, full, free, COUNT: gl.constexpr, DEEP: gl.constexpr, N: gl.constexpr):
    tile: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    acc = gl.zeros([N, N], gl.float32, tile)
    for i in range(COUNT):
        gl.amd.gfx1250.mbarrier.wait(full.index(i % DEEP), i // DEEP & 1)
        acc += kept.index(i % DEEP).load(tile)
        gl.amd.gfx1250.mbarrier.arrive(free.index(i % DEEP))
    r = gl.arange(0, N, layout=gl.SliceLayout(1, tile))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, tile))[None, :]
    gl.store(out + r * N + c, acc)


@gluon.jit
def pipe_kernel(x, out, COUNT: gl.constexpr, DEEP: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    source = gl.amd.gfx1250.tdm.make_tensor_descriptor(x, [COUNT * N, N], [N, 1], [N, N], flat)
    kept = gl.allocate_shared_memory(gl.float32, [DEEP, N, N], flat)
    full = gl.allocate_shared_memory(gl.int64, [DEEP, 1], gl.amd.gfx1250.mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [DEEP, 1], gl.amd.gfx1250.mbarrier.MBarrierLayout())
    for i in gl.static_range(DEEP):
        gl.amd.gfx1250.mbarrier.init(full.index(i), 4)
        gl.amd.gfx1250.mbarrier.init(free.index(i), 4 * 32)
    gl.warp_specialize(
        [(sum_up, (out, kept, full, free, COUNT, DEEP, N)), (bring, (source, kept, full, free, COUNT, DEEP, N))], [4]
    )


@case(targets=("gfx1250",))
def gluon_warps_that_bring_what_others_sum_up(target):
    x, out = rng(110).integers(-99, 99, (7, 32, 32)).astype(np.float32), empty((32, 32), "f32")
    pipe_kernel[(1,)](tensor(x.reshape(-1, 32)), out, COUNT=7, DEEP=2, N=32, num_warps=4)
    equal(out, x.sum(0))


@gluon.jit
def neighbours_kernel(x, between, out, N: gl.constexpr):
    both: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[1]])
    at = gl.arange(0, N, layout=both)
    gl.store(between + at, gl.load(x + at) + 1)
    gl.barrier()
    gl.amd.gfx1250.cluster.arrive()
    gl.amd.gfx1250.cluster.wait()
    gl.store(out + at, gl.load(between + (at + N // 2) % N))


@case(targets=("gfx1250",))
def gluon_workgroups_of_a_cluster_exchange(target):
    x, between, out = rng(111).standard_normal(256).astype(np.float32), empty(256, "f32"), empty(256, "f32")
    neighbours_kernel[(1,)](tensor(x), between, out, N=256, num_warps=4, num_ctas=2)
    equal(out, np.roll(x, 128) + np.float32(1))


@gluon.jit
def ask_for(kept, place, OF: gl.constexpr):
    if OF == "gfx950":
        gl.amd.cdna4.async_copy.global_load_to_shared(kept, place)
        gl.amd.cdna4.async_copy.commit_group()
    else:
        gl.amd.gfx1250.async_copy.global_to_shared(kept, place)
        gl.amd.gfx1250.async_copy.commit_group()


@gluon.jit
def ahead_kernel(x, out, COUNT: gl.constexpr, N: gl.constexpr, LANES: gl.constexpr, OF: gl.constexpr):
    tile: gl.constexpr = gl.BlockedLayout([4], [LANES], [4], [0])
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    kept = gl.allocate_shared_memory(gl.float32, [2, N], flat)
    at = gl.arange(0, N, layout=tile)
    ask_for(kept.index(0), x + at, OF)
    acc = gl.zeros([N], gl.float32, tile)
    for i in gl.static_range(COUNT):
        if i + 1 < COUNT:
            ask_for(kept.index((i + 1) % 2), x + (i + 1) * N + at, OF)
        gl.amd.cdna4.async_copy.wait_group(1 if i + 1 < COUNT else 0)
        acc += kept.index(i % 2).load(tile)
        gl.barrier()
    gl.store(out + at, acc)


@case(targets=("gfx950", "gfx1250"))
def gluon_copies_ahead_to_shared_memory(target):
    lanes = 64 if target in CDNA else 32
    n = 4 * 4 * lanes
    x, out = rng(112).integers(-99, 99, (5, n)).astype(np.float32), empty(n, "f32")
    ahead_kernel[(1,)](tensor(x), out, COUNT=5, N=n, LANES=lanes, OF=target, num_warps=4)
    equal(out, x.sum(0))


@gluon.jit
def stages_kernel(a, b, c, N: gl.constexpr, K: gl.constexpr, BK: gl.constexpr):
    acc: gl.constexpr = gl.amd.AMDMFMALayout(version=3, instr_shape=[16, 16, 16], transposed=True, warps_per_cta=[4, 2])
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=acc, k_width=4)
    right: gl.constexpr = gl.DotOperandLayout(operand_index=1, parent=acc, k_width=4)
    r = gl.arange(0, N, layout=gl.SliceLayout(1, left))[:, None]
    s = gl.arange(0, BK, layout=gl.SliceLayout(0, left))[None, :]
    t = gl.arange(0, BK, layout=gl.SliceLayout(1, right))[:, None]
    u = gl.arange(0, N, layout=gl.SliceLayout(0, right))[None, :]
    z = gl.zeros([N, N], gl.float32, acc)
    for k in range(0, K, BK):
        with gl.amd.warp_pipeline_stage("load", priority=1):
            x = gl.load(a + r * K + s + k)
            y = gl.load(b + (t + k) * N + u)
        with gl.amd.warp_pipeline_stage("compute", priority=0):
            z = gl.amd.cdna3.mfma(x, y, z)
    row = gl.arange(0, N, layout=gl.SliceLayout(1, acc))[:, None]
    column = gl.arange(0, N, layout=gl.SliceLayout(0, acc))[None, :]
    gl.store(c + row * N + column, z)


@case(targets=("gfx942", "gfx950"))
def gluon_stages_of_a_warp_pipeline(target):
    a, b = rng(113).standard_normal((64, 128)).astype(np.float16), rng(114).standard_normal((128, 64)).astype(np.float16)
    c = empty((64, 64), "f32")
    stages_kernel[(1,)](tensor(a), tensor(b), c, N=64, K=128, BK=32, num_warps=8)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)
