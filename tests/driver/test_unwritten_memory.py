"""Device memory under HIP that nothing has written: what copies, fills and kernels leave unwritten is found."""

from __future__ import annotations

import re

import pytest
import rocm

KIND = "undefined-memory"
DEVICE = ("device", "large", "pitched", "again")
HOWS = ("copy", "async", "within", "fill", "kernel", "rows")


@pytest.fixture(scope="module", autouse=True)
def _rocm():
    rocm.need("hipcc")


def strict(memory: str, how: str, *options: str):
    return rocm.mock(rocm.hip("unwritten"), memory, how, options=options or (f"--strict={KIND}",))


@pytest.mark.parametrize("memory, how", [("device", how) for how in HOWS] + [(memory, "fill") for memory in DEVICE[1:]])
def test_forty_floats_that_nothing_has_written_are_found(memory, how):
    done = strict(memory, how)
    assert (done.returncode, done.stdout) == (1, "it went on\n"), done.stderr
    first, last = rocm.said(done.stderr).splitlines()
    assert f"{KIND}: what memory gets is undefined: memory at 0x" in first, first
    assert "unwritten.hip:14" in first and "wave 0 lane 60" in first and "the first of 40 lanes" in first, first
    assert re.search(r", 240 bytes into the \d+ bytes of memory of GPU 0", first), first
    assert last.endswith("checked, 1 finding")


def test_without_anybody_all_are_found():
    assert "the first of 100 lanes" in strict("device", "nobody").stderr


@pytest.mark.parametrize("memory, how", [("device", "all"), ("pinned", "nobody"), ("managed", "nobody")])
def test_what_is_written_and_memory_of_the_host_are_silent(memory, how):
    done = strict(memory, how)
    assert (done.returncode, done.stdout) == (0, "it went on\n"), done.stderr
    assert done.stderr.endswith("checked, 0 findings\n")


def test_it_is_on_request():
    done = strict("device", "nobody", "--strict")
    assert done.returncode == 0, done.stderr
    assert KIND in strict("device", "nobody", "--strict=all").stderr


def strict7(memory: str, how: str):
    rocm.need_rocm7()
    return rocm.mock(rocm.hip7("unwritten"), memory, how, options=(f"--strict={KIND}",))


@pytest.mark.parametrize("memory", ("device", "pool", "own pool", "mapped"))
def test_on_rocm_7_pools_and_mapped_memory_begin_unwritten(memory):
    done = strict7(memory, "fill")
    assert (done.returncode, done.stdout) == (1, "it went on\n"), done.stderr
    (first,) = [line for line in done.stderr.splitlines() if KIND in line]
    assert "unwritten.hip:14" in first and "wave 0 lane 60" in first and "the first of 40 lanes" in first, first


@pytest.mark.parametrize("memory, how", [("pool", "all"), ("mapped", "all"), ("pool again", "nobody")])
def test_on_rocm_7_what_is_written_or_given_out_again_is_silent(memory, how):
    done = strict7(memory, how)
    assert (done.returncode, done.stdout) == (0, "it went on\n"), done.stderr
    assert rocm.said(done.stderr).endswith("checked, 0 findings\n")
