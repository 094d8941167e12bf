"""``lt.trace``: a program under tools, from Python."""

from __future__ import annotations

import pytest
import rocm
from agent_tools import Waves
from places import ROOT

import luthier as lt


class Fails(lt.Tool):
    """Cannot start."""

    def on_start(self, app):
        raise KeyError("mine")


@pytest.fixture(scope="module")
def program():
    rocm.need("hipcc")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), "`make driver` builds the agent"
    return rocm.hip("streams"), "many_launches"


def test_a_program_is_traced_and_tools_are_read_while_it_runs(program):
    seen = []

    def look(progress):
        waves = sum(int(tool.count) for tool in progress.tools)
        seen.append((progress.launches, waves))

    done = lt.trace(program, [Waves], mock="gfx90a", capture=True, progress=look)
    assert done.status == 0 and done.stdout == "many_launches: passed\n"
    assert sum(done.results("waves")) == 5000
    launches, waves = zip(*seen, strict=True)
    # HIP's own for the memset is one of them; HIP 7 copies the result by one more. The last look is when the program, and its kernels, have gone.
    assert list(launches) == sorted(launches) and launches[-1] == (5002 if rocm.RUNTIME == "7" else 5001)
    assert all(n <= 5000 for n in waves)


def test_an_exception_of_a_tool_is_raised(program):
    with pytest.raises(KeyError, match="mine"):
        lt.trace((program[0], "several"), [Fails], mock="gfx90a", capture=True)


def test_wrong_arguments_are_told_before_anything_runs(program):
    with pytest.raises(lt.ToolError, match="is one tool, and each kernel has one of its own"):
        lt.trace(program, [Waves()], mock="gfx90a")
    with pytest.raises(lt.ArgumentError, match="no such program"):
        lt.trace(["/does/not/exist"], [Waves])
    with pytest.raises(lt.ArgumentError, match="first=0"):
        lt.trace(program, [Waves], select=["k,first=0"])

    class Unknown(lt.Tool):
        hsa = ("hsa_nonsense",)

    with pytest.raises(lt.ToolError, match="hsa_nonsense: HSA has no such function"):
        lt.trace(program, [Unknown])
