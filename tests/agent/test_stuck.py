"""Tools whose code does not come back, and controllers that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import rocm

from luthier.agent.controller import LIBRARY

TOOLS = """
import pathlib, time
import luthier as lt

def stay():
    pathlib.Path({mark!r}).touch()
    while True:
        time.sleep(0.01)

class InKernel(lt.Tool):
    def on_kernel(self, kernel):
        if "dynamic" in kernel.name:
            stay()

class InLaunch(lt.Tool):
    decides = {decides}
    def on_kernel(self, kernel):
        pass
    def on_launch(self, launch):
        if "dynamic" in launch.kernel:
            stay()

class AtStart(lt.Tool):
    def on_start(self, app):
        stay()

class AtExit(lt.Tool):
    def on_kernel(self, kernel):
        pass
    def on_launch(self, launch):
        pass
    def on_exit(self, report):
        stay()
"""
#: Seconds after which it is told of itself; a machine that does much else takes longer.
LATE = 20


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


def wait_for(path, process):
    until = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name, decides", [("InKernel", 0), ("InLaunch", 0), ("InLaunch", 1), ("AtStart", 0), ("AtExit", 0)])
def test_a_tool_that_does_not_come_back_is_given_up_when_the_program_is_to_end(tmp_path, name, decides, number):
    mark, out = tmp_path / "mark", tmp_path / "out.json"
    (tmp_path / "tools.py").write_text(TOOLS.format(mark=str(mark), decides=bool(decides)))
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--tool", f"{tmp_path}/tools.py:{name}"]
    command += ["--tool", "instr_count", "--json", str(out), "--", str(rocm.hip("kernels")), "lds"]

    # A group of its own, as a shell makes one: what a terminal sends comes to all of it.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=rocm.ENVIRONMENT, start_new_session=True
    )
    try:
        wait_for(mark, process)
        sent = time.monotonic()
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - sent < LATE
    ended_well = name == "AtExit" or name == "InLaunch" and not decides and process.returncode == 3
    wanted = {-number, 130} if number == signal.SIGINT else {-number}
    assert process.returncode in wanted | ({3} if ended_well else set()), said
    where = {"InKernel": "on_kernel", "InLaunch": "on_launch", "AtStart": "on_start", "AtExit": "on_exit"}[name]
    if name != "AtExit":
        assert f"did not come back from {where} ({tmp_path}/tools.py:" in said, said
    data = json.loads(out.read_text())
    kernels = {k["name"]: k for p in data["processes"] for o in p["objects"] for k in o["kernels"]}
    if name == "AtStart":
        assert not kernels
        return
    reduce = next(k for name, k in kernels.items() if "reduce" in name)
    assert reduce["tools"]["instr_count"]["instructions"] > 0


def test_a_controller_that_is_killed_leaves_nothing(tmp_path):
    """At any moment, from before it listens until its program runs."""
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--tool", "instr_count", "--", "sleep", "60"]
    for moment in range(int(os.environ.get("LUTHIER_KILLS", "10"))):
        process = subprocess.Popen(command, env={**rocm.ENVIRONMENT, "TMPDIR": str(tmp_path)}, start_new_session=True)
        time.sleep(0.05 * moment)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert not list(tmp_path.iterdir()), moment
