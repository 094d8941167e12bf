"""Hooks that access what is not theirs: the finding, or the error, names the array and the hook's own line."""

from __future__ import annotations

import inspect

import compiled
import numpy as np
import pytest

import luthier as lt


@lt.device
def store(to: lt.ptr[lt.u32], index: lt.u32):
    to[index] = 7


class Past(lt.Tool):
    """Stores past the end of its first array, which the second one follows."""

    first = lt.DeviceArray(lt.u32, 10)
    second = lt.DeviceArray(lt.u32, 10)

    def __init__(self, index: int):
        self.index = index

    @lt.hook
    def touch(first: lt.ptr[lt.u32], second: lt.ptr[lt.u32], index: lt.u32):
        # No store: LLVM gives all stores of an RDNA clause the line of the first.
        lt.atomic_max(second, 1)
        if index < 1000:
            first[index] = 5
        else:
            store(first, index)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.touch, self.first, self.second, lt.Imm(self.index))


def _line(text: str) -> int:
    source = inspect.getsource(inspect.getmodule(Past)).splitlines()
    return next(number for number, line in enumerate(source, 1) if line.strip() == text)


def _run(target: str, index: int, **options):
    args = [np.zeros(64, np.float32) for _ in "abc"] + [np.uint32(64)]
    tool = Past(index)
    code = compiled.code_object("vecadd", target=target)
    result = lt.Device(target).run(code, "vecadd", blocks=1, block=64, args=args, tools=[tool], **options)
    return result, tool


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("index", [10, 25])
def test_a_store_past_an_array_is_a_finding_with_the_array_and_the_hooks_line(target, index):
    result, tool = _run(target, index, strict=True)
    (finding,) = result.findings
    assert finding["kind"] == "out-of-bounds"
    assert finding["place"] == f"{4 * (index - 10)} bytes past the end of the tool's variable past.first (40 bytes)"
    (frame,) = finding["source"]
    assert (frame["file"], frame["line"]) == (__file__, _line("first[index] = 5"))
    assert finding["source_text"] == "first[index] = 5"
    assert frame["function"].endswith("Past.touch")
    assert "past.first" in str(finding) and f"{__file__}:{frame['line']}" in str(finding)
    assert list(tool.second) == [1] + 9 * [0], "a red zone belongs to no variable"


def test_all_that_is_inside_is_no_finding():
    result, tool = _run("gfx90a", 9, strict=True)
    assert result.findings == [] and list(tool.first) == 9 * [0] + [5]


def test_arrays_with_first_values_have_red_zones_too():
    class Filled(Past):
        first = lt.DeviceArray(lt.u32, 10, init=range(10))
        second = lt.DeviceArray(lt.u32, 10, init=range(10))

    args = [np.zeros(64, np.float32) for _ in "abc"] + [np.uint32(64)]
    tool = Filled(12)
    result = lt.Device("gfx90a").run(
        compiled.code_object("vecadd"), "vecadd", blocks=1, block=64, args=args, tools=[tool], strict=True
    )
    (finding,) = result.findings
    assert finding["place"].startswith("8 bytes past the end of the tool's variable filled.first")
    assert list(tool.second) == [1, *range(1, 10)]


def test_an_error_at_run_time_has_the_line_of_the_function_that_the_hook_calls():
    with pytest.raises(lt.DeviceError, match="which is in no allocation") as raised:
        _run("gfx90a", 1 << 20)
    error = raised.value
    assert (error.source[0]["file"], error.source[0]["line"]) == (__file__, _line("to[index] = 7"))
    assert error.source[0]["function"].endswith(".store")
    assert "source: to[index] = 7" in str(error)


def test_lines_come_through_a_file(tmp_path):
    made = lt.instrument(compiled.code_object("vecadd"), [Past(10)])
    made.save(tmp_path / "made.hsaco")
    args = [np.zeros(64, np.float32) for _ in "abc"] + [np.uint32(64)]
    result = lt.Device("gfx90a").run(tmp_path / "made.hsaco", "vecadd", blocks=1, block=64, args=args, strict=True)
    (finding,) = result.findings
    assert finding["source"][0]["line"] == _line("first[index] = 5")
