"""How fast Luthier is, each number beside the tool that it is compared with, on the same input, in one run.

Prints a table of ratios, with a mark at each that misses its bound, and one line of all that do; writes target/bench.json.
It is a report and no test: figures of a busy machine miss bounds, and the status stays 0. The big input is a code object of
the corpus (LUTHIER_CORPUS); without it the test kernels are used, and the table says so.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import agent
import device
import driver
import gemm
import hooks
import matrix
import memory
import placing
import rocm7
import strict
import tool_costs
import triton_kernels
from inputs import LLVM, ROOT, TARGET, WORK, compile_kernel, run
from rows import MARK, is_below, summary

from luthier.cli.tables import show


def timed(*command, repeat: int = 1) -> float:
    """Seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def example(package: str, name: str, *args) -> dict:
    """What an example of a crate prints as JSON."""
    return json.loads(run("cargo", "run", "--quiet", "--release", "-p", package, "--example", name, "--", *args))


def big_object(processor: str = "gfx90a") -> Path:
    from places import CORPUS

    found = CORPUS and CORPUS / f"onnxruntime/{processor}/libonnxruntime_providers_rocm_8.hsaco"
    if found and found.exists():
        return found
    print(f"bench: the corpus is not here: measuring a small kernel for {processor} instead", file=sys.stderr)
    return compile_kernel(ROOT / "tests/kernels/matmul.hip", processor)


def decode(processor: str) -> dict:
    """Bytes to structure: the code of an object, by our decoder and by LLVM's, neither printing."""
    arguments = (big_object(processor), "--json", f"--target={processor}")
    ours = example("luthier-isa", "decode_bench", *arguments)
    theirs = json.loads(run("cargo", "xtask", "mc-bench", *arguments))
    speed, llvm = ours["million_per_second"], theirs["million_per_second"]
    return {"ours": speed, "other": llvm, "ratio": speed / llvm, "unit": "M instructions/s", "against": "LLVM's MC decoder", "least": 40,
            "instructions": ours["instructions"], "theirs": theirs["instructions"]}  # fmt: skip


def open_object(path: Path) -> dict:
    """From the file's name to symbols and metadata checked, kernels and descriptors built. `everything_seconds` also
    builds every symbol and metadata record."""
    found = example("luthier-loader", "open_bench", path, "--json")
    readelf = timed(LLVM / "bin/llvm-readelf", "-a", path, repeat=5)
    ours = found["open_seconds"]
    return {"ours": ours * 1e3, "other": readelf * 1e3, "ratio": readelf / ours, "unit": "ms", "against": "llvm-readelf -a", "least": 20,
            "everything_ratio": readelf / found["everything_seconds"], **found}  # fmt: skip


def load(path: Path) -> dict:
    """Segments copied, nothing left to relocate: beside a memcpy of the same bytes into fresh memory."""
    found = example("luthier-loader", "load_bench", path, "--json")
    ours, memcpy = found["load_seconds"] * 1000, found["memcpy_seconds"] * 1000
    return {"ours": ours, "other": memcpy, "ratio": memcpy / ours, "unit": "ms", "against": "memcpy of the segments", "least": 0.5,
            **found}  # fmt: skip


