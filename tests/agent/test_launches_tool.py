"""The tool that draws a program's timeline: its calls enclose its launches, and the file is one that Perfetto opens."""

from __future__ import annotations

import json
from collections import Counter

import cli
import pytest
import rocm
import trace_processor

import luthier as lt
from luthier.agent.calls import Call
from luthier.agent.functions import functions
from luthier.tools.streams import Streams, copied
from luthier.views.perfetto import Timeline


def check_trace_events(data: dict) -> None:
    """What Perfetto demands of Chrome's JSON: phases with their fields, and on one track slices that lie in one another or
    apart."""
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in data["traceEvents"]:
        assert event["ph"] in ("X", "M", "C") and isinstance(event["pid"], int) and event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
        else:
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        open_ends: list[float] = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1] + 0.002
            open_ends.append(end)


def test_a_programs_launches_and_calls_have_times_in_their_order(tmp_path):
    rocm.need()
    done = lt.trace([rocm.hip("kernels"), "lds"], [f"launches:perfetto={tmp_path / 'line.json'}"], mock="gfx90a", capture=True)
    assert done.status == 0
    whole = next(told for told in done.results("launches") if "calls" in told)
    kernels = [told for told in done.results("launches") if "calls" not in told]
    assert sorted((x["number"], x["kernel"]) for told in kernels for x in told["launches"]) == [
        (x["number"], x["kernel"]) for x in whole["launches"]
    ]
    names = [call["name"] for call in whole["calls"]]
    assert names.count("hipLaunchKernel") == len(whole["launches"]) == 2
    assert all(call["result"] == 0 and call["start"] <= call["end"] for call in whole["calls"])
    first, second = whole["launches"]
    assert 0 < first["start"] < first["end"] <= second["start"] < second["end"]
    # A launch begins behind the call that asks for it, on the same clock.
    asked = [call["start"] for call in whole["calls"] if call["name"] == "hipLaunchKernel"]
    assert asked[0] < first["start"] and asked[1] < second["start"]
    (path,) = tmp_path.glob("line.*.json")
    data = json.loads(path.read_text())
    check_trace_events(data)
    drawn = [e["name"] for e in data["traceEvents"] if e["ph"] == "X"]
    copies = [f"{copy['direction']}, {copy['bytes']:,} bytes" for copy in whole["copies"]]
    assert sorted(drawn) == sorted([*names, *copies, *(x["kernel"] for x in whole["launches"])])
    assert len(copies) == sum(name.startswith(("hipMemcpy", "hipMemset")) for name in names) > 0
    assert [e["args"]["value"] for e in data["traceEvents"] if e["ph"] == "C"] == [1, 0, 1, 0]


