"""Every program of the driver's under all kinds of tools at once. ``LUTHIER_AGENT_DEEP=1``; the table goes to docs/agent.md."""

from __future__ import annotations

import os
import re

import pytest
import rocm
from accesses import Accesses

import luthier as lt

PROGRAMS = {
    "memory": [
        "device_memory", "large_copies", "copies_on_device", "name_of_a_copy", "pinned", "managed", "pitched", "volume",
        "memset_of_all_sizes", "symbols", "pointers", "many_allocations",
    ],
    "streams": ["several", "progress", "events", "callbacks", "priorities", "graphs", "threads", "many_launches"],
    "kernels": ["lds", "scratch", "device_malloc", "cooperative", "partitions", "math", "occupancy", "time_passes"],
    "devices": ["all_devices", "peers", "ring", "compiled_at_run_time", "modules", "fork_before_use", "interprocess"],
}  # fmt: skip
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


@pytest.mark.parametrize("name, case", [(name, case) for name, cases in PROGRAMS.items() for case in cases])
def test_a_program_under_all_tools_at_once_does_what_it_does_alone(name, case):
    rocm.need("hipcc")
    module = str(rocm.code_object("vecadd"))
    program = rocm.hip(name)
    plain = rocm.mock(program, case, target="gfx90a,2", options=("--log",), MODULE=module)
    assert plain.returncode == 0 and plain.stdout.strip().endswith(f"{case}: passed"), plain.stderr[-2000:]
    log = re.findall(r"has retired (\d+) instructions of the kernel (.*)", plain.stderr)
    others = re.compile(r"of the runtime|at 0x|__amd_rocclr")
    retired = sum(int(count) for count, kernel in log if not others.match(kernel))
    tools = ["instr_count", "opcode_hist", Arrays, Everything]
    environment = {**rocm.ENVIRONMENT, "MODULE": module}
    done = lt.trace([program, case], tools, mock="gfx90a,2", env=environment, capture=True)
    assert done.status == 0 and done.stdout.strip().endswith(f"{case}: passed"), done.stderr[-2000:]
    kernels = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    # What calls `_exit` may be gone before the runtime has said that its last launch is over.
    hurried = [k for p in done.processes if p["ended"] == "without notice" for o in p["objects"] for k in o["kernels"]]
    mine = [k for k in kernels if "tools" in k]
    left = [k for k in kernels if "why" in k and k["why"] != "not selected"]
    counted = sum(k["tools"]["instr_count"]["instructions"] for k in mine)
    for kernel in mine:
        assert kernel["launches"] == kernel["instrumented"] and kernel["unfinished"] <= (kernel in hurried)
        assert kernel["tools"]["arrays"][:2] == [kernel["launches"], kernel["launches"] - kernel["unfinished"]]
        # Both count by blocks, and see the same.
        assert sum(kernel["tools"]["opcode_hist"]["opcodes"].values()) == kernel["tools"]["instr_count"]["instructions"]
    if case not in WAITING and not left:
        assert counted == retired
    calls = sum(done.results("everything"))
    print(f"| {name} {case} | {sum(k['launches'] for k in mine)} | {counted} | {retired} | {len(left)} | {calls} |")
