"""The agent among other tools, many threads and processes, libraries, and users."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import rocm
from agent_tools import Waves
from places import ROOT

import luthier as lt
from luthier.agent.controller import Controller

LIBRARY = ROOT / "python/luthier/driver/libluthier-agent.so"
#: Rounds of loading and unloading; what is left is looked at after a quarter of them and at the end.
ROUNDS = int(os.environ.get("LUTHIER_AGENT_ROUNDS", "24"))


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


def traced(tools, *app, mock="gfx90a", select=(), **variables):
    done = lt.trace(app, tools, mock=mock, select=select, env={**rocm.ENVIRONMENT, **variables}, capture=True)
    assert done.status == 0, (done.stdout or "")[-2000:] + (done.stderr or "")[-4000:]
    return done


def launches(done) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for kernel in (k for p in done.processes for o in p["objects"] for k in o["kernels"]):
        entry = found.setdefault(kernel["name"], [0, 0])
        entry[0] += kernel["launches"]
        entry[1] += kernel["instrumented"]
    return found


class Everything(lt.Tool):
    """Every function of both, before and after."""

    hsa = ("*",)
    hip = ("*",)

    def __init__(self):
        self.calls = 0

    def on_hsa(self, call):
        self.calls += call.phase == "exit"

    on_hip = on_hsa

    def on_exit(self, report):
        report.result = self.calls


@pytest.mark.parametrize("order", ["behind", "before"])
def test_another_tool_in_the_chain_and_every_function_wrapped_change_nothing(order):
    other = str(rocm.hsa_tool("packet_tool"))
    program = rocm.hip("kernels")
    alone = rocm.mock(program, "lds", HSA_TOOLS_LIB=other)
    done = traced([Everything], program, "lds", HSA_TOOLS_LIB=other if order == "behind" else f"{other} {LIBRARY}")
    seen = re.search(r"packet tool: \d+ executables, (\d+) dispatches", alone.stderr)
    assert seen and int(seen[1]) > 0 and f", {seen[1]} dispatches" in done.stderr and "passed" in done.stdout
    assert done.results("everything")[0] > 100


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param(["instr_count"], id="launches"),
        pytest.param(
            ["instr_count", Everything],
            id="calls",
            marks=pytest.mark.skipif(
                "LUTHIER_AGENT_DEEP" not in os.environ, reason="LUTHIER_AGENT_DEEP=1: and every call wrapped"
            ),
        ),
    ],
)
def test_many_threads_streams_gpus_and_a_child_are_all_counted(tools):
    """Every launch of a kernel retires as many instructions as any other."""
    done = traced(tools, rocm.hip("crowd"), "family", mock="gfx90a,2", select=["*add_to*", "*twice*"])
    assert "passed" in done.stdout and len(done.processes) == 2
    for name in ("add_to", "twice"):
        [counts] = [n for kernel, n in launches(done).items() if name in kernel]
        # Two processes, ten threads, two GPUs, four streams, three rounds.
        assert counts == [2 * 10 * 2 * 4 * 3] * 2
        kernels = [k for p in done.processes for o in p["objects"] for k in o["kernels"] if name in k["name"]]
        assert len(kernels) == 4
        assert len({k["tools"]["instr_count"]["instructions"] / k["instrumented"] for k in kernels}) == 1


def test_a_child_without_exec_before_the_gpu_is_used_is_a_process_of_its_own():
    class Mallocs(lt.Tool):
        hip = ("hipMalloc",)
        phases = ("exit",)

        def __init__(self):
            self.seen = 0

        def on_hip(self, call):
            self.seen += 1

        def on_exit(self, report):
            report.result = self.seen

    done = traced([Mallocs, "instr_count"], rocm.hip("devices"), "fork_before_use")
    assert "passed" in done.stdout and done.results("mallocs") == [1, 1]
    counts = [r["instructions"] for r in done.results("instr_count")]
    assert len(counts) == 2 and counts[0] == counts[1] > 0


class Ends(Waves):
    """The launches that are over."""

    def __init__(self):
        self.over = []

    def on_complete(self, launch):
        self.over.append(launch.number)

    def on_exit(self, report):
        report.result = sorted(self.over) or None


class Half(Waves):
    """Launches half of each grid."""

    decides = True

    def on_launch(self, launch):
        launch.change(grid=(launch.grid[0] // 2, 1, 1))


@pytest.mark.parametrize("intercept", [False, True])
def test_an_application_with_signals_and_an_intercept_queue_of_its_own_sees_what_it_sees_alone(intercept):
    variables = {"MODULE": str(rocm.code_object("vecadd")), "LAUNCHES": "100"}
    if intercept:
        variables["INTERCEPT"] = variables["HSA_TOOLS_LIB"] = str(rocm.hsa_tool("intercepting"))
    alone = rocm.mock(rocm.host("dispatch"), **variables)
    assert alone.stdout == f"1024 elements, {100 * intercept} packets\n", alone.stderr
    done = traced([Waves], rocm.host("dispatch"), **variables)
    assert done.stdout == alone.stdout and done.results("waves") == [100 * 1024 // 64]
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert (kernel["launches"], kernel["instrumented"], kernel["unfinished"]) == (100, 100, 0)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1030"])
def test_code_that_is_loaded_in_the_deprecated_way_is_instrumented(target):
    """As GCC's libgomp loads it; the device says what is right."""
    variables = {"MODULE": str(rocm.code_object("vecadd", target))}
    alone = rocm.mock(rocm.host("deserialized"), target=target, options=("--log",), **variables)
    [expected] = re.findall(r"has retired (\d+) instructions of the kernel vecadd", alone.stderr)
    done = traced(["instr_count"], rocm.host("deserialized"), mock=target, **variables)
    assert done.stdout == alone.stdout == "1024 sums right\n", done.stderr
    [counted] = done.results("instr_count")
    assert counted["instructions"] == int(expected)
    assert [p["unseen"] for p in done.processes if "unseen" in p] == []


