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


@triton.jit
def scaled(a, b, scale_a, scale_b, out, SIZE: tl.constexpr, K: tl.constexpr):
    line, k, block = tl.arange(0, SIZE)[:, None], tl.arange(0, K), tl.arange(0, K // 32)[None, :]
    x, y = tl.load(a + line * K + k[None, :]), tl.load(b + k[:, None] * SIZE + tl.arange(0, SIZE)[None, :])
    of_a, of_b = tl.load(scale_a + line * (K // 32) + block), tl.load(scale_b + line * (K // 32) + block)
    product = tl.dot_scaled(x, of_a, "e4m3", y, of_b, "e5m2")
    tl.store(out + line * SIZE + tl.arange(0, SIZE)[None, :], product)


@pytest.mark.parametrize("target", ["gfx950", "gfx1250"])
def test_nan_check_names_what_a_scaled_product_makes_nans_of(target, on_gpu):
    """An infinity times zero, or a scale that is a NaN: Triton gives the hardware the transposed product."""
    on_gpu(target)
    types = pytest.importorskip("ml_dtypes")
    for what in ("product", "scale"):
        a, b = np.ones((32, 128), types.float8_e4m3fn), np.full((128, 32), 2, types.float8_e5m2)
        scales = [np.full((32, 4), 127, np.uint8) for _ in range(2)]
        if what == "product":
            a[3, 17], b[17, 9] = 0, np.inf
        else:
            scales[0][3, 2] = 255
        out = np.zeros((32, 32), "f4")
        luthier.triton.attach("nan_check")
        try:
            scaled[(1,)](a, b, *scales, out, SIZE=32, K=128)
            (report,) = luthier.triton.last.reports
        finally:
            luthier.triton.detach("nan_check")
        told = report.result
        assert np.argwhere(np.isnan(out)).tolist() == ([[3, 9]] if what == "product" else [[3, n] for n in range(32)])
        (made,) = told["made"][:1]
        products = made["of"]["products"]
        if what == "product":
            assert products == [{"k": 17, "a": "inf", "b": "0", "scale_a": "1", "scale_b": "1"}]
        else:
            assert len(products) == 32 and {(p["a"], p["b"], p["scale_a"], p["scale_b"]) for p in products} == {
                ("2", "1", "1", "nan")
            }
        assert made["of"]["accumulator"] is None and made["line"].startswith("test_triton_tools.py:")
