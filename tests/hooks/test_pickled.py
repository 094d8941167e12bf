"""Hooks and tools go to other processes: they carry their source, and what it looks up."""

from __future__ import annotations

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
