"""What instrumenting costs: time to place hooks, and to count every block of a big object; and what the hooks cost a kernel, in free
registers and by the C calling convention."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from inputs import LLVM, ROOT, WORK, compile_kernel  # isort: skip  # it says where the next one is
import kernel_cases

import luthier as lt

#: CDNA and RDNA, waves of 64 and of 32, scratch that code has to find and that the hardware knows.
PROCESSORS = ("gfx90a", "gfx1100", "gfx1201")
#: Instructions retired for each of the application's, at most.
BY_BLOCK = 1.15


def _elapsed(command: list, threads: int | None, repeat: int) -> float:
    """Seconds on the clock of the fastest of some runs, with ``threads`` threads."""
    environment = os.environ | ({} if threads is None else {"RAYON_NUM_THREADS": str(threads)})
    # Of an installed package, Python has compiled the modules before.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, env=environment)
        best = min(best, time.perf_counter() - start)
    return best


def places(path: Path) -> dict[str, dict]:
    """A counter before every instruction of the big object, hooks compiled and the object parsed before."""
    rows = {}
    for name, threads in (("one core", "1"), ("all cores", None)):
        environment = os.environ | ({} if threads is None else {"RAYON_NUM_THREADS": threads})
        command = ["cargo", "run", "--quiet", "--release", "-p", "luthier-codegen", "--no-default-features"]
        command += ["--example", "place_bench", "--", str(path), "--json", "--runs", "5"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
        rows[f"place, {name}"] = {"ours": found["points_per_second"] / 1e6, "unit": "M places/s", **found}
    rows["place, one core"] |= {"other": 1, "ratio": rows["place, one core"]["ours"], "against": "the target", "least": 1}
    return rows


def count_blocks(path: Path) -> dict[str, dict]:
    """Offline: every block of the object counted, by the command line, Python's start included. llvm-objdump has one
    thread."""
    out, report = WORK / "counted.hsaco", WORK / "counted.json"
    command = [sys.executable, "-m", "luthier", "instrument", path, "--tool", "instr_count", "-o", out, "--json", report]
    rows = {}
    best, objdump = {"one core": float("inf"), "all cores": float("inf")}, float("inf")
    # In turns, so that other work on the machine lengthens all alike.
    for _ in range(3):
        objdump = min(objdump, _elapsed([LLVM / "bin/llvm-objdump", "-d", path], None, 1))
        for name, threads in (("one core", 1), ("all cores", None)):
            best[name] = min(best[name], _elapsed(command, threads, 1))
    did = json.loads(report.read_text())
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    for name, seconds in best.items():
        rows[f"count every block, {name}"] = {
            "ours": seconds, "other": objdump, "ratio": objdump / seconds, "unit": "s", "against": "llvm-objdump -d", "least": 1,
            "points": did["points"], "points_per_second": did["points"] / seconds, "rejected": len(did["rejected"]),
            "peak_megabytes": peak,
        }  # fmt: skip
    return rows


class CountOne(lt.Tool):
    """At each instruction of a kernel, one is added to a counter of the wave."""

    count = lt.Counter()

    @lt.hook
    def add(count: lt.counter, n: lt.u64):
        count += n

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.add, self.count, 1)


class LaneSums(lt.Tool):
    """Each lane that writes memory adds what it writes to a sum: a vector instruction's work in every lane."""

    @lt.hook
    def add(sums: lt.ptr[lt.u32], value: lt.u32):
        lt.atomic_add(sums + (lt.lane_id() & 31), value & 0xFF)

    def on_kernel(self, kernel):
        self.sums = lt.DeviceArray(lt.u32, 32, name=f"sums.{kernel.name}")
        for instr in kernel.instructions:
            for operand in instr.operands:
                reg = operand.register
                if instr.memory_space == "global" and operand.name in ("data", "vdata") and reg is not None:
                    kernel.insert_before(instr, self.add, self.sums.at(0), lt.Reg(f"v{reg.index}"))


def retired(processor: str, make: Callable[[], lt.Tool], calling_convention: bool) -> tuple[float, float]:
    """Instructions for each of the application's, over all test kernels that the processor has; the hooks' accesses to
    memory for each of them as well."""
    all_retired = added_memory = application = 0
    for name in kernel_cases.CASES:
        code_object = lt.CodeObject.open(compile_kernel(ROOT / f"tests/kernels/{name}.hip", processor))
        module = lt.Device(processor).load(
            code_object, tools=[make()], calling_convention=calling_convention, on_rejected="raise"
        )
        for launch in kernel_cases.launches(name):
            result = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args)
            all_retired, application = all_retired + result.instructions, application + result.app_instructions
            added_memory += _memory(result.histogram) - _memory(result.app_histogram)
    return all_retired / application, added_memory / application


def _memory(histogram: dict[str, int]) -> int:
    kinds = ("scratch_", "global_", "flat_", "buffer_", "s_load", "s_store")
    return sum(count for name, count in histogram.items() if name.startswith(kinds) and "inv" not in name)


def placements() -> dict[str, dict]:
    """Three tools on three processors, each in free registers and by the C calling convention."""
    tools: dict[str, Callable[[], lt.Tool]] = {
        "a count hook": CountOne,
        "instr_count by block": lambda: lt.tools.load("instr_count"),
        "a hook in each lane": LaneSums,
    }
    rows = {}
    for name, make in tools.items():
        for processor in PROCESSORS:
            (ours, memory), (called, called_memory) = (retired(processor, make, called) for called in (False, True))
            row = {"ours": ours, "other": called, "ratio": called / ours, "unit": "x instructions retired",
                   "against": "the calling convention", "least": 1,
                   "memory": memory, "called_memory": called_memory}  # fmt: skip
            if name == "instr_count by block":
                row |= {"target": BY_BLOCK, "meets_target": ours <= BY_BLOCK}
            rows[f"{name}, {processor}"] = row
    return rows


def instructions_at_a_point() -> dict:
    """What a count hook adds at each instruction of the test kernels."""
    added = points = 0
    for name in kernel_cases.CASES:
        code_object = lt.CodeObject.open(compile_kernel(ROOT / f"tests/kernels/{name}.hip"))
        did = lt.instrument(code_object, [lt.tools.load("instr_count:per=instruction")]).instrumentation
        added, points = added + did["inserted_instructions"], points + did["points"]
    each = added / points
    return {
        "ours": each,
        "other": 4,
        "ratio": 4 / each,
        "unit": "instructions added a point",
        "against": "the target",
        "least": 1,
    }


def measured(path: Path) -> dict[str, dict]:
    rows = {**places(path), **count_blocks(path)}
    rows["a count hook"] = instructions_at_a_point()
    return {**rows, **placements()}
