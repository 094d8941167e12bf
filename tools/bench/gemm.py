"""A product of f16 matrices by AMD's rocBLAS on ROCm 7, on a mock GPU with all cores. Empty where that is not set up."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from ctypes import byref, c_float, c_int, c_size_t, c_void_p
from pathlib import Path

import numpy as np
from inputs import run
from rows import at_most

from luthier.cli.rocm import set_up_folder

HERE = Path(__file__).parent
SIZE = 1024
PROCESSORS = ("gfx90a", "gfx942")
HIP, BLAS = "libamdhip64.so.7", "librocblas.so.5"
#: rocBLAS's enumerations.
_PLAIN, _F16, _F32, _STANDARD = 111, 150, 151, 0
_TO_DEVICE, _TO_HOST = 1, 2


def _must(status: int) -> None:
    if status:
        raise RuntimeError(f"status {status}")


def multiply(rounds: int = 3) -> dict[str, float]:
    """In a process on ROCm 7: seconds of the fastest product, and how many elements of it are wrong. The numbers are whole and
    small, so that every sum is exact in f32, and the result has one right value."""
    hip, blas = ctypes.CDLL(HIP), ctypes.CDLL(BLAS)
    generator = np.random.default_rng(0)
    # By columns, as rocBLAS has them.
    a, b = (np.asfortranarray(generator.integers(-3, 4, (SIZE, SIZE)).astype(np.float16)) for _ in "ab")
    c = np.zeros((SIZE, SIZE), np.float32, order="F")
    places = [c_void_p() for _ in range(3)]
    for place, array in zip(places, (a, b, c)):
        _must(hip.hipMalloc(byref(place), c_size_t(array.nbytes)))
        _must(hip.hipMemcpy(place, c_void_p(array.ctypes.data), c_size_t(array.nbytes), _TO_DEVICE))
    handle, n, alpha, beta = c_void_p(), c_int(SIZE), c_float(1), c_float(0)
    _must(blas.rocblas_create_handle(byref(handle)))
    in_a, in_b, out = ([place, kind, n] for place, kind in zip(places, (_F16, _F16, _F32)))
    seconds = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        _must(blas.rocblas_gemm_ex(
            handle, _PLAIN, _PLAIN, n, n, n, byref(alpha), *in_a, *in_b, byref(beta), *out, *out, _F32, _STANDARD, 0, 0
        ))  # fmt: skip
        _must(hip.hipDeviceSynchronize())
        seconds = min(seconds, time.perf_counter() - start)
    _must(hip.hipMemcpy(c_void_p(c.ctypes.data), places[2], c_size_t(c.nbytes), _TO_HOST))
    wrong = np.count_nonzero(c != a.astype(np.float32) @ b.astype(np.float32))
    return {"seconds": seconds, "wrong": int(wrong)}


def _missing() -> str | None:
    """Why nothing is measured."""
    folder = set_up_folder(os.environ)
    if not (folder / "wanted").exists():
        return "ROCm 7 is not set up (make setup-rocm7)"
    if not list(folder.glob(f"root/**/{BLAS}")):
        return f"ROCm 7 has no {BLAS} (tools/rocm7-packages librocblas5)"
    return None


def measured() -> dict[str, dict]:
    """A row for each processor. The result is NumPy's, exactly."""
    if (missing := _missing()) is not None:
        print(f"bench: {missing}: rocBLAS's products are not measured", file=sys.stderr)
        return {}
    rows, luthier = {}, Path(sys.executable).with_name("luthier")
    for processor in PROCESSORS:
        command = [luthier, "trace", "--mock", processor, "--rocm", "7", "--", sys.executable, HERE / "gemm.py"]
        found = next(json.loads(line) for line in run(*command).splitlines() if line.startswith("{"))
        if found["wrong"]:
            raise AssertionError(f"{found['wrong']} elements of rocBLAS's product on {processor} are wrong")
        unit = f"s, {os.cpu_count()} cores"
        rows[f"rocBLAS, product of {SIZE:,}, f16, {processor}"] = at_most(found["seconds"], 2, unit)
    return rows


if __name__ == "__main__":
    print(json.dumps(multiply()))
