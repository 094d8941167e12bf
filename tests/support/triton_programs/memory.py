"""Atomics of all orders, locks, gathers and scatters, shapes, random numbers, control flow, several kernels of one memory."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, empty, equal, rng, tensor


@triton.jit
def atomic_kernel(x, out, before, OP: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    place = out + at % 16
    if OP == "add":
        old = tl.atomic_add(place, v, sem=SEM, scope=SCOPE)
    elif OP == "max":
        old = tl.atomic_max(place, v, sem=SEM, scope=SCOPE)
    elif OP == "min":
        old = tl.atomic_min(place, v, sem=SEM, scope=SCOPE)
    elif OP == "and":
        old = tl.atomic_and(place, v, sem=SEM, scope=SCOPE)
    elif OP == "or":
        old = tl.atomic_or(place, v, sem=SEM, scope=SCOPE)
    else:
        old = tl.atomic_xor(place, v, sem=SEM, scope=SCOPE)
    tl.store(before + at, old)


@case(
    ("add", "i32", "relaxed", "gpu"), ("add", "i32", "acquire", "cta"), ("add", "i64", "release", "sys"), ("add", "f32", "acq_rel", "gpu"),
    ("max", "i32", "acq_rel", "sys"), ("min", "i64", "relaxed", "gpu"), ("and", "i32", "acquire", "gpu"), ("or", "i32", "release", "cta"),
    ("xor", "i64", "acq_rel", "gpu"),
)  # fmt: skip
def atomic(target, op, name, sem, scope):
    x = rng(40).integers(-999, 999, 256)
    first = np.full(16, -1 if op == "and" else 0)
    out, before = tensor(first, name), empty(256, name)
    atomic_kernel[(1 if scope == "cta" else 2,)](
        tensor(x, name), out, before, OP=op, SEM=sem, SCOPE=scope, BLOCK=256 if scope == "cta" else 128
    )
    function = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or}.get(
        op, np.bitwise_xor
    )
    rows = np.concatenate([first[None], x.reshape(-1, 16)])
    equal(out, function.reduce(rows, 0))


@triton.jit
def exchange_kernel(out, before):
    i = tl.program_id(0)
    tl.store(before + i, tl.atomic_xchg(out, i + 1))


@case()
def exchanges_lose_nothing(target):
    out, before = tensor(np.zeros(1, np.int32)), empty(16, "i32")
    exchange_kernel[(16,)](out, before)
    assert sorted([*before.numpy(), out.numpy()[0]]) == list(range(17))


@triton.jit
def lock_kernel(lock, total, n):
    for _ in range(n):
        while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
            pass
        tl.store(total, tl.load(total, volatile=True) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0, sem="release")


@case()
def a_lock_counts(target):
    lock, total = tensor(np.zeros(1, np.int32)), tensor(np.zeros(1, np.int32))
    lock_kernel[(8,)](lock, total, 3, num_warps=1)
    assert total.numpy()[0] == 24


@triton.jit
def half_atomic_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at % 7, tl.load(x + at))


@case("f16", "bf16")
def atomic_sums_of_halves(target, name):
    x = tensor(rng(41).integers(-4, 5, 128), name)
    out = tensor(np.zeros(7), name)
    half_atomic_kernel[(1,)](x, out, BLOCK=128)
    want = np.zeros(7)
    np.add.at(want, np.arange(128) % 7, x.numpy().astype(np.float64))
    equal(out, want)


@triton.jit
def embedding_kernel(table, ids, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    found = tl.load(table + tl.load(ids + row) * columns + at, mask=at < columns)
    tl.store(out + row * columns + at, found, mask=at < columns)


@case()
def embedding(target):
    r = rng(42)
    table, ids = r.standard_normal((50, 90)).astype(np.float16), r.integers(0, 50, 20)
    out = empty((20, 90), "f16")
    embedding_kernel[(20,)](tensor(table), tensor(ids), out, 90, BLOCK=128)
    equal(out, table[ids])


@triton.jit
def gather_kernel(x, index, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), AXIS))


@case(0, 1)
def gather(target, axis):
    r = rng(43)
    x, index = r.standard_normal((32, 64)).astype(np.float32), r.integers(0, (32, 64)[axis], (32, 64)).astype(np.int32)
    out = empty((32, 64), "f32")
    gather_kernel[(1,)](tensor(x), tensor(index), out, M=32, N=64, AXIS=axis)
    equal(out, np.take_along_axis(x, index, axis))


@triton.jit
def scatter_kernel(x, index, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.load(index + at), tl.load(x + at))


@case()
def scatter(target):
    x, index = rng(44).standard_normal(256).astype(np.float32), rng(45).permutation(256).astype(np.int64)
    out = empty(256, "f32")
    scatter_kernel[(1,)](tensor(x), tensor(index), out, BLOCK=256)
    want = np.empty(256, np.float32)
    want[index] = x
    equal(out, want)


@triton.jit
def pointers_kernel(pointers, sums, n, BLOCK: tl.constexpr):
    x = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@case()
def pointers_in_memory(target):
    arrays = [tensor(np.full(64, k, np.float32)) for k in (1, 2, 3)]
    views = [a[:64] for a in arrays]
    sums = empty(3, "f32")
    pointers_kernel[(3,)](tensor(np.array([v.data_ptr() for v in views], np.int64)), sums, 64, BLOCK=64)
    equal(sums, [64, 128, 192])


@triton.jit
def shapes_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    turned = tl.trans(tl.permute(tl.reshape(tile, (M, N // 2, 2)), (2, 0, 1)).reshape(2 * M, N // 2))
    tl.store(out + tl.arange(0, N // 2)[:, None] * 2 * M + tl.arange(0, 2 * M)[None, :], turned)


@case()
def shapes(target):
    x = rng(46).integers(0, 99, (16, 32)).astype(np.int32)
    out = empty((16, 32), "i32")
    shapes_kernel[(1,)](tensor(x), out, M=16, N=32)
    equal(out, x.reshape(16, 16, 2).transpose(2, 0, 1).reshape(32, 16).T)


@triton.jit
def joined_kernel(x, y, out, back, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(a, b))
    first, second = tl.split(tl.join(a, b))
    tl.store(back + at, tl.flip(first) - second)


@case()
def join_split_and_flip(target):
    x, y = (rng(seed).integers(0, 99, 128).astype(np.int32) for seed in (47, 48))
    out, back = empty(256, "i32"), empty(128, "i32")
    joined_kernel[(1,)](tensor(x), tensor(y), out, back, N=128)
    equal(out, np.stack([x, y], 1).reshape(-1))
    equal(back, x[::-1] - y)


def philox(seed, counters):
    """Philox 4x32-10 (Salmon et al., 2011), of which Triton's random numbers are made."""
    c = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    low = np.uint64(0xFFFFFFFF)
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & low]
        k = [k[0] + np.uint64(0x9E3779B9) & low, k[1] + np.uint64(0xBB67AE85) & low]
    return [x.astype(np.uint32) for x in c]


