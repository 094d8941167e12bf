"""Clang, which makes LLVM IR of hooks in HIP, C, C++ and OpenCL C."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ToolError
from ..lang.errors import HookError, Span

#: By language: what the compiler calls it, and what else it is told.
LANGUAGES: dict[str, tuple[str, ...]] = {
    "hip": ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-fgpu-rdc"),
    "c": ("-x", "c", "--target=amdgcn-amd-amdhsa", "-ffreestanding"),
    "c++": ("-x", "c++", "--target=amdgcn-amd-amdhsa", "-ffreestanding", "-fno-exceptions", "-fno-rtti"),
    "opencl": ("-x", "cl", "--target=amdgcn-amd-amdhsa", "-cl-std=CL2.0"),
}

#: Names under which clang is looked for, the best first: the version that Luthier's own LLVM has.
_NAMES = ("clang-22", "clang", "amdclang")
_INCLUDE = Path(__file__).parents[1] / "include"
_ERROR = re.compile(r"^(?P<file>[^\n]*?):(?P<line>\d+):(?P<col>\d+): (?:fatal )?error: (?P<message>.*)$", re.MULTILINE)
#: In front of what a ``static_assert`` says.
_ASSERTED = re.compile(r"^static assertion failed(?: due to requirement '[^']*')?: ")


def find(named: str | os.PathLike[str] | None = None) -> str:
    """The compiler that is named, by the argument or by ``LUTHIER_CLANG``, or the first on the PATH."""
    wanted = os.fspath(named) if named is not None else os.environ.get("LUTHIER_CLANG")
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise ToolError(f"there is no compiler {wanted}: name one that can be run (clang=..., or LUTHIER_CLANG)")
        return found
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise ToolError(
        f"hooks in HIP, C, C++ and OpenCL C need clang, and none of {', '.join(_NAMES)} is on the PATH: install clang-22, or "
        f"name one (clang=..., or LUTHIER_CLANG)"
    )


def bitcode(
    source: Path | str,
    language: str,
    *,
    processor: str,
    wave: int,
    flags: Sequence[str] = (),
    define: Mapping[str, object] | None = None,
    clang: str | os.PathLike[str] | None = None,
    name: str = "<library>",
) -> bytes:
    """The bitcode of a file, or of a text that goes by ``name``, for a processor and a wave size, not yet optimised.
    :class:`~luthier.lang.HookError` for what clang refuses, with all that it says in ``diagnostics``."""
    compiler = find(clang)
    arch = f"--offload-arch={processor}" if language == "hip" else f"-mcpu={processor}"
    defined = {"LT_HOOK_LIBRARY": True, "LT_WAVE_SIZE": wave, "__AMDGCN_WAVEFRONT_SIZE": wave, **(define or {})}
    command = [
        compiler,
        *LANGUAGES[language],
        arch,
        # Only of processors that have both.
        *([f"-mwavefrontsize{wave}" if wave == 64 else "-mno-wavefrontsize64"] if _chooses(processor) else []),
        "-nogpulib",
        "-O2",
        "-Xclang",
        "-disable-llvm-passes",
        "-fno-discard-value-names",
        # Faults and rejections in hooks say where they are.
        "-gline-tables-only",
        "-gdwarf-4",
        "-Wno-builtin-macro-redefined",
        "-Wno-macro-redefined",
        f"-I{_INCLUDE}",
        *(f"-D{key}" if value is True else f"-D{key}={value}" for key, value in defined.items() if value is not False),
        *flags,
        *("-emit-llvm", "-c", "-o", "-"),
    ]
    if isinstance(source, Path):
        command += [str(source)]
        given = None
    else:
        command += ["-"]
        given = f'#line 1 "{name}"\n{source}'.encode()
    done = subprocess.run(command, input=given, stdin=None if given is not None else subprocess.DEVNULL, capture_output=True)
    said = done.stderr.decode(errors="replace")
    if done.returncode or not done.stdout:
        raise _refused(said, compiler, str(source) if isinstance(source, Path) else name)
    return done.stdout


def _chooses(processor: str) -> bool:
    """Whether there are two wave sizes."""
    return processor.startswith(("gfx10", "gfx11", "gfx120"))


def _refused(said: str, compiler: str, what: str) -> HookError:
    found = _ERROR.search(said)
    if found is None:
        line = next((line for line in said.splitlines() if "error" in line), said.strip().split("\n")[0])
        error = HookError(f"{what}: {Path(compiler).name} failed: {line or 'it says nothing'}")
    else:
        span = Span(found["file"], int(found["line"]), int(found["col"]) - 1)
        error = HookError(_ASSERTED.sub("", found["message"]), span)
    error.diagnostics = said
    return error