@pytest.mark.parametrize("runtime", ["5", "7"])
def test_launches_and_copies_have_their_streams(runtime, tmp_path):
    """Six streams, each with five rounds of a copy to the device, a launch and a copy back, as tests/hip/streams.hip makes them."""
    rocm.need()
    program, options = (rocm.hip7("streams"), {"rocm": rocm.need_rocm7()}) if runtime == "7" else (rocm.hip("streams"), {})
    tool = f"launches:perfetto={tmp_path / 'line.json'}"
    done = lt.trace([program, "several"], [tool], mock="gfx90a", capture=True, **options)
    assert done.status == 0, done.stderr
    whole = next(told for told in done.results("launches") if "calls" in told)
    launches = [told for told in whole["launches"] if "increment" in told["kernel"]]
    assert Counter(told["stream"] for told in launches) == {f"stream {n}": 5 for n in range(1, 7)}
    assert all(told["queue"] >= 1 for told in launches)
    copies = Counter((copy["stream"], copy["direction"], copy["bytes"]) for copy in whole["copies"])
    both = ("host to device", "device to host")
    assert copies == {(f"stream {n}", direction, 4 * 3001): 5 for n in range(1, 7) for direction in both}
    # A stream's calls and launches come in their order.
    calls = [call for call in whole["calls"] if call["name"] in ("hipMemcpyAsync", "hipLaunchKernel")]
    assert [call["name"] for call in calls] == ["hipMemcpyAsync", "hipLaunchKernel", "hipMemcpyAsync"] * 30
    (path,) = tmp_path.glob("line.*.json")
    data = json.loads(path.read_text())
    check_trace_events(data)
    tracks = {e["tid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"}
    drawn = Counter(tracks[e["tid"]] for e in data["traceEvents"] if e["ph"] == "X")
    for n in range(1, 7):
        assert drawn[f"launches, stream {n}"] == 5 and drawn[f"copies, stream {n}"] == 10


def test_the_command_line_draws_the_timeline_of_a_program(tmp_path):
    rocm.need()
    cli.succeeds("trace", "--mock", "gfx90a", "--perfetto", str(tmp_path / "line.json"), "--", str(rocm.hip("kernels")), "lds")
    (path,) = tmp_path.glob("line.*.json")
    check_trace_events(json.loads(path.read_text()))


def test_perfettos_trace_processor_reads_the_timeline_of_a_program(tmp_path):
    rocm.need()
    tool = f"launches:perfetto={tmp_path / 'line.json'}"
    done = lt.trace([rocm.hip("streams"), "several"], [tool], mock="gfx90a", capture=True)
    assert done.status == 0, done.stderr
    whole = next(told for told in done.results("launches") if "calls" in told)
    (path,) = tmp_path.glob("line.*.json")
    found = trace_processor.slices(path)
    drawn = Counter(s["thread"] for s in found)
    assert all(drawn[f"launches, stream {n}"] == 5 and drawn[f"copies, stream {n}"] == 10 for n in range(1, 7))
    copies = [f"{copy['direction']}, {copy['bytes']:,} bytes" for copy in whole["copies"]]
    names = [*(call["name"] for call in whole["calls"]), *copies, *(x["kernel"] for x in whole["launches"])]
    assert Counter(s["name"] for s in found) == Counter(names)
    assert all(s["dur"] >= 0 for s in found) and any(s["dur"] > 0 for s in found)
    assert len(trace_processor.counters(path)) == 2 * len(whole["launches"])


class Memory:
    """What calls read of a process, for streams' handles."""

    def __init__(self, words: dict[int, int]):
        self.words = words

    def read(self, address: int, size: int) -> bytes:
        return self.words[address].to_bytes(8, "little")[:size]


def call(name: str, *words: int, memory: Memory | None = None) -> Call:
    return Call(next(f for f in functions() if f.name == name), 1, 7, memory or Memory({}), list(words))


@pytest.mark.parametrize(
    "name, words, direction, size",
    [
        ("hipMemcpy", (1, 2, 100, 2), "device to host", 100),
        ("hipMemcpyDtoDAsync", (1, 2, 64, 5), "device to device", 64),
        ("hipMemcpy2DAsync", (1, 8, 2, 8, 6, 5, 4, 9), "as the pointers say", 30),
        ("hipMemcpyPeer", (1, 0, 2, 1, 12), "device to device", 12),
        ("hipMemset", (1, 0, 40), "fill", 40),
        ("hipMemsetD32Async", (1, 0, 10, 5), "fill", 40),
        ("hipMemsetD16", (1, 0, 10), "fill", 20),
        ("hipMemcpy3D", (1,), "as the pointers say", None),
    ],
)
def test_copies_have_their_bytes_and_direction(name, words, direction, size):
    assert copied(call(name, *words)) == {"direction": direction, "bytes": size}


def test_streams_are_named_in_the_order_in_which_they_are_made():
    streams, memory = Streams(), Memory({0x10: 0xAAA0, 0x20: 0xBBB0, 0x30: 0xAAA0})
    streams.made(call("hipStreamCreate", 0x10, memory=memory))
    streams.made(call("hipStreamCreateWithFlags", 0x20, 1, memory=memory))
    of = [streams.of(call("hipMemcpyAsync", 1, 2, 3, 1, handle)) for handle in (0xBBB0, 0xAAA0, 0, 2, 0xCCC0)]
    assert of == ["stream 2", "stream 1", "default stream", "stream of the thread", "stream 3"]
    streams.made(call("hipStreamCreate", 0x30, memory=memory))  # where the first one was
    assert streams.of(call("hipStreamSynchronize", 0xAAA0)) == "stream 4"
    assert streams.of(call("hipMemcpyAsync_spt", 1, 2, 3, 1, 0)) == "stream of the thread"
    assert streams.of(call("hipMemcpy", 1, 2, 3, 1)) is None


def test_a_timeline_names_each_process_and_track_once():
    timeline = Timeline()
    timeline.slice("p", "a", "outer", 1000, 9000)
    timeline.slice("p", "a", "inner", 2000, 3000, n=1)
    timeline.slice("p", "b", "other", 0, 1)
    timeline.slice("q", "a", "there", 0, 1)
    data = json.loads(timeline.to_json())
    check_trace_events(data)
    named = [(e["name"], e["args"]["name"]) for e in data["traceEvents"] if e["ph"] == "M"]
    assert sorted(named) == [
        ("process_name", "p"),
        ("process_name", "q"),
        ("thread_name", "a"),
        ("thread_name", "a"),
        ("thread_name", "b"),
    ]
    assert [e["dur"] for e in data["traceEvents"] if e["ph"] == "X" and e["name"] in ("other", "there")] == [0.001, 0.001]


def test_slices_that_cross_are_on_tracks_beside_each_other():
    # As of launches in three queues; Perfetto's importer would drop those that cross.
    timeline = Timeline()
    times = {"a": (0, 10_000), "b": (5_000, 15_000), "c": (6_000, 9_000), "d": (7_000, 20_000), "e": (10_000, 12_000)}
    for name in reversed(times):
        timeline.slice("GPU 0", "launches", name, *times[name])
    data = json.loads(timeline.to_json())
    check_trace_events(data)
    tracks = {e["tid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"}
    drawn = {e["name"]: tracks[e["tid"]] for e in data["traceEvents"] if e["ph"] == "X"}
    assert drawn == {"a": "launches", "b": "launches (2)", "c": "launches", "d": "launches (3)", "e": "launches"}


def test_many_launches_are_told_in_sums_and_each_in_files():
    tool, report = lt.tools.load("launches"), lt.Report("launches")
    tool.launches = [
        {"number": n, "kernel": "_Z1kv", "gpu": 0, "grid": [64, 1, 1], "block": [64, 1, 1], "start": 1000 + 10 * n, "end": 1004 + 11 * n}
        for n in range(60)
    ]  # fmt: skip
    tool.names["_Z1kv"] = "k()"
    tool.on_exit(report)
    lengths = [4 + n for n in range(60)]
    assert [(table.title, table.rows) for table in report.tables] == [
        ("launches by kernel", [("k()", 60, sum(lengths), 4, sum(lengths) // 60, 63)])
    ]
    (records,) = report.data
    assert records.title == "launches" and list(records.columns["start (ns)"]) == [10 * n for n in range(60)]
    assert list(records.columns["took (ns)"]) == lengths