@triton.jit
def random_kernel(integers, floats, normals, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(integers + at, tl.randint(seed, at))
    tl.store(floats + at, tl.rand(seed, at))
    tl.store(normals + at, tl.randn(seed, at))


@case()
def random_numbers(target):
    outs = [empty(512, "u32"), empty(512, "f32"), empty(512, "f32")]
    random_kernel[(2,)](*outs, 12345, BLOCK=256)
    first, second, *_ = philox(12345, np.arange(512, dtype=np.uint32))
    uniform = lambda x: np.where(x.view(np.int32) < 0, -x.view(np.int32) - 1, x.view(np.int32)) * np.float32(4.6566127342e-10)  # noqa: E731
    equal(outs[0], first)
    close(outs[1], uniform(first), 1e-7)
    radius = np.sqrt(-2 * np.log(np.maximum(1e-7, uniform(first).astype(np.float64))))
    close(outs[2], radius * np.cos(6.283185307179586 * uniform(second)), 1e-4, 1e-4)


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask=at < n) / (1 - p), 0.0), mask=at < n)


@case()
def dropout(target):
    x = rng(49).uniform(1, 2, 1000).astype(np.float32)
    out = empty(1000, "f32")
    dropout_kernel[(4,)](tensor(x), out, 1000, 0.25, 7, BLOCK=256)
    got = out.numpy()
    kept = got != 0
    assert 0.68 < kept.mean() < 0.82
    close(got[kept], x[kept] / 0.75, 1e-6)


