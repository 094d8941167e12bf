"""Indices that Triton's buffer instructions drop or wrap: strict mode tells of them, and of no masked-out lane."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402


@triton.jit
def gather(x, i, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y + o, tl.load(x + tl.load(i + o, mask=o < n), mask=o < n), mask=o < n)


@triton.jit
def scatter(x, i, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y + tl.load(i + o, mask=o < n), tl.load(x + o, mask=o < n), mask=o < n)


def findings(kernel, index: int, n: int = 64):
    x, i, y = np.arange(64, dtype="f4"), np.arange(64, dtype="i4"), np.zeros(64, "f4")
    i[5] = index
    kernel[(1,)](x, i, y, n, B=64)
    return luthier.triton.last.findings, y


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("kernel", [gather, scatter], ids=["load", "store"])
def test_every_wrong_index_is_found(on_gpu, target, kernel):
    on_gpu(target, findings="keep")
    kinds = {}
    for index in (64, -1, -1000, 10**6, 10**9, 2**30 - 1):
        found, _ = findings(kernel, index)
        assert len(found) == 1 and found[0]["lane"] == 5, (index, found)
        kinds[index] = found[0]["kind"]
    assert kinds[64] == kinds[10**6] == "out-of-bounds" and set(kinds.values()) <= {"out-of-bounds", "buffer-range"}


def test_masked_out_lanes_are_no_findings(on_gpu):
    on_gpu("gfx942")
    found, y = findings(gather, 5, n=40)
    assert found == [] and y.tolist() == [*range(40), *[0] * 24]


def test_the_kind_can_be_left_out(on_gpu):
    usual = [kind for kind in lt.finding_kinds() if kind not in ("barrier-place", "memory-race", "buffer-range")]
    on_gpu("gfx942", strict=usual)
    assert findings(gather, -1)[0] == []


def test_without_buffer_instructions_an_index_is_an_address(on_gpu, monkeypatch):
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "0")
    on_gpu("gfx942", findings="keep")
    found, _ = findings(triton.jit(gather.fn), -1)  # compiled anew
    assert [(f["kind"], f["lane"]) for f in found] == [("out-of-bounds", 5)]
