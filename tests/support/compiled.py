"""Test kernels compiled from source by clang-22, once per session and option set."""

from __future__ import annotations

import functools
import itertools
import subprocess
import tempfile
from pathlib import Path

from places import TESTS

SOURCES = TESTS / "kernels"
LEVELS = ("O0", "O1", "O3")
VERSIONS = (4, 5, 6)


@functools.cache
def _output_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-kernels-")


@functools.cache
def code_object(name: str, level: str = "O3", version: int = 5, target: str = "gfx90a", flags: tuple[str, ...] = ()) -> Path:
    """The code object of tests/kernels/NAME.hip, compiled with -LEVEL for code object version VERSION."""
    out = Path(_output_folder().name) / f"{name.replace('/', '-')}_{target}_{level}_v{version}{''.join(flags)}.hsaco"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}",
        f"-mcode-object-version={version}", "--no-gpu-bundle-output", "-ffp-contract=off", f"-{level}", *flags,
        str(SOURCES / f"{name}.hip"), "-o", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return out


def every_build(names) -> list[tuple[str, str, int]]:
    return list(itertools.product(names, LEVELS, VERSIONS))


@functools.cache
def build(source: str, target: str, flags: tuple[str, ...] = (), level: str = "O2") -> Path:
    """The code object of HIP source text, compiled behind tests/kernels/gpu.h. Generic flags as clang has them."""
    out = Path(_output_folder().name) / f"text{len(list(Path(_output_folder().name).iterdir()))}_{target}.hsaco"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}",
        "--no-gpu-bundle-output", "-ffp-contract=off", f"-{level}", *flags, "-include", str(SOURCES / "gpu.h"), "-",
        "-o", str(out),
    ]  # fmt: skip
    subprocess.run(command, check=True, input=source.encode())
    return out
