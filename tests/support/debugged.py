"""A kernel that goes wrong, for the front ends of the debugger: a softmax whose sum leaves a lane out."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import compiled
import numpy as np

SOURCE = """\
#include "gpu.h"
__attribute__((device)) static inline float largest(const float *room) {
    float most = room[0];
    for (u32 k = 1; k < 64; k++) most = room[k] > most ? room[k] : most;
    return most;
}
KERNEL softmax(const float *x, float *out) {
    LDS float room[64];
    u32 i = local_x();
    room[i] = x[group_x() * 64 + i];
    barrier();
    float most = largest(room);
    float sum = 0;
    for (u32 k = 1; k < 64; k++) sum += __builtin_exp2f(room[k] - most);
    out[group_x() * 64 + i] = __builtin_exp2f(room[i] - most) / sum;
}
"""


def line_of(text: str) -> int:
    """The line that has a text."""
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


@cache
def source() -> Path:
    """The source as a file."""
    path = Path(compiled._output_folder().name) / "softmax.hip"
    path.write_text(SOURCE)
    return path


@cache
def program(target: str = "gfx90a") -> Path:
    """Its code object, with source lines."""
    import subprocess

    out = source().with_suffix(f".{target}.hsaco")
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "--no-gpu-bundle-output",
        "-O1", "-g", f"-I{compiled.SOURCES}", str(source()), "-o", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return out


def arguments(folder: Path) -> list[str]:
    """The kernel's arguments, as the command line takes them."""
    x = folder / "x.npy"
    np.save(x, np.linspace(-3, 3, 128).astype(np.float32))
    return [f"buf:f32[128]={x}", "buf:f32[128]=zeros"]
