"""CuPy, JAX, PyOpenCL, hip-python, onnxruntime and tinygrad from PyPI on mock GPUs. But for tinygrad, which the tests want anyway, a deep run:
``LUTHIER_PACKAGES`` names a folder with the virtual environments ``cupy``, ``jax``, ``opencl``, ``hip_python`` and ``onnxruntime`` of docs/python-packages.md,
``LUTHIER_ROCM7`` ROCm's libraries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rocm
import timed
from places import ROOT

FOLDER = Path(os.environ.get("LUTHIER_PACKAGES", "/nonexistent"))
RIGHT = {
    "cupy": ["elementwise", "raw", "sum", "sort", "matmul", "fft", "cholesky", "solve", "sparse"],
    "jax": ["jit", "sum", "grad", "sort", "matmul", "scan", "random"],
    "opencl": ["triple", "sum", "roots", "fill"],
    "hip_python": ["properties", "scaled"],
    "onnxruntime": ["add", "softmax", "matmul", "sum", "network"],
    "tinygrad": ["elementwise", "sum", "softmax", "matmul", "half", "convolution", "scan", "sort"],
}
DEEP = ["cupy", "jax", "opencl", "hip_python", "onnxruntime"]
VARIABLES = {
    "XLA_FLAGS": "--xla_gpu_enable_cublaslt=false --xla_gpu_autotune_level=0",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}


def run(package: str, target: str, scratch: Path, *options: str) -> subprocess.CompletedProcess[str]:
    python = FOLDER / package / "bin/python" if package in DEEP else Path(sys.executable)
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
    root = rocm.need_rocm7()
    places = {"ROCM_HOME": str(root / "usr"), "OCL_ICD_VENDORS": str(root / "etc/OpenCL/vendors"), "PATH": path}
    # Of CDNA's and RDNA2's processors tinygrad's HIP device takes the tensor cores for RDNA3's.
    cores = "1" if target.startswith(("gfx11", "gfx12")) else "0"
    libraries = {
        name: str(root / "usr/lib/x86_64-linux-gnu" / file)
        for name, file in (
            ("HIP_PATH", "libamdhip64.so"),
            ("COMGR_PATH", "libamd_comgr.so"),
            ("COMGR_3_PATH", "libamd_comgr.so"),
        )
    }
    tinygrad = {"DEV": "HIP", "PARALLEL": "2", "TC": cores, "CACHEDB": str(scratch / "tinygrad.db"), **libraries}
    environment = {**rocm.ENVIRONMENT, **VARIABLES, **places, **tinygrad}
    return timed.run(command, 3600, env=environment)


def right(package: str, done: subprocess.CompletedProcess[str]) -> None:
    said = [line for line in done.stdout.splitlines() if line.endswith(("right", "WRONG"))]
    assert done.returncode == 0 and said == [f"{name} right" for name in RIGHT[package]], done.stderr[-3000:]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("package", DEEP)
def test_package_is_right(package, target, tmp_path):
    right(package, run(package, target, tmp_path))


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_tinygrad_is_right(target, tmp_path):
    right("tinygrad", run("tinygrad", target, tmp_path))


@pytest.mark.parametrize(
    "package, target", [*((package, "gfx942") for package in DEEP), ("opencl", "gfx1201"), ("tinygrad", "gfx1201")]
)
def test_a_tool_counts_what_the_device_counts(package, target, tmp_path):
    alone = run(package, target, tmp_path, "--log")
    # Waves that print try again where they race for room, in this run or in the other.
    # ROCr's own kernels, which have no name or lie behind a code object, are not instrumented.
    retired = re.findall(r"has retired (\d+) instructions of the kernel (?!at 0x|of the runtime|__amd_rocclr_|say)", alone.stderr)
    done = run(package, target, tmp_path, "--tool", "instr_count", "--json", str(tmp_path / "counts.json"))
    right(package, alone), right(package, done)
    processes = json.loads((tmp_path / "counts.json").read_text())["processes"]
    kernels = [k for p in processes for o in p["objects"] for k in o["kernels"] if not k["name"].startswith("__amd_rocclr_")]
    assert kernels and all(k["instrumented"] == k["launches"] for k in kernels), kernels
    counted = [k["tools"]["instr_count"]["instructions"] for k in kernels if k["name"] != "say"]
    assert sum(counted) == sum(map(int, retired))
