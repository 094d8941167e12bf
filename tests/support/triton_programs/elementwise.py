"""Arithmetic of every type, conversions, mathematical functions."""

from __future__ import annotations

import math

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, dtype, empty, equal, rng, tensor

N = 1000


@triton.jit
def binary_kernel(x, y, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask=mask, other=1)
    b = tl.load(y + at, mask=mask, other=1)
    if OP == "add":
        c = a + b
    elif OP == "sub":
        c = a - b
    elif OP == "mul":
        c = a * b
    elif OP == "truediv":
        c = a / b
    elif OP == "div":
        c = a // b
    elif OP == "rem":
        c = a % b
    elif OP == "and":
        c = a & b
    elif OP == "or":
        c = a | b
    elif OP == "xor":
        c = a ^ b
    elif OP == "shl":
        c = a << (b & 7)
    elif OP == "shr":
        c = a >> (b & 7)
    elif OP == "minimum":
        c = tl.minimum(a, b)
    elif OP == "maximum":
        c = tl.maximum(a, b)
    elif OP == "mulhi":
        c = tl.umulhi(a, b)
    else:
        c = tl.where(a > b, a, b - a)
    tl.store(out + at, c, mask=mask)


def c_divide(a, b):
    """Towards zero, as C and Triton have it."""
    return np.where((a < 0) ^ (b < 0), -(np.abs(a) // np.abs(b)), np.abs(a) // np.abs(b))


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "div": c_divide,
    "rem": lambda a, b: a - c_divide(a, b) * b,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": lambda a, b: a << (b & 7),
    "shr": lambda a, b: a >> (b & 7),
    "minimum": np.minimum,
    "maximum": np.maximum,
    "where": lambda a, b: np.where(a > b, a, b - a),
    "mulhi": lambda a, b: (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32),
}


@case(
    ("add", "i8"), ("add", "i16"), ("add", "i32"), ("add", "i64"), ("add", "u8"), ("add", "f16"), ("add", "bf16"), ("add", "f32"),
    ("add", "f64"), ("sub", "i64"), ("mul", "i16"), ("mul", "i64"), ("mul", "f16"), ("mul", "f64"), ("div", "i32"), ("div", "u32"),
    ("rem", "i32"), ("rem", "i64"), ("and", "u8"), ("or", "i32"), ("xor", "i64"), ("shl", "i32"), ("shr", "i32"), ("shr", "u64"),
    ("minimum", "f32"), ("maximum", "i16"), ("where", "bf16"), ("where", "i8"), ("mulhi", "u32"), ("truediv", "f64"),
)  # fmt: skip
def binary(target, op, name):
    r = rng()
    kind = dtype(name)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        x, y = (r.integers(info.min, info.max, N, kind, endpoint=True) for _ in range(2))
        if op in ("div", "rem"):
            x, y = x // 2, np.where(y // 5 == 0, 3, y // 5).astype(kind)
    else:
        x, y = (r.standard_normal(N).astype(kind) for _ in range(2))
    out = empty(N, name)
    with np.errstate(over="ignore"):
        want = BINARY[op](x, y)
    binary_kernel[(triton.cdiv(N, 256),)](tensor(x), tensor(y), out, N, OP=op, BLOCK=256)
    close(out, want, 1e-15, 0) if op == "truediv" else equal(out, want)


@triton.jit
def unary_kernel(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask=mask, other=1.0)
    if OP == "exp":
        b = tl.exp(a)
    elif OP == "exp2":
        b = tl.exp2(a)
    elif OP == "log":
        b = tl.log(a)
    elif OP == "log2":
        b = tl.log2(a)
    elif OP == "sqrt":
        b = tl.sqrt(a)
    elif OP == "rsqrt":
        b = tl.rsqrt(a)
    elif OP == "sin":
        b = tl.sin(a)
    elif OP == "cos":
        b = tl.cos(a)
    elif OP == "erf":
        b = tl.erf(a)
    elif OP == "floor":
        b = tl.floor(a)
    elif OP == "ceil":
        b = tl.ceil(a)
    else:
        b = tl.sigmoid(a) * tl.abs(a)
    tl.store(out + at, b, mask=mask)


UNARY = {
    "erf": np.vectorize(math.erf),
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "silu": lambda a: np.abs(a) / (1 + np.exp(-a)),
}


@case("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "floor", "ceil", "silu")
def unary(target, op):
    x = rng(2).uniform(0.01, 8, N).astype(np.float32)
    out = empty(N, "f32")
    unary_kernel[(triton.cdiv(N, 512),)](tensor(x), out, N, OP=op, BLOCK=512)
    close(out, UNARY.get(op, getattr(np, op, None))(x.astype(np.float64)), 2e-5, 2e-6)


@triton.jit
def cast_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


@case(
    ("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("bf16", "f32"), ("f32", "i32"), ("i32", "f32"), ("i64", "f64"), ("f64", "f32"),
    ("u8", "f16"), ("i16", "i64"), ("f32", "fp8e5"), ("fp8e5", "f32"),
)  # fmt: skip
def cast(target, source, to):
    r = rng(3)
    x = r.integers(0, 100, N).astype(dtype(source)) if source[0] in "iu" else (8 * r.standard_normal(N)).astype(dtype(source))
    out = empty(N, to)
    cast_kernel[(1,)](tensor(x), out, N, BLOCK=1024)
    equal(out, np.trunc(x.astype(np.float64)).astype(dtype(to)) if to[0] in "iu" else x.astype(dtype(to)))


@case("fp8e4b8", targets=("gfx942",))
@case("fp8e4nv", targets=("gfx950", "gfx1201", "gfx1250"))
def cast_fp8(target, name):
    x = (8 * rng(4).standard_normal(N)).astype(np.float32)
    small, back = empty(N, name), empty(N, "f32")
    cast_kernel[(1,)](tensor(x), small, N, BLOCK=1024)
    equal(small, x.astype(dtype(name)))
    cast_kernel[(1,)](small, back, N, BLOCK=1024)
    equal(back, x.astype(dtype(name)).astype(np.float32))


@triton.jit
def bits_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    bits = tl.load(x + at, mask=at < n).to(tl.uint32, bitcast=True)
    tl.store(out + at, (bits >> 23 & 0xFF).to(tl.int32) - 127, mask=at < n)


@case()
def exponent_by_bits(target):
    x = rng(5).uniform(0.1, 1e6, N).astype(np.float32)
    out = empty(N, "i32")
    bits_kernel[(1,)](tensor(x), out, N, BLOCK=1024)
    equal(out, np.frexp(x)[1] - 1)


@triton.jit
def precise_kernel(x, y, quotient, root, sums, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    a, b = tl.load(x + at, mask=mask, other=1.0), tl.load(y + at, mask=mask, other=1.0)
    tl.store(quotient + at, tl.div_rn(a, b), mask=mask)
    tl.store(root + at, tl.sqrt_rn(a), mask=mask)
    tl.store(sums + at, tl.fma(a, b, a), mask=mask)


@case()
def exactly_rounded(target):
    x, y = (rng(seed).uniform(0.001, 1000, N).astype(np.float32) for seed in (6, 7))
    outs = [empty(N, "f32") for _ in range(3)]
    precise_kernel[(1,)](tensor(x), tensor(y), *outs, N, BLOCK=1024)
    equal(outs[0], x / y)
    equal(outs[1], np.sqrt(x))
    # The product is exact in double precision, its sum with a float nearly so.
    close(outs[2], x.astype(np.float64) * y + x, 6e-8, 0)


@triton.jit
def strided_kernel(x, out, rows, columns, xs0, xs1, os0, os1, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    mask = (r < rows) & (c < columns)
    tl.store(out + r * os0 + c * os1, tl.load(x + r * xs0 + c * xs1, mask=mask) * 2, mask=mask)


@case()
def views_at_any_offset(target):
    base = tensor(np.arange(64 * 64, dtype=np.float32).reshape(64, 64))
    out = tensor(np.zeros((64, 64), np.float32))
    x, y = base[3:40:2, 5:50], out[1:20, 7:52]
    strided_kernel[(1,)](x, y, *x.shape, *x.stride(), *y.stride(), R=32, C=64)
    want = np.zeros((64, 64), np.float32)
    want[1:20, 7:52] = 2 * base.numpy()[3:40:2, 5:50]
    equal(out, want)
