"""What instrumenting costs: time to place hooks, to count every block of a big object, to compile a hook once; and what
the hooks cost a kernel, in free registers and by the C calling convention."""

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
import numpy

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


class OneHook(lt.Tool):
    """One hook at one place."""

    def __init__(self, number: int):
        self.number = number

    @lt.hook
    def add(count: lt.ptr[lt.u64], n: lt.u64):
        lt.wave_atomic_add(count, n)

    def on_kernel(self, kernel):
        self.count = lt.DeviceArray(lt.u64, 1)
        # Another number is another shape, which is compiled anew.
        kernel.insert_before(kernel.instructions[0], self.add, self.count.at(0), self.number)


def compile_once() -> dict:
    """From a tool with one hook at one place of a small kernel to the new object: nearly all of it is the hook's
    compilation."""
    source = lt.CodeObject.open(compile_kernel(ROOT / "tests/kernels/vecadd.hip"))
    took = []
    for number in range(1, 31):
        start = time.perf_counter()
        lt.instrument(source, [OneHook(number)])
        took.append((time.perf_counter() - start) * 1e3)
    best = min(took)
    return {"ours": best, "other": 20, "ratio": 20 / best, "unit": "ms", "against": "the target", "least": 1, "first": took[0]}


class Recording(lt.Tool):
    """A record at each place of a loop: of each lane, or one of the wave."""

    out = lt.Channel(1 << 17, mask=lt.u64, number=lt.u32)

    @lt.hook
    def of_lanes(out: lt.channel):
        lt.record(out, lt.exec_mask(), lt.lane_id())

    @lt.hook
    def of_wave(out: lt.channel):
        lt.record(out, lt.exec_mask(), 5, per_wave=True)

    def __init__(self, per_wave: bool):
        self.per_wave, self.count = per_wave, 0

    def on_kernel(self, kernel):
        (place,) = (i for i in kernel.instructions if i.mnemonic == "s_nop" and i.text.endswith("7"))
        kernel.insert_before(place, self.of_wave if self.per_wave else self.of_lanes, self.out)

    def on_records(self, channel, records):
        self.count += len(records)


#: At most so many instructions a record.
RECORD = 12
#: Every wave comes to the place so many times.
ROUNDS = 1000


def records() -> dict[str, dict]:
    """Instructions retired for a record, beside the target, with hooks in place and called."""
    rows = {}
    for processor in PROCESSORS:
        code = lt.CodeObject.open(compile_kernel(ROOT / "tools/bench/record.hip", processor))
        launch = {"blocks": 1, "block": 64, "args": [numpy.uint32(ROUNDS)]}
        plain = lt.Device(processor, threads=1).load(code).run("record", **launch).instructions
        for what, per_wave in (("lane", False), ("wave", True)):
            each = {}
            for bodies in ("in-place", "called"):
                tool = Recording(per_wave)
                module = lt.Device(processor, threads=1).load(code, tools=[tool], on_rejected="raise", bodies=bodies)
                each[bodies] = (module.run("record", **launch).instructions - plain) / tool.count
            rows[f"a record of a {what}, {processor}"] = {
                "ours": each["in-place"], "other": RECORD, "ratio": RECORD / each["in-place"],
                "unit": "instructions retired", "against": "the target", "least": 1, "called": each["called"],
            }  # fmt: skip
    return rows


def bodies() -> dict[str, dict]:
    """A hook of some length at every instruction of the test kernels that stores: in place and called."""
    rows = {}
    for processor in PROCESSORS:
        size = {"in-place": 0, "called": 0}
        count = dict(size)
        for name in kernel_cases.CASES:
            code_object = lt.CodeObject.open(compile_kernel(ROOT / f"tests/kernels/{name}.hip", processor))
            for how in size:
                module = lt.Device(processor).load(code_object, tools=[LaneSums()], on_rejected="raise", bodies=how)
                size[how] += len(module.loaded.data)
                for launch in kernel_cases.launches(name):
                    count[how] += module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args).instructions
        rows[f"a hook in each lane, called, {processor}"] = {
            "ours": count["called"] / count["in-place"], "other": 1, "ratio": count["in-place"] / count["called"],
            "unit": "x instructions retired", "against": "in place", "bytes": size,
        }  # fmt: skip
    return rows


def hip_hook() -> dict:
    """From a HIP hook's source to the new object, beside clang's own time for that source."""
    source = lt.CodeObject.open(compile_kernel(ROOT / "tests/kernels/vecadd.hip"))
    text = """extern "C" __attribute__((device)) void add{n}(unsigned long long *count) {{
    __atomic_fetch_add(count, {n}ull, __ATOMIC_RELAXED);
}}
"""

    class Tool(lt.Tool):
        def __init__(self, number: int):
            self.count = lt.DeviceArray(lt.u64, 1)
            self.hook = lt.HookLibrary(text.format(n=number), language="hip")[f"add{number}"]

        def on_kernel(self, kernel):
            kernel.insert_before(kernel.instructions[0], self.hook, self.count.at(0))

    took, clang = [], []
    for number in range(1, 6):
        path = WORK / "hook.hip"
        path.write_text(text.format(n=number + 100))
        command = [LLVM / "bin/clang", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"]
        start = time.perf_counter()
        subprocess.run([*command, "-O2", "-emit-llvm", "-c", path, "-o", WORK / "hook.bc"], check=True, capture_output=True)
        clang.append((time.perf_counter() - start) * 1e3)
        start = time.perf_counter()
        lt.instrument(source, [Tool(number)])
        took.append((time.perf_counter() - start) * 1e3)
    bound = min(clang) + 50
    return {"ours": min(took), "other": bound, "ratio": bound / min(took), "unit": "ms", "against": "clang and 50 ms", "least": 1}


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
    rows["compile a hook and place it"] = compile_once()
    rows["compile a HIP hook and place it"] = hip_hook()
    rows["a count hook"] = instructions_at_a_point()
    return {**rows, **placements(), **records(), **bodies()}
