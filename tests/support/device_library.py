"""HIP programs that are linked with AMD's device library, as Debian has it: what prints and allocates on the device."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

#: Debian's rocm-device-libs: ROCm 5.2.3, whose newest processor is gfx1036.
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")

_HEAD = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define KERNEL extern "C" __global__ void
typedef unsigned long size_t;
extern "C" {
__device__ int printf(const char *, ...);
__device__ void *__ockl_dm_alloc(size_t);
__device__ void __ockl_dm_dealloc(size_t);
__device__ size_t __ockl_fprintf_stderr_begin();
__device__ size_t __ockl_fprintf_append_string_n(size_t, const char *, size_t, unsigned);
}
#define ITEM ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
"""


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-device-library-")


@functools.cache
def build(source: str, target: str = "gfx90a", version: int = 5, flags: tuple[str, ...] = ()) -> Path:
    """The code object of HIP source text, linked with the device library."""
    if not (LIBRARY / "ockl.bc").exists():
        pytest.skip("ROCM IS MISSING: no device library; `make setup-rocm` installs ROCm 5.2.3 on Debian 12")
    out = Path(_folder().name) / f"{len(list(Path(_folder().name).iterdir()))}.hsaco"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", f"--rocm-device-lib-path={LIBRARY}", "-w",
        f"--offload-arch={target}", f"-mcode-object-version={version}", "--no-gpu-bundle-output", "-O2", "-g", *flags, "-",
        "-o", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True, input=(_HEAD + source).encode())
    return out
