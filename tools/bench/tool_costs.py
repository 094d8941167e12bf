"""What the tools that come along cost a kernel: instructions retired for each of its own, and time; how fast a trace of accesses
and annotated code of a large library are made.

``python tools/bench/tool_costs.py`` prints the table alone.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inputs import ROOT, WORK, compile_kernel  # isort: skip  # it says where the next one is
import kernel_cases
import triton_cases

import luthier as lt

#: With options that leave out what is another kernel's matter.
TOOLS = [name for name in lt.tools.BUILTIN if name not in ("api_check", "fault_inject", "launches", "kernel_args")]
TARGET = "gfx942"
#: Records of the trace, and seconds that it may take, on one core.
RECORDS, SECONDS = 10_000_000, 10


def kernels() -> dict[str, tuple[Path, Callable[[], Any]]]:
    """Each kernel's code object, and a fresh launch of it."""
    found = {
        "HIP reduction": (compile_kernel(ROOT / "tests/kernels/reduce.hip", TARGET), lambda: kernel_cases.launches("reduce")[0])
    }
    if triton_cases.CORPUS is not None:
        for name in ("matmul_f16_64", "softmax_f32"):
            found[f"Triton {name}"] = (triton_cases.path(name, TARGET), lambda name=name: triton_cases.launches(name, TARGET)[0])
    return found


def run(path: Path, make: Callable[[], Any], tools: list[Any]) -> tuple[Any, float]:
    """The result of a launch on one thread, and seconds at work: of the fastest of three, the process's."""
    first = make()
    module = lt.Device(TARGET, threads=1).load_alone(lt.CodeObject.open(path), first.kernel, tools)
    best, result = float("inf"), None
    for _ in range(3):
        launch = make()
        start = time.process_time()
        result = module.run(launch.kernel, grid=launch.grid, block=launch.block, lds=getattr(launch, "lds", 0), args=launch.args)
        best = min(best, time.process_time() - start)
    return result, best


def costs() -> dict[str, dict]:
    """A row for each tool and kernel."""
    rows = {}
    for kernel, (path, make) in kernels().items():
        plain, seconds = run(path, make, [])
        for name in TOOLS:
            result, with_tool = run(path, make, [lt.tools.load(name)])
            rows[f"{name}, {kernel}"] = {
                "ours": result.instructions / plain.instructions, "unit": "instructions for one", "other": with_tool / seconds,
                "against": f"times {seconds * 1e3:.2f} ms at work",
            }  # fmt: skip
    return rows


def attention() -> dict[str, dict]:
    """The same of Triton's attention, where Triton is there: two heads of 64 rows, as it launches them."""
    import luthier.triton

    try:
        from triton_programs.matrices import flash_attention
    except ImportError:
        return {}
    luthier.triton.install(TARGET)

    def once() -> tuple[int, float]:
        start = time.process_time()
        flash_attention(TARGET, False)
        seconds = time.process_time() - start
        assert luthier.triton.last is not None
        return luthier.triton.last.instructions, seconds

    once()  # Triton compiles
    plain, seconds = min(once() for _ in range(3))
    rows = {}
    for name in TOOLS:
        luthier.triton.attach(name)
        once()
        count, with_tool = min(once() for _ in range(3))
        luthier.triton.detach(name)
        rows[f"{name}, Triton attention"] = {
            "ours": count / plain, "unit": "instructions for one", "other": with_tool / seconds,
            "against": f"times {seconds * 1e3:.2f} ms at work, the host's included",
        }  # fmt: skip
    return rows


SOURCE = """KERNEL many(const float *a, float *out, u32 n) {
    u32 i = global_x(); float s = 0; for (u32 k = 0; k < n; k++) s += a[i + k]; out[i] = s; }"""


def trace() -> dict[str, dict]:
    """A trace of ten million accesses, on one thread of the device, to Parquet."""
    import compiled

    folder = WORK / "accesses"
    shutil.rmtree(folder, ignore_errors=True)
    import numpy as np

    items, rounds = 64 * 1024, RECORDS // (64 * 1024) + 1
    module = lt.Device(TARGET, threads=1).load(
        lt.CodeObject.open(compiled.build(SOURCE, TARGET)), tools=[f"mem_trace:scalar=no,out={folder}"]
    )
    work, start = time.process_time(), time.perf_counter()
    module.run("many", grid=items, block=256, args=[np.zeros(items + rounds, "f4"), np.zeros(items, "f4"), np.uint32(rounds)])
    (report,) = module.reports()
    seconds, work = time.perf_counter() - start, time.process_time() - work
    assert report.result["accesses"] >= RECORDS
    return {"mem_trace, 10 M accesses to Parquet": {"ours": seconds, "unit": f"s ({work:.1f} s at work)", "other": SECONDS,
            "ratio": SECONDS / seconds, "against": "the target", "least": 1}}  # fmt: skip


def annotated(path: Path) -> dict[str, dict]:
    """Annotated code of a large object, as one page of HTML."""
    from luthier.views.annotation import Annotation

    out = WORK / "annotated.html"
    work, start = time.process_time(), time.perf_counter()
    code_object = lt.CodeObject.open(path)
    Annotation(code_object).save(out)
    seconds, work = time.perf_counter() - start, time.process_time() - work
    return {f"annotate, {len(code_object.kernels):,} kernels": {"ours": seconds, "unit": f"s ({work:.1f} s at work)", "other": 5,
            "ratio": 5 / seconds, "against": "the target", "least": 1}}  # fmt: skip


def measured(path: Path) -> dict[str, dict]:
    """All rows."""
    return {**trace(), **annotated(path), **costs(), **attention()}


if __name__ == "__main__":
    from luthier.cli.tables import show

    WORK.mkdir(parents=True, exist_ok=True)
    parts = {"trace": trace, "costs": costs, "attention": attention}
    if len(sys.argv) > 1 and sys.argv[1] not in parts:
        rows = annotated(Path(sys.argv[1]))
    else:
        rows = {k: v for name, part in parts.items() if sys.argv[1:2] in ([], [name]) for k, v in part().items()}
    show("tools", ("what", "", "unit", "other", "against"), [(k, round(r["ours"], 2), r["unit"], round(r["other"], 2), r["against"]) for k, r in rows.items()])  # fmt: skip
