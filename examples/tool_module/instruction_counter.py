"""instruction_counter: how many instructions a program's waves run, counted by a hook of a HIP library that is loaded with it.

luthier trace --mock gfx90a --preload libcounter.so --tool instruction_counter.py -- ./app

libcounter.so is instruction_counter.hip, which says how it is compiled. HIP loads it as it loads the program's own code and makes
its variables; the hook is placed from the bitcode in it, in each kernel when that is launched for the first time.
"""

from __future__ import annotations

from typing import Any

import luthier as lt


class InstructionCounter(lt.Tool):
    """Runs ``instrumentation_kernel`` before every instruction. ``{"instructions": n, "lanes": {gpu: n}}`` of the process."""

    hip_modules = True  # app.tool_modules has the HIP libraries that are tools
    decides = True  # on_launch says what each launch runs

    def on_start(self, app: Any) -> None:
        print("Instruction counter is launching.")

    def on_kernel(self, kernel: lt.Kernel) -> None:
        hook = self.module.library["instrumentation_kernel"]
        for instr in kernel.instructions:
            kernel.insert_before(instr, hook)

    def on_launch(self, launch: Any) -> None:
        if launch.can_be_instrumented:
            launch.override("full")

    def on_exit(self, report: lt.Report) -> None:
        if not self.modules:
            return
        variables = self.module.library.variables
        count, lanes = variables["global_counter"][0], variables["lanes"][0]
        report.result = {"instructions": count, "lanes": lanes}
        report.table("Instructions", [("number of instructions executed", count), ("lanes that executed them", lanes)])

    @property
    def modules(self) -> list[Any]:
        """The libraries of the program that are tools."""
        return list(self.app.tool_modules) if self.app is not None else []

    @property
    def module(self) -> Any:
        """The library: a program has one."""
        if len(self.modules) != 1:
            found = len(self.modules)
            raise lt.ToolError(f"instruction_counter: {found} tool modules are loaded: luthier trace --preload libcounter.so")
        return self.modules[0]
