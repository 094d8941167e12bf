"""Every access that mem_trace tells of is one that the mock device has seen, in each wave's order, and none is missing."""

from __future__ import annotations

import compiled
import kernel_cases
import numpy as np
import pytest
from tool_runs import TARGETS, Seen, every, launches, watched

import luthier as lt
from luthier.tools.accesses import ACTIONS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def in_order(columns: dict[str, np.ndarray], scratch: list[int]) -> dict[str, np.ndarray]:
    """Wave after wave, each in its own order, with addresses as offsets from the arrays of arguments, or from the instruction's
    first: where the rest is, differs from launch to launch."""
    order = np.lexsort((columns["wave"], columns["workgroup"]))  # which is stable
    columns = {name: values[order] for name, values in columns.items()}
    apart = columns["argument"] < 0
    for pc in np.unique(columns["pc"][apart]):
        own = apart & (columns["pc"] == pc)
        columns["offset"][own] = columns["address"][own] - columns["address"][own][0]
    columns["offset"][np.isin(columns["pc"], scratch)] = 0  # of scratch tools have offsets, and the device addresses
    return {name: values.astype("i8") for name, values in columns.items() if name != "address"}


def recorded(tool: lt.Tool, table, groups: tuple[int, int]) -> dict[str, np.ndarray]:
    names = ("wave", "lane", "pc", "address", "size")
    columns = {name: table.column(name).to_numpy() for name in names}
    x, y, z = (table.column(f"workgroup_{d}").to_numpy().astype("u8") for d in "xyz")
    columns["workgroup"] = x + groups[0] * (y + groups[1] * z)
    columns["kind"] = np.array([ACTIONS.index(word) for word in table.column("action").to_pylist()])
    columns["argument"] = table.column("argument").fill_null(-1).to_numpy()
    starts = {place.index: place.address for place in tool.places}
    columns["offset"] = columns["address"] - np.array([starts.get(n, 0) for n in columns["argument"].tolist()], "u8")
    return columns


def without_lanes(seen: Seen, kernel: lt.Kernel) -> np.ndarray:
    """Which events are scalar accesses of waves that have no active lane."""
    scalar = [i.address for i in kernel.instructions if i.memory_space and i.works_for == "wave"]
    ran = seen.instructions[np.isin(seen.instructions["pc"], scalar)]
    events = np.flatnonzero(np.isin(seen.memory["pc"], scalar))

    def by_wave(rows: np.ndarray) -> np.ndarray:
        return np.lexsort((rows["wave"], rows["workgroup"]))  # which is stable

    ran, events = ran[by_wave(ran)], events[by_wave(seen.memory[events])]
    np.testing.assert_array_equal(ran["pc"], seen.memory["pc"][events])
    found = np.zeros(len(seen.memory), bool)
    found[events] = ran["exec"] == 0
    return found


@every
def test_accesses_are_those_that_the_device_sees_in_each_waves_order(name, target, tmp_path):
    tool = lt.tools.load(f"mem_trace:out={tmp_path / 'accesses'}")
    told, seen, kernel = watched(name, target, tool)
    table = pq.read_table(tmp_path / "accesses")
    idle = without_lanes(seen, kernel)
    assert idle.sum() == told["without lanes"]
    kept = ~idle & ~np.isin(seen.memory["pc"], [int(address, 0) for address in told["not seen"]])
    events = {n: seen.memory[n][kept] for n in ("workgroup", "wave", "lane", "pc", "address", "size", "kind")}
    events |= {"kind": events["kind"] & 3, **{n: seen.arguments[n][kept] for n in ("argument", "offset")}}
    scratch = [i.address for i in kernel.instructions if i.memory_space == "scratch"]
    device, mine = in_order(events, scratch), in_order(recorded(tool, table, seen.groups), scratch)
    assert set(device) == set(mine) and len(table) == told["accesses"] == told["kept"] == len(device["pc"]) > 0
    for column, values in device.items():
        np.testing.assert_array_equal(mine[column], values, err_msg=column)
    assert [str(p) for p in (tmp_path / "accesses").iterdir()] == told["files"]


