"""Blocks that change between micro-ops and native code at random moments. ``LUTHIER_SOAK=600`` is the deep run: that many
seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import TESTS

SECONDS = float(os.environ.get("LUTHIER_SOAK", "0"))


NO_AVX2 = pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="THIS PROCESSOR HAS NO AVX2")


@pytest.mark.parametrize("simd", ["", pytest.param("avx2", marks=NO_AVX2)])
def test_kernels_compute_the_same_while_their_blocks_change_tiers(simd):
    seed = os.getpid()
    variables = {"LUTHIER_NATIVE": f"random:{seed}", "LUTHIER_EMULATOR_SIMD": simd}
    command = [sys.executable, "-m", "soak", str(SECONDS / 2 or 2), str(seed)]
    done = subprocess.run(
        command, cwd=TESTS / "support", env=os.environ | variables, capture_output=True, text=True, timeout=SECONDS + 200
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
    assert int(done.stdout) >= 10
    print(f"{simd or 'all'}: {done.stdout.strip()} launches, seed {seed}")