@triton.jit
def quantise_kernel(x, out, scales, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    scale = tl.max(tl.abs(v), 0) / 127.0
    tl.store(scales + row, scale)
    q = v / scale
    tl.store(out + row * columns + at, tl.floor(q + 0.5).to(tl.int8), mask=at < columns)


@case()
def quantise_rows_to_i8(target):
    x = rng(50).standard_normal((8, 100)).astype(np.float32)
    out, scales = empty((8, 100), "i8"), empty(8, "f32")
    quantise_kernel[(8,)](tensor(x), out, scales, 100, BLOCK=128)
    close(scales, np.abs(x).max(1) / 127, 1e-6)
    close(out.numpy() * scales.numpy()[:, None], x, 0, np.abs(x).max() / 127)


@triton.jit
def sample_kernel(logits, noise, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(logits + row * columns + at, mask=mask, other=float("-inf"))
    p = tl.exp(v - tl.max(v, 0))
    below = tl.cumsum(p / tl.sum(p, 0), 0) <= tl.load(noise + row)
    tl.store(out + row, tl.sum((below & mask).to(tl.int32), 0))


@case()
def sampling(target):
    r = rng(51)
    logits, noise = r.standard_normal((16, 100)).astype(np.float32), r.uniform(0.01, 0.99, 16).astype(np.float32)
    out = empty(16, "i32")
    sample_kernel[(16,)](tensor(logits), tensor(noise), out, 100, BLOCK=128)
    p = np.exp(logits.astype(np.float64))
    sums = np.cumsum(p / p.sum(1, keepdims=True), 1)
    equal(out, [np.searchsorted(s, n, "right") for s, n in zip(sums, noise)])


@triton.jit
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@triton.jit
def collatz_kernel(out):
    i = tl.program_id(0)
    tl.store(out + i, collatz(i + 1))


@case()
def loops_without_a_bound(target):
    out = empty(30, "i32")
    collatz_kernel[(30,)](out)

    def steps(n):
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    equal(out, [steps(n + 1) for n in range(30)])


@triton.jit(noinline=True)
def called(x, y):
    return x * 3 + y


@triton.jit
def calls_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, called(tl.load(x + at), at))


@case(targets=("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"))
def a_function_that_is_called(target):
    x = rng(52).integers(0, 99, 128).astype(np.int32)
    out = empty(128, "i32")
    calls_kernel[(1,)](tensor(x), out, BLOCK=128)
    equal(out, 3 * x + np.arange(128))


@triton.jit
def tuples_kernel(outs, values, n: tl.constexpr):
    for i in tl.static_range(n):
        tl.store(outs[i], values[i])


@case()
def tuples_of_arguments(target):
    outs = tuple(tensor(np.zeros(1, np.float32)) for _ in range(3))
    tuples_kernel[(1,)](outs, (1.5, 2.5, 3.5), 3)
    assert [x.numpy()[0] for x in outs] == [1.5, 2.5, 3.5]


@triton.jit
def scalars_kernel(out, a, b, c: tl.float64, d, e):
    tl.store(out, a.to(tl.float64) + b.to(tl.float64) * c)
    tl.store(out + 1, tl.where(d, 1.0, 2.0))
    tl.store(out + 2, e.to(tl.float64))


@case()
def scalars_of_all_types(target):
    out = empty(3, "f64")
    scalars_kernel[(1,)](out, -(1 << 40), 7, 0.1, True, (1 << 63) + 2048)
    equal(out, [-float(1 << 40) + 7 * 0.1, 1.0, float((1 << 63) + 2048)])


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 1), (512, 4))], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@case()
def autotuning(target):
    x, out = np.arange(2000, dtype=np.float32), empty(2000, "f32")
    tuned_kernel[lambda meta: (triton.cdiv(2000, meta["BLOCK"]),)](tensor(x), out, 2000)
    equal(out, x + 1)
    assert tuned_kernel.best_config.kwargs["BLOCK"] in (64, 512)


@triton.jit
def together_kernel(counter, out, programs):
    i = tl.program_id(0)
    tl.atomic_add(counter, 1, sem="release")
    while tl.atomic_add(counter, 0, sem="acquire") < programs:
        pass
    tl.store(out + i, i + 1)


@case()
def a_cooperative_launch(target):
    counter, out = tensor(np.zeros(1, np.int32)), empty(24, "i32")
    together_kernel[(24,)](counter, out, 24, launch_cooperative_grid=True, num_warps=1)
    equal(out, np.arange(24) + 1)


@case()
def arrays_as_they_are(target):
    x, out = np.arange(300, dtype=np.int32)[5:], np.zeros(400, np.int32)
    embedding_kernel[(1,)](x, np.zeros(1, np.int64), out[3:], 295, BLOCK=512)
    equal(out[3:298], x)
    assert not out[298:].any() and not out[:3].any()
