"""bounds_check, init_check and race_check against strict mode, on planted mistakes and on kernels without any."""

from __future__ import annotations

from collections import Counter

import compiled
import kernel_cases
import numpy as np
import planted
import pytest
from tool_runs import TARGETS, every, watched

import luthier as lt


def run(name: str, target: str, tool: str | None = None, **given):
    """A planted mistake, with a tool or judged by strict mode."""
    blocks = 2 if name == "race_memory" else 1
    tools = [lt.tools.load(tool)] if tool else []
    result = lt.Device(target).run(
        lt.CodeObject.open(planted.build(name, target)), "planted", blocks=blocks, block=128, args=[np.zeros(128, "u4")],
        tools=tools, strict=["all"], **given,
    )  # fmt: skip
    return result.tools[tool.partition(":")[0]] if tool else result.findings


def judged(findings, kind: str) -> Counter[str]:
    """Lanes by instruction that strict mode has found."""
    return Counter({f"{f['pc']:#x}": f["count"] for f in findings if f["kind"] == kind})


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_outside_of_arrays_is_what_strict_mode_finds(target):
    told = run("past_end", target, "bounds_check")
    assert told["accesses"] == judged(run("past_end", target), "out-of-bounds") and told["outside"] == 8
    first = told["first"][0]
    assert (first["workgroup"], first["lane"], first["size"]) == ([0, 0, 0], 120 % (64 if target.startswith("gfx9") else 32), 4)
    assert first["wave"] == 120 // (64 if target.startswith("gfx9") else 32)
    assert first["place"] == "0 bytes past the end of argument 0 'out'" and first["line"] == "past_end.hip:3"


@pytest.mark.parametrize("target", TARGETS)
def test_undefined_lds_is_what_strict_mode_finds(target):
    told = run("undefined_lds", target, "init_check")
    (read,) = told["reads"]
    _, file, line = planted.mistake("undefined_lds")
    assert {read["pc"]: read["bytes"] // 4} == judged(run("undefined_lds", target), "undefined-lds-read") and read[
        "bytes"
    ] == 64 * 4
    assert read["memory"] == "lds" and read["line"] == f"{file.rpartition('/')[2]}:{line}"


@pytest.mark.parametrize("target", TARGETS)
def test_a_race_in_lds_is_the_one_that_strict_mode_finds(target):
    told = run("race_lds", target, "race_check")
    (race,) = told["races"]
    findings = [f for f in run("race_lds", target) if f["kind"] == "lds-race"]
    assert {race["first"]["pc"], race["second"]["pc"]} == {f"{pc:#x}" for f in findings for pc in (f["pc"], f["other"]["pc"])}
    assert (race["memory"], race["between"], race["bytes"]) == ("lds", "waves", 512)


@pytest.mark.parametrize("target", TARGETS)
def test_a_race_between_workgroups_is_the_one_that_strict_mode_finds(target):
    assert run("race_memory", target, "race_check")["races"] == []
    told = run("race_memory", target, "race_check:workgroups=yes")
    findings = [f for f in run("race_memory", target) if f["kind"] == "memory-race"]
    pcs = {pc for race in told["races"] for pc in (race["first"]["pc"], race["second"]["pc"])}
    assert {f"{pc:#x}" for f in findings for pc in (f["pc"], f["other"]["pc"])} <= pcs
    assert all((race["memory"], race["between"], race["bytes"]) == ("device", "workgroups", 512) for race in told["races"])


@pytest.mark.parametrize("target", TARGETS)
def test_an_output_that_is_read_is_undefined_where_it_is_said_to_be(target):
    told = run("race_memory", target, "init_check:outputs=0")
    (read,) = told["reads"]
    assert read["memory"] == "argument 0" and read["bytes"] > 0
    assert run("race_memory", target, "init_check")["reads"] == []


@every
def test_kernels_without_mistakes_are_told_of_none(name, target):
    for tool, empty in (("bounds_check", "accesses"), ("init_check", "reads"), ("race_check", "races")):
        told, seen, kernel = watched(name, target, lt.tools.load(tool))
        assert not told[empty], tool
        if tool != "bounds_check":
            scratch = {i.address for i in kernel.instructions if i.memory_space == "scratch"}
            vector = {i.address for i in kernel.instructions if i.memory_space and i.works_for == "lane"} - scratch
            vector -= {int(address, 0) for address in told["not seen"]}
            accesses = np.isin(seen.memory["pc"], list(vector)).sum()
            barriers = [i for i in kernel.instructions if i.is_barrier and i.opcode != "s_barrier_signal"]
            waits = sum(seen.counts.get(i.address, 0) for i in barriers) if tool == "race_check" else 0
            assert told["looked at"] == told["accesses"] == accesses + waits


def test_options_that_mean_nothing_are_refused():
    for tool, message in (
        ("init_check:outputs=x", "indices of arguments"),
        ("race_check:most=0", "a number of accesses"),
        ("bounds_check:most=0", "from 1"),
    ):
        with pytest.raises(lt.ToolError, match=message):
            lt.tools.load(tool)


def test_what_is_not_looked_at_any_more_is_counted_and_the_next_launch_begins_anew():
    code = lt.CodeObject.open(compiled.code_object("matmul"))
    launch = kernel_cases.launches("matmul")[0]
    results = []
    for most in (4_000_000, 100):
        module = lt.Device("gfx90a", threads=1).load_alone(code, "matmul", [f"race_check:most={most}"])
        for _ in range(3):
            module.run("matmul", args=launch.args, grid=launch.grid, block=launch.block)
        results.append(module.reports()[0].result)
    every, few = results
    assert few["accesses"] == every["accesses"] == every["looked at"] and few["looked at"] == 3 * 100
