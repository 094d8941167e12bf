"""Random short kernels, which native code does whole, and such with LDS and barriers on all kinds of waves, against the interpreter:
what they leave in memory, what they count, at which instruction and lane they are refused, and what is seen where they are stopped.

``LUTHIER_SHORT_KERNELS=100`` is the deep run: that many seeds, of some 40 kernels for each kind of waves.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS
from short_kernels.sorts import SORTS

SEEDS = int(os.environ.get("LUTHIER_SHORT_KERNELS", "0"))
SEED = 1000 if SEEDS else 1
NO_AVX2 = pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="THIS PROCESSOR HAS NO AVX2")
WAYS = [pytest.param(sort, native, id=f"{sort}-{native or 'usual'}") for sort in SORTS for native in SORTS[sort].natives]


def lines(sort: str, native: str, simd: str) -> list[str]:
    variables = {"LUTHIER_NATIVE": native, "LUTHIER_EMULATOR_SIMD": simd}
    numbers = SEED, SEEDS or 1, SORTS[sort].kernels[SEEDS > 0]
    command = [sys.executable, "-W", "ignore", "-m", "short_kernels.run", sort, *map(str, numbers)]
    done = subprocess.run(command, cwd=TESTS / "support", env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def are_refused(sort: str, ours: str, theirs: str) -> bool:
    """Both of several workers: where, depends on which of them is first."""
    return SORTS[sort].threads > 1 and all(": refused, " in line for line in (ours, theirs))


@functools.cache
def interpreted(sort: str) -> list[str]:
    return lines(sort, "0", "")


@pytest.mark.parametrize("sort", SORTS)
def test_most_launches_end_and_some_are_refused(sort: str) -> None:
    told, known = interpreted(sort), SORTS[sort]
    assert len(told) == len(known.waves) * known.kernels[SEEDS > 0] * known.launches * (SEEDS or 1)
    refused = sum(" allocation" in line or "which is read-only" in line for line in told)
    ended = sum(" instructions, " in line for line in told)
    least, most = known.refused
    assert least * len(told) <= refused <= most * len(told)
    # Nothing else is the matter with any: no barrier that is never complete, no instruction that is not supported.
    assert ended + refused == len(told) and not any("stored to what" in line for line in told)


@pytest.mark.parametrize(("sort", "native"), WAYS)
@pytest.mark.parametrize("simd", ["", pytest.param("avx2", marks=NO_AVX2)])
def test_native_code_leaves_and_counts_and_refuses_the_same(sort: str, native: str, simd: str) -> None:
    pairs = zip(lines(sort, native, simd), interpreted(sort), strict=True)
    differing = [f"{ours}\n not {theirs}" for ours, theirs in pairs if ours != theirs and not are_refused(sort, ours, theirs)]
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:5])
