"""Each tool that comes along, attached by its name to kernels that Triton launches: the results are as without it, and the tool
has seen the launch. ``LUTHIER_TRITON_DEEP=1``: on six targets."""

from __future__ import annotations

import os

import numpy as np
import pytest

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
pytest.importorskip("pyarrow")

DEEP = "LUTHIER_TRITON_DEEP" in os.environ
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250") if DEEP else ("gfx942",)
#: `api_check` hears of HIP alone.
TOOLS = sorted(set(lt.tools.BUILTIN) - {"api_check", "fault_inject"})


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    top = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, top / tl.sum(top, axis=0), mask=i < columns)


@triton.jit
def product(a, b, out, BLOCK: tl.constexpr):
    i, k = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(out + i * BLOCK + k, tl.dot(tl.load(a + i * BLOCK + k), tl.load(b + i * BLOCK + k)))


def launch(name: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    if name == "softmax":
        x, out = rng.standard_normal((6, 100)).astype("f4"), np.zeros((6, 100), "f4")
        softmax[(6,)](x, out, 100, BLOCK=128)
    else:
        a, b = rng.standard_normal((2, 32, 32)).astype("f2")
        out = np.zeros((32, 32), "f4")
        product[(1,)](a, b, out, BLOCK=32)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["softmax", "product"])
def test_results_are_those_without_a_tool(name, target, on_gpu):
    on_gpu(target)
    plain = launch(name)
    for tool in TOOLS:
        luthier.triton.attach(tool)
        try:
            out = launch(name)
            (report,) = luthier.triton.last.reports
        finally:
            luthier.triton.detach(tool)
        assert out.tobytes() == plain.tobytes(), tool
        assert report.tool == tool and report.result and "not_counted" not in report.result, (tool, report.result)
    assert np.isfinite(plain).all() and plain.any()


def test_a_trace_tells_tensors_apart_by_their_argument(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach("mem_trace")
    out = launch("softmax")
    (report,) = luthier.triton.last.reports
    told = report.result["by argument"]
    # Lanes that have the same element load it each; Triton's masked lanes access nothing.
    assert (
        told["0"]["bytes"] == told["0"]["loads"] * 4
        and told["0"]["loads"] % out.size == 0 < told["0"]["loads"]
        and told["0"]["stores"] == 0
    )
    assert told["1"]["bytes"] == out.nbytes and told["1"]["loads"] == 0
