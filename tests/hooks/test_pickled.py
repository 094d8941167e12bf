"""Hooks and tools go to other processes: they carry their source, and what it looks up."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier import atomic_add

FACTOR = 3

KERNEL = "KERNEL one(u32 *p) { p[global_x()] = 1; }"


@lt.device
def scaled(x: lt.u32) -> lt.u32:
    return x * FACTOR


class Adds(lt.Tool):
    sums = lt.DeviceArray(lt.u32, 2, init=[5, 6])
    lanes = lt.Channel(64, lane=lt.u32)

    @lt.hook
    def add(sums: lt.ptr[lt.u32], lanes: lt.channel):
        atomic_add(sums, scaled(1))
        lt.record(lanes, lt.lane_id())

    def __init__(self, start: int = 0):
        self.got = start

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.sums, self.lanes)

    def on_records(self, channel, records):
        self.got += len(records)


@lt.hook
def wrong(x: lt.u32):
    x += lt.f32(x) + 1.5


def run(tool: Adds) -> list[int]:
    lt.Device("gfx90a").run(
        compiled.build(KERNEL, "gfx90a"), "one", grid=64, block=64, args=[np.zeros(64, np.uint32)], tools=[tool]
    )
    return tool.sums.read().tolist()


def test_a_hook_that_was_sent_is_the_same_hook():
    assert pickle.loads(pickle.dumps(Adds.add)).tree == Adds.add.tree


def test_a_tool_that_was_sent_goes_on_with_what_it_has():
    tool = pickle.loads(pickle.dumps(Adds(7)))
    assert run(tool) == [5 + 64 * 3, 6] and tool.got == 7 + 64
    assert run(pickle.loads(pickle.dumps(tool))) == [5 + 2 * 64 * 3, 6]


def test_a_hook_of_another_process_needs_no_source_file(tmp_path: Path):
    source = tmp_path / "elsewhere.py"
    source.write_text("import luthier as lt\nN = 4\n\n@lt.hook\ndef add(p: lt.ptr[lt.u32]):\n    lt.atomic_add(p, N)\n")
    program = "import elsewhere, pickle, sys; sys.stdout.buffer.write(pickle.dumps(elsewhere.add))"
    data = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True).stdout
    source.unlink()
    assert '"int": 4' in str(pickle.loads(data).tree).replace("'", '"')


def test_an_error_of_a_hook_that_was_sent_shows_its_line():
    with pytest.raises(lt.HookError, match=r"x \+= lt.f32"):
        pickle.loads(pickle.dumps(wrong)).check()


class Everything(lt.Tool):
    """What a tool can have: a library in HIP, one in IR, a channel, states, a counter, and text to print."""

    hip = lt.HookLibrary(
        "#include <luthier/hooks.h>\n__device__ unsigned long long calls = 7;\n"
        "LT_HOOK void enter() { lt::wave_atomic_add(&calls, 1ull); }\n",
        "hip",
    )
    ir = lt.HookLibrary("define void @nothing() {\n  ret void\n}\n", "ir")
    lanes = lt.Channel(64, lane=lt.u32, passed=lt.u32)
    passed = lt.WaveState(lt.u32)
    table = lt.LaneState(lt.u32, 2)
    waves = lt.Counter()

    @lt.hook
    def enter(passed: lt.inout[lt.u32], table: lt.inout[lt.u32, 2], waves: lt.counter):
        waves += 1
        passed += FACTOR
        table[1] = scaled(lt.lane_id())

    @lt.hook
    def leave(lanes: lt.channel, passed: lt.inout[lt.u32], table: lt.inout[lt.u32, 2]):
        lt.record(lanes, table[1], passed)
        if lt.lane_id() == 5:
            lt.printf("lane %u\n", lt.lane_id())

    def __init__(self) -> None:
        self.got: list[tuple[int, int]] = []

    def on_kernel(self, kernel: lt.Kernel) -> None:
        kernel.insert_at_entry(self.hip["enter"])
        kernel.insert_at_entry(self.ir["nothing"])
        kernel.insert_at_entry(self.enter, self.passed, self.table, self.waves)
        kernel.insert_at_exit(self.leave, self.lanes, self.passed, self.table)

    def on_records(self, channel: lt.Channel, records: np.ndarray) -> None:
        self.got += records.tolist()


def elsewhere(tool: Everything, path: str) -> Everything:
    """Runs a kernel in this process, and sends the tool back."""
    lt.Device("gfx1100").run(path, "one", grid=64, block=64, args=[np.zeros(64, np.uint32)], tools=[tool])
    return tool


def test_a_tool_goes_to_other_processes_and_comes_back_with_what_it_has(capfd):
    path = str(compiled.build(KERNEL, "gfx1100"))
    tool = Everything()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for times in (1, 2):
            tool, other = pool.starmap(elsewhere, [(tool, path), (Everything(), path)])
            for one, runs in ((tool, times), (other, 1)):
                assert sorted(one.got) == sorted([(3 * lane, FACTOR) for wave in (0, 32) for lane in range(32)] * runs)
                assert int(one.waves) == 2 * runs and one.lanes.received == 64 * runs and one.lanes.dropped == 0
                assert one.hip.variables["calls"][0] == 7 + 2 * runs
    # It goes on here.
    elsewhere(tool, path)
    assert int(tool.waves) == 6 and tool.hip.variables["calls"][0] == 13 and tool.lanes.received == 192
    assert capfd.readouterr().out.count("lane 5\n") == 2 * 5


def test_a_tool_that_is_in_use_is_sent_with_the_sum_of_its_modules():
    tool, device = Adds(), lt.Device("gfx90a")
    path = compiled.build(KERNEL, "gfx90a")
    for _ in range(2):
        device.load(path, tools=[tool]).run("one", grid=64, block=64, args=[np.zeros(64, np.uint32)])
    assert pickle.loads(pickle.dumps(tool)).sums.read().tolist() == tool.sums.read().tolist() == [5 + 2 * 64 * 3, 6]
