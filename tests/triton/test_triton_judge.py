"""lt.judge with Triton's kernels: one that is right, and functions that do their work elsewhere."""

from __future__ import annotations

import re

import cli
import numpy as np
import pytest
import triton
import triton.language as tl
from places import ROOT

import luthier as lt
from luthier.judging import Case
from luthier.judging.outcome import CHECKS


@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 3.0, mask=at < n)


def scale(x, out, n):
    scale_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)


def reference(x, out, n):
    return x * np.float32(3)


def calls_the_reference(x, out, n):
    scale(x, out, n)
    out[...] = reference(x, out, n)


def runs_no_kernel(x, out, n):
    out[...] = x * np.float32(3)


_kept: dict = {}


def remembers(x, out, n):
    key = x.ctypes.data, n
    if key not in _kept:
        scale(x, out, n)
        _kept[key] = x, out.copy()
    scale(x, np.zeros_like(out), n)
    out[...] = _kept[key][1]


def case(size, dtype, generator):
    return Case([generator.random(size).astype(dtype), np.zeros(size, dtype), size], [1])


@pytest.fixture(autouse=True)
def uninstalled():
    import luthier.triton

    yield
    luthier.triton.uninstall()


@pytest.mark.parametrize(
    "function, check",
    [(scale, None), (calls_the_reference, "own work"), (runs_no_kernel, "runs"), (remembers, "not remembered")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_work_that_is_done_elsewhere_is_found(function, check):
    made = lt.judge(function, reference, case, sizes=(1, 100, 300), targets=("gfx942", "gfx1201"))
    if check is None:
        assert made, made.failures
        assert made.ulps == 0 and set(made.instructions) == {"gfx942", "gfx1201"}
    else:
        assert not made and {row.check for row in made.failures} == {check}, made.failures


def test_the_example_of_the_page_is_right(tmp_path):
    text = (ROOT / "docs/judge.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "page.py").write_text(program)
    done = cli.luthier("judge", tmp_path / "page.py")
    assert done.returncode == 0 and "not right" not in done.stdout, (done.stdout, done.stderr)
    for check in CHECKS:
        assert f"| `{check}` |" in text
