"""What every kernel has to show: the same memory with and without instrumentation, and exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np

import luthier as lt

# How the proof instruments a kernel; each must leave its memory as it was.
INSTR_COUNTS = ("instr_count:per=block", "instr_count:per=instruction", "instr_count:per=instruction,where=after")


def run(path, launches, tools=(), target="gfx90a"):
    """All launches in one module, judged; the results, one a launch. Buffers in `launch.args` are updated in place."""
    device = lt.Device(target)
    module = device.load(lt.CodeObject.open(path), tools=[lt.tools.load(t) for t in tools], check=True)
    results = []
    for launch in launches:
        result = module.run(
            launch.kernel,
            grid=launch.grid,
            block=launch.block,
            args=launch.args,
            lds=getattr(launch, "lds", 0),
            strict=True,
        )
        assert result.findings == [], result.findings[:3]
        results.append(result)
    return results


def _buffers(launches) -> list[bytes]:
    return [a.tobytes() for launch in launches for a in launch.args if isinstance(a, np.ndarray)]


def _total(histograms) -> dict[str, int]:
    total: Counter[str] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return dict(total)


def prove(path, fresh_launches, check, deterministic: bool = True) -> None:
    """Runs the kernels of PATH as they are and under each tool.

    `fresh_launches()` makes the launches anew (inputs included), `check(launches)` compares with NumPy. A kernel whose
    waves race (a spin lock, a sum of float atomics) is not `deterministic`: its memory and its counts may differ from
    run to run, so each instrumented run is held to NumPy and to the device's own count of that very run.
    """
    plain = fresh_launches()
    reference = run(path, plain)
    check(plain)
    assert all(r.instructions == r.app_instructions > 0 for r in reference)

    for tool in (*INSTR_COUNTS, "opcode_hist"):
        launches = fresh_launches()
        results = run(path, launches, [tool])
        check(launches)
        if deterministic:
            assert _buffers(launches) == _buffers(plain), tool
            assert [r.app_instructions for r in results] == [r.app_instructions for r in reference], tool
            assert [r.app_histogram for r in results] == [r.histogram for r in reference], tool
        assert all(r.instructions > r.app_instructions for r in results), tool
        measured = results[-1].tools[tool.partition(":")[0]]
        if tool == "opcode_hist":
            assert measured["opcodes"] == _total(r.app_histogram for r in results)
        else:
            assert measured["instructions"] == sum(r.app_instructions for r in results), tool
