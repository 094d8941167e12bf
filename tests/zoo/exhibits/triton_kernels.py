"""Bugs of Triton and Gluon kernels: masks that are missing, indices below zero and beyond 32 bits, races."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import luthier.triton
from luthier.reports.findings import Finding

from .exhibit import Exhibit, Launch, marks, u32, zeros

INTERPRETER = (
    "Triton's interpreter reads what lies there in the host's memory, without a word. compute-sanitizer's memcheck sees it if no "
    "other tensor lies there, which torch's allocator mostly brings about."
)
BUFFER = "Nothing on AMD GPUs: a buffer load gives zeros there. On NVIDIA's compute-sanitizer's memcheck, if no other tensor lies there."
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


class TritonExhibit(Exhibit):
    """A kernel of this file, of the exhibit's name. `launch` is told whether the mended one is meant."""

    @property
    def path(self) -> Path:
        return Path(__file__)

    def marks(self) -> dict[int, set[str]]:
        lines, first = inspect.getsourcelines(globals()[self.name].fn)
        return {n: kinds for n, kinds in marks(self.path).items() if first <= n < first + len(lines)}

    def run(self, target: str, mended: bool, **how: Any) -> tuple[Launch, list[Finding]]:
        luthier.triton.install(target, **{"strict": self.strict, "findings": "keep", **how})
        try:
            launch = self.launch(mended)
            return launch, list(luthier.triton.last.findings)
        finally:
            luthier.triton.uninstall()


@triton.jit
def conch_scaled_gemm(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    sum = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BLOCK):
        at = k + tl.arange(0, BLOCK)
        if MENDED:
            x = tl.load(a + rows[:, None] * K + at[None, :], mask=at[None, :] < K, other=0)
            y = tl.load(b + at[:, None] * N + columns[None, :], mask=at[:, None] < K, other=0)
        else:
            x = tl.load(a + rows[:, None] * K + at[None, :])  # found: out-of-bounds
            y = tl.load(b + at[:, None] * N + columns[None, :])  # found: out-of-bounds
        sum = tl.dot(x, y, sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def scaled_gemm(mended: bool) -> Launch:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 40), (40, 16)))
    c = zeros(16, 16, of=np.float32)
    conch_scaled_gemm[(1,)](a, b, c, 40, M=16, N=16, BLOCK=32, MENDED=mended)
    return Launch([a, b, c], {2: (a.astype(np.float32) @ b.astype(np.float32))})


@triton.jit
def vllm_pad_slot(slots, states, out, MENDED: tl.constexpr):
    slot, lane = tl.load(slots + tl.program_id(0)), tl.arange(0, 64)
    if MENDED and slot < 0:
        return
    state = tl.load(states + slot * 64 + lane)  # found: out-of-bounds | buffer-range
    tl.store(out + tl.program_id(0) * 64 + lane, 2 * state)


def pad_slot(mended: bool) -> Launch:
    slots, states, out = np.array([1, -1, 0], np.int32), np.arange(128, dtype=np.float32), zeros(3, 64, of=np.float32)
    vllm_pad_slot[(3,)](slots, states, out, MENDED=mended)
    want = 2 * np.stack([states[64:], 0 * states[:64], states[:64]])
    return Launch([slots, states, out], {2: want})


@triton.jit
def vllm_where(ends, out, n, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if MENDED:
        start = tl.load(ends + i - 1, mask=(i > 0) & (i < n), other=0)
    else:
        start = tl.where(i == 0, 0, tl.load(ends + i - 1, mask=i < n))  # found: out-of-bounds | buffer-range
    tl.store(out + i, tl.load(ends + i, mask=i < n) - start, mask=i < n)


def where(mended: bool) -> Launch:
    ends, out = np.array([3, 4, 9, 11, 20], np.int32), np.zeros(5, np.int32)
    vllm_where[(1,)](ends, out, 5, BLOCK=64, MENDED=mended)
    return Launch([ends, out], {1: np.diff(ends, prepend=0)})


@triton.jit
def megablocks_copy(x, rows, out, COLUMNS: tl.constexpr, MENDED: tl.constexpr):
    row = tl.load(rows + tl.program_id(0))
    if MENDED:
        row = row.to(tl.int64)
    at = tl.arange(0, 64)
    tl.store(out + tl.program_id(0) * 64 + at, tl.load(x + row * COLUMNS + at))  # found: out-of-bounds | buffer-range


def copy(mended: bool) -> Launch:
    columns, rows = 1 << 20, np.array([1, 2100], np.int32)
    # Only the pages that are touched are there.
    x, out = np.zeros((2101, columns), np.int8), zeros(2, 64, of=np.int8)
    x[rows, :64] = np.arange(128, dtype=np.int8).reshape(2, 64)
    megablocks_copy[(2,)](x, rows, out, COLUMNS=columns, MENDED=mended)
    return Launch([x, rows, out], {2: np.arange(128, dtype=np.int8).reshape(2, 64)})


@triton.jit
def vllm_ep_scatter(counts, starts, out, BLOCK: tl.constexpr, MENDED: tl.constexpr):
    i, me = tl.arange(0, BLOCK), tl.program_id(0)
    count = tl.load(counts + i)
    start = tl.cumsum(count) - count
    if MENDED:
        mine = tl.sum(tl.where(i == me, start, 0))
        tl.store(starts + me, mine)
    else:
        tl.store(starts + i, start)  # found: memory-race
        mine = tl.load(starts + me)  # found: memory-race
    tl.store(out + me, mine)


def ep_scatter(mended: bool) -> Launch:
    counts, starts, out = (u32(256) * 7 % 13).astype(np.int32), np.zeros(256, np.int32), np.zeros(256, np.int32)
    vllm_ep_scatter[(256,)](counts, starts, out, BLOCK=256, MENDED=mended)
    return Launch([counts, starts, out], {2: np.cumsum(counts) - counts})


@gluon.jit
def triton_gfx1250_gemm(a, out, M, K, BLOCK_M: gl.constexpr, BLOCK_K: gl.constexpr, MENDED: gl.constexpr):
    shared: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[BLOCK_K, 8]], [BLOCK_M, BLOCK_K], [1, 0])
    blocked: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    first = gl.program_id(0) * BLOCK_M
    # What is left of the rows is fewer than all of them.
    rows = M - first if MENDED else M
    tile = gl.amd.gfx1250.tdm.make_tensor_descriptor(
        base=a + first * K, shape=(rows, K), strides=(K, 1), block_shape=(BLOCK_M, BLOCK_K), layout=shared
    )
    buffer = gl.allocate_shared_memory(tile.dtype, shape=tile.block_shape, layout=tile.layout)
    gl.amd.gfx1250.tdm.async_load(tile, [0, 0], buffer)  # found: out-of-bounds
    gl.amd.gfx1250.tdm.async_wait(0)
    value = buffer.load(layout=blocked)
    row = first + gl.arange(0, BLOCK_M, layout=gl.SliceLayout(1, blocked))
    column = gl.arange(0, BLOCK_K, layout=gl.SliceLayout(0, blocked))
    gl.store(out + row[:, None] * K + column[None, :], value, mask=row[:, None] < M)


