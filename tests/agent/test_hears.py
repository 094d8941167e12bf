"""Tools that insert nothing hear of launches all the same, and kernels that no tool has heard of are told."""

from __future__ import annotations

import re

import pytest
import rocm
from agent_tools import Waves

import luthier as lt
from luthier.agent.controller import LIBRARY


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


class Listens(lt.Tool):
    """Counts launches and their ends."""

    begun = over = timed = instrumented = 0

    def on_launch(self, launch):
        self.begun += 1
        self.instrumented += launch.is_instrumented()

    def on_complete(self, launch):
        self.over += 1
        self.timed += launch.start is not None and launch.start <= launch.end

    def on_exit(self, report):
        report.result = [self.begun, self.over, self.timed, self.instrumented]


class OnlyLaunches(lt.Tool):
    """Has no other method."""

    begun = 0

    def on_launch(self, launch):
        self.begun += 1

    def on_exit(self, report):
        report.result = self.begun


class LooksAtKernels(Listens):
    """Looks at kernels, too, and inserts nothing."""

    def on_kernel(self, kernel):
        assert kernel.instructions


class Shrinks(lt.Tool):
    """Changes the grid of the originals' launches, and can have nothing else run."""

    decides = True
    refused = 0

    def on_launch(self, launch):
        launch.change(grid=(64, 1, 1))
        launch.override("original")
        try:
            launch.override("full")
        except lt.ToolError:
            self.refused += 1

    def on_exit(self, report):
        report.result = self.refused


class Silent(lt.Tool):
    """Inserts nothing and hears of nothing."""

    def on_kernel(self, kernel):
        pass


def dispatch(tools, launches=5, **how):
    environment = {**rocm.ENVIRONMENT, "MODULE": str(rocm.code_object("vecadd")), "LAUNCHES": str(launches)}
    done = lt.trace([rocm.host("dispatch")], tools, mock="gfx90a", env=environment, capture=True, **how)
    assert done.status == 0, done.stderr
    return done


def test_a_tool_that_inserts_nothing_hears_of_launches_and_their_ends():
    done = dispatch([Listens, OnlyLaunches, LooksAtKernels])
    assert done.results("listens") == done.results("looks_at_kernels") == [[5, 5, 5, 0]]
    assert done.results("only_launches") == [5]
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert (kernel["launches"], kernel["instrumented"], kernel["why"]) == (5, 0, "the tools insert nothing")


def test_launches_that_run_instrumented_are_heard_of_as_before():
    done = dispatch([Listens, Waves])
    assert done.results("listens") == [[5, 5, 5, 5]] and done.results("waves") == [5 * 1024 // 64]


def test_launches_that_are_not_selected_are_not_heard_of():
    assert dispatch([Listens], select=["vecadd,first=2"]).results("listens") == [[2, 2, 2, 0]]
    assert dispatch([Listens], select=["vecadd,every=2"]).results("listens") == [[3, 3, 3, 0]]
    assert dispatch([Listens], select=["other"]).results("listens") == []


def test_a_tool_that_decides_may_change_the_launch_of_an_original():
    done = dispatch([Shrinks])
    assert done.results("shrinks") == [5]


def test_a_tool_that_wants_to_hear_of_nothing_costs_no_message():
    done = dispatch([Silent])
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert kernel["launches"] == 5 and "tools" not in kernel and "unfinished" not in kernel


def test_that_only_others_kernels_ran_is_said_with_the_reason():
    program = str(rocm.hip("kernels"))
    options = ("--tool", "instr_count")
    done = rocm.mock("env", "-u", "HSA_TOOLS_LIB", program, "lds", options=options)
    assert done.returncode == 0 and "no kernel was launched" not in done.stderr
    assert (
        re.search(r"process \d+: no tool has heard of \d+ launches", done.stderr)
        and "the agent was not loaded there" in done.stderr
    ), done.stderr
    both = rocm.mock("sh", "-c", f"{program} lds; env -u HSA_TOOLS_LIB {program} lds", options=options)
    assert "instr_count" in both.stderr and both.stderr.count("no tool has heard of") == 1
    none = rocm.mock("rocminfo", options=options)
    assert "luthier: nothing was instrumented: no kernel was launched\n" in none.stderr
