"""Where the bench works, and the kernels that it compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What the tests share: recipes of launches, the corpus.
sys.path.insert(0, str(ROOT / "tests" / "support"))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = TARGET / "bench"
LLVM = Path(os.environ.get("LLVM_SYS_221_PREFIX", "/usr/lib/llvm-22"))


def run(*command) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def compile_kernel(source: Path, processor: str = "gfx90a", version: int = 6) -> Path:
    """A code object of an ABI version."""
    WORK.mkdir(parents=True, exist_ok=True)
    out = WORK / f"{source.stem}-{processor}-v{version}.hsaco"
    run("clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", f"--offload-arch={processor}", "--no-gpu-bundle-output",
        f"-mcode-object-version={version}", "-O3", "-ffp-contract=fast", source, "-o", out)  # fmt: skip
    return out