def gfx1250_gemm(mended: bool) -> Launch:
    a = (np.arange(48 * 64) % 100).astype(np.float16).reshape(48, 64)
    out = np.zeros_like(a)
    triton_gfx1250_gemm[(2,)](a, out, 48, 64, BLOCK_M=32, BLOCK_K=64, MENDED=mended)
    return Launch([a, out], {1: a.astype(np.float32)})


EXHIBITS = (
    TritonExhibit(
        "conch_scaled_gemm",
        (
            "https://github.com/stackav-oss/conch/blob/302b329639bff43b3ec8d034c0ac0844a3211498/conch/kernels/quantization/gemm.py",
        ),
        "conch's scaled_gemm masks the rows of A and nothing else: where K is no multiple of the block, it reads beyond the end of A and "
        "of B, and beyond the end of each row. Here both have a mask along K.",
        INTERPRETER,
        scaled_gemm,
        targets=TARGETS,
    ),
    TritonExhibit(
        "vllm_pad_slot",
        ("https://github.com/vllm-project/vllm/issues/31186", "https://github.com/vllm-project/vllm/pull/33326"),
        "vLLM's gated delta rule takes -1, which fills unused slots of a graph, for the number of a state, and reads before the first "
        "one. Mended by leaving such slots out.",
        BUFFER,
        pad_slot,
        targets=TARGETS,
    ),
    TritonExhibit(
        "vllm_where",
        ("https://github.com/vllm-project/vllm-ascend/issues/16275", "https://github.com/vllm-project/vllm-ascend/pull/14902"),
        "vLLM's rejection sampler (of vllm-ascend) reads the element before by `tl.where(i == 0, 0, tl.load(p + i - 1))`. Both sides of "
        "`tl.where` are evaluated, so that lane 0 reads before the array. Mended by a mask of the load.",
        BUFFER,
        where,
        targets=TARGETS,
    ),
    TritonExhibit(
        "megablocks_copy",
        ("https://github.com/databricks/megablocks/pull/185", "https://github.com/triton-lang/triton/issues/832"),
        "megablocks multiplies the number of a row by the number of columns in 32 bits: beyond 2^31 elements the offset is negative, and "
        "the address lies before the tensor. Mended by 64 bits.",
        "compute-sanitizer's memcheck, if nothing lies there. Triton's interpreter faults, or reads what lies there.",
        copy,
        targets=TARGETS,
    ),
    TritonExhibit(
        "vllm_ep_scatter",
        ("https://github.com/vllm-project/vllm/pull/34991",),
        "vLLM's ep_scatter stores a vector to memory and loads one element of it back at once. Another wave may not have stored it yet. "
        "Mended by taking the element out of the vector.",
        "Nothing: compute-sanitizer's racecheck looks at shared memory alone, and Triton's interpreter runs one program after the other.",
        ep_scatter,
        targets=TARGETS,
        strict=["memory-race"],
    ),
    TritonExhibit(
        "triton_gfx1250_gemm",
        (
            "https://github.com/triton-lang/triton/blob/532fd3790759b9ee575d64341c8b28a9a1cb07e0/third_party/amd/python/test/test_gluon_gfx1250.py",
        ),
        "AMD's test `test_runtime_gemm_async_pipelined` for gfx1250 moves the start of a tensor descriptor on by the block's rows and "
        "says the whole tensor's size all the same: the last block's tile reaches beyond A. What it brings is masked out later. Here the "
        "descriptor has the rows that are left.",
        "Nothing: there is no other tool for gfx1250, and Triton's interpreter does not run Gluon.",
        gfx1250_gemm,
        targets=("gfx1250",),
    ),
)
