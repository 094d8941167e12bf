"""What strict mode costs: each kind of finding by itself, the usual ones and all, beside a plain run of the interpreter on one
thread: strict mode has no native code, or little.

``python tools/bench/strict.py [KIND ...]`` prints the table alone; times are those of the fastest of some runs that take
turns, as the machine may be busy. Plain runs have a process of their own, before and behind the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from inputs import ROOT, compile_kernel

import luthier as lt

HERE = Path(__file__).parent
USUAL, ALL = "usual", "all"
#: What a kind may cost, times a plain run: what it looks at in registers, or of each access to memory.
MOST = {"memory-race": 6, "missing-wait": 4, "lds-race": 4, "undefined-memory": 6, USUAL: 6, ALL: 8}


def _launches() -> dict[str, Callable[[object], float]]:
    """Seconds of a launch of each kernel, judged by what it is given."""

    def module(name: str, source: Path) -> lt.Module:
        return lt.Device("gfx90a", threads=1).load(lt.CodeObject.open(compile_kernel(source, "gfx90a")))

    def launch(loaded: lt.Module, kernel: str, **how) -> Callable[[object], float]:
        def seconds(strict: object) -> float:
            start = time.thread_time()  # of the processor: others may use it meanwhile
            loaded.run(kernel, **how, strict=strict)
            return time.thread_time() - start

        return seconds

    kernels = ROOT / "tests/kernels"
    a, c = np.ones((128, 128), np.float32), np.zeros((128, 128), np.float32)
    numbers, sums = np.arange(1 << 17, dtype=np.int32), np.zeros(1 << 9, np.int32)
    x, y = np.ones(1 << 19, np.float32), np.zeros(1 << 19, np.float32)
    return {
        "product": launch(module("matmul", kernels / "matmul.hip"), "matmul", grid=(128, 128), block=(16, 16), args=[a, a, c, np.uint32(128)]),
        "reduction": launch(module("reduce", kernels / "reduce.hip"), "reduce", grid=1 << 17, block=256, args=[numbers, sums, np.uint32(1 << 17)]),
        "vecadd": launch(module("vecadd", kernels / "vecadd.hip"), "vecadd", grid=1 << 19, block=256, args=[x, x, y, np.uint32(1 << 19)]),
        "VALU loop": launch(module("valu", HERE / "valu.hip"), "valu", grid=64, block=64, args=[np.zeros(64, np.float32), np.uint32(20_000)]),
    }  # fmt: skip


def plain(rounds: int) -> dict[str, float]:
    """Seconds of plain runs in this process."""
    return {kernel: min(launch(False) for _ in range(rounds)) for kernel, launch in _launches().items()}


def _interpreted(rounds: int) -> dict[str, float]:
    """The same in a process without native code."""
    command = [sys.executable, "-c", f"import json, strict; print(json.dumps(strict.plain({rounds})))"]
    done = subprocess.run(command, cwd=HERE, env=os.environ | {"LUTHIER_NATIVE": "0"}, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def costs(kinds: Sequence[str] = (), rounds: int = 12) -> dict[str, dict[str, float]]:
    """By kind and kernel: seconds, divided by those of a plain run of the interpreter."""
    told: dict[str, object] = {kind: [kind] for kind in kinds or lt.finding_kinds()}
    told |= {} if kinds else {USUAL: True, ALL: [ALL]}
    before = _interpreted(rounds)
    best = {name: dict.fromkeys(before, float("inf")) for name in told}
    for kernel, launch in _launches().items():
        for _ in range(rounds):
            for name in told:
                best[name][kernel] = min(best[name][kernel], launch(told[name]))
    after = _interpreted(rounds)
    return {
        name: {kernel: least / min(before[kernel], after[kernel]) for kernel, least in found.items()}
        for name, found in best.items()
    }


def measured() -> dict[str, dict]:
    """A row for each kind: the kernel that it costs most."""
    rows = {}
    for kind, by_kernel in costs().items():
        worst, most = max(by_kernel.values()), MOST.get(kind, 2.5)
        rows[f"strict by kind, {kind}"] = {
            "ours": worst, "other": most, "ratio": most / worst, "unit": "x a plain run of the interpreter, its dearest kernel", "against": "the target", "least": 1,
            "kernels": by_kernel,
        }  # fmt: skip
    return rows


if __name__ == "__main__":
    table = costs(sys.argv[1:])
    print("| kind |", " | ".join(next(iter(table.values()))), "|")
    for kind, by_kernel in table.items():
        print(f"| {kind} |", " | ".join(f"{cost:.2f}" for cost in by_kernel.values()), "|")
