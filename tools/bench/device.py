"""How fast the mock device is: beside a bound, native code, itself without strict mode, and itself on one core."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from inputs import ROOT, WORK, compile_kernel, run
from rows import at_least, at_most, row

import luthier as lt

HERE = Path(__file__).parent
SIZE = 256
# Processors whose waves have 32 lanes.
NARROW = ("gfx1100", "gfx1250")


def load(source: Path, threads: int = 1, processor: str = "gfx90a") -> lt.Module:
    """A kernel, compiled and loaded."""
    return lt.Device(processor, threads=threads).load(lt.CodeObject.open(compile_kernel(source, processor)))


def fastest(launch: Callable[[], lt.RunResult], repeat: int = 8) -> lt.RunResult:
    """Of some launches."""
    return min((launch() for _ in range(repeat)), key=lambda result: result.seconds)


def _valu(module: lt.Module, lanes: int, rounds: int, *, strict: bool = False, groups: int = 1) -> lt.RunResult:
    args = [np.zeros(64, np.float32), np.uint32(rounds)]
    return fastest(lambda: module.run("valu", grid=lanes * groups, block=lanes, args=args, strict=strict))


def rate(result: lt.RunResult, prefix: str) -> float:
    """Millions a second of the instructions whose names begin so; the few others are not counted."""
    return sum(n for name, n in result.histogram.items() if name.startswith(prefix)) / result.seconds / 1e6


def _interpreted(what: str) -> float:
    """What :data:`PLAIN` gives in a process without native code, which strict mode has none of: what it is compared with."""
    command = [sys.executable, "-c", f"import device; print(device.PLAIN[{what!r}]())"]
    done = subprocess.run(command, cwd=HERE, env=os.environ | {"LUTHIER_NATIVE": "0"}, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _strict(ratio: float, bound: float) -> dict:
    return at_most(ratio, bound, "x a plain run of the interpreter")


def _arithmetic(strict: bool) -> float:
    """Seconds an instruction."""
    result = _valu(load(HERE / "valu.hip"), 64, 50_000, strict=strict)
    return result.seconds / result.instructions


def arithmetic() -> dict[str, dict]:
    """Vector instructions of whole waves on one core: all lanes active, the last group's 40 of 64, RDNA's 32."""
    module, unit = load(HERE / "valu.hip"), "M wave64 VALU instructions/s, one core"
    full, partial = _valu(module, 64, 200_000), _valu(module, 40, 100_000)
    short = load(HERE / "loop.hip")
    turns = fastest(lambda: short.run("loop", grid=64, block=64, args=[np.zeros(64, np.uint32), np.uint32(200_000)]))
    narrow = {p: _valu(load(HERE / "valu.hip", processor=p), 32, 200_000) for p in NARROW}
    return {
        "emulate": at_least(rate(full, "v_"), 60, unit),
        "emulate, EXEC partial": at_least(rate(partial, "v_"), 25, unit),
        "emulate, a loop of six instructions": at_least(
            turns.instructions / turns.seconds / 1e6, 100, "M instructions/s, one core"
        ),
        **{
            f"emulate, waves of 32 lanes, {processor}": at_least(rate(run, "v_"), 60, "M wave32 VALU instructions/s, one core")
            for processor, run in narrow.items()
        },
        "strict mode, arithmetic": _strict(_arithmetic(True) / _interpreted("arithmetic"), 4),
    }


def _product(strict: bool = False) -> tuple[float, list[np.ndarray]]:
    """Seconds of a tiled matrix product, and the three matrices."""
    a, b = (np.random.default_rng(seed).random((SIZE, SIZE), np.float32) for seed in (1, 2))
    module, c = load(ROOT / "tests/kernels/matmul.hip"), np.zeros((SIZE, SIZE), np.float32)
    how = dict(grid=(SIZE, SIZE), block=(16, 16), args=[a, b, c, np.uint32(SIZE)])
    return fastest(lambda: module.run("matmul", **how, strict=strict)).seconds, [a, b, c]


def matrices() -> dict[str, dict]:
    """A tiled matrix product, natively, on the device and in strict mode."""
    plain, (a, b, c) = _product()
    library = WORK / "matmul.so"
    run("clang-22", "-O3", "-march=native", "-shared", "-fPIC", HERE / "matmul.c", "-o", library)
    native, out = ctypes.CDLL(library).matmul, np.zeros_like(c)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, out)]
    seconds = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        native(*pointers, ctypes.c_uint(SIZE))
        seconds = min(seconds, time.perf_counter() - start)
    strict, (*_, judged) = _product(strict=True)
    np.testing.assert_array_equal(out, c)
    np.testing.assert_array_equal(judged, c)
    return {
        f"matrix product, {SIZE} x {SIZE}": row(
            plain * 1e3, seconds * 1e3, seconds / plain, "ms, one core", "the same loops, native", 1 / 30
        ),
        "strict mode, matrix product": _strict(strict / _interpreted("product"), 6),
    }


def _tree(processor: str, strict: bool) -> float:
    """Seconds of a tree of sums for each workgroup."""
    numbers = np.arange(1 << 18, dtype=np.int32)
    module, sums = load(ROOT / "tests/kernels/reduce.hip", processor=processor), np.zeros(len(numbers) // 256, np.int32)
    args = [numbers, sums, np.uint32(len(numbers))]
    result = fastest(lambda: module.run("reduce", grid=len(numbers), block=256, args=args, strict=strict))
    np.testing.assert_array_equal(sums, numbers.reshape(-1, 256).sum(1, dtype=np.int32))
    return result.seconds


def local_memory() -> dict[str, dict]:
    """Strict mode where little but LDS is touched, by fewer and fewer lanes."""
    return {
        f"strict mode, LDS, {processor}": _strict(_tree(processor, True) / _interpreted(f"LDS, {processor}"), 4)
        for processor in ("gfx90a", *NARROW)
    }


def _vectors(strict: bool) -> float:
    """Seconds of a sum of vectors."""
    module, numbers = load(ROOT / "tests/kernels/vecadd.hip"), np.arange(1 << 22, dtype=np.float32)
    sums = np.zeros_like(numbers)
    args = [numbers, numbers, sums, np.uint32(len(numbers))]
    result = fastest(lambda: module.run("vecadd", grid=len(numbers), block=256, args=args, strict=strict))
    np.testing.assert_array_equal(sums, numbers + numbers)
    return result.seconds


def fresh_memory() -> dict:
    """Strict mode where waves do little but load and store, each other bytes."""
    return _strict(_vectors(True) / _interpreted("fresh memory"), 6)


#: Plain runs that strict ones are compared with.
PLAIN: dict[str, Callable[[], float]] = {
    "arithmetic": lambda: _arithmetic(False),
    "product": lambda: _product()[0],
    "fresh memory": lambda: _vectors(False),
    **{f"LDS, {processor}": lambda processor=processor: _tree(processor, False) for processor in ("gfx90a", *NARROW)},
}


def streams() -> dict[str, dict]:
    """Kernels that do little but access memory, on one core: a sum of vectors beside a copy that moves as many bytes, and a tree
    of sums in LDS."""
    module, numbers = load(ROOT / "tests/kernels/vecadd.hip"), np.arange(1 << 22, dtype=np.float32)
    sums, args = np.zeros_like(numbers), [np.uint32(len(numbers))]
    added = fastest(lambda: module.run("vecadd", grid=len(numbers), block=256, args=[numbers, numbers, sums, *args]))
    np.testing.assert_array_equal(sums, numbers + numbers)
    # Three arrays are read or written; a copy does both.
    source = np.ones(len(numbers) * 3 // 2, np.float32)
    target, copied = np.empty_like(source), float("inf")
    for _ in range(10):
        start = time.perf_counter()
        np.copyto(target, source)
        copied = min(copied, time.perf_counter() - start)
    reduce, integers = load(ROOT / "tests/kernels/reduce.hip"), np.arange(1 << 20, dtype=np.int32)
    totals = np.zeros(len(integers) // 256, np.int32)
    args = [integers, totals, np.uint32(len(integers))]
    reduced = fastest(lambda: reduce.run("reduce", grid=len(integers), block=256, args=args))
    np.testing.assert_array_equal(totals, integers.reshape(-1, 256).sum(1, dtype=np.int32))
    return {
        "sum of vectors, 4 M floats": row(
            added.seconds * 1e3, copied * 1e3, copied / added.seconds, "ms, one core", "a copy of as many bytes", 0.1
        ),
        "tree of sums in LDS, 1 M ints": at_most(reduced.seconds * 1e3, 24, "ms, one core"),
    }


def scaling() -> dict:
    """The same hundred workgroups on one core and on all of them."""
    cores = os.cpu_count() or 1
    seconds = [_valu(load(HERE / "valu.hip", threads), 64, 5_000, groups=100).seconds for threads in (1, cores)]
    gained = seconds[0] / seconds[1]
    return row(gained, cores, gained / cores, "x the speed of one core", "the cores", 0.8)


def launching() -> dict:
    """A launch of one wave that does nothing, from Python, with a buffer as argument: the processor's time, as others may use
    it meanwhile."""
    module, buffer, count = load(HERE / "nothing.hip"), np.zeros(64, np.uint32), 2_000
    seconds = float("inf")
    for _ in range(8):
        start = time.thread_time()
        for _ in range(count):
            module.run("nothing", grid=64, block=64, args=[buffer])
        seconds = min(seconds, (time.thread_time() - start) / count)
    return at_most(seconds * 1e6, 20, "microseconds a launch")


def measured() -> dict[str, dict]:
    return {
        **arithmetic(),
        **matrices(),
        **local_memory(),
        **streams(),
        "strict mode, fresh memory": fresh_memory(),
        "all cores": scaling(),
        "a launch": launching(),
    }