def one_entry(path: Path) -> dict:
    """An offload bundle of eight objects: what opening one of them reads, and what the file holds."""
    processors = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
    data, bundle = path.read_bytes(), WORK / "eight.hipfb"
    head, at = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(processors)), 1 << 12
    for processor in processors:
        name = f"hipv4-amdgcn-amd-amdhsa--{processor}".encode()
        head += struct.pack("<3Q", at, len(data), len(name)) + name
        at += -(-len(data) // 4096) * 4096
    with bundle.open("wb") as file:
        file.write(head)
        for index in range(len(processors)):
            file.seek((1 << 12) + index * (at - (1 << 12)) // len(processors))
            file.write(data)
    # Importing reads files too, which the first opening gets done.
    script = (
        "import sys, luthier as lt\n"
        "def opened():\n"
        "    lt.CodeObject.open(sys.argv[1], target='gfx90a')\n"
        "    return int(open('/proc/self/io').read().split()[1])\n"
        "print(-opened() + opened())"
    )
    read = int(run(sys.executable, "-c", script, bundle))
    size = bundle.stat().st_size
    return {
        "ours": read / 1e6,
        "other": size / 1e6,
        "ratio": size / read,
        "unit": "MB read",
        "against": "the bundle of 8",
        "least": 7,
    }


def processor_seconds(*command, repeat: int = 1) -> float:
    """Seconds that a processor was at work for the fastest of some runs; other processes do not lengthen it."""
    best = float("inf")
    for _ in range(repeat):
        child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise RuntimeError(f"{command[0]} failed")
        best = min(best, usage.ru_utime + usage.ru_stime)
    return best


def lift(path: Path) -> dict[str, dict]:
    """Lifting with liveness on one thread against llvm-objdump, both in seconds at work; memory; all cores; growth."""
    found = example("luthier-lifter", "lift_bench", path, "--json", "--threads", "1", "--runs", "10")
    seconds = found["cpu_seconds"]
    objdump = processor_seconds(LLVM / "bin/llvm-objdump", "-d", path, repeat=2)
    speed = {"ours": seconds, "other": objdump, "ratio": objdump / seconds, "unit": "s, one thread", "against": "llvm-objdump -d", "least": 20,
             **found}  # fmt: skip
    most = found["peak_bytes_per_instruction"]
    memory = {
        "ours": most,
        "other": 200,
        "ratio": 200 / most,
        "unit": "bytes an instruction, at most",
        "against": "the target",
        "least": 1,
    }
    grown = example("luthier-lifter", "lift_bench", path, "--json", "--threads", "1", "--runs", "5", "--repeat", "1,2,4,8")
    rows = {"lift": speed, "lift, memory": memory, "lift, all cores": all_cores(path)}
    for row in grown:
        copies, seconds, one = row["copies"], row["cpu_seconds"], grown[0]["cpu_seconds"]
        rows[f"lift, {copies} x the code"] = {"ours": seconds, "unit": "s, one thread"}
        if copies > 1:
            # Linear growth makes eight copies take eight times as long as one; caches do not grow.
            rows[f"lift, {copies} x the code"] |= {
                "other": copies * one,
                "ratio": copies * one / seconds,
                "against": f"{copies} x the time of one",
                "least": 0.7,
            }
    return rows


def all_cores(path: Path) -> dict:
    """Seconds on the clock, which other work on the machine lengthens: the fastest of many runs, in turns."""
    best = [float("inf")] * 2
    for _ in range(3):
        for i, threads in enumerate((("--threads", "1"), ())):
            found = example("luthier-lifter", "lift_bench", path, "--json", "--runs", "10", *threads)
            best[i] = min(best[i], found["lift_seconds"] + found["liveness_seconds"])
    (one, many), cores = best, os.cpu_count() or 1
    # Some of it is one thread's: putting the functions' tables together, and what they say of each other.
    return {
        "ours": many,
        "other": one,
        "ratio": one / many,
        "unit": f"s, {cores} cores",
        "against": "one core",
        "least": 1 + 0.4 * (cores - 1),
    }


def start_up() -> dict:
    path = compile_kernel(ROOT / "tests/kernels/vecadd.hip")
    script = Path(sys.executable).with_name("luthier")
    seconds = timed(script, "inspect", path, repeat=10) * 1000
    return {"ours": seconds, "other": 200, "ratio": 200 / seconds, "unit": "ms", "against": "the target", "least": 1}


def warn_of_real_time() -> None:
    """Of one priority, a thread of AMD's runtime that polls keeps a core for a slice of 100 ms; the queue's thread waits."""
    if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):
        print("bench: in a real-time class (chrt) ROCm 7's launches in a row take up to three times as long", file=sys.stderr)


def main() -> int:
    warn_of_real_time()
    WORK.mkdir(parents=True, exist_ok=True)
    path = big_object()
    results = {"open": open_object(path), "load and finalize": load(path), "open one entry": one_entry(path)}
    results |= {f"decode, {processor}": decode(processor) for processor in ("gfx90a", "gfx1100")}
    results |= lift(path)
    results |= placing.measured(path)
    results |= hooks.measured()
    results |= device.measured()
    results |= matrix.measured()
    results |= triton_kernels.measured()
    results |= memory.measured()
    results |= strict.measured()
    results |= driver.measured()
    results |= rocm7.measured()
    results |= gemm.measured()
    results |= agent.measured()
    results |= tool_costs.measured(path)
    results["luthier inspect, small file"] = start_up()
    rows = [
        (
            name,
            f"{r['ours']:,.3g}" if r["ours"] < 1000 else f"{r['ours']:,.0f}",
            r["unit"],
            f"{r['other']:,.3g}" if "other" in r else "",
            r.get("against", ""),
            f"{r['ratio']:.3g}x" if "ratio" in r else "",
            f"{r['least']:.3g}x" if "least" in r else "",
            MARK if is_below(r) else "",
        )
        for name, r in results.items()
    ]
    # The width of a terminal that the output does not go to.
    if not sys.stdout.isatty():
        os.environ.pop("COLUMNS", None)
    show(f"bench: {path.name}", ("what", "luthier", "unit", "other", "against", "ratio", "at least", ""), rows)
    about = {
        "input": str(path.name),
        "cpus": os.cpu_count(),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    (TARGET / "bench.json").write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    print(summary(results))
    print(f"written to {TARGET / 'bench.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
