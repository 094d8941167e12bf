"""Tools over unchanged HIP programs on mock GPUs: what they count is what the device counts."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import rocm
from places import ROOT

TOOL = ROOT / "tests/support/accesses.py"


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), (
        "`make driver` builds the agent, and so does `make setup`"
    )


def traced(folder, *app, tools=("instr_count",), target="gfx90a", options=(), **variables):
    """What ``luthier trace --tool`` did, and its JSON."""
    words = [word for tool in tools for word in ("--tool", str(tool))]
    out = folder / "out.json"
    done = rocm.mock(*app, target=target, options=(*words, "--json", str(out), *options), **variables)
    return done, json.loads(out.read_text())


def kernels(data) -> dict:
    """Launches of each kernel, and how many of them were instrumented."""
    found: dict = {}
    for loaded in (o for p in data["processes"] for o in p["objects"]):
        for kernel in loaded["kernels"]:
            all_, instrumented = found.get(kernel["name"], (0, 0))
            found[kernel["name"]] = all_ + kernel["launches"], instrumented + kernel["instrumented"]
    return found


def results(data, tool) -> list:
    return [k["tools"][tool] for p in data["processes"] for o in p["objects"] for k in o["kernels"] if "tools" in k]


def counted_by_the_device(*app, target="gfx90a") -> int:
    """Instructions of all launches without a tool, but for the runtime's and HIP's own kernels."""
    log = rocm.mock(*app, target=target, options=("--log",)).stderr
    lines = re.findall(r"has retired (\d+) instructions of the kernel (.*)", log)
    assert lines
    # ROCr's own kernels, for copies, are loaded by no code object that has their names.
    others = ("of the runtime", "at 0x", "__amd_rocclr")
    return sum(int(count) for count, name in lines if not name.startswith(others))


@pytest.mark.parametrize("name, case", [("kernels", "lds"), ("kernels", "math"), ("memory", "symbols"), ("streams", "threads")])
def test_instructions_are_those_that_the_device_retires_without_the_tool(tmp_path, name, case):
    program = rocm.hip(name)
    done, data = traced(tmp_path, program, case, tools=("instr_count", "opcode_hist"))
    assert done.returncode == 0 and f"{case}: passed" in done.stdout, done.stderr
    assert all(n == instrumented for name, (n, instrumented) in kernels(data).items() if not name.startswith("__amd_rocclr"))
    expected = counted_by_the_device(program, case)
    assert sum(r["instructions"] for r in results(data, "instr_count")) == expected
    assert sum(sum(r["opcodes"].values()) for r in results(data, "opcode_hist")) == expected


def test_a_tool_of_ones_own_hears_of_each_launch_on_each_gpu(tmp_path):
    done, data = traced(tmp_path, rocm.hip("devices"), "all_devices", tools=(TOOL,), target="gfx90a,2")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    assert {o["gpu"] for p in data["processes"] for o in p["objects"] if any("tools" in k for k in o["kernels"])} == {0, 1}
    heard = [launch for r in results(data, "accesses") for launch in r["launches"]]
    assert len(heard) == sum(instrumented for _, instrumented in kernels(data).values()) > 0
    assert all(count > 0 for r in results(data, "accesses") for count in r["counts"])


def test_a_kernel_that_calls_through_pointers_runs_as_it_is_and_says_so(tmp_path):
    if rocm.RUNTIME == "7":
        pytest.skip("clang 22, which compiles for ROCm 7, makes a direct call of it")
    done, data = traced(tmp_path, rocm.hip("kernels"), "scratch")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    left = [k for p in data["processes"] for o in p["objects"] for k in o["kernels"] if "through a pointer" in k.get("why", "")]
    assert len(left) == 1 and left[0]["instrumented"] == 0
    assert f"kernel {left[0]['name']} was not instrumented" in done.stderr


def test_only_selected_kernels_are_instrumented(tmp_path):
    done, data = traced(tmp_path, rocm.hip("kernels"), "lds", options=("--select", "nothing*"))
    assert done.returncode == 0 and "passed" in done.stdout
    assert all(instrumented == 0 for _, instrumented in kernels(data).values()) and not results(data, "instr_count")


def test_status_and_signals_are_the_programs_and_what_was_counted_is_kept(tmp_path):
    program = rocm.hip("kernels")
    script = f"{program} lds; kill -KILL $$"
    done, data = traced(tmp_path, "sh", "-c", script)
    assert done.returncode == -signal.SIGKILL and data["status"] == -signal.SIGKILL
    assert data["processes"][0]["ended"] == "in the usual way"
    assert all(result["instructions"] > 0 for result in results(data, "instr_count")) and results(data, "instr_count")
    assert rocm.mock("sh", "-c", "exit 42", options=("--tool", "instr_count")).returncode == 42


def test_a_kernel_that_ends_the_process_is_counted_up_to_there(tmp_path):
    done, data = traced(tmp_path, rocm.hip("mistakes"), "wild_store")
    assert done.returncode == -signal.SIGABRT
    assert data["processes"][0]["ended"] == "without notice" and "ended without notice" in done.stderr
    [kernel] = [k for o in data["processes"][0]["objects"] for k in o["kernels"] if k.get("unfinished")]
    assert kernel["instrumented"] == kernel["unfinished"] == 1 and "1 launch had not ended" in done.stderr


def test_a_program_that_leaves_by_exit_has_its_kernel_named_as_unfinished(tmp_path):
    done, data = traced(tmp_path, rocm.hip("mistakes"), "leaves_at_once")
    assert done.returncode == data["status"] == 8
    assert data["processes"][0]["ended"] == "without notice" and "1 launch had not ended" in done.stderr
    [kernel] = [k for o in data["processes"][0]["objects"] for k in o["kernels"] if k.get("unfinished")]
    assert kernel["instrumented"] == kernel["unfinished"] == 1


@pytest.mark.parametrize("order", ["behind", "before"])
def test_another_tool_in_the_chain_sees_what_it_always_sees(tmp_path, order):
    """A tool of ROCr's own kind, behind the agent and before it."""
    other, agent = str(rocm.hsa_tool("packet_tool")), str(ROOT / "python/luthier/driver/libluthier-agent.so")
    program = rocm.hip("kernels")
    alone = rocm.mock(program, "lds", HSA_TOOLS_LIB=other)
    seen = re.search(r"packet tool: (\d+) executables, (\d+) dispatches", alone.stderr)
    assert alone.returncode == 0 and seen is not None and int(seen[2]) > 0
    done, data = traced(tmp_path, program, "lds", HSA_TOOLS_LIB=other if order == "behind" else f"{other} {agent}")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    # Which way our own executables are loaded depends on the order; packets are the same.
    assert f", {seen[2]} dispatches" in done.stderr
    plain, expected = traced(tmp_path, program, "lds")
    assert plain.returncode == 0 and results(data, "instr_count") == results(expected, "instr_count") != []


