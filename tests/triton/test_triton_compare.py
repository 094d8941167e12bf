"""One launch on several processors, side by side."""

from __future__ import annotations

import numpy as np
import pytest

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def test_each_target_has_its_numbers_and_the_gpu_before_is_chosen_again(on_gpu):
    on_gpu("gfx90a")
    n, targets = 1000, ["gfx942", "gfx1100", "gfx1201"]
    x, y, out = np.arange(n, dtype="f4"), np.ones(n, "f4"), np.zeros(n, "f4")
    compared = luthier.triton.compare(lambda: add[(8,)](x, y, out, n, BLOCK=128), targets)
    np.testing.assert_array_equal(out, x + 1)
    told = compared.to_dict()
    assert list(told) == targets
    for target in targets:
        lanes = 64 if target == "gfx942" else 32
        # Four waves a program; masked lanes add as well, and so do those of wave64 that hold the same element twice.
        assert told[target]["waves"] == 8 * 4 and told[target]["flops"] == 8 * 4 * lanes
        assert told[target]["bytes of device memory"] >= 4 * n * (lanes // 32 * 2 + 1)
        assert told[target]["instructions"] == sum(v for name, v in told[target].items() if name.startswith("  "))
    assert "gfx1201" in str(compared) and compared.report().to_arrow()["comparison"].num_columns == 4
    add[(8,)](x, y, out, n, BLOCK=128)
    assert luthier.triton.last.module.device.processor == "gfx90a"
    with pytest.raises(lt.ArgumentError, match="launched nothing on gfx942"):
        luthier.triton.compare(lambda: None, ["gfx942"])
