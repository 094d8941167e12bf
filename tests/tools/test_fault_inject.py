"""Faults change what they say they change, and outcomes are those that the kernel's arithmetic says."""

from __future__ import annotations

import json
from collections import Counter

import compiled
import numpy as np
import pytest
from tool_runs import TARGETS, TRITON_TARGETS, launches

import luthier as lt
from luthier.cli import main
from luthier.tools.fault_inject import OUTCOMES, campaign

SOURCE = """
KERNEL twice(u32 *out, const u32 *a) {
    u32 i = global_x(), x = a[i], sum = 0;
    for (u32 k = 0; k < 3; k++) { sum += x; asm volatile("" : "+v"(sum)); }
    out[i] = sum; }
KERNEL idle(u32 *out) { u32 i = global_x(); u32 unused; asm volatile("v_mov_b32 %0, 7" : "=v"(unused)); out[i] = 3; }
KERNEL chase(u32 *out, const u32 *next, u32 rounds) {
    u32 at = global_x(); volatile u32 n = rounds;
    for (u32 k = 0; k != n; k++) { at = next[at & 255]; asm volatile("" : "+v"(k)); }
    out[global_x()] = at; }
"""


def code(target: str) -> lt.CodeObject:
    return lt.CodeObject.open(compiled.build(SOURCE, target))


@pytest.mark.parametrize("target", TARGETS)
def test_one_bit_of_one_lane_changes_at_the_time_that_was_asked_for(target):
    built = code(target)
    size = built.program.wavefront_size
    adds = [i for i in built.kernel("twice").instructions if i.opcode in ("v_add_u32", "v_add_nc_u32") and i.block.loop]
    loads = [i for i in built.kernel("twice").instructions if i.is_load and i.works_for == "lane"]
    places = [(loads[0], 0, 3)] + ([(adds[0], time, 1) for time in range(3)] if adds else [])
    for instr, time, weight in places:
        args = [np.zeros(256, "u4"), np.arange(256, dtype="u4") * 1000]
        lane, wave = 5, 1
        tool = lt.tools.load(f"fault_inject:at={instr.address:#x},x=1,wave={wave},lane={lane},bit=3,time={time}")
        result = lt.Device(target).run(built, "twice", grid=256, block=128, args=args, tools=[tool], strict=True)
        changed = np.flatnonzero(args[0] != args[1] * 3)
        assert changed.tolist() == [128 + wave * size + lane] and result.tools["fault_inject"]["flipped"] == 1
        x = int(args[1][changed[0]])
        assert int(args[0][changed[0]]) == ((x ^ 8) * 3 if weight == 3 else (x * (time + 1) ^ 8) + x * (2 - time))


@pytest.mark.parametrize("target", TARGETS)
def test_a_lane_that_does_not_come_there_is_left_alone(target):
    built = code(target)
    load = next(i for i in built.kernel("twice").instructions if i.is_load and i.works_for == "lane")
    args = [np.zeros(256, "u4"), np.arange(256, dtype="u4")]
    tool = lt.tools.load(f"fault_inject:at={load.address:#x},x=7")
    told = lt.Device(target).run(built, "twice", grid=256, block=128, args=args, tools=[tool]).tools["fault_inject"]
    assert told["flipped"] == 0
    np.testing.assert_array_equal(args[0], args[1] * 3)


@pytest.mark.parametrize("target", TARGETS)
def test_faults_in_what_nothing_reads_are_masked_and_in_what_is_stored_wrong(target):
    built = code(target)

    def args():
        return [np.zeros(128, "u4")]

    given = {"grid": 128, "block": 64, "runs": 8}
    (dead,) = [i for i in built.kernel("idle").instructions if i.text.endswith(", 7")]
    masked = campaign(target, built, "idle", args, only=lambda i: i == dead, **given)
    assert masked.outcomes == {"masked": 8, "wrong": 0, "fault": 0, "hang": 0}

    def more():
        return [np.zeros(128, "u4"), np.arange(128, dtype="u4")]

    wrong = campaign(target, built, "twice", more, only=lambda i: i.is_load and i.works_for == "lane", **given)
    assert wrong.outcomes == {"masked": 0, "wrong": 8, "fault": 0, "hang": 0} and all(1 <= t.bytes <= 4 for t in wrong.trials)


