"""Reductions, scans, sorts, histograms, and what is made of them: softmax, norms, a loss."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, empty, equal, rng, tensor

R, C = 8, 200
BLOCK = 256


@triton.jit
def reduce_kernel(x, out, columns, OP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    if OP == "sum":
        result = tl.sum(tl.load(x + row * columns + at, mask=mask, other=0))
    elif OP == "max":
        result = tl.max(tl.load(x + row * columns + at, mask=mask, other=-1000000))
    elif OP == "min":
        result = tl.min(tl.load(x + row * columns + at, mask=mask, other=1000000))
    elif OP == "argmax":
        result = tl.argmax(tl.load(x + row * columns + at, mask=mask, other=-1000000), axis=0)
    elif OP == "argmin":
        result = tl.argmin(tl.load(x + row * columns + at, mask=mask, other=1000000), axis=0)
    else:
        result = tl.xor_sum(tl.load(x + row * columns + at, mask=mask, other=0))
    tl.store(out + row, result)


@case(
    ("sum", "f32"), ("sum", "f64"), ("sum", "i64"), ("max", "f16"), ("max", "i32"), ("min", "f32"), ("argmax", "f32"),
    ("argmin", "i32"), ("xor", "i32"),
)  # fmt: skip
def reduce(target, op, name):
    x = tensor(rng(10).integers(-1000, 1000, (R, C)), name)
    out = empty(R, "i32" if op.startswith("arg") else name)
    reduce_kernel[(R,)](x, out, C, OP=op, BLOCK=BLOCK)
    function = np.bitwise_xor.reduce if op == "xor" else getattr(np, op)
    equal(out, function(x.numpy(), axis=1))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def custom_reduce_kernel(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    result = tl.reduce(tile, AXIS, product)
    tl.store(out + tl.arange(0, M if AXIS == 1 else N), result)


@case(0, 1)
def reduce_by_a_function(target, axis):
    x = rng(11).uniform(0.9, 1.1, (16, 64)).astype(np.float32)
    out = empty((64, 16)[axis], "f32")
    custom_reduce_kernel[(1,)](tensor(x), out, M=16, N=64, AXIS=axis)
    close(out, x.astype(np.float64).prod(axis), 1e-5)


@triton.jit
def cube_kernel(x, out, A: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, A)[:, None, None] * (B * D) + tl.arange(0, B)[None, :, None] * D + tl.arange(0, D)[None, None, :]
    sums = tl.sum(tl.load(x + at), axis=1)
    tl.store(out + tl.arange(0, A)[:, None] * D + tl.arange(0, D)[None, :], sums)


@case()
def sum_over_the_middle_of_three(target):
    x = rng(12).integers(-100, 100, (8, 16, 32)).astype(np.int32)
    out = empty((8, 32), "i32")
    cube_kernel[(1,)](tensor(x), out, A=8, B=16, D=32)
    equal(out, x.sum(1))


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan_kernel(x, y, out, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    if OP == "cumsum":
        result = tl.cumsum(v, 0)
    elif OP == "reverse":
        result = tl.cumsum(v, 0, reverse=True)
    elif OP == "cumprod":
        result = tl.cumprod(v, 0)
    else:
        first, result = tl.associative_scan((tl.load(y + at), v), 0, linear)
    tl.store(out + at, result)


@case(("cumsum", "i32"), ("reverse", "i64"), ("cumprod", "f64"), ("linear", "f64"))
def scan(target, op, name):
    n = 512
    r = rng(13)
    x = r.integers(-9, 9, n) if name[0] == "i" else r.uniform(0.95, 1.05, n)
    x, y = tensor(x, name), tensor(r.uniform(0.5, 1, n), "f64")
    out = empty(n, name)
    scan_kernel[(1,)](x, y, out, OP=op, BLOCK=n)
    if op == "linear":
        want, state = [], 0.0
        for a, b in zip(y.numpy(), x.numpy()):
            state = state * a + b
            want.append(state)
        close(out, want, 1e-12)
    elif op == "cumprod":
        close(out, np.cumprod(x.numpy()), 1e-12)
    else:
        equal(out, np.cumsum(x.numpy()) if op == "cumsum" else np.cumsum(x.numpy()[::-1])[::-1])


@triton.jit
def sort_kernel(x, out, N: tl.constexpr, DOWN: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row * N + tl.arange(0, N), tl.sort(tl.load(x + row * N + tl.arange(0, N)), descending=DOWN))


@case(("f32", False), ("i16", True), ("f16", True))
def sort(target, name, down):
    x = tensor(rng(14).permutation(512).reshape(2, 256) - 256, name)
    out = empty((2, 256), name)
    sort_kernel[(2,)](x, out, N=256, DOWN=down)
    want = np.sort(x.numpy(), 1)
    equal(out, want[:, ::-1].copy() if down else want)


@triton.jit
def topk_kernel(x, out, N: tl.constexpr, K: tl.constexpr):
    tl.store(out + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, N)), K))


@case()
def largest_sixteen(target):
    x = rng(15).permutation(256).astype(np.int32)
    out = empty(16, "i32")
    topk_kernel[(1,)](tensor(x), out, N=256, K=16)
    equal(out, np.sort(x)[::-1][:16].copy())


@triton.jit
def histogram_kernel(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@case()
def histogram(target):
    x = rng(16).integers(0, 128, 1000).astype(np.int32)
    out = tensor(np.zeros(128, np.int32))
    histogram_kernel[(4,)](tensor(x), out, 1000, BINS=128, BLOCK=256)
    equal(out, np.bincount(x, minlength=128))


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=at < columns)


def np_softmax(x):
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@case("f32", "f16", "bf16")
def softmax(target, name):
    x = tensor(rng(17).standard_normal((R, C)), name)
    out = empty((R, C), name)
    softmax_kernel[(R,)](x, out, C, BLOCK=BLOCK)
    close(out, np_softmax(x.numpy()), {"f32": 2e-5, "f16": 2e-3, "bf16": 1e-2}[name], 1e-5)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, mean, rstd, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0)
    m = tl.sum(v, 0) / columns
    d = tl.where(mask, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / columns + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    y = d * r * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
    tl.store(out + row * columns + at, y, mask=mask)


@triton.jit
def layer_norm_back_kernel(x, weight, dy, dx, dw, db, mean, rstd, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0)
    g = tl.load(dy + row * columns + at, mask=mask, other=0.0)
    w = tl.load(weight + at, mask=mask, other=0.0)
    h = tl.where(mask, (v - tl.load(mean + row)) * tl.load(rstd + row), 0.0)
    wg = w * g
    c1, c2 = tl.sum(h * wg, 0) / columns, tl.sum(wg, 0) / columns
    tl.store(dx + row * columns + at, (wg - (h * c1 + c2)) * tl.load(rstd + row), mask=mask)
    tl.atomic_add(dw + at, g * h, mask=mask)
    tl.atomic_add(db + at, g, mask=mask)


@case()
def layer_norm_and_back(target):
    r = rng(18)
    x, dy = (r.standard_normal((R, C)).astype(np.float32) for _ in range(2))
    w, b = (r.standard_normal(C).astype(np.float32) for _ in range(2))
    out, mean, rstd, dx = empty((R, C), "f32"), empty(R, "f32"), empty(R, "f32"), empty((R, C), "f32")
    dw, db = (tensor(np.zeros(C, np.float32)) for _ in range(2))
    X, W, DY = tensor(x), tensor(w), tensor(dy)
    layer_norm_kernel[(R,)](X, W, tensor(b), out, mean, rstd, C, 1e-5, BLOCK=BLOCK)
    layer_norm_back_kernel[(R,)](X, W, DY, dx, dw, db, mean, rstd, C, BLOCK=BLOCK)
    x, w, b, dy = (a.astype(np.float64) for a in (x, w, b, dy))
    m, s = x.mean(1, keepdims=True), 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    h = (x - m) * s
    close(out, h * w + b, 1e-4, 1e-5)
    close(dx, s * (dy * w - (dy * w).mean(1, keepdims=True) - h * (dy * w * h).mean(1, keepdims=True)), 1e-4, 1e-5)
    close(dw, (dy * h).sum(0), 1e-4, 1e-5)
    close(db, dy.sum(0), 1e-4, 1e-5)


@triton.jit
def rms_norm_kernel(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns + eps)
    y = v * scale * tl.load(weight + at, mask=at < columns).to(tl.float32)
    tl.store(out + row * columns + at, y.to(out.dtype.element_ty), mask=at < columns)


@case()
def rms_norm(target):
    r = rng(19)
    x, w = tensor(r.standard_normal((R, C)), "bf16"), tensor(r.standard_normal(C), "bf16")
    out = empty((R, C), "bf16")
    rms_norm_kernel[(R,)](x, w, out, C, 1e-6, BLOCK=BLOCK)
    v = x.numpy().astype(np.float64)
    close(out, v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-6) * w.numpy().astype(np.float64), 1e-2, 1e-4)


@triton.jit
def cross_entropy_kernel(x, labels, loss, dx, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=float("-inf"))
    label = tl.load(labels + row)
    top = tl.max(v, 0)
    total = tl.sum(tl.exp(v - top), 0)
    tl.store(loss + row, tl.log(total) + top - tl.load(x + row * columns + label))
    tl.store(dx + row * columns + at, tl.exp(v - top) / total - tl.where(at == label, 1.0, 0.0), mask=mask)


@case()
def cross_entropy(target):
    r = rng(20)
    x, labels = r.standard_normal((R, C)).astype(np.float32), r.integers(0, C, R)
    loss, dx = empty(R, "f32"), empty((R, C), "f32")
    cross_entropy_kernel[(R,)](tensor(x), tensor(labels), loss, dx, C, BLOCK=BLOCK)
    p = np_softmax(x)
    close(loss, -np.log(p[np.arange(R), labels]), 1e-5)
    p[np.arange(R), labels] -= 1
    close(dx, p, 1e-4, 1e-6)


@triton.jit
def welford(mean1, m1, n1, mean2, m2, n2):
    n = n1 + n2
    d = mean2 - mean1
    share = tl.where(n == 0, 0.0, n2 / n)
    return mean1 + d * share, m1 + m2 + d * d * n1 * share, n


@triton.jit
def variance_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0)
    mean, m2, n = tl.reduce((v, tl.zeros_like(v), mask.to(tl.float32)), 0, welford)
    tl.store(out + row, m2 / n)


@case()
def variance_by_welford(target):
    x = rng(21).standard_normal((R, C)).astype(np.float32) + 100
    out = empty(R, "f32")
    variance_kernel[(R,)](tensor(x), out, C, BLOCK=BLOCK)
    close(out, x.astype(np.float64).var(1), 1e-4)
