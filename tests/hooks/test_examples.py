"""The programs in examples/, each run on a kernel whose answer is known."""

from __future__ import annotations

import json
import subprocess
import sys

import compiled
import numpy as np
import pytest
from cli import succeeds
from places import ROOT

import luthier as lt

EXAMPLES = ROOT / "examples"
GRID = ["--grid", "256", "--block", "128"]
VECADD = ["--arg", "buf:f32[256]=arange", "--arg", "buf:f32[256]=ones", "--arg", "buf:f32[256]=zeros", "--arg", "u32=256"]

KERNELS = """
KERNEL half_of_the_lanes(u32 *p) {
    u32 i = global_x();
    if (i & 1)
        for (u32 n = 0; n < 10; n++) p[i] = p[i] * 3 + n;
}
KERNEL roots(const float *in, float *out) {
    u32 i = global_x();
    out[i] = (in[i] - in[i]) * 2.0f;
}
KERNEL stride(const u32 *in, u32 *out, u32 by) { out[global_x()] = in[global_x() * by]; }
"""


@pytest.fixture(scope="module")
def kernels():
    return compiled.build(KERNELS, "gfx90a", ("-g",))


def _tool(name: str):
    return lt.tools.load(str(EXAMPLES / f"{name}.py"))


def test_block_counts(kernels):
    path = compiled.code_object("vecadd", flags=("-g",))
    told = json.loads(
        succeeds("run", path, "--kernel", "vecadd", *GRID, *VECADD, "--tool", EXAMPLES / "block_counts.py", "--json", "-")
    )
    result = told["tools"]["block_counts"]
    assert max(result["blocks"].values()) == told["dispatch"]["waves"] == 4
    assert sum(result["lines"].values()) == told["emulator"]["app_instructions"]
    assert any(line.endswith("vecadd.hip:5") for line in result["lines"])


def test_divergence(kernels):
    tool = _tool("divergence")
    numbers = np.zeros(128, np.uint32)
    result = lt.Device("gfx90a").run(kernels, "half_of_the_lanes", blocks=1, block=128, args=[numbers], tools=[tool])
    lanes = {n["lanes"] / n["waves"] for n in result.tools["divergence"]["blocks"].values()}
    assert lanes == {32.0, 64.0}


def test_value_profile():
    told = succeeds("run", compiled.code_object("vecadd"), "--kernel", "vecadd", *GRID, *VECADD, "--json", "-", "--tool", EXAMPLES / "value_profile.py")  # fmt: skip
    values = (np.arange(256, dtype=np.float32) + 1).view(np.uint32)
    expected = {}
    for value in values.tolist():
        expected[str(value.bit_length())] = expected.get(str(value.bit_length()), 0) + 1
    assert json.loads(told)["tools"]["value_profile"] == {"bits": expected}


def test_nan_checker(kernels):
    tool = _tool("nan_checker")
    given = np.zeros(64, np.float32)
    given[:5] = np.inf
    result = lt.Device("gfx90a").run(kernels, "roots", blocks=1, block=64, args=[given, np.zeros(64, np.float32)], tools=[tool])
    found = result.tools["nan_checker"]["nans"]
    assert set(found.values()) == {5} and len(found) == 2


@pytest.mark.parametrize("by, lines", [(1, 4), (2, 8), (16, 64)])
def test_memory_addresses(kernels, by, lines):
    tool = _tool("memory_addresses")
    source, out = np.zeros(64 * by, np.uint32), np.zeros(64, np.uint32)
    result = lt.Device("gfx90a").run(kernels, "stride", blocks=1, block=64, args=[source, out, by], tools=[tool])
    load, store = result.tools["memory_addresses"]["accesses"].values()
    assert load == {"waves": 1, "lines": lines} and store == {"waves": 1, "lines": 4}


def test_debugging_session():
    command = [sys.executable, EXAMPLES / "debugging_session.py", compiled.code_object("vecadd"), "vecadd"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "c[0:4] before: [0. 0. 0. 0.]" in done.stdout and "c[0:4] after:  [1. 2. 3. 4.]" in done.stdout
    assert ": 1, 2, 3, 4, ..." in done.stdout
