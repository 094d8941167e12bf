"""One instance of a tool over several modules and devices: its variables tell of all, and of each alone."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier import atomic_add

SOURCE = """
KERNEL one(u32 *p) { p[global_x()] += 1; }
KERNEL two(u32 *p) { p[global_x()] += 2; p[global_x()] *= 3; }
"""


class Counts(lt.Tool):
    """Counts in all the ways there are."""

    waves = lt.Counter()
    sums = lt.DeviceArray(lt.u32, 3, init=[100, 2**32 - 1, 7])
    halves = lt.DeviceArray(lt.f32, 2, init=[0.5, np.inf])
    lanes = lt.Channel(64, lane=lt.u32)

    @lt.hook
    def count(waves: lt.counter, sums: lt.ptr[lt.u32], halves: lt.ptr[lt.f32], lanes: lt.channel):
        waves += 1
        atomic_add(sums, 1)
        atomic_add(sums + 1, 1)
        atomic_add(halves, 0.25)
        lt.record(lanes, lt.lane_id())

    def __init__(self):
        self.got: list[int] = []
        self.launches: list[str] = []

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.count, self.waves, self.sums, self.halves, self.lanes)

    def on_launch(self, launch):
        self.launches.append(launch.kernel)

    def on_records(self, channel, records):
        self.got += records["lane"].tolist()


def launch(module: lt.Module, kernel: str, items: int) -> lt.RunResult:
    return module.run(kernel, grid=items, block=64, args=[np.zeros(items, np.uint32)])


@pytest.fixture(scope="module")
def sources():
    return {name: compiled.build(SOURCE, name) for name in ("gfx90a", "gfx1030")}


def test_a_tool_adds_up_over_devices_and_tells_of_each(sources):
    tool = Counts()
    first, second = lt.Device("gfx90a"), lt.Device("gfx1030")
    modules = [first.load(sources["gfx90a"], tools=[tool]), second.load(sources["gfx1030"], tools=[tool])]
    launch(modules[0], "one", 128)
    launch(modules[1], "two", 64)
    launch(modules[1], "one", 64)
    assert tool.launches == ["one", "two", "one"]
    assert int(tool.waves) == 2 + 4, "wave64 and wave32"
    assert int(tool.waves.on(first)) == 2 and int(tool.waves.on(second)) == 4 == int(tool.waves.on(modules[1]))
    # Lanes, and what each began with once.
    assert tool.sums.read().tolist() == [100 + 256, 255, 7]
    assert tool.sums.on(first).read().tolist() == [228, 127, 7] and tool.sums.on(second)[0] == 228
    assert tool.sums[0] == 356 and tool.sums[-2:].tolist() == [255, 7] and tool.sums.nonzero() == {0: 356, 1: 255, 2: 7}
    assert tool.halves.read().tolist() == [64.5, np.inf]
    assert sorted(tool.got) == sorted([*range(64)] * 2 + [*range(32)] * 4) and tool.lanes.received == 256
    assert tool.lanes.on(first).received == 128 and tool.lanes.dropped == tool.lanes.unfinished == 0
    assert [len(module.reports()) for module in modules] == [1, 1]


def test_what_is_written_is_written_everywhere_and_counted_from(sources):
    tool, device = Counts(), lt.Device("gfx90a")
    modules = [device.load(sources["gfx90a"], tools=[tool], kernels=[kernel]) for kernel in ("one", "two")]
    launch(modules[0], "one", 64)
    tool.sums.write([5, 5, 5])
    assert tool.sums.read().tolist() == [5, 5, 5]
    launch(modules[0], "one", 64)
    launch(modules[1], "two", 64)
    assert tool.sums.read().tolist() == [133, 133, 5]
    launch(device.load(sources["gfx90a"], tools=[tool]), "two", 64)
    assert tool.sums.read().tolist() == [197, 197, 5]
    assert tool.sums.on(modules[1]).read().tolist() == [69, 69, 5]


def test_kernels_of_an_object_one_after_the_other_with_one_tool(sources):
    tool, device = Counts(), lt.Device("gfx90a")
    source = lt.CodeObject.open(sources["gfx90a"])
    for kernel in ("one", "two", "one"):
        device.run(source, kernel, grid=64, block=64, args=[np.zeros(64, np.uint32)], tools=[tool])
    assert int(tool.waves) == 3 and tool.sums[0] == 100 + 192


def test_where_a_tool_is_not_in_use_is_said(sources):
    tool = Counts()
    launch(lt.Device("gfx90a").load(sources["gfx90a"], tools=[tool]), "one", 64)
    with pytest.raises(lt.ToolError, match=r"waves.on\(<Device gfx1030>\): the tool is not in use there"):
        tool.waves.on(lt.Device("gfx1030"))


def test_what_is_no_number_is_not_added_up(sources):
    class Writes(lt.Tool):
        pairs = lt.HookLibrary(
            "@pair = addrspace(1) global { i32, i64 } { i32 1, i64 2 }\n"
            "define void @set(i32 %x) {\n  store i32 %x, ptr addrspace(1) @pair\n  ret void\n}\n",
            "ir",
        )

        def on_kernel(self, kernel):
            kernel.insert_at_entry(self.pairs["set"], lt.Literal(9))

    tool, device = Writes(), lt.Device("gfx90a")
    modules = [device.load(sources["gfx90a"], tools=[tool]) for _ in range(2)]
    for module in modules:
        launch(module, "one", 64)
    with pytest.raises(lt.ToolError, match="holds no numbers of one type that could be added up"):
        tool.pairs.variables["pair"].read()
    assert tool.pairs.variables["pair"].on(modules[0]).read()[0] == 9
