"""instruction_counter: how many instructions a kernel's waves run, counted by a hook in HIP.

luthier run vecadd.hsaco --kernel vecadd ... --tool examples/instruction_counter.py
"""

from __future__ import annotations

import luthier as lt

SOURCE = """
#include <luthier/hooks.h>

__device__ __managed__ unsigned long long global_counter = 0;

LT_HOOK void instrumentation_kernel() { lt::wave_atomic_add(&global_counter, 1ull); }
"""


class InstructionCounter(lt.Tool):
    """Runs the hook before every instruction. ``{"instructions": n}``."""

    hooks = lt.HookLibrary(SOURCE, "hip")

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.hooks["instrumentation_kernel"])

    def on_exit(self, report: lt.Report) -> None:
        count = self.hooks.variables["global_counter"][0]
        report.result = {"instructions": count}
        report.table("Instructions", [("number of instructions executed", count)])
