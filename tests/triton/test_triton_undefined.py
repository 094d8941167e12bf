"""Tensors that nothing has written, under Triton: what depends on them is found, and what torch or a kernel writes is not."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier.triton  # noqa: E402

KIND = "undefined-memory"


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


def found(x, y, out, n: int) -> list:
    add[(triton.cdiv(n, 64),)](x, y, out, n, B=64)
    return luthier.triton.last.findings


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("dtype", ["float32", "bf16"])
def test_what_a_kernel_makes_of_empty_tensors_is_found(on_gpu, target, dtype):
    on_gpu(target, strict=[KIND], findings="keep")
    ones, out = luthier.triton.tensor(np.ones(100), "float32"), luthier.triton.empty(100, "float32")
    x = luthier.triton.empty(100, dtype)
    x.array[:60] = 0
    # Elements that are written stay so; those behind them are in the way of nothing.
    assert found(x, ones, out, 60) == []
    (finding,) = found(x, ones, out, 100)
    assert (finding["kind"], finding["count"]) == (KIND, 40) and finding["place"].startswith("argument 0 'x'"), finding
    # What was stored counts as written, whatever it was made of.
    assert found(out, ones, ones, 100) == []


def test_other_kinds_do_not_ask(on_gpu):
    on_gpu("gfx942")
    x = luthier.triton.empty(100, "float32")
    assert found(x, x, luthier.triton.empty(100, "float32"), 100) == []


SUITE = """
import luthier.triton, numpy, triton, triton.language as tl

@triton.jit
def double(x, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, 2 * tl.load(x + at))

def test_double():
    double[(1,)](luthier.triton.empty(64, "float32"), B=64)
"""


def test_the_plugin_looks_for_the_kinds_that_it_is_told(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_suite.py", "--luthier=gfx942"]

    def run(*options: str):
        return subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path)

    done = run("--luthier-strict", f"--luthier-kinds=hazard,{KIND}")
    assert done.returncode == 1 and KIND in done.stdout and "test_suite.py:7" in done.stdout, done.stdout
    assert run("--luthier-strict").returncode == 0
    for options, says in (
        (["--luthier-kinds=hazard"], "give both"),
        (["--luthier-strict", "--luthier-kinds=odd"], "expected True, False"),
    ):
        done = run(*options)
        assert done.returncode == 4 and says in done.stderr, done.stderr


def test_torchs_empty_tensors_are_followed(on_gpu):
    torch = pytest.importorskip("torch", reason="torch is not here")
    on_gpu("gfx942", strict=[KIND], findings="keep")

    def empties():
        yield torch.empty(100, device="cuda")
        yield torch.empty_like(torch.ones(100, device="cuda"))
        yield torch.ones(3, device="cuda").new_empty(100)
        yield torch.empty_strided((100,), (1,), device="cuda")
        yield torch.nn.Parameter(torch.empty(100, device="cuda")).data

    ones = torch.ones(100, device="cuda")
    for x in empties():
        (finding,) = found(x, ones, torch.empty(100, device="cuda"), 100)
        assert (finding["kind"], finding["count"]) == (KIND, 100)
    for write in (
        lambda x: x.fill_(3),
        lambda x: x.zero_(),
        lambda x: x.copy_(torch.arange(100.0)),
        lambda x: x.normal_(),
        lambda x: torch.add(ones, 1, out=x),
        lambda x: torch.nn.init.uniform_(x),
    ):
        x = torch.empty(100, device="cuda")
        write(x)
        assert found(x, ones, torch.empty(100, device="cuda"), 100) == []
    x = torch.empty(100, device="cuda")
    x[::2] = 1
    (finding,) = found(x, ones, torch.empty(100, device="cuda"), 100)
    assert finding["count"] == 50
    # Tensors of the host's are none of this.
    assert found(torch.empty(100), ones, torch.empty(100, device="cuda"), 100) == []
