"""The driver: faults, findings, tools, child processes, the pytest plugin, and what is refused."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402
from luthier.tools.instr_count import InstrCount  # noqa: E402
from luthier.triton import gpu  # noqa: E402


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=at < n)  # the load has no mask


LINE = copy_kernel.starting_line_number + 3


def test_a_fault_names_the_line_of_python_and_the_argument(on_gpu):
    on_gpu("gfx942", strict=False)
    x, out = luthier.triton.tensor(np.arange(1000, dtype=np.float32)), np.zeros(1000, np.float32)
    with pytest.raises(lt.DeviceError, match=r"past the end of argument 0 'x'") as raised:
        copy_kernel[(8,)](x, out, 1000, BLOCK=512)
    assert f"test_triton_driver.py:{LINE}" in str(raised.value) and "# the load has no mask" in str(raised.value)
    # The device is as good as before.
    copy_kernel[(1,)](x, out, 512, BLOCK=512)
    np.testing.assert_array_equal(out[:512], np.arange(512))
    last = luthier.triton.last
    assert last.kernel == "copy_kernel" and last.instructions == sum(last.histogram.values()) > 0 and last.findings == []


def test_findings_are_errors_warnings_or_kept(on_gpu):
    x, out = luthier.triton.tensor(np.arange(1000, dtype=np.float32)), np.zeros(1000, np.float32)

    def launch():
        copy_kernel[(8,)](x, out, 1000, BLOCK=512)

    on_gpu("gfx942")
    with pytest.raises(lt.StrictError, match=f"out-of-bounds.*test_triton_driver.py:{LINE}") as raised:
        launch()
    assert raised.value.findings
    on_gpu("gfx942", findings="warn")
    with pytest.warns(lt.FindingWarning, match="out-of-bounds"):
        launch()
    on_gpu("gfx942", findings="keep")
    launch()
    assert {f["kind"] for f in luthier.triton.last.findings} == {"out-of-bounds"}


def test_a_tools_class_watches_each_compilation(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach(InstrCount, kernels="copy_*")
    counts = []
    for dtype in (np.float32, np.int16):
        x, out = np.arange(512, dtype=dtype), np.zeros(512, dtype)
        copy_kernel[(1,)](x, out, 512, BLOCK=512)
        np.testing.assert_array_equal(x, out)
        (name,) = luthier.triton.last.tools
        assert name == "instr_count"
        counts.append(luthier.triton.last)
    assert all(result.instructions > result.app_instructions > 0 for result in counts)
    luthier.triton.detach()
    copy_kernel[(1,)](x, out, 512, BLOCK=512)
    assert luthier.triton.last.instructions == luthier.triton.last.app_instructions == counts[-1].app_instructions


def test_one_tool_serves_all_compilations(on_gpu):
    on_gpu("gfx942")
    tool = InstrCount()
    luthier.triton.attach(tool)
    counted = 0
    for dtype in (np.float32, np.int16, np.float32):
        x = np.zeros(512, dtype)
        copy_kernel[(1,)](x, x, 512, BLOCK=512)
        counted += luthier.triton.last.app_instructions
        assert luthier.triton.last.tools["instr_count"]["instructions"] == counted == int(tool.count)


class Programs(lt.Tool):
    """A record of each wave, and a line for each first one of a program."""

    waves = lt.Channel(16, program=lt.u32, lanes=lt.u64)

    @lt.hook
    def enter(waves: lt.channel):
        lt.record(waves, lt.workgroup_id_x(), lt.exec_mask(), per_wave=True)
        if lt.wave_in_group() == 0 and lt.lane_id() == 0:
            lt.printf("program %u\n", lt.workgroup_id_x())

    def __init__(self):
        self.got: list[int] = []

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.waves)

    def on_records(self, channel, records):
        self.got += records["program"].tolist()

    def on_exit(self, report):
        report.result = sorted(set(self.got))


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_channels_and_printf_of_tools_that_are_attached(on_gpu, target, capfd):
    on_gpu(target)
    luthier.triton.attach(Programs)
    x, out = np.arange(40 * 512, dtype=np.float32), np.zeros(40 * 512, np.float32)
    copy_kernel[(40,)](x, out, len(x), BLOCK=512)
    np.testing.assert_array_equal(x, out)
    assert luthier.triton.last.tools == {"programs": list(range(40))}
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(f"program {n}" for n in range(40))


def test_select_says_which_launches_of_an_attached_tool(on_gpu):
    on_gpu("gfx942")
    tool = Programs()
    luthier.triton.attach(tool, select=[lt.Select("copy_*", every=2)])
    x, out = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    ran = []
    for _ in range(5):
        copy_kernel[(1,)](x, out, 512, BLOCK=512)
        np.testing.assert_array_equal(x, out)
        ran.append(luthier.triton.last.variant)
    assert ran == ["full", "original", "full", "original", "full"] and set(tool.got) == {0}
    luthier.triton.attach(InstrCount, select=["copy_*,first=1"])
    with pytest.raises(lt.ToolError, match="the tools that are attached select different launches"):
        copy_kernel[(1,)](x, out, 512, BLOCK=512)


def test_a_data_pointer_is_the_address_in_the_process(on_gpu):
    on_gpu("gfx942")
    x, out = luthier.triton.tensor(np.arange(512, dtype=np.float32)), np.zeros(512, np.float32)
    assert x.data_ptr() == x.numpy().ctypes.data and x[3:].data_ptr() == x.data_ptr() + 12
    assert luthier.triton.Tensor(out).data_ptr() == out.ctypes.data
    copy_kernel[(1,)](x, out, 512, BLOCK=512)
    np.testing.assert_array_equal(out, x.numpy())


def test_two_targets_take_turns_in_one_process(on_gpu):
    x, out = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    waves = []
    for target in ("gfx942", "gfx1201", "gfx942"):
        on_gpu(target)
        copy_kernel[(1,)](x, out, 512, BLOCK=512)
        assert luthier.triton.last.module.device.processor == target
        waves.append(luthier.triton.last.block)
    assert waves == [(256, 1, 1), (128, 1, 1), (256, 1, 1)]


def test_kernels_may_go_after_the_device_was_uninstalled(on_gpu, monkeypatch):
    noticed = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: noticed.append(told.exc_value))
    for target in ("gfx942", "gfx1201"):
        on_gpu(target)
        compiled = copy_kernel[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float32), 16, BLOCK=16)
        handle = compiled.module
        assert gpu.gpu(target).function(handle).name == "copy_kernel"
        copy_kernel.device_caches.clear()
        luthier.triton.uninstall()
        del compiled
        gc.collect()
        assert not noticed and handle not in gpu.gpu(target).functions


def test_a_kernel_that_was_kept_for_another_target_is_refused(on_gpu):
    x = luthier.triton.tensor(np.zeros(512, np.float32))
    on_gpu("gfx942")
    kept = copy_kernel[(1,)](x, x, 512, BLOCK=512)
    kept[(1, 1, 1)](x, x, 512, 512)
    on_gpu("gfx1201")
    copy_kernel[(1,)](x, x, 512, BLOCK=512)
    with pytest.raises(lt.ArgumentError, match="copy_kernel was compiled for gfx942, and the device is gfx1201"):
        kept[(1, 1, 1)](x, x, 512, 512)


def _in_child(queue):
    x, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    copy_kernel[(1,)](x, out, 512, BLOCK=512)
    queue.put((int(out.sum()), luthier.triton.last.module.device.processor, gpu.current().findings))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_goes_on_with_the_device(on_gpu, method):
    on_gpu("gfx942")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == (511 * 256, "gfx942", "raise")
    child.join()


def test_the_environment_installs_the_device_when_triton_is_imported(tmp_path):
    from importlib.metadata import entry_points

    if not any(ep.name == "luthier" for ep in entry_points(group="triton.backends")):
        pytest.fail("the entry point triton.backends is not installed: make setup")
    source = f"""
