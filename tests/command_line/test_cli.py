"""What the command line does when the input is good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import compiled
import numpy as np
import pytest
from cli import fails, luthier, succeeds

import luthier as lt

ARGS = ["--arg", "buf:f32[1000]=arange", "--arg", "buf:f32[1000]=ones", "--arg", "buf:f32[1000]=zeros", "--arg", "u32=1000"]
RUN = ["--kernel", "vecadd", "--grid", "1024", "--block", "256", *ARGS]


@pytest.fixture(scope="module")
def vecadd():
    return compiled.code_object("vecadd")


def test_version():
    assert succeeds("--version") == f"luthier {lt.__version__}\n"


def test_inspect(vecadd):
    text = succeeds("inspect", vecadd)
    for expected in (
        "gfx90a",
        "code object v5",
        "kernel vecadd",
        "enable_sgpr_kernarg_segment_ptr",
        ".text",
        "vecadd.kd",
        "amdhsa.version",
    ):
        assert expected in text
    data = json.loads(succeeds("inspect", vecadd, "--json"))
    (info,) = data["code_objects"]
    (kernel,) = info["kernels"]
    assert kernel["name"] == "vecadd"
    assert [a["kind"] for a in kernel["launch"]["args"][:4]] == ["global_buffer"] * 3 + ["by_value"]
    assert info["metadata"]["amdhsa.kernels"][0][".symbol"] == "vecadd.kd"
    assert "vecadd" in {s["name"] for s in info["symbols"]}


def test_inspect_a_host_library(corpus):
    library = corpus / "bitsandbytes/libbitsandbytes_rocm714.so"
    assert "gfx90a" in succeeds("inspect", library)
    data = json.loads(succeeds("inspect", library, "--json", "--target", "gfx90a"))
    assert {o["processor"] for o in data["code_objects"]} == {"gfx90a"}
    assert sum(len(o["kernels"]) for o in data["code_objects"]) > 100


def test_disasm_and_lift(vecadd):
    text = succeeds("disasm", vecadd, "--kernel", "vecadd")
    assert "global_store_dword" in text and "s_cbranch_execz .LBB" in text and "; live " in text
    document = json.loads(succeeds("lift", vecadd, "--emit", "json"))
    assert document["functions"][0]["name"] == "vecadd" and document["functions"][0]["blocks"]
    assert succeeds("lift", vecadd, "--emit", "dot", "--kernel", "vecadd").startswith("digraph")


def test_run_with_tools(vecadd, tmp_path):
    report, dump = tmp_path / "report.json", tmp_path / "out.npy"
    out = succeeds(
        "run", vecadd, *RUN, "--tool", "instr_count", "--tool", "opcode_hist", "--strict", "--json", report, "--dump", f"2={dump}"
    )
    assert "v_add_f32" in out and "instr_count" in out
    np.testing.assert_array_equal(np.load(dump), np.arange(1000, dtype=np.float32) + 1)
    data = json.loads(report.read_text())
    assert data["kernel"] == "vecadd" and data["target"].startswith("gfx90a")
    assert data["dispatch"] == {"grid": [1024, 1, 1], "workgroup": [256, 1, 1], "workgroups": 4, "waves": 16}
    emulator = data["emulator"]
    assert emulator["findings"] == [] and emulator["seconds"] > 0
    assert emulator["instructions"] > emulator["app_instructions"] > 0
    assert data["tools"]["instr_count"] == {"instructions": emulator["app_instructions"]}
    assert data["tools"]["opcode_hist"]["opcodes"] == emulator["app_histogram"]
    did = data["instrumentation"]
    assert did["points"] > 0 and did["inserted_instructions"] > 0 and did["rejected"] == [] and "vecadd" in did["registers"]


def test_json_on_standard_output_is_nothing_else(vecadd):
    assert json.loads(succeeds("run", vecadd, *RUN, "--json", "-"))["tools"] == {}


def test_instrument_offline(vecadd, tmp_path):
    out, dump = tmp_path / "counted.hsaco", tmp_path / "out.npy"
    before = json.loads(succeeds("run", vecadd, *RUN, "--json", "-"))["emulator"]
    text = succeeds("instrument", vecadd, "--tool", "instr_count", "--tool", "opcode_hist", "--check", "-o", out)
    assert "variable instr_count.count" in text
    assert "instrumented by Luthier" in succeeds("inspect", out)
    args = ["--strict", "--dump", f"2={dump}", "--symbol", "instr_count.count:u64", "--json", "-"]
    after = json.loads(succeeds("run", out, *RUN, *args))
    np.testing.assert_array_equal(np.load(dump), np.arange(1000, dtype=np.float32) + 1)
    assert after["emulator"]["app_instructions"] == before["instructions"]
    assert after["symbols"] == {"instr_count.count": [before["instructions"]]}
    for command in (["llvm-readelf-22", "--all"], ["llvm-objdump-22", "-d"]):
        done = subprocess.run([*command, out], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", done.stderr


def test_bodies_says_where_the_code_of_hooks_stands(vecadd, tmp_path):
    told, calls = {}, {}
    for bodies in ("in-place", "called", "choose"):
        options = ["--tool", "value_profile", "--bodies", bodies, "--check"]
        did = json.loads(succeeds("run", vecadd, *RUN, *options, "--json", "-"))
        told[bodies], calls[bodies] = did["tools"], did["emulator"]["histogram"].get("s_call_b64", 0)
        out = tmp_path / f"{bodies}.hsaco"
        succeeds("instrument", vecadd, *options, "-o", out)
        assert ("s_call_b64" in succeeds("disasm", out, "--kernel", "vecadd")) == (calls[bodies] > 0)
    assert told["in-place"] == told["called"] == told["choose"] and told["called"]
    assert calls["in-place"] == 0 < calls["choose"] <= calls["called"]
    assert "choose from in-place, called, choose" in fails("run", vecadd, *RUN, "--bodies", "never")
    assert "--bodies and --serve are about tools" in fails("trace", "--mock", "gfx90a", "--bodies", "called", "--", "true")


def test_an_instrumented_object_can_be_instrumented_again_or_says_why(vecadd, tmp_path):
    once, twice = tmp_path / "once.hsaco", tmp_path / "twice.hsaco"
    succeeds("instrument", vecadd, "--tool", "instr_count", "-o", once)
    done = luthier("instrument", once, "--tool", "instr_count", "-o", twice)
    assert done.returncode in (0, 2) and done.stderr.count("\n") <= 1, done.stderr
    assert twice.exists() == (done.returncode == 0)


def test_tool_from_a_file_with_options(vecadd, tmp_path):
    path = tmp_path / "loads.py"
    path.write_text(
        "import luthier as lt\n"
        "class Loads(lt.Tool):\n"
        "    seen = lt.DeviceArray(lt.u32, 4)\n"
        "    def __init__(self, add: int = 1, only: str = 'load'):\n"
        "        self.add, self.only = add, only\n"
        "    @lt.hook\n"
        "    def bump(seen: lt.ptr[lt.u32], index: lt.u32, by: lt.u32):\n"
        "        lt.wave_atomic_add(seen + index, by)\n"
        "    def on_kernel(self, kernel):\n"
        "        for instr in kernel.instructions:\n"
        "            if self.only in instr.flags and 'vmem' in instr.flags:\n"
        "                kernel.insert_after(instr, self.bump, self.seen, 2, self.add)\n"
    )
    data = json.loads(succeeds("run", vecadd, *RUN, "--tool", f"{path}:add=3", "--json", "-", "--symbol", "loads.seen:u32"))
    assert data["symbols"] == {"loads.seen": [0, 0, 2 * 16 * 3, 0]}


def test_hook_errors_show_the_source(vecadd, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(
        "import luthier as lt\n"
        "class Broken(lt.Tool):\n"
        "    n = lt.DeviceArray(lt.u32, 1)\n"
        "    @lt.hook\n"
        "    def hook(n: lt.ptr[lt.u32]):\n"
        "        lt.wave_atomic_add(n, lt.nonsense())\n"
        "    def on_kernel(self, kernel):\n"
        "        kernel.insert_before(kernel.instructions[0], self.hook, self.n)\n"
    )
    done = luthier("run", vecadd, *RUN, "--tool", path, "--json", tmp_path / "report.json")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"{path}:6:") and "error" in first
    assert any("lt.nonsense()" in line for line in rest) and any("^" in line for line in rest)
    assert not (tmp_path / "report.json").exists()


def test_a_tools_own_mistake_shows_a_traceback(vecadd, tmp_path):
    path = tmp_path / "oops.py"
    path.write_text("import luthier as lt\nclass Oops(lt.Tool):\n    def on_kernel(self, kernel):\n        return 1 / 0\n")
    done = luthier("run", vecadd, *RUN, "--tool", path)
    assert done.returncode == 3 and "ZeroDivisionError" in done.stderr and "oops.py" in done.stderr


def test_strict_findings_give_exit_status_1(vecadd):
    # Three of the buffers are too short for what the kernel is told.
    short = [a.replace("[1000]", "[100]") for a in RUN]
    done = luthier("run", vecadd, *short, "--strict")
    assert done.returncode == 1, done.stderr
    assert "out-of-bounds" in done.stderr and "global_load_dword" in done.stderr


def test_broken_pipe(corpus):
    path = corpus / "bitsandbytes/gfx90a/libbitsandbytes_rocm714_0.hsaco"
    done = subprocess.run(f"{sys.executable} -m luthier disasm {path} | head -1", shell=True, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.count("\n") == 1


@pytest.fixture
def forever(tmp_path):
    """A kernel that does not end."""
    source = tmp_path / "forever.hip"
    source.write_text(
        'extern "C" __attribute__((global)) void forever(volatile unsigned *p) { while (*p == 0) __builtin_amdgcn_s_sleep(1); }\n'
    )
    path = tmp_path / "forever.hsaco"
    command = [
        "clang-22",
        "-x",
        "hip",
        "--cuda-device-only",
        "-nogpuinc",
        "-nogpulib",
        "--offload-arch=gfx90a",
        "--no-gpu-bundle-output",
        "-O1",
    ]
    subprocess.run([*command, str(source), "-o", str(path)], check=True)
    return path


def test_a_kernel_that_does_not_end_is_given_up(forever):
    run = ("run", forever, "--kernel", "forever", "--grid", "64", "--block", "64", "--arg", "buf:u32[1]=zeros")
    done = luthier(*run, "--watchdog", "100000")
    assert done.returncode == 2 and "stopped after 100" in done.stderr and "0x" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    for wrong in ("0", "-1", "many"):
        done = luthier(*run, f"--watchdog={wrong}")
        assert done.returncode == 2 and "is not a number of instructions" in done.stderr or "expected a number" in done.stderr


def test_interrupt(forever, tmp_path):
    """Ctrl-C while the device computes: the process ends at once and leaves no file."""
    out = tmp_path / "out"
    out.mkdir()
    run = [sys.executable, "-m", "luthier", "run", forever, "--kernel", "forever", "--grid", "64", "--block", "64"]
    child = subprocess.Popen(
        [*run, "--arg", "buf:u32[1]=zeros", "--json", out / "a.json", "--dump", f"0={out}/a.npy"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(os.listdir(out)) < 2:  # the outputs are opened before the run
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=20)
    assert child.returncode == 130 and stderr == "luthier: interrupted\n"
    assert not os.listdir(out)


def test_start_is_quick(vecadd):
    """Importing must not pull in NumPy; the time itself is `make bench`'s business."""
    script = (
        "import sys; from luthier.cli import main; main(['inspect', sys.argv[1]]); "
        "sys.exit(' '.join({'numpy', 'asyncio', 'inspect'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(vecadd)], capture_output=True, text=True)
    assert done.stderr.strip() == "", done.stderr
