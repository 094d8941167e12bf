"""Programs that somebody else starts, and runtimes whose table is another."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time

import pytest
import rocm
import timed

import luthier as lt
from luthier.agent.controller import LIBRARY, Controller
from luthier.tools import load

MALLOCS = '''
import luthier as lt

class Mallocs(lt.Tool):
    """Calls of one function of HIP's."""

    hip = ["hipMalloc"]
    phases = ("exit",)
    calls = 0

    def on_hip(self, call):
        self.calls += 1

    def on_exit(self, report):
        report.result = self.calls
'''


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


@contextlib.contextmanager
def serving(folder, *options):
    """A controller; gives the file for shells."""
    settings = folder / "settings"
    command = [sys.executable, "-m", "luthier", "trace", "--serve", str(settings), "--mock", "gfx90a", *map(str, options)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=rocm.ENVIRONMENT)
    try:
        while not settings.exists():
            assert server.poll() is None, server.communicate()[1]
            time.sleep(0.01)
        yield settings
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=rocm.TIMEOUT)[1]
    assert server.returncode == 0, said
    assert not settings.exists()


def shell(script):
    done = timed.run(["sh", "-c", script], rocm.TIMEOUT, env=rocm.ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def counts(process):
    return [k["tools"]["instr_count"]["instructions"] for o in process["objects"] for k in o["kernels"] if "tools" in k]


def test_programs_of_other_shells_are_served_one_after_the_other_and_at_once(tmp_path):
    (tmp_path / "mallocs.py").write_text(MALLOCS)
    app, out = f"{rocm.hip('kernels')} lds", tmp_path / "out.json"
    with serving(tmp_path, "--tool", "instr_count", "--tool", tmp_path / "mallocs.py", "--json", out) as settings:
        assert shell(f". {settings} && {app} && {app}").count("passed") == 2
        assert shell(f". {settings}; {app} & {app} & wait").count("passed") == 2
        # A shell that sets nothing finds neither the agent nor, with that, mock GPUs.
        assert "LUTHIER_AGENT" not in shell("env")
    processes = json.loads(out.read_text())["processes"]
    assert len(processes) == 4 and all(p["ended"] == "in the usual way" for p in processes)
    assert len({tuple(counts(p)) for p in processes}) == 1 and sum(counts(processes[0])) > 0
    assert all(p["tools"]["mallocs"] == processes[0]["tools"]["mallocs"] > 0 for p in processes)


@pytest.mark.parametrize(
    "options, why",
    [
        (("--serve", "-"), "about tools"),
        (("--serve", "-", "--tool", "instr_count", "--", "true"), "starts no program"),
        (("--serve", "/does/not/exist", "--tool", "instr_count"), "cannot write /does/not/exist"),
    ],
)
def test_what_cannot_be_served_is_one_line(options, why):
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", *options]
    done = timed.run(command, rocm.TIMEOUT)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and why in done.stderr, done.stderr


def under_a_table(how, tools=("instr_count",)):
    """A program whose agent is handed a table of another kind; gives the run and what the controller knows."""
    with Controller(lambda: [load(tool) if isinstance(tool, str) else tool() for tool in tools]) as controller:
        tool = str(rocm.hsa_tool("table_tool"))
        variables = {"TABLE": how, "AGENT": str(LIBRARY), "LUTHIER_AGENT": controller.path, "HSA_TOOLS_LIB": tool}
        done = rocm.mock(rocm.hip("kernels"), "lds", **variables)
        controller.settle()
        return done, controller.result()


class Everything(lt.Tool):
    """Every function of HSA's."""

    hsa = ("*",)
    phases = ("exit",)
    calls = 0

    def on_hsa(self, call):
        self.calls += 1

    def on_exit(self, report):
        report.result = self.calls


def test_a_longer_table_is_used_as_far_as_it_is_known_and_keeps_the_rest():
    _, [expected] = under_a_table("same")
    done, [process] = under_a_table("longer", ["instr_count", Everything])
    assert done.returncode == 0 and "passed" in done.stdout and "changed" not in done.stderr, done.stderr
    assert counts(process) == counts(expected) and sum(counts(process)) > 0
    assert process["tools"]["everything"] > 100


@pytest.mark.parametrize(
    "how, why",
    [
        ("major", r"the runtime's API table has major version [46], and this agent knows 1 to 3"),
        ("core", r"the runtime's core table has major version [45], and this agent knows 1 to 2"),
        ("extensions", r"the runtime's table of AMD's extensions has major version [89], and this agent knows 1 to 2"),
        ("shorter", r"the runtime has no hsa_amd_queue_intercept_create"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_line_and_the_program_runs(how, why):
    if rocm.RUNTIME == "7" and how == "shorter":
        pytest.skip("ROCm 7's table without twenty of its functions would be one that no version has")
    done, processes = under_a_table(how)
    assert done.returncode == 0 and "passed" in done.stdout
    assert re.fullmatch(f"luthier: {why}: nothing is instrumented\n", rocm.said(done.stderr)) and not processes