import numpy, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_triton_driver import copy_kernel
import luthier.triton
x, out = numpy.arange(512, dtype="int32"), luthier.triton.tensor(numpy.zeros(512, "int32"))
copy_kernel[(1,)](luthier.triton.tensor(x), out, 512, BLOCK=512)
assert (out.numpy() == x).all()
print(luthier.triton.last.module.device.processor)
"""
    done = subprocess.run(
        [sys.executable, "-c", source], env={**os.environ, "LUTHIER_TRITON": "gfx1201"}, capture_output=True, text=True
    )
    assert done.stdout == "gfx1201\n", done.stderr


SUITE = """
import numpy as np, triton, triton.language as tl

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1, mask=at < n)

def test_good(luthier_target):
    x = np.zeros(64, np.int32)
    kernel[(1,)](x, 64, BLOCK=64)
    assert x.tolist() == [1] * 64

def test_bad():
    import luthier.triton
    x = luthier.triton.tensor(np.zeros(60, np.int32))
    kernel[(1,)](x, 60, BLOCK=64)
"""


@pytest.mark.parametrize(
    "options, passed, failed",
    [(["--luthier=gfx942,gfx1201"], 2, 2), (["--luthier=gfx942", "--luthier-strict"], 1, 1)],
)
def test_the_pytest_plugin_runs_a_suite_on_each_target(tmp_path, options, passed, failed):
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert f"{failed} failed, {passed} passed" in done.stdout, done.stdout + done.stderr
    assert ("StrictError" if "--luthier-strict" in options else "DeviceError") in done.stdout


WATCHED_SUITE = """
import numpy as np, pytest, triton, triton.language as tl
import luthier as lt, luthier.triton

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, at, mask=at < n)

