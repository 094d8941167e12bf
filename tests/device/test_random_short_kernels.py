"""Random short kernels, which native code does whole, and such with LDS and barriers on all kinds of waves, against the interpreter:
what they leave in memory, what they count, and at which instruction and lane they are refused.

``LUTHIER_SHORT_KERNELS=100`` is the deep run: that many seeds, of 40 kernels for each kind of waves.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS
from short_kernels.run import SORTS

SEEDS = int(os.environ.get("LUTHIER_SHORT_KERNELS", "0"))
SEED = 1000 if SEEDS else 1
KERNELS = {"plain": 40, "barriers": 40, "scalars": 40} if SEEDS else {"plain": 25, "barriers": 8, "scalars": 25}
NO_AVX2 = pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="THIS PROCESSOR HAS NO AVX2")


def lines(sort: str, native: str, simd: str) -> list[str]:
    variables = {"LUTHIER_NATIVE": native, "LUTHIER_EMULATOR_SIMD": simd}
    command = [sys.executable, "-W", "ignore", "-m", "short_kernels.run", sort, *map(str, (SEED, SEEDS or 1, KERNELS[sort]))]
    done = subprocess.run(command, cwd=TESTS / "support", env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@functools.cache
def interpreted(sort: str) -> list[str]:
    return lines(sort, "0", "")


@pytest.mark.parametrize("sort", SORTS)
def test_most_launches_end_and_some_are_refused(sort: str) -> None:
    kinds, launches = SORTS[sort].waves, SORTS[sort].launches
    assert len(interpreted(sort)) == len(kinds) * KERNELS[sort] * launches * (SEEDS or 1)
    refused = sum(" allocation" in line for line in interpreted(sort))
    ended = sum(" instructions, " in line for line in interpreted(sort))
    # With barriers most that a kernel accesses is LDS; scalar code reads few of the addresses that lead nowhere.
    least = {"plain": 40, "barriers": 200, "scalars": 100}[sort]
    assert len(interpreted(sort)) // least < refused < len(interpreted(sort)) // 4
    # Nothing else is the matter with any: no barrier that is never complete, no instruction that is not supported.
    assert ended + refused == len(interpreted(sort))


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("native", ["1", "random:3"])
@pytest.mark.parametrize("simd", ["", pytest.param("avx2", marks=NO_AVX2)])
def test_native_code_leaves_and_counts_and_refuses_the_same(sort: str, native: str, simd: str) -> None:
    pairs = zip(lines(sort, native, simd), interpreted(sort), strict=True)
    differing = [f"{ours}\n not {theirs}" for ours, theirs in pairs if ours != theirs]
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:5])
