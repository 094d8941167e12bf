"""Launches of HIP programs, recorded and done again."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import rocm
from cli import fails, luthier, succeeds

import luthier as lt
from luthier.agent.controller import LIBRARY
from luthier.replay import Way, replay

PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__device__ int bias = 7;
__managed__ int seen;
__global__ void scale(const int *a, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = out[i] + a[i] * 2 + bias; atomicAdd(&seen, 1); }
}
__global__ void turn(int *words) {
    extern __shared__ int lds[];
    lds[threadIdx.x] = words[threadIdx.x];
    __syncthreads();
    words[threadIdx.x] = lds[blockDim.x - 1 - threadIdx.x];
}
__global__ void wrong(int *p) { p[threadIdx.x] = 1; }
int main(int argc, char **argv) {
    const int n = 1000;
    int *a, *out, *pinned;
    if (hipMalloc(&a, n * 4) || hipMalloc(&out, n * 4) || hipHostMalloc(&pinned, 256 * 4, 0)) return 9;
    int host[n];
    for (int i = 0; i < n; i++) host[i] = i;
    hipMemcpy(a, host, n * 4, hipMemcpyHostToDevice);
    hipMemset(out, 0, n * 4);
    // Each launch, and the copies around it, are asynchronous: the next one may begin before the program knows of an end.
    for (int k = 0; k < 3; k++) scale<<<(n + 63) / 64, 64>>>(a, out, n);
    hipMemcpyAsync(host, out, n * 4, hipMemcpyDeviceToHost, 0);
    for (int i = 0; i < 256; i++) pinned[i] = i * i;
    turn<<<1, 256, 1024>>>(pinned);
    hipMemsetAsync(out, 1, n * 4, 0);
    if (hipDeviceSynchronize()) return 8;
    for (int i = 0; i < n; i++) if (host[i] != 3 * (2 * i + 7)) return 7;
    if (argc > 1) { wrong<<<1, 64>>>((int *)64); hipDeviceSynchronize(); }
    return pinned[0] == 255 * 255 && seen == 3000 ? 5 : 6;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"
    folder = tmp_path_factory.mktemp("captured")
    (folder / "app.hip").write_text(PROGRAM)
    gpus = ["--offload-arch=gfx90a", "--offload-arch=gfx1030"]
    subprocess.run(["hipcc", "-O2", *gpus, "app.hip", "-o", "app"], cwd=folder, check=True, capture_output=True)
    return folder / "app"


@pytest.mark.parametrize("gpu", ("gfx90a", "gfx1030"))
@pytest.mark.parametrize("number", (1, 2, 3))
def test_each_of_several_launches_is_recorded_as_it_found_and_left_memory(program, gpu, number):
    case = lt.capture([program], "scale*", launch=number, mock=gpu)
    out = next(region for region in case.regions if "argument 1" in region.what)
    a = np.arange(1000)
    assert np.frombuffer(out.before, "i4")[:1000].tolist() == ((number - 1) * (2 * a + 7)).tolist()
    assert np.frombuffer(out.left, "i4")[:1000].tolist() == (number * (2 * a + 7)).tolist()
    did = replay(case, Way(tools=[lt.tools.load("instr_count")]))
    assert did.is_same, [str(d) for d in did.differences]
    assert did.tools["instr_count"]["instructions"] == replay(case).instructions


def test_host_memory_and_dynamic_lds_come_along(program):
    case = lt.capture([program], "turn*", mock="gfx90a")
    assert case.dispatch.lds == 1024 and case.dispatch.block == (256, 1, 1)
    assert replay(case).is_same
    # The program's memory is not there any more; the case has its own.
    words = next(np.frombuffer(region.left, "i4")[:256] for region in case.regions if "argument 0" in region.what)
    assert words.tolist() == [(255 - i) ** 2 for i in range(256)]


def test_on_the_command_line(program, tmp_path):
    path = tmp_path / "turn.luthier"
    done = luthier("capture", "--kernel", "turn*", "--mock", "gfx1030", "-o", path, "--", program)
    assert done.returncode == 5 and "turn.luthier: Case of _Z4turnPi on gfx1030" in done.stderr
    assert "the same as recorded" in succeeds("replay", path, "--strict")
    assert "one outcome under 5 schedules" in succeeds("explore", path, "--schedules", "5")
    run = subprocess.run([os.sys.executable, "-m", "pytest", "-q", path], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "1 passed" in run.stdout
    missing = tmp_path / "none.luthier"
    capture = ("capture", "--mock", "gfx90a", "-o", missing)
    assert "no kernel nothing* was launched 1 times" in fails(*capture, "--kernel", "nothing*", "--", program)
    assert not missing.exists()
    assert "launches count from 1" in fails(*capture, "--kernel", "turn*", "--launch", "0", "--", program)
    assert "nothing to run" in fails(*capture, "--kernel", "turn*")
    assert "is no case file, or is damaged" in fails("replay", program)
    assert "the case shows nothing" in fails("reduce", path, "-o", missing)
    assert not missing.exists()


def test_a_launch_of_a_program_is_debugged(program):
    launch = ("--kernel", "scale*", "--launch", "2", "--mock", "gfx90a", "--schedule", "pct:7")
    commands = ("c", "print arg1.view('i4')[3]", "why arg1[12]", "rc", "info breaks")
    words = [word for command in commands for word in ("-x", command)]
    done = luthier("debug", *launch, "--batch", *words, "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the program has ended with status 5" in done.stderr
    assert f"{2 * (2 * 3 + 7)}" in done.stdout and "global_store" in done.stdout
    assert "no kernel nothing was launched 1 times" in fails("debug", "--kernel", "nothing", "--mock", "gfx90a", "--", program)


def test_an_editor_debugs_a_launch_of_a_program(program):
    told = {"app": [str(program)], "kernel": "turn*", "mock": "gfx1030", "stopOnEntry": True}
    messages = b""
    for number, (command, arguments) in enumerate(
        [
            ("initialize", {"adapterID": "luthier"}),
            ("launch", told),
            ("configurationDone", {}),
            ("threads", {}),
            ("disconnect", {}),
        ],
        1,
    ):
        body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        messages += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    done = subprocess.run([sys.executable, "-m", "luthier", "dap"], input=messages, capture_output=True, timeout=120)
    assert done.returncode == 0 and b'"success": false' not in done.stdout, done
    assert b'"reason": "entry"' in done.stdout and b"workgroup (0, 0, 0) wave 7" in done.stdout


def test_a_launch_that_ends_the_program_is_recorded(program, tmp_path):
    path = tmp_path / "wrong.luthier"
    done = luthier("capture", "--kernel", "wrong*", "--mock", "gfx90a", "-o", path, "--", program, "more")
    assert done.returncode == 134 and path.exists()
    case = lt.Case.open(path)
    assert case.error == "the program ended before the launch did"
    did = replay(case)
    assert did.stop is not None and did.is_same and did.stop.address == 64


@pytest.mark.skipif(not os.environ.get("LUTHIER_CAPTURE_DEEP"), reason="deep: LUTHIER_CAPTURE_DEEP=1, every kernel of tests/hip")
@pytest.mark.parametrize("gpu", ("gfx90a", "gfx1030"))
@pytest.mark.parametrize(
    ("name", "case"), [("kernels", "lds"), ("kernels", "scratch"), ("streams", "many_launches"), ("memory", "symbols")]
)
def test_kernels_of_the_test_programs_are_replayed_to_the_bit(gpu, name, case, tmp_path):
    rocm.need("hipcc")
    built = rocm.hip(name, targets=(gpu,))
    names = {kernel["name"] for process in lt.trace([built, case], ["instr_count"], mock=gpu).processes for o in process["objects"] for kernel in o["kernels"]}  # fmt: skip
    assert names
    for kernel in names:
        assert replay(lt.capture([built, case], kernel, mock=gpu)).is_same, kernel


def test_a_program_waits_at_its_launch_and_goes_on_to_the_next_one(program):
    launch = ("--kernel", "scale*", "--mock", "gfx90a")
    seen = "print arg1.view('i4')[3]"
    commands = (seen, "c", seen, "c", seen, "c", seen, "nl", seen, "info breaks", "nl")
    commands = ("break entry if group == 0 and wave == 0", "c", *commands)
    done = luthier("debug", *launch, "--batch", *(word for one in commands for word in ("-x", one)), "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    # The second launch finds in memory what the first one has left in the program's own run, and the third one both.
    assert [int(line) for line in done.stdout.splitlines() if line.isdigit()] == [0, 13, 13, 13, 26], done.stdout
    assert done.stdout.count("the next launch: _Z5scalePKiPii") == 2 and "there is no further launch" in done.stdout
    assert "breakpoint 1: the entry" in done.stdout and "the program has ended with status 5" in done.stderr


def test_a_program_that_ends_while_it_waits_is_told_of_in_one_line(program, tmp_path):
    script = tmp_path / "killed.sh"
    script.write_text(f"#!/bin/sh\n{program} &\necho $! > {tmp_path}/pid\nwait $!\nexit 3\n")
    script.chmod(0o755)
    words = [sys.executable, "-m", "luthier", "debug", "--kernel", "turn*", "--mock", "gfx90a", "--", str(script)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    assert line.startswith("event 0"), line
    os.kill(int((tmp_path / "pid").read_text()), 9)
    out, err = process.communicate("continue\nwhy arg0[8]\nnext-launch\n", timeout=120)
    assert process.returncode == 0 and "there is no further launch" in out and "global_store" in out + line, out
    assert err.splitlines()[-1] == "luthier: the program has ended while its launch waited, with status 3", err


def test_an_editor_goes_on_to_the_next_launch_of_a_program(program):
    told = {"app": [str(program)], "kernel": "scale*", "mock": "gfx90a", "stopOnEntry": True}
    requests = [("initialize", {"adapterID": "luthier"}), ("launch", told), ("configurationDone", {})]
    requests += [("continue", {"threadId": 1})] * 6 + [("disconnect", {})]
    messages = b""
    for number, (command, arguments) in enumerate(requests, 1):
        body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        messages += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    done = subprocess.run([sys.executable, "-m", "luthier", "dap"], input=messages, capture_output=True, timeout=120)
    assert done.returncode == 0 and b'"success": false' not in done.stdout, done
    assert done.stdout.count(b"the next launch: ") == 2 and done.stdout.count(b'"event": "terminated"') == 1, done.stdout
    assert b"the program has ended: there is no further launch" in done.stdout
