"""Programs with one mistake each (tests/planted), and the line of source that it is on."""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

import kept_builds
from places import ROOT, TESTS

SOURCES = sorted((TESTS / "planted").glob("*.hip"))
NAMES = [path.stem for path in SOURCES]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="luthier-planted-")


@functools.cache
def build(name: str, target: str = "gfx90a") -> Path:
    """The code object, with line numbers."""
    out = Path(_folder().name) / f"{name}_{target}.hsaco"
    command = [
        "clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={target}", "-O1", "-g",
        "--no-gpu-bundle-output", "-include", str(TESTS / "kernels/gpu.h"), str(TESTS / f"planted/{name}.hip"),
    ]  # fmt: skip
    kept_builds.make(command, out)
    return out


def mistake(name: str) -> tuple[str, str, int]:
    """The kind of the finding that a program must give, its source file from the project's folder, and the line."""
    path = TESTS / f"planted/{name}.hip"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if (found := re.search(r"// planted: ([a-z-]+)$", line)) is not None:
            return found[1], path.relative_to(ROOT).as_posix(), number
    raise AssertionError(f"{path} plants nothing")


def is_fresh(name: str) -> bool:
    """Whether nothing has written the buffer that the program is given."""
    return mistake(name)[0] == "undefined-memory"


def strict(name: str) -> str:
    """The option that has its mistake found."""
    return "--strict=all" if is_fresh(name) else "--strict"


def command(name: str) -> list[str]:
    """The words of ``luthier run`` for it, without ``--strict``."""
    blocks = "2" if name == "race_memory" else "1"
    buffer = f"buf:u32[128]={'empty' if is_fresh(name) else 'zeros'}"
    return ["run", str(build(name)), "--kernel", "planted", "--blocks", blocks, "--block", "128", "--arg", buffer]
