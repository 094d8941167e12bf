"""The tools that come along, over unmodified programs: results as without them, and mistakes found. ``LUTHIER_AGENT_DEEP=1`` has
each tool over each case of tests/hip/kernels, and over rocRAND."""

from __future__ import annotations

import os

import pytest
import rocm

import luthier as lt

TOOLS = sorted(set(lt.tools.BUILTIN) - {"fault_inject"})
#: These have nothing to look at in some programs, and no result then.
PARTICULAR = ("lds_conflicts", "nan_check", "precision")
CASES = ("lds", "scratch", "device_printf")

deep = pytest.mark.skipif("LUTHIER_AGENT_DEEP" not in os.environ, reason="LUTHIER_AGENT_DEEP=1: each tool over each program")


def mistake(case: str, tool: str) -> list[dict]:
    rocm.need()
    done = lt.trace([rocm.hip("mistakes"), case], [tool], mock="gfx90a", capture=True)
    return [told for told in done.results(tool.partition(":")[0]) if told]


def test_a_race_in_a_program_is_found():
    (told,) = mistake("race_in_lds", "race_check")
    assert told["looked at"] > 0
    assert {(race["memory"], race["between"], race["bytes"]) for race in told["races"]} == {("lds", "waves", 512)}


def test_a_store_behind_the_end_of_a_programs_allocation_is_found():
    (told,) = mistake("store_behind_the_end", "bounds_check")
    assert told["outside"] == 1 and told["first"][0]["place"].startswith("8 bytes past the end of the allocation at")


def test_a_programs_memory_is_inside():
    rocm.need()
    done = lt.trace([rocm.hip("kernels"), "lds"], ["bounds_check", "init_check", "race_check"], mock="gfx90a", capture=True)
    assert done.status == 0
    checked = [told for tool, empty in (("bounds_check", "accesses"), ("init_check", "reads"), ("race_check", "races")) for told in done.results(tool) if told]  # fmt: skip
    assert len(checked) == 6 and not any(
        told.get("accesses") if "outside" in told else told.get("reads") or told.get("races") for told in checked
    )


def test_a_program_with_several_tools_prints_what_it_did():
    rocm.need()
    plain = rocm.mock(rocm.hip("kernels"), "scratch")
    done = lt.trace([rocm.hip("kernels"), "scratch"], ["mem_trace", "value_profile", "precision"], mock="gfx90a", capture=True)
    assert (done.status, done.stdout) == (plain.returncode, plain.stdout) and done.results("mem_trace")[0]["accesses"] > 0


@deep
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_leaves_a_program_its_results(tool, case):
    rocm.need()
    plain = rocm.mock(rocm.hip("kernels"), case)
    done = lt.trace([rocm.hip("kernels"), case], [tool], mock="gfx90a", capture=True)
    # Waves print in the order in which they get to it.
    assert (done.status, sorted(done.stdout.splitlines())) == (plain.returncode, sorted(plain.stdout.splitlines()))
    assert plain.returncode == 0 and (done.results(tool) or tool in PARTICULAR)


@pytest.mark.parametrize(
    "tool", [name if name in ("nan_check", "launches") else pytest.param(name, marks=deep) for name in TOOLS]
)
def test_each_tool_leaves_rocrand_its_numbers(tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = rocm.library_program("rocrand")
    plain = rocm.mock(program)
    assert plain.returncode == 0 and "passed" in plain.stdout
    wrote = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = lt.trace([program], [tool], mock="gfx90a", capture=True)
    assert (done.status, done.stdout) == (0, plain.stdout) and (done.results(tool) or tool in PARTICULAR)
    assert wrote == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
