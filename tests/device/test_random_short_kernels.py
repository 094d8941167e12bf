"""Random short kernels, which native code does whole, against the interpreter: what they leave in memory, what they count, and at
which instruction and lane they are refused.

``LUTHIER_SHORT_KERNELS=100`` is the deep run: that many seeds, of 40 kernels for each of six kinds of waves.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS
from short_kernels.generate import KINDS
from short_kernels.run import LAUNCHES

SEEDS = int(os.environ.get("LUTHIER_SHORT_KERNELS", "0"))
SEED, KERNELS = (1000, 40) if SEEDS else (1, 25)
NO_AVX2 = pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="THIS PROCESSOR HAS NO AVX2")


def lines(native: str, simd: str) -> list[str]:
    variables = {"LUTHIER_NATIVE": native, "LUTHIER_EMULATOR_SIMD": simd}
    command = [sys.executable, "-W", "ignore", "-m", "short_kernels.run", str(SEED), str(SEEDS or 1), str(KERNELS)]
    done = subprocess.run(command, cwd=TESTS / "support", env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def interpreted() -> list[str]:
    return lines("0", "")


def test_most_launches_end_and_some_are_refused(interpreted: list[str]) -> None:
    assert len(interpreted) == len(KINDS) * KERNELS * LAUNCHES * (SEEDS or 1)
    refused = sum("no allocation" in line for line in interpreted)
    assert len(interpreted) // 40 < refused < len(interpreted) // 4


@pytest.mark.parametrize("native", ["1", "random:3"])
@pytest.mark.parametrize("simd", ["", pytest.param("avx2", marks=NO_AVX2)])
def test_native_code_leaves_and_counts_and_refuses_the_same(interpreted: list[str], native: str, simd: str) -> None:
    differing = [
        f"{ours}\n not {theirs}" for ours, theirs in zip(lines(native, simd), interpreted, strict=True) if ours != theirs
    ]
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:5])
