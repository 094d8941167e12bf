"""Matrix products of all formats, with and without descriptors, persistent, split, batched; attention and its gradients."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, dtype, empty, equal, rng, tensor


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr = "ieee"):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    ACC: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    acc = tl.zeros((BM, BN), dtype=tl.float64 if a.dtype.element_ty == tl.float64 else ACC)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=acc.dtype)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def product(target, name, out_name, shape=(50, 40, 72), blocks=(32, 32, 32), warps=4):
    m, n, k = shape
    r = rng(30)
    if name == "i8":
        a, b = (r.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    else:
        a, b = (r.standard_normal(s).astype(dtype(name)) for s in ((m, k), (k, n)))
    c = empty((m, n), out_name)
    bm, bn, bk = blocks
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    matmul_kernel[grid](tensor(a), tensor(b), c, m, n, k, BM=bm, BN=bn, BK=bk, num_warps=warps)
    return a, b, c


@case(("f16", "f32", 4), ("f16", "f16", 1), ("bf16", "f32", 2), ("f32", "f32", 4))
def matmul(target, name, out_name, warps):
    a, b, c = product(target, name, out_name, warps=warps)
    close(
        c, a.astype(np.float64) @ b.astype(np.float64), 2e-3 if out_name == "f16" else 1e-4, 2e-3 if out_name == "f16" else 1e-4
    )


@case()
def matmul_i8(target):
    a, b, c = product(target, "i8", "i32")
    equal(c, a.astype(np.int64) @ b.astype(np.int64))


@case("fp8e4b8", "fp8e5b16", targets=("gfx942",))
@case("fp8e4nv", "fp8e5", targets=("gfx950", "gfx1201", "gfx1250"))
def matmul_fp8(target, name):
    a, b, c = product(target, name, "f32", shape=(32, 32, 128), blocks=(32, 32, 128))
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-3)


@case(targets=("gfx90a", "gfx942", "gfx950"))
def matmul_f64(target):
    a, b, c = product(target, "f64", "f64", shape=(32, 32, 64), blocks=(32, 32, 16))
    close(c, a @ b, 1e-12, 1e-12)


@triton.jit
def scaled_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk, rs = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + rm[:, None] * K + rk[None, :])
    y = tl.load(b + rk[:, None] * N + rn[None, :])
    u = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :])
    v = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :])
    tl.store(c + rm[:, None] * N + rn[None, :], tl.dot_scaled(x, u, "e5m2", y, v, "e5m2"))


@case(targets=("gfx942", "gfx950", "gfx1250"))
def matmul_scaled(target):
    m = n = 32
    k = 128
    r = rng(31)
    a, b = (r.standard_normal(s).astype(dtype("fp8e5")) for s in ((m, k), (k, n)))
    sa, sb = (r.integers(124, 131, (m, k // 32)).astype(np.uint8) for _ in range(2))
    c = empty((m, n), "f32")
    bits = lambda x: tensor(x.view(np.uint8))  # noqa: E731
    scaled_kernel[(1,)](bits(a), tensor(sa), bits(b), tensor(sb), c, M=m, N=n, K=k)
    wide = lambda s: np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 1)  # noqa: E731
    close(c, (a.astype(np.float64) * wide(sa)) @ (b.astype(np.float64) * wide(sb).T), 1e-3, 1e-2)


@triton.jit
def batched_kernel(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rb, rm, rn, rk = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + rb[:, None, None] * M * K + rm[None, :, None] * K + rk[None, None, :])
    y = tl.load(b + rb[:, None, None] * K * N + rk[None, :, None] * N + rn[None, None, :])
    tl.store(c + rb[:, None, None] * M * N + rm[None, :, None] * N + rn[None, None, :], tl.dot(x, y))


@case()
def matmul_batched(target):
    r = rng(32)
    a, b = (r.standard_normal((4, 16, 16)).astype(np.float16) for _ in range(2))
    c = empty((4, 16, 16), "f32")
    batched_kernel[(1,)](tensor(a), tensor(b), c, B=4, M=16, N=16, K=16)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)


@triton.jit
def persistent_kernel(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, PROGRAMS):
        rm = tile // columns * BM + tl.arange(0, BM)
        rn = tile % columns * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            acc += tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]))
        tl.store(c + rm[:, None] * N + rn[None, :], acc)


@case()
def matmul_persistent(target):
    r = rng(33)
    a, b = (r.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    c = empty((64, 64), "f32")
    persistent_kernel[(3,)](tensor(a), tensor(b), c, 64, 64, 64, PROGRAMS=3, BM=32, BN=16, BK=32)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)


@triton.jit
def split_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K, BK: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    rk = tl.program_id(0) * BK + tl.arange(0, BK)
    part = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), tl.load(b + rk[:, None] * N + rn[None, :]))
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], part, sem="relaxed")


@case()
def matmul_split_over_k(target):
    r = rng(34)
    a, b = r.standard_normal((32, 128)).astype(np.float16), r.standard_normal((128, 32)).astype(np.float16)
    c = tensor(np.zeros((32, 32), np.float32))
    split_kernel[(4,)](tensor(a), tensor(b), c, 32, 32, 128, BK=32)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)


@triton.jit
def descriptor_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c.store([m, n], acc)


@case()
def matmul_by_descriptors(target):
    from triton.tools.tensor_descriptor import TensorDescriptor

    r = rng(35)
    a, b = r.standard_normal((48, 64)).astype(np.float16), r.standard_normal((64, 40)).astype(np.float16)
    c = tensor(np.full((48, 40), 9, np.float32))
    blocks = [32, 32]
    of = lambda x: TensorDescriptor.from_tensor(x, blocks)  # noqa: E731
    descriptor_kernel[(2, 2)](of(tensor(a)), of(tensor(b)), of(c), 64, BM=32, BN=32, BK=32)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)


@triton.jit
def made_descriptor_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    to = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    to.store([m, n], source.load([m, n]) + 1.0)


@case()
def descriptors_made_on_the_device(target):
    x = rng(36).standard_normal((40, 48)).astype(np.float32)
    out = empty((40, 48), "f32")
    made_descriptor_kernel[(3, 3)](tensor(x), out, 40, 48, BM=16, BN=16)
    equal(out, x + np.float32(1))


@triton.jit
def attention_kernel(q, k, v, out, logs, scale, T, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * T * D
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + head + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else T
    for n in range(0, end, BN):
        rn = n + tl.arange(0, BN)
        y = tl.load(k + head + rn[None, :] * D + rd[:, None])
        s = tl.dot(x, y) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        old = tl.exp(top - new)
        total = total * old + tl.sum(p, 1)
        acc = acc * old[:, None] + tl.dot(p.to(v.dtype.element_ty), tl.load(v + head + rn[:, None] * D + rd[None, :]))
        top = new
    tl.store(out + head + rm[:, None] * D + rd[None, :], acc / total[:, None])
    tl.store(logs + tl.program_id(1) * T + rm, top + tl.log(total))


def np_attention(q, k, v, scale, causal):
    s = q @ k.swapaxes(-1, -2) * scale
    if causal:
        s = np.where(np.tril(np.ones(s.shape[-2:], bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p, p @ v


@case(False, True)
def flash_attention(target, causal):
    heads, t, d = 2, 64, 32
    r = rng(37)
    q, k, v = (r.standard_normal((heads, t, d)).astype(np.float16) for _ in range(3))
    out, logs = empty((heads, t, d), "f32"), empty((heads, t), "f32")
    scale = d**-0.5
    attention_kernel[(t // 32, heads)](tensor(q), tensor(k), tensor(v), out, logs, scale, t, CAUSAL=causal, BM=32, BN=16, D=d)
    _, want = np_attention(*(x.astype(np.float64) for x in (q, k, v)), scale, causal)
    close(out, want, 3e-3, 3e-3)


@triton.jit
def attention_back_kernel(q, k, v, do, logs, delta, dq, dk, dv, scale, T, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * T * D
    rn, rd = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    kt = tl.load(k + head + rn[:, None] * D + rd[None, :])
    vt = tl.load(v + head + rn[:, None] * D + rd[None, :])
    dkt = tl.zeros((BN, D), tl.float32)
    dvt = tl.zeros((BN, D), tl.float32)
    for m in range(0, T, BM):
        rm = m + tl.arange(0, BM)
        qt = tl.load(q + head + rm[:, None] * D + rd[None, :])
        dot = tl.load(do + head + rm[:, None] * D + rd[None, :])
        p = tl.exp(tl.dot(qt, tl.trans(kt)) * scale - tl.load(logs + tl.program_id(1) * T + rm)[:, None])
        dvt += tl.dot(tl.trans(p).to(tl.float16), dot)
        dp = tl.dot(dot, tl.trans(vt))
        ds = (p * (dp - tl.load(delta + tl.program_id(1) * T + rm)[:, None]) * scale).to(tl.float16)
        dkt += tl.dot(tl.trans(ds), qt)
        tl.atomic_add(dq + head + rm[:, None] * D + rd[None, :], tl.dot(ds, kt))
    tl.store(dk + head + rn[:, None] * D + rd[None, :], dkt)
    tl.store(dv + head + rn[:, None] * D + rd[None, :], dvt)


@case()
def flash_attention_back(target):
    heads, t, d = 1, 64, 32
    r = rng(38)
    q, k, v, do = (r.standard_normal((heads, t, d)).astype(np.float16) for _ in range(4))
    scale = d**-0.5
    out, logs = empty((heads, t, d), "f32"), empty((heads, t), "f32")
    Q, K, V, DO = map(tensor, (q, k, v, do))
    attention_kernel[(t // 32, heads)](Q, K, V, out, logs, scale, t, CAUSAL=False, BM=32, BN=16, D=d)
    delta = tensor((out.numpy() * do.astype(np.float32)).sum(-1))
    dq, dk, dv = tensor(np.zeros((heads, t, d), np.float32)), empty((heads, t, d), "f32"), empty((heads, t, d), "f32")
    attention_back_kernel[(t // 32, heads)](Q, K, V, DO, logs, delta, dq, dk, dv, scale, t, BM=32, BN=32, D=d)
    q, k, v, do = (x.astype(np.float64) for x in (q, k, v, do))
    p, o = np_attention(q, k, v, scale, False)
    dp = do @ v.swapaxes(-1, -2)
    ds = p * (dp - (do * o).sum(-1, keepdims=True)) * scale
    close(dv, p.swapaxes(-1, -2) @ do, 5e-3, 5e-3)
    close(dk, ds.swapaxes(-1, -2) @ q, 5e-3, 5e-3)
    close(dq, ds @ k, 5e-3, 5e-3)


@triton.jit
def int4_kernel(x, w, scales, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 2)
    packed = tl.load(w + rk[:, None] * N + rn[None, :])
    low = ((packed & 15) ^ 8).to(tl.int8) - 8
    high = ((packed >> 4) ^ 8).to(tl.int8) - 8
    s = tl.load(scales + (2 * rk // GROUP)[:, None] * N + rn[None, :])
    even = tl.load(x + rm[:, None] * K + 2 * rk[None, :])
    odd = tl.load(x + rm[:, None] * K + 2 * rk[None, :] + 1)
    acc = tl.dot(even, (low.to(tl.float16) * s))
    tl.store(out + rm[:, None] * N + rn[None, :], tl.dot(odd, (high.to(tl.float16) * s), acc))


@case()
def matmul_of_four_bit_weights(target):
    m, n, k, group = 16, 32, 64, 32
    r = rng(39)
    x, scales = r.standard_normal((m, k)).astype(np.float16), (2.0 ** r.integers(-3, 1, (k // group, n))).astype(np.float16)
    w = r.integers(-8, 8, (k, n))
    packed = (w[0::2] & 15 | (w[1::2] & 15) << 4).astype(np.uint8)
    out = empty((m, n), "f32")
    int4_kernel[(1,)](tensor(x), tensor(packed), tensor(scales), out, M=m, N=n, K=k, GROUP=group)
    close(out, x.astype(np.float64) @ (w * np.repeat(scales.astype(np.float64), group, 0)), 1e-4, 1e-3)