@pytest.mark.parametrize("tool", [Waves, Ends])
def test_handlers_of_the_application_may_wait_for_launches(tool):
    """The runtime has one thread for all handlers, the agent's among them."""
    variables = {"MODULE": str(rocm.code_object("vecadd")), "HANDLERS": "20"}
    alone = rocm.mock(rocm.host("in_handler"), **variables)
    assert alone.stdout == "60 waits in handlers\n", alone.stderr
    done = traced([tool], rocm.host("in_handler"), **variables)
    assert done.stdout == alone.stdout
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert (kernel["launches"], kernel["instrumented"], kernel["unfinished"]) == (80, 80, 0)
    if tool is Ends:
        assert done.results("ends") == [list(range(80))]


@pytest.mark.parametrize("tool", [Waves, Ends])
def test_an_application_may_be_further_ahead_than_its_queue_has_room_for(tool):
    """ROCr 5.2 ends a program when two packets of one doorbell find no room behind an intercepted queue."""
    variables = {"MODULE": str(rocm.code_object("vecadd")), "LAUNCHES": "320"}
    alone = rocm.mock(rocm.host("ahead"), **variables)
    assert alone.stdout == "320 launches, 0 sums wrong\n", alone.stderr
    done = traced([tool], rocm.host("ahead"), **variables)
    assert done.stdout == alone.stdout, (done.status, done.stderr)
    [kernel] = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    assert (kernel["launches"], kernel["instrumented"], kernel["unfinished"]) == (320, 320, 0)


def test_a_packet_is_changed_and_the_gpu_gets_that():
    done = traced([Half], rocm.host("dispatch"), MODULE=str(rocm.code_object("vecadd")), LAUNCHES="3")
    assert done.stdout == "512 elements, 0 packets\n" and done.results("half") == [3 * 512 // 64]


def test_the_agent_is_one_small_library_that_needs_the_c_library_only():
    needed = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"NEEDED.*\[(.*?)\]", needed))
    assert names <= {"libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"} and LIBRARY.stat().st_size < 2 << 20


class Left(lt.Tool):
    """What a process has open and mapped when code objects have gone."""

    waves = lt.Counter()

    def __init__(self):
        self.seen = []

    @lt.hook
    def bump(waves: lt.counter):
        waves += 1

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.waves)

    def on_executable(self, executable, event):
        if event == "destroyed":
            pid = self.app.pid
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the program does not wait, and may have ended
                with open(f"/proc/{pid}/maps") as maps:
                    mapped = sum("luthier" in line for line in maps)
                self.seen.append([_files_of_ours(pid), mapped, _files_of_ours("self"), len(self.app.executables)])

    def on_exit(self, report):
        report.result = self.seen if self.seen else int(self.waves)


def _files_of_ours(pid):
    """How many a process has open. It opens and closes others meanwhile."""
    count = 0
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += "luthier" in os.readlink(f"/proc/{pid}/fd/{number}")
    return count


