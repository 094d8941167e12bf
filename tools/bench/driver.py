"""HIP programs on mock GPUs: what a process, a launch and a copy cost. Empty where Debian's ROCm is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from inputs import ROOT, WORK, compile_kernel

import luthier as lt

DRIVER = ROOT / "python/luthier/driver"


def _program() -> Path:
    out = WORK / "speed"
    command = ["hipcc", "-std=c++17", "-O3", "-w", "--offload-arch=gfx90a", str(ROOT / "tests/hip/speed.hip"), "-o", str(out)]
    subprocess.run(command, check=True, env={**os.environ, "HIP_PLATFORM": "amd"})
    return out


def _run(program: Path, case: str, **variables: str) -> tuple[str, float]:
    """Standard output, and seconds of the whole process."""
    environment = {**os.environ, "LUTHIER_MOCK": "gfx90a", "LD_LIBRARY_PATH": str(DRIVER), **variables}
    start = time.perf_counter()
    done = subprocess.run([program, case], check=True, capture_output=True, text=True, env=environment)
    return done.stdout, time.perf_counter() - start


def _numbers(printed: str) -> dict[str, float]:
    lines = (line.split() for line in printed.splitlines() if not line.endswith("passed"))
    return {name: float(number) for name, number, _ in lines}


COPIES = (
    "to_device", "to_host", "pinned_to_device", "pinned_to_host", "on_device", "fill", "rectangle_on_device",
    "rectangle_to_device",
)  # fmt: skip


def measured() -> dict[str, dict]:
    if shutil.which("hipcc") is None:
        print("bench: ROCm is not installed: HIP programs are not measured (make setup-rocm)", file=sys.stderr)
        return {}
    program = _program()
    whole = min(_run(program, "unchecked")[1] for _ in range(5))
    idle = min(_run(program, "unchecked", LUTHIER_MOCK_IDLE="1")[1] for _ in range(5))
    runtime = min(_run(program, "allocation_only")[1] for _ in range(5))
    # Of a version that ROCr 5.2.3 loads.
    kernel = compile_kernel(ROOT / "tests/kernels/vecadd.hip", "gfx90a", version=4)
    got = _numbers(_run(program, "all")[0])
    rows = {
        "HIP: vector add, whole process": {
            "ours": whole * 1e3, "other": idle * 1e3, "ratio": idle / whole, "unit": "ms",
            "against": "a device that does nothing", "least": 1 / 1.2, "runtime_alone": runtime * 1e3,
        },
        "HIP: launch and synchronise": {"ours": got["launch_and_synchronise"], "other": 40, "unit": "us", "against": "the target"},
        "HIP: launch asynchronously": {"ours": got["launch_asynchronously"], "other": 8, "unit": "us", "against": "the target"},
    }  # fmt: skip
    for row in list(rows.values())[1:]:
        row |= {"ratio": row["other"] / row["ours"], "least": 1}
    for size in ("64_MB", "1_MB", "4_KB"):
        for name in COPIES:
            # A small copy is mostly the runtime's own work.
            ours, plain = got[f"{name}_{size}"], got[f"memcpy_{size}"]
            rows[f"HIP: {name.replace('_', ' ')}, {size.replace('_', ' ')}"] = {
                "ours": ours, "other": plain, "ratio": ours / plain, "unit": "GB/s", "against": "memcpy",
            } | ({"least": 0.5} if size == "64_MB" else {})  # fmt: skip
    # In turns: work that others have on the machine for a moment would lengthen one of the two alone.
    turns = [(_numbers(_run(program, "addition", MODULE=str(kernel))[0])["add_a_million"], _plain_add(kernel)) for _ in range(3)]
    ours, plain = (min(turn[i] for turn in turns) for i in range(2))
    rows["HIP: add a million floats"] = {
        "ours": ours, "other": plain, "ratio": plain / ours, "unit": "ms",
        "against": "the same kernel from Python", "least": 0.8,
    }  # fmt: skip
    return rows


def _plain_add(kernel: Path) -> float:
    """Milliseconds of a vector addition of the same size by `Module.run`."""
    import numpy as np

    count = 1 << 20
    a, b, c = (np.ones(count, np.float32) for _ in range(3))
    module = lt.Device("gfx90a").load(kernel)
    launches = (module.run("vecadd", grid=count, block=256, args=[a, b, c, np.uint32(count)]) for _ in range(20))
    return min(launch.seconds for launch in launches) * 1e3
