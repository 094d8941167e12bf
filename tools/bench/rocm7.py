"""Processes, launches and copies on ROCm 7, and what its libraries cost to start. Empty where `make setup-rocm7` has not put it; without rows of
rocSOLVER's and CuPy's where they are not (docs/python-packages.md)."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rows import at_most

from luthier.cli.mock_gpus import MockGpus, Program
from luthier.cli.rocm import set_up_folder

TARGET = "gfx942"
#: Copies and fills of 4 KB; the program waits for each.
SMALL = ("to_device", "to_host", "pinned_to_device", "pinned_to_host", "on_device", "fill")

IDLE = """
import ctypes, resource, time
hip = ctypes.CDLL("libamdhip64.so.7")
memory = ctypes.c_void_p()
for _ in range(200):
    assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0 and hip.hipMemset(memory, 1, 4096) == 0
    assert hip.hipDeviceSynchronize() == 0 and hip.hipFree(memory) == 0
def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime
before = used()
time.sleep(4)
print("idle", (used() - before) / 4)
"""

FACTORS = """
import ctypes
hip, blas, solver = map(ctypes.CDLL, ("libamdhip64.so.7", "librocblas.so.5", "librocsolver.so.0"))
handle, matrix, info = (ctypes.c_void_p() for _ in range(3))
assert blas.rocblas_create_handle(ctypes.byref(handle)) == 0
given = (ctypes.c_float * 16)(*(5.0 if i % 5 == 0 else 1.0 for i in range(16)))
assert hip.hipMalloc(ctypes.byref(matrix), 64) == 0 and hip.hipMalloc(ctypes.byref(info), 4) == 0
assert hip.hipMemcpy(matrix, given, 64, 1) == 0
lower = 122  # rocblas_fill_lower
assert solver.rocsolver_spotrf(handle, lower, 4, matrix, 4, info) == 0
assert hip.hipMemcpy(given, matrix, 64, 2) == 0
assert abs(given[0] - 5**0.5) < 1e-5
"""

PRODUCT = """
import time
import cupy as cp
a, b = (cp.ones((512, 512), cp.float32) for _ in range(2))
assert (a @ b)[0, 0] == 512
def timed():
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    start = time.perf_counter()
    begin.record()
    a @ b
    end.record()
    end.synchronize()
    whole = time.perf_counter() - start
    return whole, cp.cuda.get_elapsed_time(begin, end) / 1e3
whole, kernel = min(timed() for _ in range(5))
print("product", whole, kernel)
"""


def _started(*words: str | Path, **variables: str) -> Program:
    return Program.on(MockGpus(mock=TARGET), [str(word) for word in words], {**os.environ, **variables}, rocm="7")


def _run(program: Program) -> tuple[str, float]:
    """Standard output, and seconds of the whole process, without `luthier trace` in front of it."""
    start = time.perf_counter()
    done = subprocess.run(
        program.words, executable=program.path, env=program.environment, capture_output=True, text=True, check=True
    )
    return done.stdout, time.perf_counter() - start


def _numbers(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if line[-3:] in (" us", "B/s"))
    return {name: float(number) for name, number, _ in lines}


def measured() -> dict[str, dict]:
    folder = set_up_folder(os.environ)
    if not (folder / "wanted").exists():
        print("bench: ROCm 7 is not here: nothing is measured on it (make setup-rocm7)", file=sys.stderr)
        return {}
    import rocm

    program = rocm.hip7("speed", (TARGET,))
    whole, idle = ([_run(_started(program, "unchecked", **how))[1] for _ in range(5)] for how in ({}, {"LUTHIER_MOCK_IDLE": "1"}))
    runs = [_numbers(_run(_started(program, "all"))[0]) for _ in range(3)]
    got = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    rows = {
        "HIP 7: vector add, whole process": {
            **at_most(min(whole) * 1e3, 1.3 * min(idle) * 1e3, "ms"),
            "against": "1.3 x a device that does nothing",
        },
        "HIP 7: launch and synchronise": at_most(got["launch_and_synchronise"], 15, "us"),
        "HIP 7: launch asynchronously": at_most(got["launch_asynchronously"], 5, "us"),
    }
    for name in SMALL:
        rows[f"HIP 7: {name.replace('_', ' ')}, 4 KB"] = at_most(4.096 / got[f"{name}_4_KB"], 20, "us")
    idle_share = float(_run(_started(sys.executable, "-c", IDLE))[0].split()[-1])
    rows["HIP 7: a program that waits"] = at_most(idle_share * 100, 5, "% of a core")
    if (folder / "root/usr/lib/x86_64-linux-gnu/librocsolver.so.0").exists():
        seconds = min(_run(_started(sys.executable, "-c", FACTORS))[1] for _ in range(3))
        rows["rocSOLVER: factors of 4 x 4, whole process"] = at_most(seconds, 3, "s")
    cupy = Path(os.environ.get("LUTHIER_PACKAGES", "/nonexistent")) / "cupy/bin"
    if cupy.exists():
        places = {"ROCM_HOME": str(folder / "root/usr"), "PATH": f"{cupy}:{os.environ['PATH']}"}
        _, second, kernel = _run(_started(cupy / "python", "-c", PRODUCT, **places))[0].split()
        rows["CuPy: second product of 512 x 512"] = {
            **at_most(float(second) * 1e3, 1.5 * float(kernel) * 1e3, "ms"),
            "against": "1.5 x the kernel's own time",
        }
    return rows