def test_a_report_is_whole_when_the_program_is_killed(tmp_path, request):
    """At random moments; ``LUTHIER_AGENT_KILLS`` says how many."""
    source, program = random.Random(7), rocm.hip("streams")
    start = time.monotonic()
    _, whole = traced(tmp_path, program, "many_launches")
    duration = time.monotonic() - start
    [each] = {r["instructions"] / 5000 for r in results(whole, "instr_count")}
    out = tmp_path / "out.json"
    # The path of a socket is short.
    temporary = Path(tempfile.mkdtemp(dir="/tmp", prefix="killed-"))
    request.addfinalizer(lambda: shutil.rmtree(temporary))
    words = ["--tool", "instr_count", "--json", str(out), "--", str(program), "many_launches"]
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", *words]
    environment = {**rocm.ENVIRONMENT, "TMPDIR": str(temporary)}
    ends = []
    for _ in range(int(os.environ.get("LUTHIER_AGENT_KILLS", "2"))):
        out.unlink(missing_ok=True)
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
        children = Path(f"/proc/{tracer.pid}/task/{tracer.pid}/children")
        while not (child := children.read_text().split()) and tracer.poll() is None:
            time.sleep(0.001)
        time.sleep(source.triangular(0, duration, duration))  # late rather than early: first, much is started
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child[0]), signal.SIGKILL)
        tracer.communicate(timeout=rocm.TIMEOUT)
        data = json.loads(out.read_text())
        assert tracer.returncode == data["status"] and data["status"] in (-signal.SIGKILL, 0)
        assert all(p["ended"] in ("in the usual way", "without notice") for p in data["processes"])
        watched = [k for p in data["processes"] for o in p["objects"] for k in o["kernels"] if "tools" in k]
        for kernel in watched:
            assert 0 <= kernel.get("unfinished", 0) <= kernel["instrumented"] == kernel["launches"]
            # All that has ended is counted, and of the one that was under way perhaps a part.
            ended = kernel["instrumented"] - kernel.get("unfinished", 0)
            assert each * ended <= kernel["tools"]["instr_count"]["instructions"] <= each * (ended + 1)
            assert data["status"] != 0 or ended == 5000
        ends += [(k["instrumented"], k.get("unfinished", 0)) for k in watched] or ["before the first"]
        # HIP's own compiler may leave files of its own.
        assert not Path(f"/proc/{child[0]}").exists() and not list(temporary.glob("luthier*"))
    print(f"launched and unfinished when killed: {sorted(map(str, ends))}")


