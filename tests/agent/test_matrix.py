"""Every program of the driver's under each kind of tool, and under all at once. ``LUTHIER_AGENT_DEEP=1``; the table that it prints
is in docs/audit/agent.md."""

from __future__ import annotations

import os
import re

import pytest
import rocm
from accesses import Accesses
from hip_programs import CASES

import luthier as lt

#: Their kernels wait in loops, for each other or for the host, and how often these go round is a matter of time.
WAITING = {"device_malloc", "progress", "cooperative", "peers", "ring", "time_passes", "interprocess", "managed"}

pytestmark = pytest.mark.skipif(
    "LUTHIER_AGENT_DEEP" not in os.environ, reason="LUTHIER_AGENT_DEEP=1: all programs under all tools"
)


class Arrays(Accesses):
    """The same, and which launches are over."""

    completed = 0

    def on_complete(self, launch):
        self.completed += 1

    def on_exit(self, report):
        report.result = [len(self.launches), self.completed, self.counts.read().tolist()]


class Everything(lt.Tool):
    """Every function of HSA's and HIP's."""

    hsa = ("*",)
    hip = ("*",)
    calls = 0

    def on_hsa(self, call):
        self.calls += 1

    on_hip = on_hsa

    def on_exit(self, report):
        report.result = self.calls


#: One after the other, then all of them.
SETS: list[list] = [["instr_count"], ["opcode_hist"], [Arrays], ["instr_count", "opcode_hist", Arrays, Everything]]


def counted(kernel) -> set[int]:
    """Instructions, as the tools that count them say."""
    found = {tool: result for tool, result in kernel["tools"].items() if tool in ("instr_count", "opcode_hist")}
    return {r["instructions"] if tool == "instr_count" else sum(r["opcodes"].values()) for tool, r in found.items()}


@pytest.mark.parametrize("name, case", [(name, case) for name, cases in CASES.items() for case in cases])
def test_a_program_under_tools_does_what_it_does_alone(name, case):
    rocm.need("hipcc")
    module = str(rocm.code_object("vecadd"))
    program = rocm.hip(name)
    plain = rocm.mock(program, case, target="gfx90a,2", options=("--log",), MODULE=module)
    assert plain.returncode == 0 and plain.stdout.strip().endswith(f"{case}: passed"), plain.stderr[-2000:]
    log = re.findall(r"has retired (\d+) instructions of the kernel (.*)", plain.stderr)
    others = re.compile(r"of the runtime|at 0x|__amd_rocclr")
    retired = sum(int(count) for count, kernel in log if not others.match(kernel))
    row = [f"{name} {case}", f"{retired:,}"]
    for tools in SETS:
        environment = {**rocm.ENVIRONMENT, "MODULE": module}
        done = lt.trace([program, case], tools, mock="gfx90a,2", env=environment, capture=True)
        assert done.status == 0 and done.stdout.strip().endswith(f"{case}: passed"), done.stderr[-2000:]
        kernels = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
        heard = [k for k in kernels if "tools" in k]
        left = [k for k in kernels if "why" in k and k["why"] != "not selected"]
        total = 0
        for kernel in heard:
            if "why" in kernel:
                # Runs as it is: each insertion was rejected, or the tool has none, as `Arrays` in a kernel without accesses.
                assert kernel["instrumented"] == 0, kernel
                assert (kernel["why"] == "the tools insert nothing") == (not kernel["instrumentation"]["rejected"]), kernel
                assert kernel["instrumentation"]["rejected"] or tools == [Arrays], kernel
            else:
                assert kernel["launches"] == kernel["instrumented"], tools
                assert kernel["unfinished"] == 0, tools
            if Arrays in tools and "unfinished" in kernel:
                assert kernel["tools"]["arrays"][:2] == [kernel["launches"], kernel["launches"] - kernel["unfinished"]]
            if tools != [Arrays] and "why" not in kernel:
                # Both count by blocks, and see the same.
                [number] = counted(kernel)
                total += number
        if tools == [Arrays]:
            row.append(f"{sum(k['tools']['arrays'][0] for k in heard):,}")
        else:
            assert case in WAITING or left or total == retired, tools
            row.append(f"{total:,}")
    row += [f"{sum(done.results('everything')):,}", str(len(left))]
    print("|", " | ".join(row), "|")