def test_faults_of_addresses_and_of_loop_counts_do_not_end_well():
    built = code("gfx90a")

    def args():
        return [np.zeros(64, "u4"), np.arange(256, dtype="u4")[::-1].copy(), np.uint32(4)]

    found = campaign("gfx90a", built, "chase", args, grid=64, block=64, runs=60, seed=3)
    assert found.outcomes["fault"] and found.outcomes["hang"] and sum(found.outcomes.values()) == 60
    assert all(bool(t.message) == (t.outcome in ("fault", "hang")) for t in found.trials)
    again = campaign("gfx90a", built, "chase", args, grid=64, block=64, runs=60, seed=3)
    assert [t.fault for t in again.trials] == [t.fault for t in found.trials] and again.outcomes == found.outcomes
    assert Counter(t.outcome for t in found.trials) == Counter({n: c for n, c in found.outcomes.items() if c})
    table = found.report.to_arrow()["runs"]
    assert table.num_rows == 60 and set(table.column("outcome").to_pylist()) <= set(OUTCOMES)


@pytest.mark.parametrize("target", [t for t in TRITON_TARGETS if t != "gfx1250"])
def test_a_campaign_over_tritons_softmax(target):
    built, make, _ = launches("triton-softmax_f32", target)
    (first, *_) = make()
    grid = (first.block[0] * 2, 1, 1)
    found = campaign(target, built, first.kernel, lambda: make()[0].args, grid=grid, block=first.block, lds=first.lds, runs=6)
    assert len(found.trials) == 6 and found.outcomes["masked"] + found.outcomes["wrong"] >= 1


def test_the_command_tells_what_the_campaign_found(tmp_path, capsys):
    path = compiled.build(SOURCE, "gfx90a")
    run = ["run", str(path), "--kernel", "chase", "--grid", "64", "--block", "64"]
    run += ["--arg", "buf:u32[64]=zeros", "--arg", "buf:u32[256]=arange", "--arg", "u32=4"]
    assert main([*run, "--faults", "20:3", "--json", str(tmp_path / "f.json"), "--annotate", str(tmp_path / "a.json")]) == 0
    shown = capsys.readouterr().out
    told = json.loads((tmp_path / "f.json").read_text())

    def args():
        return [np.zeros(64, "u4"), np.arange(256, dtype="u4"), np.uint32(4)]

    found = campaign("gfx90a", path, "chase", args, grid=64, block=64, runs=20, seed=3)
    assert told["tools"]["fault_inject"] == {"runs": 20, "outcomes": found.outcomes}
    assert [run["at"] for run in told["runs"]] == [t.fault.at for t in found.trials]
    assert [run["outcome"] for run in told["runs"]] == [t.outcome for t in found.trials]
    assert all(f"{name} " in shown for name in OUTCOMES)
    columns = json.loads((tmp_path / "a.json").read_text())["columns"]
    assert {c["title"] for c in columns} >= set(OUTCOMES[1:])
    assert main(["report", str(tmp_path / "f.json"), "-o", str(tmp_path / "r.html")]) == 0
    capsys.readouterr()
    for more, words in (
        (["--faults", "0"], "runs=0"),
        (["--faults", "x"], "expected a number of runs"),
        (["--faults", "2:x"], "as a seed"),
        (["--faults", "2", "--tool", "instr_count"], "--tool is for one launch"),
        (["--faults", "2", "--strict=hazard"], "--strict is for one launch"),
    ):
        assert main([*run, *more]) == 2
        assert words in capsys.readouterr().err


def test_faults_that_cannot_be_made_are_refused():
    with pytest.raises(lt.ToolError, match="the address of an instruction"):
        lt.tools.load("fault_inject")
    with pytest.raises(lt.ToolError, match="bit is from 0 to 31"):
        lt.tools.load("fault_inject:at=0x100,bit=32")
    built = code("gfx90a")
    load = next(i for i in built.kernel("twice").instructions if i.is_load and i.works_for == "lane")
    with pytest.raises(lt.ToolError, match="word=1: .* writes 1 vector registers"):
        lt.Device("gfx90a").load(built, tools=[lt.tools.load(f"fault_inject:at={load.address:#x},word=1")], kernels=["twice"])
    with pytest.raises(lt.ArgumentError, match="runs=0"):
        campaign("gfx90a", built, "idle", list, runs=0, grid=64, block=64)
