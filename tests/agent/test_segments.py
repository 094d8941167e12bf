"""Segments of launches: the packet asks for the scratch that hooks need, and for the LDS that the application has."""

from __future__ import annotations

import re

import pytest
import rocm
from places import ROOT

import luthier as lt

LIBRARY = ROOT / "python/luthier/driver/libluthier-agent.so"


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


class Each(lt.Tool):
    """Counts each instruction in memory, which takes VGPRs."""

    counts = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def bump(counts: lt.ptr[lt.u64]):
        lt.wave_atomic_add(counts, 1)

    def on_kernel(self, kernel):
        for instruction in kernel.instructions:
            kernel.insert_before(instruction, self.bump, self.counts)

    def on_exit(self, report):
        report.result = int(self.counts[0])


def segments(text: str) -> tuple[int, int]:
    """The most scratch and LDS that a packet asked for, as the packet tool has seen it."""
    found = re.search(r"1 dispatches, at most (\d+) bytes of scratch and (\d+) of LDS", text)
    assert found, text
    return int(found[1]), int(found[2])


def test_scratch_that_hooks_need_is_added_in_the_packet_and_lds_stays_the_applications():
    module = rocm.code_object("crowded", target="gfx1030")
    variables = {"MODULE": str(module), "LUTHIER_MOCK_COPIES": "driver"}
    program, other = rocm.host("crowded"), str(rocm.hsa_tool("packet_tool"))
    alone = rocm.mock(program, target="gfx1030", options=("--log",), HSA_TOOLS_LIB=other, **variables)
    assert alone.stdout == "1024 results\n", alone.stderr
    # None of its own, and 256 and 512 bytes of LDS.
    assert segments(alone.stderr) == (0, 256 + 128 * 4)

    environment = {**rocm.ENVIRONMENT, **variables, "HSA_TOOLS_LIB": f"{other} {LIBRARY}"}
    done = lt.trace([program], [Each], mock="gfx1030", env=environment, capture=True)
    assert (done.status, done.stdout) == (0, "1024 results\n"), done.stderr
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert kernel["instrumented"] == 1
    before, after = kernel["instrumentation"]["registers"]["crowded"]["scratch"]
    assert before == 0 < after
    assert segments(done.stderr) == (after, 256 + 128 * 4)
    [retired] = re.findall(r"has retired (\d+) instructions of the kernel crowded", alone.stderr)
    assert done.results("each") == [int(retired)]
