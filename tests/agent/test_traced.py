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


class Heard(Waves):
    """Waves, by the host and in a channel; processes and launches, by the program."""

    entries = lt.Channel(64, wave=lt.u64)

    @lt.hook
    def enter(count: lt.counter, entries: lt.channel):
        count += 1
        lt.record(entries, lt.wave_id(), per_wave=True)

    def __init__(self):
        self.records = self.launches = 0
        self.processes = []

    def on_start(self, app):
        self.processes.append(app.pid)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.count, self.entries)

    def on_launch(self, launch):
        self.launches += 1

    def on_records(self, channel, records):
        self.records += len(records)


def test_an_instance_tells_of_all_kernels_and_processes(program):
    path, case = program
    tool, seen = Heard(), []
    words = ["sh", "-c", f"{path} {case} && {path} several"]
    done = lt.trace(words, [tool, Waves], mock="gfx90a", capture=True, progress=lambda p: seen.append(int(tool.count)))
    assert done.status == 0, done.stderr
    by_kernel = done.results("waves")
    assert len(by_kernel) == 2 and len(set(tool.processes)) == len(tool.processes) == len(done.processes) == 2
    assert int(tool.count) == tool.records == sum(by_kernel) > 5000 and tool.entries.dropped == tool.entries.unfinished == 0
    kernels = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert tool.launches == sum(k["launches"] for k in kernels if "why" not in k)
    assert seen == sorted(seen) and seen[-1] == int(tool.count)
    # It says it once.
    assert done.tools == {"heard": int(tool.count)} and done.results("heard") == [int(tool.count)]
    assert all(set(k["tools"]) == {"waves"} for k in kernels if "why" not in k)
    # It goes on counting in another program.
    before = int(tool.count)
    again = lt.trace([path, case], [tool], mock="gfx90a", capture=True)
    assert again.status == 0 and again.tools == {"heard": before + 5000}


def test_an_exception_of_a_tool_is_raised(program):
    with pytest.raises(KeyError, match="mine"):
        lt.trace((program[0], "several"), [Fails], mock="gfx90a", capture=True)


def test_wrong_arguments_are_told_before_anything_runs(program):
    with pytest.raises(lt.ToolError, match="opcode_hist: an instance serves one code object only.*give its class, or its name"):
        lt.trace(program, [lt.tools.load("opcode_hist")], mock="gfx90a")
    tool = Waves()
    with pytest.raises(lt.ToolError, match="waves: the same instance was given twice"):
        lt.trace(program, [tool, tool], mock="gfx90a")
    with pytest.raises(lt.ArgumentError, match="bodies: 'often' is not 'in-place', 'choose' or 'called'"):
        lt.trace(program, [Waves], mock="gfx90a", bodies="often")
    with pytest.raises(lt.ArgumentError, match="no such program"):
        lt.trace(["/does/not/exist"], [Waves])
    with pytest.raises(lt.ArgumentError, match="first=0"):
        lt.trace(program, [Waves], select=["k,first=0"])

    class Unknown(lt.Tool):
        hsa = ("hsa_nonsense",)

    with pytest.raises(lt.ToolError, match="hsa_nonsense: HSA has no such function"):
        lt.trace(program, [Unknown])
