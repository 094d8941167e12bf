"""Sampling from logits: the largest few, the likeliest few, many draws, noise added."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from triton_programs.case import case, close, empty, equal, rng, tensor

ROWS, COLUMNS, BLOCK = 12, 200, 256


@triton.jit
def sorted_with_places(v, at):
    """Values from the largest down, and where they stood: as one integer, whose order is that of floats."""
    bits = v.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    found = tl.sort(ordered.to(tl.int64) << 32 | at, descending=True)
    high = (found >> 32).to(tl.int32)
    return tl.where(high < 0, high ^ 0x7FFFFFFF, high).to(tl.float32, bitcast=True), (found & 0xFFFFFFFF).to(tl.int32)


@triton.jit
def first_kept_kernel(logits, noise, out, columns, k, p, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(logits + row * columns + at, mask=at < columns, other=float("-inf"))
    v, places = sorted_with_places(v, at)
    likely = tl.where(at < k, tl.exp(v - tl.max(v, 0)), 0.0)
    likely /= tl.sum(likely, 0)
    sums = tl.cumsum(likely, 0)
    likely = tl.where(sums - likely < p, likely, 0.0)
    sums = tl.cumsum(likely / tl.sum(likely, 0), 0)
    drawn = tl.sum((sums <= tl.load(noise + row)).to(tl.int32), 0)
    tl.store(out + row, tl.sum(tl.where(at == drawn, places, 0), 0))


def np_first_kept(logits, noise, k, p):
    found = []
    for row, u in zip(logits.astype(np.float64), noise):
        order = np.argsort(-row)[:k]
        likely = np.exp(row[order] - row[order[0]])
        likely /= likely.sum()
        likely[np.cumsum(likely) - likely >= p] = 0
        found.append(order[np.searchsorted(np.cumsum(likely / likely.sum()), u, "right")])
    return found


def drawn(seed, k, p):
    r = rng(seed)
    logits = (2 * r.standard_normal((ROWS, COLUMNS))).astype(np.float32)
    noise, out = r.uniform(0.01, 0.99, ROWS).astype(np.float32), empty(ROWS, "i32")
    first_kept_kernel[(ROWS,)](tensor(logits), tensor(noise), out, COLUMNS, k, p, BLOCK=BLOCK)
    equal(out, np_first_kept(logits, noise, k, p))


@case()
def sampling_of_the_largest(target):
    drawn(80, 10, 1.5)


@case()
def sampling_of_the_likeliest(target):
    drawn(81, COLUMNS, 0.7)


@triton.jit
def sums_kernel(weights, sums, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = 0.0
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        w = tl.load(weights + row * columns + at, mask=at < columns, other=0.0)
        tl.store(sums + row * columns + at, before + tl.cumsum(w, 0), mask=at < columns)
        before += tl.sum(w, 0)


@triton.jit
def search_kernel(sums, noise, out, columns, draws, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < draws
    total = tl.load(sums + row * columns + columns - 1)
    wanted = tl.load(noise + row * draws + at, mask=mask, other=0.0) * total
    low = tl.zeros((BLOCK,), tl.int32)
    high = tl.full((BLOCK,), columns - 1, tl.int32)
    for _ in tl.static_range(STEPS):
        middle = (low + high) // 2
        right = tl.load(sums + row * columns + middle, mask=mask, other=0.0) <= wanted
        low, high = tl.where(right & (low < high), middle + 1, low), tl.where(right, high, middle)
    tl.store(out + row * draws + at, low, mask=mask)


@case()
def multinomial(target):
    r, draws = rng(82), 100
    # Sums of small integers are exact, so that both find the same places.
    weights = r.integers(0, 50, (ROWS, COLUMNS)).astype(np.float32)
    noise = r.uniform(0, 0.999, (ROWS, draws)).astype(np.float32)
    sums, out = empty((ROWS, COLUMNS), "f32"), empty((ROWS, draws), "i32")
    sums_kernel[(ROWS,)](tensor(weights), sums, COLUMNS, BLOCK=64)
    equal(sums, np.cumsum(weights, 1))
    search_kernel[(ROWS,)](sums, tensor(noise), out, COLUMNS, draws, STEPS=8, BLOCK=128)
    want = [np.searchsorted(s, u * s[-1], "right") for s, u in zip(np.cumsum(weights, 1), noise)]
    equal(out, want)


@triton.jit
def noise_kernel(logits, out, best, columns, seed, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    u = tl.rand(seed, row * columns + at)
    v = tl.load(logits + row * columns + at, mask=mask, other=float("-inf")) - tl.log(-tl.log(u + 1e-9))
    tl.store(best + row * columns + at, v, mask=mask)
    tl.store(out + row, tl.argmax(v, 0))


@case()
def sampling_by_gumbel_noise(target):
    logits = rng(83).standard_normal((200, 40)).astype(np.float32)
    logits[:, 3] += 4
    out, noisy = empty(200, "i32"), empty((200, 40), "f32")
    noise_kernel[(200,)](tensor(logits), out, noisy, 40, 99, BLOCK=64)
    equal(out, noisy.numpy().argmax(1))
    p = np.exp(logits.astype(np.float64))
    close((out.numpy() == 3).mean(), (p / p.sum(1, keepdims=True))[:, 3].mean(), 0, 0.1)
