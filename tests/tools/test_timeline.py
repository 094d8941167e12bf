"""The blocks that the timeline tells of are those that the mock device has seen each wave come to, in order."""

from __future__ import annotations

import json
import re
from collections import Counter

import compiled
import numpy as np
import pytest
import trace_processor
from tool_runs import every, watched

import luthier as lt
from luthier.cli import main

pytest.importorskip("pyarrow")


def waves_of(groups, waves, values) -> dict[tuple[int, int], list]:
    found: dict[tuple[int, int], list] = {}
    for group, wave, value in zip(groups.tolist(), waves.tolist(), values):
        found.setdefault((group, wave), []).append(value)
    return found


@every
def test_each_wave_comes_to_the_blocks_and_barriers_that_the_device_sees(name, target, tmp_path):
    tool = lt.tools.load(f"timeline:perfetto={tmp_path / 't.json'}")
    told, seen, kernel = watched(name, target, tool)
    report = lt.Report("timeline")
    tool.on_exit(report)
    events = {n: np.array(values) for n, values in report.to_arrow()["events"].to_pydict().items()}
    linear = events["workgroup_x"] + seen.groups[0] * (events["workgroup_y"] + seen.groups[1] * events["workgroup_z"])
    starts = {block.address for block in kernel.blocks}
    device = seen.instructions[np.isin(seen.instructions["pc"], list(starts))]
    barriers = [i.address for i in kernel.instructions if i.is_barrier and i.opcode != "s_barrier_signal"]
    waiting = seen.instructions[np.isin(seen.instructions["pc"], barriers)]
    assert told["without lanes"] == (device["exec"] == 0).sum() + (waiting["exec"] == 0).sum()
    device, waiting = device[device["exec"] != 0], waiting[waiting["exec"] != 0]
    at = events["kind"] == "block"
    mine = waves_of(linear[at], events["wave"][at], events["pc"][at].tolist())
    assert mine == waves_of(device["workgroup"], device["wave"], device["pc"].tolist())
    # Each wave begins and ends once, and time goes forward.
    for which in ("begin", "end"):
        at = events["kind"] == which
        assert all(len(v) == 1 for v in waves_of(linear[at], events["wave"][at], events["pc"][at].tolist()).values())
        assert at.sum() == told["waves"] == seen.waves
    assert all(np.all(np.diff(times) >= 0) for times in waves_of(linear, events["wave"], events["time"]).values())
    assert {int(a, 0): v["waits"] for a, v in told["barriers"].items()} == Counter(waiting["pc"].tolist())
    assert {int(a, 0): v["entered"] for a, v in told["blocks"].items()} == Counter(device["pc"].tolist())
    # Each wave has its compute unit, as hooks are told it, and is drawn there as well.
    units = report.to_arrow()["waves"].column("unit").to_pylist()
    assert len(units) == told["waves"] and all(unit == "" for unit in units) == (target == "gfx1250")
    assert all(re.fullmatch(r"(XCC \d+, )?SE \d+, SA \d+, CU \d+", unit) for unit in units if unit)
    # A wave's blocks lie within its time, and the last one ends with it.
    slices = [e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["ph"] == "X"]
    waves, blocks = ([e for e in slices if e["name"].startswith(what)] for what in (kernel.name, "block"))
    assert len([e for e in slices if e["name"].startswith("workgroup ")]) == (0 if target == "gfx1250" else told["waves"])
    assert len(waves) == told["waves"] and len(blocks) == len(device)
    for wave in waves:
        own = [b for b in blocks if (b["pid"], b["tid"]) == (wave["pid"], wave["tid"])]
        assert min(b["ts"] for b in own) >= wave["ts"]
        assert max(b["ts"] + b["dur"] for b in own) == pytest.approx(wave["ts"] + wave["dur"])


def test_perfettos_trace_processor_reads_the_timeline(tmp_path):
    path = tmp_path / "t.json"
    told, _, kernel = watched("matmul", "gfx90a", lt.tools.load(f"timeline:perfetto={path}"))
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {(e["pid"], e.get("tid"), e["name"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    drawn = Counter(
        (tracks[e["pid"], None, "process_name"], tracks[e["pid"], e["tid"], "thread_name"], e["name"], round(1000 * e["dur"]))
        for e in events
        if e["ph"] == "X"
    )
    found = trace_processor.slices(path)
    # It has times of whole nanoseconds.
    assert Counter((s["process"], s["thread"], s["name"], s["dur"]) for s in found) == drawn
    assert sum(s["name"] == kernel.name for s in found) == told["waves"] > 0


def test_most_bounds_what_is_kept():
    told, _, _ = watched("collatz", "gfx90a", lt.tools.load("timeline:most=50"))
    assert told["kept"] == 50 < told["events"]


def test_without_blocks_there_are_waves_and_barriers_alone():
    told, seen, _ = watched("matmul", "gfx1100", lt.tools.load("timeline:blocks=no"))
    assert told["blocks"] == {} and told["barriers"] and told["waves"] == seen.waves


def test_the_command_line_draws_the_timeline(tmp_path, capsys):
    path = tmp_path / "t.json"
    given = [a for init in ("arange", "ones", "zeros") for a in ("--arg", f"buf:f32[256]={init}")]
    command = ["run", str(compiled.code_object("vecadd")), "--kernel", "vecadd", "--grid", "256", "--block", "256"]
    assert main([*command, *given, "--arg", "u32=256", "--perfetto", str(path)]) == 0
    assert sum(s["name"] == "vecadd" for s in trace_processor.slices(path)) == 4
    assert main([*command, "--perfetto", "a,b.json"]) == 2
    assert "cannot have a comma" in capsys.readouterr().err
