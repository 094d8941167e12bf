"""CuPy and JAX from PyPI on mock GPUs. A deep run: ``LUTHIER_PACKAGES`` names a folder with the virtual environments ``cupy``
and ``jax`` of docs/python-packages.md, ``LUTHIER_ROCM7`` ROCm's libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import rocm
from places import ROOT

FOLDER = Path(os.environ.get("LUTHIER_PACKAGES", "/nonexistent"))
RIGHT = {
    "cupy": ["elementwise", "raw", "sum", "sort", "matmul", "fft", "cholesky", "solve", "sparse"],
    "jax": ["jit", "sum", "grad", "sort", "matmul", "scan", "random"],
}
VARIABLES = {
    "XLA_FLAGS": "--xla_gpu_enable_cublaslt=false --xla_gpu_autotune_level=0",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}


def run(package: str, target: str, *options: str) -> subprocess.CompletedProcess[str]:
    python = FOLDER / package / "bin/python"
    if not python.exists():
        pytest.skip("a deep run: LUTHIER_PACKAGES names no folder with the virtual environments of docs/python-packages.md")
    program = ROOT / f"tests/packages/{package}_program.py"
    command = [
        sys.executable,
        "-m",
        "luthier",
        "trace",
        "--rocm",
        "7",
        "--mock",
        target,
        *options,
        "--",
        str(python),
        str(program),
    ]
    path = f"{python.parent}:{os.environ['PATH']}"
    environment = {**rocm.ENVIRONMENT, **VARIABLES, "ROCM_HOME": str(rocm.need_rocm7() / "usr"), "PATH": path}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=3600)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("package", RIGHT)
def test_package_is_right(package, target):
    done = run(package, target)
    assert done.returncode == 0 and done.stdout.splitlines() == [f"{name} right" for name in RIGHT[package]], done.stderr[-3000:]


@pytest.mark.parametrize("package", RIGHT)
def test_package_is_right_under_a_tool_that_counts(package):
    done = run(package, "gfx942", "--tool", "instr_count")
    assert done.returncode == 0 and done.stdout.splitlines() == [f"{name} right" for name in RIGHT[package]], done.stderr[-3000:]
    assert "nothing" not in done.stderr and "instructions" in done.stderr
