"""Which launches are instrumented, as options and as tools have it."""

from __future__ import annotations

import json

import pytest
import rocm
from places import ROOT

import luthier as lt
from luthier.instrumenting.selection import Select, parse

TOOL = '''
import luthier as lt

class Decide(lt.Tool):
    """Every third launch of a kernel runs as it is."""

    counts = lt.DeviceArray(lt.u64, 1)
    decides = True

    def __init__(self):
        self.seen, self.last = 0, 0

    @lt.hook
    def bump(counts: lt.ptr[lt.u64]):
        lt.wave_atomic_add(counts, 1)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.counts)

    def on_launch(self, launch):
        assert launch.is_instrumented() and not launch.is_instrumented("original")
        if self.seen % 3 == 0:
            launch.override("original")
            assert launch.is_instrumented("original")
        # What the launches before have counted is there to be read while the program runs.
        assert int(self.counts[0]) >= self.last
        self.last = int(self.counts[0])
        self.seen += 1

    def on_exit(self, report):
        report.result = [self.seen, self.last, int(self.counts[0])]
'''


SLOW = '''
import time
import luthier as lt

class Slow(lt.Tool):
    """Takes its time."""

    count = lt.Counter()

    @lt.hook
    def bump(count: lt.counter):
        count += 1

    def on_kernel(self, kernel):
        time.sleep(0.3)
        kernel.insert_at_entry(self.bump, self.count)
'''


@pytest.mark.parametrize(
    "text, selection",
    [
        ("k*", Select("k*")),
        ("f(int, int),grid=64x2,first=3,every=2", Select("f(int, int)", (64, 2, 0), 3, 2)),
        ("*,process=app*", Select("*", process="app*")),
    ],
)
def test_a_selection_is_read_from_text(text, selection):
    assert parse(text) == selection


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "begins with a kernel's name"),
        (",first=1", "begins with a kernel's name"),
        ("k,first=0", "first=0 is no number from 1"),
        ("k,every=x", "every=x is no number"),
        ("k,grid=1x2x3x4", "grid=1x2x3x4 is not of the form"),
        ("k,first=1,first=2", "first is given twice"),
        ("k,process=", "process= is"),
    ],
)
def test_a_selection_that_is_none_says_what_is_wrong(text, why):
    with pytest.raises(lt.ArgumentError, match=why):
        parse(text)


@pytest.fixture(scope="module")
def program():
    rocm.need("hipcc")
    assert (ROOT / "python/luthier/driver/libluthier-agent.so").exists(), "`make driver` builds the agent"
    return rocm.hip("devices"), "modules"


def kernels(folder, program, *options):
    out = folder / "out.json"
    words = ("--json", str(out), *options)
    done = rocm.mock(*program, options=words, MODULE=str(rocm.code_object("vecadd")), LAUNCHES="6")
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr
    found = [k for p in json.loads(out.read_text())["processes"] for o in p["objects"] for k in o["kernels"]]
    return [k for k in found if not k["name"].startswith("__amd_rocclr")], done


@pytest.fixture(scope="module")
def six(tmp_path_factory, program):
    """Instructions of the six launches that each module has."""
    found, _ = kernels(tmp_path_factory.mktemp("all"), program, "--tool", "instr_count")
    [total] = {k["tools"]["instr_count"]["instructions"] for k in found}
    return total


@pytest.mark.parametrize(
    "selection, instrumented",
    [("vecadd,first=2", 2), ("vec*,every=4", 2), ("vecadd,grid=1024", 6), ("vecadd,grid=512", 0), ("vecadd,process=nobody", 0)],
)
def test_launches_are_selected(tmp_path, program, six, selection, instrumented):
    found, _ = kernels(tmp_path, program, "--tool", "instr_count", "--select", selection)
    assert [(k["launches"], k["instrumented"]) for k in found] == [(6, instrumented)] * 3
    # Each launch retires as much as any other.
    counts = {k["tools"]["instr_count"]["instructions"] for k in found if "tools" in k}
    assert counts == ({six // 6 * instrumented} if "nobody" not in selection else set())


def test_a_tool_decides_what_each_launch_runs(tmp_path, program):
    (tmp_path / "decide.py").write_text(TOOL)
    found, _ = kernels(tmp_path, program, "--tool", str(tmp_path / "decide.py"))
    waves = 1024 // 64
    for kernel in found:
        assert (kernel["launches"], kernel["instrumented"]) == (6, 4)
        seen, last, count = kernel["tools"]["decide"]
        assert seen == 6 and 0 < last <= count == 4 * waves


def test_kernels_that_go_before_they_can_be_instrumented_are_named_all_the_same(tmp_path, program):
    (tmp_path / "slow.py").write_text(SLOW)
    found, done = kernels(tmp_path, program, "--tool", str(tmp_path / "slow.py"), "--no-wait")
    assert len(found) == 3 and all(k["name"] == "vecadd" and k["launches"] == 6 for k in found)
    # Whether there was time is another matter.
    assert all("before that was done" in k["why"] if "why" in k else k["tools"] for k in found)
    assert done.stderr.count("vecadd was not instrumented") == sum("why" in k for k in found)


def test_threads_that_launch_a_kernel_at_once_and_do_not_wait_are_all_counted(tmp_path):
    found, _ = kernels(tmp_path, (rocm.hip("streams"), "threads"), "--tool", "instr_count", "--no-wait")
    assert sum(k["launches"] for k in found) == 80


def test_launches_that_do_not_wait_run_the_original_until_the_kernel_is_instrumented(tmp_path):
    program = rocm.hip("streams"), "many_launches"
    found, _ = kernels(tmp_path, program, "--tool", "instr_count", "--no-wait")
    [one], _ = kernels(tmp_path, program, "--tool", "instr_count", "--select", "*increment*,first=1")
    [kernel] = found
    # How many there are of either is a matter of time; what was counted is not.
    assert kernel["launches"] == 5000 and kernel["instrumented"] < 5000
    each = one["tools"]["instr_count"]["instructions"]
    assert kernel["tools"]["instr_count"]["instructions"] == each * kernel["instrumented"]
