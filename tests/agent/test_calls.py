"""Calls of HSA's and HIP's functions: seen, changed, skipped, and all of them at once without a change."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import cli
import pytest
import rocm
from places import ROOT

from luthier.agent.functions import functions

CALLS = '''
import struct
import luthier as lt

class Queues(lt.Tool):
    """Gives queues another size, and looks at what came of it."""

    hsa = ["hsa_queue_create"]

    def __init__(self):
        self.seen = []

    def on_hsa(self, call):
        if call.phase == "enter":
            self.asked = call.args.size
            call.args.size = 128
        else:
            queue = call.pointee("queue")
            self.seen.append([call.name, self.asked, *struct.unpack("<I", call.read(queue + 24, 4)), call.result])

    def on_exit(self, report):
        report.result = self.seen

class Refuse(lt.Tool):
    """Memory of some size is refused."""

    hip = ["hipMalloc"]
    phases = ("enter",)

    def on_hip(self, call):
        if call.args.size >= 64:
            call.skip(2)

class Answer(lt.Tool):
    """Memory of some size is there, and the function says that it is not."""

    hip = ["hipMalloc"]
    phases = ("exit",)

    def on_hip(self, call):
        if call.args.size >= 64:
            assert call.result == 0
            call.result = 2

class Skip(lt.Tool):
    """No launches of HIP's."""

    hip = ["hipLaunchKernel"]
    phases = ("enter",)
    launches = 0

    def on_hip(self, call):
        self.launches += 1
        self.grid = call.args.numBlocks
        call.skip()

    def on_exit(self, report):
        report.result = [self.launches, list(self.grid)]

class Everything(lt.Tool):
    """Every function of both, before and after."""

    hsa = ["*"]
    hip = ["*"]

    def __init__(self):
        self.names = {}
        self.open = {}

    def on_hsa(self, call):
        if call.phase == "enter":
            self.open[call.number] = call
        else:
            assert self.open.pop(call.number) is call
            self.names[call.name] = self.names.get(call.name, 0) + 1

    on_hip = on_hsa

    def on_exit(self, report):
        report.result = self.names

class Later(lt.Tool):
    """Wraps and unwraps while the program runs."""

    hsa = ["hsa_queue_create"]
    phases = ("exit",)

    def __init__(self):
        self.heard = []

    def on_start(self, app):
        self.heard.append(app.program.rpartition("/")[2])

    def on_hsa(self, call):
        self.heard.append(call.name)
        if call.name == "hsa_queue_create":
            self.app.wrap("hsa_signal_create")
        elif self.heard.count("hsa_signal_create") == 3:
            self.app.unwrap("hsa_signal_*")

    def on_exit(self, report):
        report.result = self.heard
'''


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), "`make driver` builds the agent"


@pytest.fixture(scope="module")
def under(tmp_path_factory):
    """Runs a program under one of the tools above; gives what the run gave, and each process's results of the tool."""
    folder = tmp_path_factory.mktemp("calls")
    head, *classes = CALLS.split("\nclass ")
    for text in classes:
        (folder / f"{text.partition('(')[0]}.py").write_text(f"{head}\nclass {text}")

    def run(tool, *app, target="gfx90a"):
        out = folder / "out.json"
        done = rocm.mock(*app, target=target, options=("--tool", f"{folder}/{tool}.py", "--json", str(out)))
        data = json.loads(out.read_text())
        return done, [p["tools"][tool.lower()] for p in data["processes"] if tool.lower() in p.get("tools", {})], data

    return run


def test_functions_are_those_of_the_headers(tmp_path):
    if shutil.which("clang-22") is None:
        pytest.skip("CLANG IS MISSING")
    for folder in ("python/luthier/agent", "crates/agent/src"):
        (tmp_path / folder).mkdir(parents=True)
    subprocess.run([str(ROOT / "tools/api-signatures"), str(tmp_path)], check=True)
    for file in ("python/luthier/agent/functions.txt", "crates/agent/src/functions.rs"):
        assert (tmp_path / file).read_text() == (ROOT / file).read_text(), f"tools/api-signatures writes another {file}"


def test_the_functions_are_listed_with_their_parameters():
    lines = cli.succeeds("trace", "--functions").splitlines()
    assert [line.partition("(")[0] for line in lines] == [function.name for function in functions()]
    [queue] = cli.succeeds("trace", "--functions", "hsa_queue_create").splitlines()
    assert queue.startswith("hsa_queue_create(agent: handle, size: u32, ") and queue.endswith("-> u32")
    assert "--functions nonsense" in cli.fails("trace", "--functions", "nonsense")


def test_an_argument_is_changed_and_the_runtime_gets_that(under):
    done, [seen], _ = under("Queues", rocm.hip("kernels"), "lds")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    assert seen and all(name == "hsa_queue_create" and asked != 128 and got == 128 for name, asked, got, _ in seen)


@pytest.mark.parametrize("tool", ["Refuse", "Answer"])
def test_a_result_that_a_tool_gives_is_the_programs_whether_the_function_runs_or_not(under, tool):
    done, _, _ = under(tool, rocm.hip("kernels"), "lds")
    assert done.returncode == 1 and re.search(r"hipMalloc\(&in, N \* 4\): (hipErrorOutOfMemory|out of memory)", done.stderr)


def test_a_launch_of_hips_is_skipped(under):
    done, [[launches, grid]], data = under("Skip", rocm.hip("kernels"), "lds")
    assert done.returncode == 1 and launches > 0 and all(n > 0 for n in grid), done.stderr
    names = {k["name"] for p in data["processes"] for o in p["objects"] for k in o["kernels"]}
    assert all(name.startswith("__amd_rocclr") for name in names)


def test_with_every_function_wrapped_nothing_changes(under):
    for program, case in (("kernels", "lds"), ("memory", "symbols")):
        done, [names], _ = under("Everything", rocm.hip(program), case)
        assert done.returncode == 0 and f"{case}: passed" in done.stdout, done.stderr
        assert {
            "hsa_queue_create",
            "hsa_executable_freeze",
            "hipMalloc",
            "hipLaunchKernel",
            "__hipRegisterFatBinary",
        } <= names.keys()
        assert names.keys() <= {function.name for function in functions()}


def test_functions_that_a_program_takes_from_the_library_itself_are_heard(under):
    program = rocm.host("by_address")
    alone = rocm.mock(program)
    assert alone.stdout == "1 GPUs, 5a5a5a5a, 1, 1, 1\n", alone.stderr
    done, [names], _ = under("Everything", program)
    assert done.stdout == alone.stdout, done.stderr
    called = {"hipGetDeviceCount", "hipMalloc", "hipMemset", "hipMemcpy", "hipFree"}
    assert {name: count for name, count in names.items() if name in called} == dict.fromkeys(called, 1)


def test_functions_that_ctypes_takes_from_the_library_are_heard_and_skipped(under):
    script = """
import ctypes
hip, memory = ctypes.CDLL("libamdhip64.so.5"), ctypes.c_void_p()
print([hip.hipMalloc(ctypes.byref(memory), size) for size in (4, 64)])
"""
    done, _, _ = under("Refuse", sys.executable, "-c", script)
    assert done.stdout == "[0, 2]\n", done.stderr


def test_functions_are_wrapped_and_unwrapped_while_the_program_runs(under):
    done, [heard], _ = under("Later", rocm.hip("kernels"), "lds")
    assert done.returncode == 0 and "passed" in done.stdout, done.stderr
    assert heard[0] == rocm.hip("kernels").name and heard[1] == "hsa_queue_create"
    assert heard.count("hsa_signal_create") == 3
