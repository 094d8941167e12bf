"""``luthier doctor``: what is there, what each part needs, and the command that brings what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import _core
from .ending import BAD_INPUT

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Part:
    """Something that Luthier, or a part of it, needs."""

    name: str
    #: Version and place; None if it is not there.
    found: str | None
    #: What it is for.
    needed_for: str
    #: The command that brings it.
    cure: str | None = None
    #: Without it nothing works.
    is_required: bool = False


def main(args: Any) -> int:
    """Shows the parts; status 2 where one that everything needs is missing."""
    parts = found()
    if args.json:
        print(json.dumps([asdict(part) for part in parts], indent=1))
    else:
        _show(parts)
    return BAD_INPUT if any(part.is_required and part.found is None for part in parts) else 0


def _show(parts: list[Part]) -> None:
    from .tables import show

    show("what is there", ("part", "found", "for"), [(p.name, p.found or "not here", p.needed_for) for p in parts])
    missing = [(part.name, part.cure) for part in parts if part.found is None and part.cure is not None]
    if missing:
        show("what would bring the rest", ("part", "command"), missing)


def found() -> list[Part]:
    """All parts, looked for now."""
    from .. import __version__

    libraries = [_PACKAGE / "driver" / name for name in ("libhsakmt.so.1", "libluthier-agent.so")]
    has_driver = all(path.exists() for path in libraries)
    return [
        Part("luthier", f"{__version__} at {_PACKAGE}", "everything", is_required=True),
        Part("Python", f"{platform.python_version()} ({sys.platform}, {platform.machine()})", "everything", is_required=True),
        Part("mock device", f"{len(_core.TARGETS)} processors, {_cores()} CPU cores", "running kernels", is_required=True),
        Part("LLVM", "inside the native module", "compiling hooks", is_required=True),
        Part(
            "driver and agent",
            str(_PACKAGE / "driver") if has_driver else None,
            "luthier trace, luthier check --mock",
            "make driver, in a checkout; what pip installs has them",
        ),
        _clang(),
        _program("hipcc", "compiling HIP programs", "apt-get install hipcc"),
        *_rocm(),
        _kfd(),
        _package("numpy", "arrays", "pip install numpy", is_required=True),
        _package("triton", "luthier.triton", "pip install 'luthier[triton]'"),
        _package(
            "torch", "tensors of torch in luthier.triton", "pip install torch --index-url https://download.pytorch.org/whl/cpu"
        ),
        _package("ml_dtypes", "bfloat16 and float8 in luthier.triton", "pip install ml-dtypes"),
        _package("pyarrow", "luthier batch, to_arrow()", "pip install 'luthier[batch]'"),
        _package("distributed", "luthier batch --scheduler", "pip install 'luthier[batch]'"),
        _package("shtab", "luthier completion", "pip install 'luthier[completion]'"),
    ]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _clang() -> Part:
    names = ("clang-22", "clang", *(f"clang-{n}" for n in range(25, 14, -1)), "/opt/rocm/llvm/bin/clang")
    name = next((name for name in names if shutil.which(name)), None)
    version = _said([name, "--version"], r"clang version (\S+)") if name is not None else None
    what = f"{version} at {shutil.which(name)}" if name is not None else None
    return Part("clang", what, "compiling kernels from HIP source", "apt-get install clang (any version with the AMDGPU target)")


def _program(name: str, needed_for: str, cure: str) -> Part:
    return Part(name, shutil.which(name), needed_for, cure)


def _said(command: list[str], pattern: str) -> str | None:
    """What a program's output has of a pattern."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(pattern, done.stdout)
    return match[1] if match is not None else None


def _rocm() -> list[Part]:
    """AMD's runtime, and how the mock driver gets in below it."""
    hip, hsa = _library("libamdhip64.so"), _library("libhsa-runtime64.so")
    cure = "apt-get install libamdhip64-dev (Debian 12 has 5.2.3), or ROCm in a folder and ROCM_PATH"
    way = _way_in(hsa) if hsa is not None else None
    return [
        Part("HIP runtime", str(hip) if hip is not None else None, "HIP programs under luthier trace", cure),
        Part("HSA runtime", f"{hsa} ({way})" if hsa is not None else None, "all programs under luthier trace", cure),
    ]


def _library(name: str) -> Path | None:
    """The first file of a library: of ROCM_PATH, the system's, or below /opt."""
    rocm = os.environ.get("ROCM_PATH")
    folders = [Path(rocm) / "lib"] if rocm else []
    folders += [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders += [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64"), *sorted(Path("/opt").glob("rocm*/lib"), reverse=True)]
    for folder in folders:
        for path in sorted(folder.glob(f"{name}*")):
            return path.resolve()
    return None


def _way_in(library: Path) -> str:
    """By which name the runtime asks for the library below it."""
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b"libhsakmt.so.1") >= 0:
            return "asks for libhsakmt.so.1, which the mock driver stands for"
        if content.find(b"libdtif") >= 0:
            return "asks for libdtif.so, which the mock driver stands for"
    return "has no way in that the mock driver knows"


def _kfd() -> Part:
    there = os.access("/dev/kfd", os.R_OK | os.W_OK)
    return Part("GPU", "/dev/kfd" if there else None, "luthier trace without --mock; nothing else")


def _package(name: str, needed_for: str, cure: str, is_required: bool = False) -> Part:
    """A Python package, without importing it."""
    version = None
    if importlib.util.find_spec(name) is not None:
        try:
            version = importlib.metadata.version(name.replace("_", "-"))
        except importlib.metadata.PackageNotFoundError:
            version = "of unknown version"
    return Part(name, version, needed_for, cure, is_required)
