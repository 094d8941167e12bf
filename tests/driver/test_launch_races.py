"""Strict mode finds launches and copies that touch the same bytes and that nothing orders, under unmodified HIP programs."""

from __future__ import annotations

import re

import pytest
import rocm
from hip_programs import CASES

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
#: What the line says, and the source lines of both parties: of each case in tests/hip/unordered.hip.
FILL, TWICE = "p[i] = value", "to[i] = 2 * from[i]"
WRONG = {
    "two_writers": (r"it writes 400 bytes that launch \d+ \(fill.*\) on queue \d+ writes", FILL, FILL),
    "writer_and_reader": (r"it reads 65536 bytes that launch \d+ \(fill.*\) on queue \d+ writes", TWICE, FILL),
    "reader_and_writer": (r"it writes 65536 bytes that launch \d+ \(twice.*\) on queue \d+ reads", FILL, TWICE),
    "kernel_and_copy": (r"65536 bytes that .* on queue \d+ (reads|writes)", FILL, None),
    "copy_and_kernel": (r"65536 bytes that .* on queue \d+ (reads|writes)", TWICE, None),
    "wrong_stream": (r"it reads 65536 bytes that launch \d+ \(fill.*\) on queue \d+ writes", TWICE, FILL),
    "early_event": (r"it reads 65536 bytes that launch \d+ \(fill.*\) on queue \d+ writes", TWICE, FILL),
}


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need_rocm7()


def judged(program, case: str, target: str) -> list[str]:
    """The lines about races between launches."""
    done = rocm.mock(program, case, target=target, options=("--strict=launch-race",))
    assert f"{case}: passed" in done.stdout, done.stderr
    return [line for line in done.stderr.splitlines() if "launch-race:" in line]


def line_of(text: str) -> str:
    lines = (rocm.SOURCES / "unordered.hip").read_text().splitlines()
    return f"unordered.hip:{next(number for number, line in enumerate(lines, 1) if text in line)}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", WRONG)
def test_a_race_between_launches_is_found_with_both_lines(case, target):
    said, own, other = WRONG[case]
    [line] = judged(rocm.hip7("unordered", TARGETS), case, target)
    assert re.search(said, line) and "nothing orders the two" in line, line
    assert line_of(own) in line, line
    if other is not None:
        assert re.search(f"the other is at pc .*{line_of(other)}", line), line


@pytest.mark.parametrize("target", TARGETS)
def test_launches_in_order_or_of_different_bytes_are_no_finding(target):
    program = rocm.hip7("unordered", TARGETS)
    assert [judged(program, case, target) for case in ("in_order", "by_flag")] == [[], []]


@pytest.mark.parametrize("name", ["memory", "streams", "pools", "kernels"])
def test_programs_whose_results_are_right_have_no_such_finding(name):
    program = rocm.hip7(name, ("gfx90a",))
    cases = [*CASES[name], *(("ordered_by_streams", "graph_allocations", "growing") if name == "pools" else ())]
    found = {case: judged(program, case, "gfx90a") for case in cases}
    assert {case: lines for case, lines in found.items() if lines} == {}
