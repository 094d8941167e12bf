"""Strict mode under HIP: allocations end where the program's own sizes say, not with the runtime's pages."""

from __future__ import annotations

import re

import pytest
import rocm

MEMORY = ("device", "large", "pinned", "managed", "registered")
#: ROCm 5.2 and 7, whose tables of functions have other versions.
RUNTIMES = ("5", "7")


@pytest.fixture(scope="module", autouse=True)
def _rocm():
    rocm.need("hipcc")


def strict(memory: str, first: int, count: int, runtime: str = "5"):
    """The program's end, without what ROCm 7's runtime says by itself."""
    program = rocm.hip7("bounds") if runtime == "7" else rocm.hip("bounds")
    done = rocm.mock(program, memory, str(first), str(count), options=("--strict",))
    done.stderr = rocm.said(done.stderr)
    return done


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("memory", MEMORY)
def test_all_of_an_allocation_may_be_accessed(memory, runtime):
    done = strict(memory, 0, 100, runtime)
    assert (done.returncode, done.stdout) == (0, "it went on\n"), done.stderr
    assert done.stderr == "luthier: strict: 1 launch checked, 0 findings\n"


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("memory", MEMORY)
def test_one_float_behind_the_end_is_found_and_the_program_goes_on(memory, runtime):
    done = strict(memory, 0, 101, runtime)
    assert (done.returncode, done.stdout) == (1, "it went on\n"), done.stderr
    found = done.stderr.splitlines()[:-1]
    assert len(found) == 2 and all("out-of-bounds" in line and "bounds.hip:9" in line for line in found), done.stderr
    # Lane 36 of the second wave is the hundred and first.
    assert all("wave 1 lane 36" in line and "of an allocation that ends at" in line for line in found), done.stderr


def test_a_float_before_registered_memory_is_found():
    done = strict("registered", -1, 2)
    found = [line for line in done.stderr.splitlines() if "out-of-bounds" in line]
    assert done.returncode == 1 and len(found) == 2, done.stderr
    assert all("lane 0" in line and "of an allocation that begins at" in line for line in found), done.stderr


def test_a_finding_names_the_size_that_was_asked_for():
    found = strict("device", 0, 101).stderr
    assert re.search(r", 0 bytes past the end of the 400 bytes of memory of GPU 0", found), found


def test_without_strict_mode_pages_are_whole():
    done = rocm.mock(rocm.hip("bounds"), "device", "0", "101")
    assert (done.returncode, done.stdout, rocm.said(done.stderr)) == (0, "it went on\n", "")


def test_kinds_without_bounds_find_nothing_there():
    done = rocm.mock(rocm.hip("bounds"), "device", "0", "101", options=("--strict=hazard",))
    assert (done.returncode, rocm.said(done.stderr)) == (0, "luthier: strict: 1 launch checked, 0 findings\n")
