"""Queues of cooperative launches under tools, which all users of a GPU share."""

from __future__ import annotations

import pytest
import rocm
from agent_tools import Waves

import luthier as lt
from luthier.agent.controller import LIBRARY


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


def traced(program, *words, **variables):
    environment = {**rocm.ENVIRONMENT, **variables}
    return lt.trace([program, *words], [Waves], mock="gfx90a,2", env=environment, capture=True)


def test_they_can_be_destroyed_and_created_again():
    module = str(rocm.code_object("vecadd"))
    assert rocm.passes(rocm.host("cooperative_queues"), MODULE=module) == "done\n"
    done = traced(rocm.host("cooperative_queues"), MODULE=module)
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    assert [p["ended"] for p in done.processes] == ["in the usual way"]
    # 20 launches of 16 waves.
    assert [(k["launches"], k["unfinished"]) for p in done.processes for o in p["objects"] for k in o["kernels"]] == [(20, 0)]
    assert done.results("waves") == [20 * 16]


@pytest.mark.parametrize("built", ["hip", "hip7"])
def test_a_program_with_cooperative_launches_ends_as_it_does_alone(built):
    """HIP 7 destroys its queues when the process ends, and shuts the runtime down."""
    if built == "hip7":
        rocm.need_rocm7()
    done = traced(getattr(rocm, built)("kernels"), "cooperative")
    assert (done.status, done.stdout) == (0, "cooperative: passed\n"), done.stderr