class Programs(lt.Tool):
    seen = lt.Channel(64, program=lt.u32)

    @lt.hook
    def enter(seen: lt.channel):
        lt.record(seen, lt.workgroup_id_x(), per_wave=True)
        if lt.wave_in_group() == 0:
            lt.printf("program %u\\n", lt.workgroup_id_x(), per_wave=True)

    def __init__(self):
        self.got = set()

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.seen)

    def on_records(self, channel, records):
        self.got.update(records["program"].tolist())

@pytest.fixture
def programs(luthier_target):
    tool = Programs()
    luthier.triton.attach(tool)
    yield tool
    luthier.triton.detach(tool)

def test_records_come(programs, luthier_target, capsys):
    x = np.zeros(64 * 20, np.int32)
    kernel[(20,)](x, len(x), BLOCK=64)
    assert x.tolist() == list(range(64 * 20)) and programs.got == set(range(20))
    assert luthier.triton.last.module.device.processor == luthier_target
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(f"program {n}" for n in range(20))
"""


def test_the_pytest_plugin_has_records_and_text_of_tools(tmp_path):
    (tmp_path / "test_suite.py").write_text(WATCHED_SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--luthier=gfx942,gfx1100", "--luthier-strict"]
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_pytest_plugin_goes_on_behind_an_access_out_of_bounds_if_asked(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--luthier=gfx942",
        "--luthier-lenient",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "FindingWarning" in done.stdout and "argument 0 'x'" in done.stdout


def test_the_pytest_plugin_refuses_what_is_no_target(tmp_path):
    for options, why in (
        (["--luthier=gfx700"], "there is no mock device for gfx700"),
        (["--luthier-strict"], "--luthier=TARGETS"),
        (["--luthier-lenient"], "--luthier=TARGETS"),
        (["--luthier=gfx942", "--luthier-strict", "--luthier-lenient"], "give one of them"),
    ):
        done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 4 and why in done.stderr and "Traceback" not in done.stderr


def test_what_cannot_be_installed_is_refused_in_a_line(monkeypatch):
    with pytest.raises(lt.ArgumentError, match="no mock device for sm_90"):
        luthier.triton.install("sm_90")
    with pytest.raises(lt.ArgumentError, match="expected one of warn, raise, keep"):
        luthier.triton.install("gfx942", findings="shout")
    monkeypatch.setattr("luthier.triton.versions.metadata.version", lambda name: "3.5.1")
    with pytest.raises(lt.ArgumentError, match="works with Triton 3.6 to 3.9, and this is 3.5.1"):
        luthier.triton.install("gfx942")
    with pytest.raises(lt.ArgumentError, match="no mock device is installed"):
        from luthier.triton.gpu import current

        current()
