"""Test kernels compiled from source by clang-22, once per session and option set."""

from __future__ import annotations

import functools
import itertools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import kept_builds
from places import TESTS

import luthier as lt

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
        str(SOURCES / f"{name}.hip"),
    ]  # fmt: skip
    kept_builds.make(command, out)
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


def kernel_in_assembly(
    target: str,
    body: str,
    vgprs: int,
    sgprs: int,
    *settings: str,
    wave: int = 64,
    pointers: int = 1,
    most: int = 1024,
    more: str = "",
) -> str:
    """The kernel ``k`` whose instructions are ``body``, as assembly. It takes pointers to global memory, by ``s[0:1]``. ``settings`` are more
    lines of its descriptor, ``most`` the most work-items of a workgroup, ``more`` a line of its metadata."""
    settings = (
        f".amdhsa_next_free_vgpr {vgprs}", f".amdhsa_next_free_sgpr {sgprs}", ".amdhsa_user_sgpr_kernarg_segment_ptr 1",
        *([".amdhsa_wavefront_size32 1"] if wave == 32 else []), *settings,
    )  # fmt: skip
    arguments = [f"{{.size: 8, .offset: {8 * n}, .value_kind: global_buffer, .address_space: global}}" for n in range(pointers)]
    return "\n".join(
        [
            f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"', ".text", ".protected k", ".globl k", ".p2align 8", ".type k,@function", "k:",
            body, ".size k, .-k", ".rodata", ".p2align 6", ".amdhsa_kernel k", *settings, ".end_amdhsa_kernel",
            ".amdgpu_metadata", "---", "amdhsa.version: [1, 2]", "amdhsa.kernels:", "  - .name: k", "    .symbol: k.kd",
            f"    .kernarg_segment_size: {8 * pointers}", "    .kernarg_segment_align: 8", "    .group_segment_fixed_size: 0",
            "    .private_segment_fixed_size: 0", f"    .wavefront_size: {wave}", f"    .sgpr_count: {sgprs}",
            f"    .vgpr_count: {vgprs}", f"    .max_flat_workgroup_size: {most}", *([f"    {more}"] if more else []), "    .args:",
            *(f"      - {argument}" for argument in arguments), "...", ".end_amdgpu_metadata", "",
        ]
    )  # fmt: skip


def assembled(text: str, target: str, out: Path) -> Path:
    """The code object of assembly."""
    kept_builds.make(["clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "assembler", "-"], out, text)
    return out


@functools.cache
def build(source: str, target: str, flags: tuple[str, ...] = (), level: str = "O2") -> Path:
    """The code object of HIP source text, compiled behind tests/kernels/gpu.h. Generic flags as clang has them."""
    out = Path(_output_folder().name) / f"text{len(list(Path(_output_folder().name).iterdir()))}_{target}.hsaco"
    kept_builds.make(_to_text(source, target, level, flags), out, source)
    return out


def modules(source: str) -> Callable[[str], lt.Module]:
    """What compiles C for a target and loads it on a device of its own, once for each target."""

    @functools.cache
    def of(target: str) -> lt.Module:
        return lt.Device(target).load(build(source, target))

    return of
