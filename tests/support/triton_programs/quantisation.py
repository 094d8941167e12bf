"""Numbers of eight and four bits with scales for rows, columns, groups and blocks."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, dtype, empty, equal, rng, tensor

#: The float8 type that each processor converts to by itself, or by code that Triton has for it.
FP8 = {"gfx942": "fp8e4b8", "gfx950": "fp8e4nv", "gfx1201": "fp8e4nv", "gfx1250": "fp8e4nv"}


@triton.jit
def blocks_kernel(x, out, scales, columns, TOP: tl.constexpr, BLOCK: tl.constexpr):
    row, part, at = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + part * BLOCK + at)
    scale = tl.maximum(tl.max(tl.abs(v), 0), 1e-10) / TOP
    tl.store(scales + row * tl.num_programs(1) + part, scale)
    tl.store(out + row * columns + part * BLOCK + at, (v / scale).to(out.dtype.element_ty))


@triton.jit
def scaled_product_kernel(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // BK):
        rk = k * BK + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :])
        y = tl.load(b + rn[None, :] * K + rk[:, None])
        if WIDE:
            x, y = x.to(tl.float16), y.to(tl.float16)
        u = tl.load(sa + rm * (K // BK) + k)
        v = tl.load(sb + rn * (K // BK) + k)
        acc += tl.dot(x, y) * u[:, None] * v[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@case()
def matmul_of_fp8_blocks_with_scales(target):
    m, n, k, block = 32, 64, 128, 64
    name = FP8.get(target, "fp8e5")
    # Where a value may become infinite, the scale stays a little below the largest one.
    top = float(np.finfo(np.float16).max) / 2 if name == "fp8e5" else 240.0 if name == "fp8e4b8" else 448.0
    r, parts = rng(90), []
    for rows in (m, n):
        x = r.standard_normal((rows, k)).astype(np.float32) * 10 ** r.uniform(-2, 2, (rows, 1)).astype(np.float32)
        small, scales = empty((rows, k), name), empty((rows, k // block), "f32")
        blocks_kernel[(rows, k // block)](tensor(x), small, scales, k, TOP=top, BLOCK=block)
        wide = np.repeat(scales.numpy().astype(np.float64), block, 1)
        close(wide, np.repeat(np.abs(x).reshape(rows, -1, block).max(2) / top, block, 1), 1e-6)
        # Quotients are close to NumPy's, so that what is rounded is at most one step away.
        close(small.numpy().astype(np.float64) * wide, x, 0.13 if name == "fp8e5" else 0.07, np.abs(x).max() / top)
        parts += [small, scales, small.numpy().astype(np.float64) * wide]
    c = empty((m, n), "f32")
    a, sa, wide_a, b, sb, wide_b = parts
    scaled_product_kernel[(2, 2)](a, sa, b, sb, c, m, n, k, BM=16, BN=32, BK=block, WIDE=target not in FP8)
    close(c, wide_a @ wide_b.T, 1e-2, 1e-3 * np.abs(wide_a @ wide_b.T).max())


@triton.jit
def pack_kernel(x, out, scales, zeros, columns, GROUP: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, GROUP)
    v = tl.load(x + row * columns + part * GROUP + at)
    least, most = tl.min(v, 0), tl.max(v, 0)
    scale = (most - least) / 15.0
    zero = tl.floor(-least / scale + 0.5)
    q = tl.minimum(tl.maximum(tl.floor(v / scale + 0.5) + zero, 0.0), 15.0).to(tl.int32)
    low, high = tl.split(tl.reshape(q, (GROUP // 2, 2)))
    tl.store(out + (row * columns + part * GROUP) // 2 + tl.arange(0, GROUP // 2), (low | high << 4).to(tl.uint8))
    tl.store(scales + row * tl.num_programs(1) + part, scale)
    tl.store(zeros + row * tl.num_programs(1) + part, zero.to(tl.uint8))


@triton.jit
def unpack_kernel(packed, scales, zeros, out, columns, GROUP: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    number = row * tl.num_programs(1) + part
    both = tl.load(packed + (row * columns + part * GROUP) // 2 + tl.arange(0, GROUP // 2)).to(tl.int32)
    q = tl.interleave(both & 15, both >> 4) - tl.load(zeros + number).to(tl.int32)
    tl.store(out + row * columns + part * GROUP + tl.arange(0, GROUP), q.to(tl.float32) * tl.load(scales + number))


@case()
def four_bits_with_zero_points(target):
    rows, columns, group = 8, 128, 32
    x = rng(91).uniform(-3, 5, (rows, columns)).astype(np.float32)
    packed, back = empty((rows, columns // 2), "u8"), empty((rows, columns), "f32")
    scales, zeros = empty((rows, columns // group), "f32"), empty((rows, columns // group), "u8")
    grid = (rows, columns // group)
    pack_kernel[grid](tensor(x), packed, scales, zeros, columns, GROUP=group)
    unpack_kernel[grid](packed, scales, zeros, back, columns, GROUP=group)
    s = np.repeat(scales.numpy(), group, 1)
    groups = x.reshape(rows, -1, group)
    close(scales, (groups.max(2) - groups.min(2)) / 15, 1e-5)
    nibbles = np.stack([packed.numpy() & 15, packed.numpy() >> 4], 2).reshape(rows, columns)
    equal(back, ((nibbles.astype(np.int32) - np.repeat(zeros.numpy(), group, 1)).astype(np.float32) * s).astype(np.float32))
    # Half a step for the value and half a step for the zero point.
    assert (np.abs(back.numpy() - x) <= 1.01 * s).all()


@triton.jit
def whole_numbers_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K, BK: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    acc = tl.zeros((M, N), tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(
            tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]), acc, out_dtype=tl.int32
        )
    value = acc.to(tl.float32) * tl.load(sa + rm)[:, None] * tl.load(sb + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], value.to(c.dtype.element_ty))


@case()
def matmul_of_bytes_with_scales_of_rows_and_columns(target):
    m, n, k = 32, 32, 96
    r = rng(92)
    a, b = r.integers(-127, 128, (m, k)).astype(np.int8), r.integers(-127, 128, (k, n)).astype(np.int8)
    sa, sb = r.uniform(0.001, 0.1, m).astype(np.float32), r.uniform(0.001, 0.1, n).astype(np.float32)
    c = empty((m, n), "bf16")
    whole_numbers_kernel[(1,)](tensor(a), tensor(sa), tensor(b), tensor(sb), c, M=m, N=n, K=k, BK=32)
    want = (a.astype(np.int64) @ b.astype(np.int64)) * sa.astype(np.float64)[:, None] * sb.astype(np.float64)
    close(c, want, 2**-8, 1e-6)


@triton.jit
def micro_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk, rs = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 2), tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * (K // 2) + rk[None, :])
    y = tl.load(b + rn[None, :] * (K // 2) + rk[:, None])
    u = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
    v = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
    tl.store(c + rm[:, None] * N + rn[None, :], tl.dot_scaled(x, u, "e2m1", y, v, "e2m1"))


#: What the eight magnitudes of a four-bit float are.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@case(targets=("gfx942", "gfx950", "gfx1250"))
def matmul_of_four_bit_floats(target):
    m = n = 32
    k = 128
    r = rng(93)
    halves = [r.integers(0, 16, (rows, k)) for rows in (m, n)]
    packed = [(h[:, 0::2] | h[:, 1::2] << 4).astype(np.uint8) for h in halves]
    scales = [r.integers(124, 131, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
    c = empty((m, n), "f32")
    micro_kernel[(1,)](tensor(packed[0]), tensor(scales[0]), tensor(packed[1]), tensor(scales[1]), c, M=m, N=n, K=k)
    a, b = (
        np.where(h & 8, -1, 1) * E2M1[h & 7] * np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 1)
        for h, s in zip(halves, scales)
    )
    close(c, a @ b.T, 1e-4, 1e-3)


@triton.jit
def running_kernel(x, out, amax, TOP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.atomic_max(amax, tl.max(tl.abs(v), 0))
    tl.store(out + at, tl.minimum(tl.maximum(v, -TOP), TOP).to(out.dtype.element_ty))


@case(targets=tuple(FP8))
def casting_with_the_largest_so_far(target):
    name = FP8[target]
    x = (100 * rng(94).standard_normal(4096)).astype(np.float32)
    out, amax = empty(4096, name), tensor(np.zeros(1, np.float32))
    running_kernel[(4,)](tensor(x), out, amax, TOP=240.0, BLOCK=1024)
    equal(amax, [np.abs(x).max()])
    equal(out, np.clip(x, -240, 240).astype(dtype(name)))
