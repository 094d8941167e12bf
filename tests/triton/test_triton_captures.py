"""Launches of Triton kernels, recorded and done again."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402
from luthier.replay import Way, explore, replay  # noqa: E402


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, e / tl.sum(e, 0), mask=at < columns)


@triton.jit
def product_kernel(a, b, c, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    rows, columns = at[:, None] * SIZE, at[None, :]
    tl.store(c + rows + columns, tl.dot(tl.load(a + rows + columns), tl.load(b + rows + columns)))


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_a_recorded_launch_is_replayed_to_the_bit(on_gpu, target, tmp_path):
    on_gpu(target, strict=False)
    random = np.random.default_rng(1)
    x, out = random.standard_normal((6, 100), np.float32), np.zeros((6, 100), np.float32)
    with luthier.triton.capture("softmax*", launch=2) as recording:
        for _ in range(3):
            softmax_kernel[(6,)](x, out, 100, BLOCK=128)
    recording.case.save(tmp_path / "softmax.luthier")
    case = lt.Case.open(tmp_path / "softmax.luthier")
    # The second launch finds what the first one has left.
    assert [np.frombuffer(r.before, "f4").tolist() for r in case.regions if r.size == out.nbytes and r.after is None].count(
        out.reshape(-1).tolist()
    ) == 1
    did = replay(case, Way(tools=[lt.tools.load("instr_count")]))
    assert did.is_same and did.tools["instr_count"]["instructions"] == replay(case).instructions
    a = random.standard_normal((32, 32)).astype(np.float16)
    c = np.zeros((32, 32), np.float32)
    with luthier.triton.capture("product*") as recording:
        product_kernel[(1,)](a, a, c, SIZE=32)
    assert replay(recording.case).is_same and explore(recording.case, 6).is_deterministic
    assert any(region.after == c.tobytes() for region in recording.case.regions)
    with pytest.raises(lt.CaseError, match=r"no kernel softmax\* was launched 1 times: 0 launches were heard of"):
        with luthier.triton.capture("softmax*") as nothing:
            product_kernel[(1,)](a, a, c, SIZE=32)
        _ = nothing.case