def test_children_are_followed_unless_told_not_to(tmp_path):
    script = f"{rocm.hip('kernels')} lds && {rocm.hip('kernels')} lds"
    done, data = traced(tmp_path, "sh", "-c", script)
    assert done.returncode == 0 and len(data["processes"]) == 2
    done, data = traced(tmp_path, "sh", "-c", script, options=("--no-follow",))
    assert done.returncode == 0 and done.stdout.count("passed") == 2 and not data["processes"]
    done, data = traced(tmp_path, rocm.hip("kernels"), "lds", options=("--no-follow",))
    assert done.returncode == 0 and len(data["processes"]) == 1 and results(data, "instr_count")


def test_without_a_controller_the_program_runs_as_it_is():
    agent = str(ROOT / "python/luthier/driver/libluthier-agent.so")
    done = rocm.mock(rocm.hip("kernels"), "lds", HSA_TOOLS_LIB=agent)
    assert done.returncode == 0 and "passed" in done.stdout and "no controller" in done.stderr
    done = rocm.mock(rocm.hip("kernels"), "lds", HSA_TOOLS_LIB=agent, LUTHIER_AGENT="/does/not/exist")
    assert done.returncode == 0 and "passed" in done.stdout and "nothing is instrumented" in done.stderr


def test_a_tool_that_fails_shows_its_traceback_and_the_program_goes_on(tmp_path):
    tool = tmp_path / "failing.py"
    tool.write_text(
        "import luthier as lt\nclass Failing(lt.Tool):\n    def on_kernel(self, kernel):\n        raise KeyError('mine')\n"
    )
    done, data = traced(tmp_path, rocm.hip("kernels"), "lds", tools=(tool,))
    assert done.returncode == 3 and "passed" in done.stdout and "KeyError: 'mine'" in done.stderr
    assert data["status"] == 0 and data["processes"][0]["ended"] == "a tool has failed"


def test_bad_tools_are_one_line_and_nothing_runs(tmp_path):
    command = [
        sys.executable,
        "-m",
        "luthier",
        "trace",
        "--mock",
        "gfx90a",
        "--tool",
        "nonsense",
        "--",
        "touch",
        str(tmp_path / "ran"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "nonsense" in done.stderr
    assert not (tmp_path / "ran").exists()
