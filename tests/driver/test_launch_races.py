"""Strict mode finds launches, copies and accesses of the host to the same bytes that nothing orders, under unmodified HIP programs."""

from __future__ import annotations

import ctypes
import os
import re

import pytest
import rocm
from hip_programs import CASES

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
#: What both parties do to how many bytes, in either order: the mock GPU runs them as it comes. Of each case in tests/hip/unordered.hip.
FILL, TWICE = "p[i] = value", "to[i] = 2 * from[i]"
WRONG = {
    "two_writers": (400, {"writes"}, [FILL]),
    "writer_and_reader": (65536, {"writes", "reads"}, [FILL, TWICE]),
    "reader_and_writer": (65536, {"writes", "reads"}, [FILL, TWICE]),
    "kernel_and_copy": (65536, {"writes", "reads"}, [FILL]),
    "copy_and_kernel": (65536, {"writes", "reads"}, [TWICE]),
    "wrong_stream": (65536, {"writes", "reads"}, [FILL, TWICE]),
    "early_event": (65536, {"writes", "reads"}, [FILL, TWICE]),
}
# Of tests/hip/hasty.hip: what the launch or copy does, what the host does, and where both are.
HASTY = {
    "reads_managed": ("writes", "reads", [FILL, "of.m[100]"]),
    "writes_what_is_read": ("reads", "writes", [TWICE, "of.p[5] = 7"]),
    "overwrites": ("writes", "writes", [FILL, "of.p[6] = 2"]),
    "reads_late": ("writes", "reads", [FILL, "of.p[2000]"]),
    "reads_copied": ("writes", "reads", ["of.p[3000]"]),
    "changes_copied": ("reads", "writes", ["of.p[4000] = 1"]),
    "sends": ("writes", "reads", [FILL]),
    "wrong_stream": ("writes", "reads", [FILL, "of.m[200]"]),
    "leaves": ("writes", "reads", [FILL, "of->m[300]"]),
}


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need_rocm7()


def judged(program, case: str, target: str) -> list[str]:
    """The lines about races between launches."""
    done = rocm.mock(program, case, target=target, options=("--strict=launch-race",))
    assert f"{case}: passed" in done.stdout, done.stderr
    return [line for line in done.stderr.splitlines() if "launch-race:" in line]


def line_of(text: str, source: str = "unordered.hip") -> str:
    lines = (rocm.SOURCES / source).read_text().splitlines()
    return f"{source}:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def has_userfaultfd() -> bool:
    """As the driver asks for it: all of it, system calls' accesses included."""
    opened = ctypes.CDLL(None, use_errno=True).syscall(323, os.O_CLOEXEC | os.O_NONBLOCK)
    if opened >= 0:
        os.close(opened)
    return opened >= 0


needs_userfaultfd = pytest.mark.skipif(
    not has_userfaultfd(),
    reason="userfaultfd is not allowed here (root, or vm.unprivileged_userfaultfd=1): the host's accesses cannot be seen",
)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", WRONG)
def test_a_race_between_launches_is_found_with_both_lines(case, target):
    size, does, places = WRONG[case]
    [line] = judged(rocm.hip7("unordered", TARGETS), case, target)
    said = re.search(r"it (\w+) (\d+) bytes that .* on queue \d+ (\w+), and nothing orders the two", line)
    assert said and {said[1], said[3]} == does and int(said[2]) == size, line
    assert all(line_of(place) in line for place in places), line
    # A copy has no instruction.
    assert ("the other is at pc" in line) == ("copy" not in case), line


@needs_userfaultfd
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", HASTY)
def test_a_host_that_does_not_wait_for_a_launch_or_copy_is_found_with_its_line(case, target):
    does, host, places = HASTY[case]
    [line] = judged(rocm.hip7("hasty", TARGETS), case, target)
    assert f"it {does} memory that the host {host} without having waited for it" in line, line
    assert all(line_of(place, "hasty.hip") in line for place in places), line
    # The host's function, where the access is the program's own and not a system call's.
    assert case == "sends" or f"({case}() in " in line or f"({case} in " in line, line
    assert line.startswith("luthier: a copy: ") == (case in ("reads_copied", "changes_copied")), line


@needs_userfaultfd
@pytest.mark.parametrize("target", TARGETS)
def test_a_host_that_waits_is_no_finding(target):
    program = rocm.hip7("hasty", TARGETS)
    assert [judged(program, case, target) for case in ("in_order", "by_flag")] == [[], []]


@needs_userfaultfd
def test_a_host_that_waits_is_no_finding_on_rocm_5():
    program = rocm.hip("hasty")
    assert [judged(program, case, "gfx90a") for case in ("in_order", "by_flag")] == [[], []]


@pytest.mark.parametrize("target", TARGETS)
def test_launches_in_order_or_of_different_bytes_are_no_finding(target):
    program = rocm.hip7("unordered", TARGETS)
    assert [judged(program, case, target) for case in ("in_order", "by_flag")] == [[], []]


def test_launches_in_order_are_no_finding_on_rocm_5():
    # There the host is taken to know of work as soon as it is done.
    program = rocm.hip("unordered")
    assert [judged(program, case, "gfx90a") for case in ("in_order", "by_flag")] == [[], []]


@pytest.mark.parametrize("name", ["memory", "streams", "pools", "kernels"])
def test_programs_whose_results_are_right_have_no_such_finding(name):
    program = rocm.hip7(name, ("gfx90a",))
    cases = [*CASES[name], *(("ordered_by_streams", "graph_allocations", "growing") if name == "pools" else ())]
    found = {case: judged(program, case, "gfx90a") for case in cases}
    assert {case: lines for case, lines in found.items() if lines} == {}
