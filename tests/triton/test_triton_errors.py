"""Errors of launches show the test's line and the kernel's, and no calls of ours."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
import pytest

import luthier as lt

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

#: The package's folder; the whole project may lie in one of that name.
OURS = str(Path(lt.__file__).parent)


@triton.jit
def past_the_end(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2.0)  # the load goes past the end


@triton.jit
def inner(x, i):
    return tl.load(x + i) + 1.0  # in a function that is inlined


@triton.jit
def outer(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, inner(x, i))  # the call


def lines_of(caught) -> list[str]:
    shown = [str(entry.path) for entry in caught.traceback.filter(caught)]
    assert not [path for path in shown if path.startswith(OURS)] and shown.count(__file__) >= 2
    return [f.line for f in traceback.extract_tb(caught.tb) if f.filename == __file__]


def test_a_finding_is_raised_at_the_kernel_s_line(on_gpu):
    on_gpu("gfx942")
    x, out = np.arange(100, dtype="f4"), np.zeros(128, "f4")
    with pytest.raises(lt.StrictError) as caught:
        past_the_end[(1,)](x, out, BLOCK=128)
    assert lines_of(caught) == [
        "past_the_end[(1,)](x, out, BLOCK=128)",
        "tl.store(out + i, tl.load(x + i) * 2.0)  # the load goes past the end",
    ]


def test_a_fault_in_an_inlined_function_is_raised_through_its_call(on_gpu):
    on_gpu("gfx1201", strict=False)
    x, out = np.arange(100, dtype="f4"), np.zeros(128, "f4")
    with pytest.raises(lt.DeviceError) as caught:
        outer[(1,)](x, out, BLOCK=128)
    assert lines_of(caught)[-1] == "return tl.load(x + i) + 1.0  # in a function that is inlined"


def test_an_error_without_a_place_shows_the_test_s_line(on_gpu):
    on_gpu("gfx942")
    with pytest.raises(lt.ArgumentError) as caught:
        past_the_end[(1 << 30, 1, 1)](np.zeros(128, "f4"), np.zeros(128, "f4"), BLOCK=128)
    assert traceback.extract_tb(caught.tb)[0].line.startswith("past_the_end[(1 << 30")
    assert len([e for e in caught.traceback.filter(caught) if str(e.path) == __file__]) == 1
