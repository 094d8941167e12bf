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


def _to_text(source: str, target: str, level: str, flags: tuple[str, ...] = ()) -> list[str]:
    """The command that compiles HIP source from its input, behind tests/kernels/gpu.h."""
    return [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}",
        "--no-gpu-bundle-output", "-ffp-contract=off", f"-{level}", *flags, "-include", str(SOURCES / "gpu.h"), "-",
    ]  # fmt: skip


def assembly(source: str, target: str, level: str = "O2") -> str:
    """What clang makes of HIP source text, as assembly."""
    command = [*_to_text(source, target, level), "-S", "-o", "-"]
    return subprocess.run(command, check=True, input=source, capture_output=True, text=True).stdout


def assembled(text: str, target: str, out: Path) -> Path:
    """The code object of assembly."""
    command = ["clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "assembler", "-", "-o", str(out)]
    subprocess.run(command, check=True, input=text.encode())
    return out


@functools.cache
def build(source: str, target: str, flags: tuple[str, ...] = (), level: str = "O2") -> Path:
    """The code object of HIP source text, compiled behind tests/kernels/gpu.h. Generic flags as clang has them."""
    out = Path(_output_folder().name) / f"text{len(list(Path(_output_folder().name).iterdir()))}_{target}.hsaco"
    command = [*_to_text(source, target, level, flags), "-o", str(out)]
    subprocess.run(command, check=True, input=source.encode())
    return out