def test_nothing_is_left_of_code_objects_that_are_loaded_and_unloaded():
    module = str(rocm.code_object("vecadd"))
    done = traced([Left], rocm.hip("devices"), "modules", MODULE=module, ROUNDS=str(ROUNDS))
    seen, *waves = done.results("left")
    assert waves == [1024 // 64] * ROUNDS
    assert len(seen) >= ROUNDS // 2, seen
    # The program does not wait for what it is told of, and may be in the next round: with three files of ours.
    assert all(last <= first + 3 for first, last in zip(seen[0], seen[-1], strict=True)), seen


def test_a_runtime_that_is_shut_down_and_started_again_is_watched_again():
    class Sizes(lt.Tool):
        hsa = ("hsa_queue_create",)
        phases = ("enter",)

        def __init__(self):
            self.seen = []

        def on_hsa(self, call):
            self.seen.append(call.args.size)

        def on_queue(self, queue, event):
            self.seen.append(event)

        def on_exit(self, report):
            report.result = self.seen

    done = traced([Sizes], rocm.host("restart"))
    assert done.stdout == "passed\n"
    assert done.results("sizes") == [[64, "created", "destroyed", 128, "created", "destroyed"]]


def test_a_process_of_another_user_is_refused():
    if os.geteuid() != 0:
        pytest.skip("ROOT IS NEEDED to be another user")
    script = """
import os, socket, sys
path = sys.argv[1]
if sys.argv[2] == "held":  # a way in, opened by a user who may
    path = f"/proc/self/fd/{os.open(path, os.O_PATH)}"
os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.connect(path)
except PermissionError:
    sys.exit(13)
try:
    s.send(b'{"message": "ended"}')
    sys.exit(0 if s.recv(100) == b"" else 1)
except ConnectionError:
    sys.exit(0)
"""
    with Controller(lambda: [Left()]) as controller:
        command = [sys.executable, "-c", script, controller.path]
        assert subprocess.run([*command, "by name"]).returncode == 13  # the files of a process are its user's
        os.chmod(controller.path, 0o777)
        assert subprocess.run([*command, "held"]).returncode == 0
        while not controller._threads:  # it is entered when it has been started
            time.sleep(0.001)
        [process] = controller.processes
        controller._threads[0].join(20)
        assert process.trouble == "a process of user 65534 has connected: this is user 0"


def test_the_agent_refuses_a_controller_of_another_user(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("ROOT IS NEEDED to be another user")
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        try:
            os.seteuid(65534)
            listener.listen(1)  # whose the socket is, is settled here
        finally:
            os.seteuid(0)
        done = rocm.mock(rocm.hip("kernels"), "lds", HSA_TOOLS_LIB=str(LIBRARY), LUTHIER_AGENT=path)
    assert done.returncode == 0 and "passed" in done.stdout
    assert "it belongs to user 65534, and this process to 0" in done.stderr


def _matrix(folder):
    """What tests/hip/rocsparse.cpp reads."""
    random, size = np.random.default_rng(5), 257
    dense = np.where(random.random((size, size)) < 0.05, random.standard_normal((size, size)), 0)
    np.fill_diagonal(dense, 4 + random.random(size))
    rows, columns = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int32)
    index = np.sort(random.choice(size, 50, replace=False)).astype(np.int32)
    given = {
        "row": starts, "col": columns.astype(np.int32), "value": dense[rows, columns], "x": random.standard_normal(size),
        "index": index, "sparse": random.standard_normal(50), "many": random.standard_normal((12, size)),
    }  # fmt: skip
    for name, array in given.items():
        array.tofile(folder / name)


@pytest.mark.skipif("LUTHIER_AGENT_DEEP" not in os.environ, reason="LUTHIER_AGENT_DEEP=1: rocRAND's and rocSPARSE's kernels")
@pytest.mark.parametrize("name", ["rocrand", "rocsparse"])
def test_libraries_give_the_same_and_are_counted_exactly(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "rocsparse":
        _matrix(tmp_path)
    program = rocm.library_program(name)
    plain = rocm.mock(program, options=("--log",))
    assert plain.returncode == 0 and "passed" in plain.stdout
    wrote = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    retired: dict[str, int] = {}
    for count, kernel in re.findall(r"has retired (\d+) instructions of the kernel (.*)", plain.stderr):
        retired[kernel] = retired.get(kernel, 0) + int(count)
    done = traced(["instr_count"], program)
    assert wrote == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kernels = [k for p in done.processes for o in p["objects"] for k in o["kernels"]]
    found: Counter[str] = Counter()
    for kernel in kernels:
        # rocSPARSE's triangular solver waits in loops for other workgroups: how often they go round is a matter of time.
        if "tools" in kernel and "csrsv" not in kernel["name"]:
            found[kernel["name"]] += kernel["tools"]["instr_count"]["instructions"]
    left = {k["name"] for k in kernels if "why" in k and not k["name"].startswith("__amd_rocclr")}
    # The driver shows names in another way: kernels are told apart by what they retire. Those without a name are ROCr's.
    others = re.compile(r"of the runtime|at 0x|__amd_rocclr|.*csrsv")
    expected = Counter(n for name, n in retired.items() if not others.match(name))
    assert found and Counter(found.values()) <= expected and len(found) + len(left) == expected.total()
    print(f"{name}: {len(found)} kernels counted exactly, left as they are: {sorted(left)}")