def run(name: str, target: str, tool: lt.Tool):
    code = lt.CodeObject.open(compiled.code_object(name, target=target, flags=("-g",)))
    (launch, *_) = kernel_cases.launches(name)
    module = lt.Device(target).load_alone(code, launch.kernel, [tool])
    module.run(launch.kernel, args=launch.args, grid=launch.grid, block=launch.block)
    return module, launch, code.kernel(launch.kernel)


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_and_values_are_those_of_the_arrays(target):
    tool = lt.tools.load("mem_trace:values=yes,scalar=no")
    module, launch, _ = run("vecadd", target, tool)
    (report,) = module.reports()
    rows = report.to_arrow()["accesses"].to_pydict()
    a, b, out = launch.args[:3]
    n = len(a)
    expected = {"loads": n, "stores": 0, "atomics": 0, "bytes": 4 * n}
    assert report.result["by argument"] == {"0": expected, "1": expected, "2": {**expected, "loads": 0, "stores": n}}
    first = {which: min(x for x, w in zip(rows["address"], rows["argument"]) if w == which) for which in (0, 1, 2)}
    for which, address, value, action in zip(rows["argument"], rows["address"], rows["value"], rows["action"]):
        array = (a, b, out)[which].view("u4")
        assert value == array[(address - first[which]) // 4] and action == ("store" if which == 2 else "load")


@pytest.mark.parametrize("target", TARGETS)
def test_values_of_lds_and_of_wide_accesses_are_what_waves_have_stored(target):
    """What a wave loads from LDS, some wave of the workgroup has stored there: in a matrix product nothing else does."""
    tool = lt.tools.load("mem_trace:values=yes,scalar=no")
    module, _, kernel = run("matmul", target, tool)
    rows = module.reports()[0].to_arrow()["accesses"].to_pydict()
    stored: dict[tuple, set] = {}
    looked_at = 0
    for x, y, space, action, address, size, value, high in zip(*(rows[n] for n in ("workgroup_x", "workgroup_y", "space", "action", "address", "size", "value", "value_high"))):  # fmt: skip
        if space != "lds":
            continue
        assert value is not None
        words = [*np.array([value, high], "u8").view("u4")][: size // 4]
        for k, word in enumerate(words):
            if action == "store":
                stored.setdefault((x, y, address + 4 * k), set()).add(int(word))
            else:
                looked_at += 1
                assert int(word) in stored[x, y, address + 4 * k]
    assert looked_at > 1000


def test_most_bounds_what_is_kept_and_not_what_is_counted():
    tool = lt.tools.load("mem_trace:most=100,scalar=no")
    module, launch, _ = run("vecadd", "gfx90a", tool)
    (report,) = module.reports()
    assert report.result["kept"] == 100 == len(report.to_arrow()["accesses"])
    assert report.result["accesses"] == 3 * len(launch.args[0])


def test_a_second_launch_has_a_number_of_its_own_and_a_file_of_its_own(tmp_path):
    tool = lt.tools.load(f"mem_trace:out={tmp_path / 'out'},scalar=no")
    module, launch, _ = run("vecadd", "gfx1100", tool)
    module.reports()
    module.run(launch.kernel, args=launch.args, grid=launch.grid, block=launch.block)
    (report,) = module.reports()
    assert len(report.result["files"]) == 2
    table = pq.read_table(tmp_path / "out")
    assert table.column("launch").value_counts().to_pylist() == [{"values": n, "counts": 2100} for n in (0, 1)]


def test_a_folder_with_tables_of_another_run_is_refused(tmp_path):
    (tmp_path / "old.parquet").touch()
    with pytest.raises(lt.ToolError, match="old.parquet already: name a new folder"):
        lt.tools.load(f"mem_trace:out={tmp_path}")
    (tmp_path / "file").touch()
    with pytest.raises(lt.ToolError, match="file exists"):
        lt.tools.load(f"mem_trace:out={tmp_path / 'file'}")


@pytest.mark.parametrize(
    "name, target", [("matmul", "gfx90a"), ("vecadd", "gfx1100"), ("triton-vadd_f16", "gfx942"), ("histogram", "gfx1201")]
)
def test_accesses_behind_the_first_are_counted_and_not_recorded(name, target):
    code, make, check = launches(name, target)
    told = []
    for options in ("", ":first=1"):
        (launch,) = make()[:1]
        module = lt.Device(target).load_alone(code, launch.kernel, [f"mem_trace{options}"])
        for args in (make()[0].args, launch.args):
            result = module.run(
                launch.kernel, args=args, grid=launch.grid, block=launch.block, lds=getattr(launch, "lds", 0), strict=True
            )
            assert result.findings == []
        told.append(module.reports()[0].result)
        check([launch])
    every, first = told
    # The first launch is over before the host has stopped the records, or not; of the second there are none.
    assert first["accesses"] == every["accesses"] and every["not recorded"] == 0
    assert every["accesses"] // 2 <= first["not recorded"] < every["accesses"]


def test_first_goes_without_values():
    with pytest.raises(lt.ToolError, match="first= goes without values=yes"):
        lt.tools.load("mem_trace:first=10,values=yes")
    with pytest.raises(lt.ToolError, match="first=-1: a number of accesses"):
        lt.tools.load("mem_trace:first=-1")
