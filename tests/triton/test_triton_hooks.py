"""All that hooks can be and have, in kernels that Triton launches, in place and called: results are as without them, and what they count
is the same. ``LUTHIER_TRITON_DEEP=1``: on six targets."""

from __future__ import annotations

import os

import numpy as np
import pytest
from kinds_of_hooks import Kinds, waves

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

DEEP = "LUTHIER_TRITON_DEEP" in os.environ
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250") if DEEP else ("gfx942", "gfx1201", "gfx1250")


@triton.jit
def sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


@triton.jit
def product(a, b, out, BLOCK: tl.constexpr):
    i, k = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(out + i * BLOCK + k, tl.dot(tl.load(a + i * BLOCK + k), tl.load(b + i * BLOCK + k)))


def launch(name: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    if name == "sums":
        x, out = rng.standard_normal((6, 100)).astype("f4"), np.zeros(6, "f4")
        sums[(6,)](x, out, 100, BLOCK=128)
    else:
        a, b = rng.standard_normal((2, 32, 32)).astype("f2")
        out = np.zeros((32, 32), "f4")
        product[(1,)](a, b, out, BLOCK=32)
    return out


@pytest.mark.parametrize("bodies", ["in-place", "called"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["sums", "product"])
def test_all_kinds_of_hooks_agree_in_tritons_kernels(name, target, bodies, on_gpu, capfd):
    on_gpu(target)
    plain = launch(name)
    expected = luthier.triton.last.waves
    luthier.triton.attach(Kinds, bodies=bodies, check=True)
    out = launch(name)
    assert out.tobytes() == plain.tobytes() and plain.any()
    assert waves(luthier.triton.last.tools["kinds"]) == expected > 0
    assert capfd.readouterr().out == "the first wave has 3\n"


def test_tools_of_one_kernel_are_placed_in_one_way(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach("instr_count", bodies="called")
    luthier.triton.attach("block_count")
    with pytest.raises(lt.ToolError, match="are placed in different ways: .* with the same keywords"):
        launch("sums")
    with pytest.raises(lt.ArgumentError, match="bodies: 'often' is not"):
        luthier.triton.attach("instr_count", bodies="often")
    with pytest.raises(TypeError, match="there is no keyword 'body' here"):
        luthier.triton.attach("instr_count", body="called")
