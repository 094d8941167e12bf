"""Gluon: layouts, shared memory, and each processor's own matrix and copy instructions."""

from __future__ import annotations

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from triton_programs.case import CDNA, RDNA, case, close, empty, equal, rng, tensor


def lanes(target):
    return 64 if target in CDNA else 32


@gluon.jit
def copy_kernel(x, out, n, LANES: gl.constexpr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [LANES], [4], [0])
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + at, gl.load(x + at, mask=at < n) + 1, mask=at < n)


@case()
def gluon_copy(target):
    x, out = rng(60).standard_normal(900).astype(np.float32), empty(900, "f32")
    copy_kernel[(2,)](tensor(x), out, 900, LANES=lanes(target), BLOCK=512, num_warps=4)
    equal(out, x + np.float32(1))


@gluon.jit
def turn_kernel(x, out, N: gl.constexpr, LANES: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [LANES // 8, 8], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, LANES // 8], [1, 4], [0, 1])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, rows))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    tile = gl.convert_layout(gl.load(x + r * N + c), columns)
    u = gl.arange(0, N, layout=gl.SliceLayout(1, columns))[:, None]
    v = gl.arange(0, N, layout=gl.SliceLayout(0, columns))[None, :]
    gl.store(out + v * N + u, tile)


@case()
def gluon_layouts(target):
    x, out = rng(61).standard_normal((64, 64)).astype(np.float32), empty((64, 64), "f32")
    turn_kernel[(1,)](tensor(x), out, N=64, LANES=lanes(target), num_warps=4)
    equal(out, x.T.copy())


@gluon.jit
def shared_kernel(x, out, N: gl.constexpr, LANES: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [LANES // 8, 8], [4, 1], [1, 0])
    swizzled: gl.constexpr = gl.SwizzledSharedLayout(vec=4, per_phase=1, max_phase=8, order=[1, 0])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, rows))[:, None]
    c = gl.arange(0, N, layout=gl.SliceLayout(0, rows))[None, :]
    kept = gl.allocate_shared_memory(gl.float32, [N, N], swizzled)
    kept.store(gl.load(x + r * N + c))
    gl.barrier()
    gl.store(out + r * N + c, kept.permute((1, 0)).load(rows))


@case()
def gluon_shared_memory(target):
    x, out = rng(62).standard_normal((64, 64)).astype(np.float32), empty((64, 64), "f32")
    shared_kernel[(1,)](tensor(x), out, N=64, LANES=lanes(target), num_warps=4)
    equal(out, x.T.copy())


@gluon.jit
def sums_kernel(x, out, N: gl.constexpr, LANES: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [LANES // 8, 8], [4, 1], [1, 0])
    r = gl.arange(0, N, layout=gl.SliceLayout(1, rows))
    c = gl.arange(0, N, layout=gl.SliceLayout(0, rows))
    gl.store(out + r, gl.sum(gl.load(x + r[:, None] * N + c[None, :]), axis=1))


@case()
def gluon_sums(target):
    x, out = rng(63).integers(-99, 99, (64, 64)).astype(np.int32), empty(64, "i32")
    sums_kernel[(1,)](tensor(x), out, N=64, LANES=lanes(target), num_warps=4)
    equal(out, x.sum(1))


@gluon.jit
def mfma_kernel(a, b, c, N: gl.constexpr, K: gl.constexpr, VERSION: gl.constexpr, DEPTH: gl.constexpr):
    plain: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    acc: gl.constexpr = gl.amd.AMDMFMALayout(version=VERSION, instr_shape=[32, 32, DEPTH], transposed=True, warps_per_cta=[2, 2])
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=acc, k_width=4)
    right: gl.constexpr = gl.DotOperandLayout(operand_index=1, parent=acc, k_width=4)
    r = gl.arange(0, N, layout=gl.SliceLayout(1, plain))[:, None]
    s = gl.arange(0, K, layout=gl.SliceLayout(0, plain))[None, :]
    t = gl.arange(0, K, layout=gl.SliceLayout(1, plain))[:, None]
    u = gl.arange(0, N, layout=gl.SliceLayout(0, plain))[None, :]
    x = gl.convert_layout(gl.amd.cdna3.buffer_load(a, r * K + s), left)
    y = gl.convert_layout(gl.amd.cdna3.buffer_load(b, t * N + u), right)
    z = gl.amd.cdna3.mfma(x, y, gl.zeros([N, N], gl.float32, acc))
    z = gl.convert_layout(z, plain)
    gl.amd.cdna3.buffer_store(z, c, r * N + u)


@case(targets=("gfx942", "gfx950"))
def gluon_mfma(target):
    a, b = (rng(seed).standard_normal((64, 64)).astype(np.float16) for seed in (64, 65))
    c = empty((64, 64), "f32")
    mfma_kernel[(1,)](tensor(a), tensor(b), c, N=64, K=64, VERSION=3, DEPTH=8, num_warps=4)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)


@gluon.jit
def wmma_kernel(a, b, c, N: gl.constexpr, K: gl.constexpr, VERSION: gl.constexpr, WIDTH: gl.constexpr):
    plain: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    acc: gl.constexpr = gl.amd.AMDWMMALayout(version=VERSION, transposed=True, warp_bases=[[0, 1], [1, 0]])
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=acc, k_width=WIDTH)
    right: gl.constexpr = gl.DotOperandLayout(operand_index=1, parent=acc, k_width=WIDTH)
    r = gl.arange(0, N, layout=gl.SliceLayout(1, plain))[:, None]
    s = gl.arange(0, K, layout=gl.SliceLayout(0, plain))[None, :]
    t = gl.arange(0, K, layout=gl.SliceLayout(1, plain))[:, None]
    u = gl.arange(0, N, layout=gl.SliceLayout(0, plain))[None, :]
    x = gl.convert_layout(gl.load(a + r * K + s), left)
    y = gl.convert_layout(gl.load(b + t * N + u), right)
    if VERSION == 1:
        z = gl.amd.rdna3.wmma(x, y, gl.zeros([N, N], gl.float32, acc))
    else:
        z = gl.amd.rdna4.wmma(x, y, gl.zeros([N, N], gl.float32, acc))
    gl.store(c + r * N + u, gl.convert_layout(z, plain))


@case(targets=RDNA)
def gluon_wmma(target):
    a, b = (rng(seed).standard_normal((64, 64)).astype(np.float16) for seed in (66, 67))
    c = empty((64, 64), "f32")
    version, width = (1, 16) if target.startswith("gfx11") else (2, 8)
    wmma_kernel[(1,)](tensor(a), tensor(b), c, N=64, K=64, VERSION=version, WIDTH=width, num_warps=4)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)
