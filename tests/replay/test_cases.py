"""Launches on mock devices, recorded and done again."""

from __future__ import annotations

import io
import random
import zipfile

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier.replay import Case, Way, compare, explore, record, reduce, replay

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")

SOURCE = """
__attribute__((device)) u32 total;
__attribute__((device)) u32 *kept;
KERNEL sums(const u32 *a, u32 *out, u32 n) {
    u32 i = group_x() * 64 + local_x();
    if (i < n) {
        out[i] = a[i] * FACTOR + total;
        if (kept) out[i] += kept[i % 4];
    }
}
KERNEL count(u32 n) { if (group_x() * 64 + local_x() < n) __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED); }
KERNEL keep(u32 *a) { kept = a; }
KERNEL beyond(u32 *a, u32 n) {
    u32 i = group_x() * 64 + local_x();
    u32 x = i * 7 + 1;
    for (u32 k = 0; k < 5; k++) x = x * 3 + k;
    a[i + n] = x;
}
"""
FACTORS = {3: ("-DFACTOR=3",), 4: ("-DFACTOR=4",)}


def built(target: str, factor: int = 3):
    return compiled.build(SOURCE, target, FACTORS[factor])


def sums(target: str) -> tuple[Case, np.ndarray]:
    """A launch that finds numbers in variables and behind a pointer in one, and what it computes."""
    device = lt.Device(target)
    module = device.load(built(target))
    behind = device.array([5, 6, 7, 8], "u4")
    module.run("count", blocks=3, block=64, args=[np.uint32(150)])
    module.run("keep", blocks=1, block=1, args=[behind.ctypes.data])
    a, out = np.arange(1000, dtype="u4"), np.zeros(1000, "u4")
    case = record(module, "sums", blocks=16, block=64, args=[a, out, np.uint32(1000)])
    return case, out


@pytest.mark.parametrize("target", TARGETS)
def test_a_replay_finds_and_leaves_the_same_memory(target, tmp_path):
    case, out = sums(target)
    expected = np.arange(1000, dtype="u4") * 3 + 150 + np.resize([5, 6, 7, 8], 1000)
    np.testing.assert_array_equal(out, expected)
    case.save(tmp_path / "sums.luthier")
    again = Case.open(tmp_path / "sums.luthier")
    assert again == case and again.to_bytes() == case.to_bytes()
    changed = [region for region in again.regions if region.after is not None]
    assert [region.what for region in changed] == ["argument 1"]
    assert np.frombuffer(changed[0].left, "u4").tolist() == expected.tolist()
    did = replay(again, Way(strict=True))
    assert did.is_same and not did.findings and did.instructions > 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_replay_that_finds_other_memory_says_where(target):
    case, _ = sums(target)
    wrong = [r for r in case.regions if r.what == "argument 0"][0]
    before = bytearray(wrong.before)
    before[4 * 37] ^= 1
    regions = tuple(lt.replay.Region(r.address, r.size, r.writable, r.what, r.is_of_object, bytes(before) if r is wrong else r.before, r.after) for r in case.regions)  # fmt: skip
    did = replay(case.with_regions(regions))
    found = {d.region.what: (d.offset, d.count) for d in did.differences}
    assert not did.is_same
    # Argument 0 is left as it was found, and one element of argument 1 is another one.
    assert set(found) == {"argument 1"} and found["argument 1"][0] == 4 * 37 and found["argument 1"][1] <= 4


@pytest.mark.parametrize("target", ("gfx90a", "gfx1201"))
@pytest.mark.parametrize("room", (True, False), ids=("behind", "beside"))
def test_tools_count_what_the_replay_retires(target, room):
    case, _ = sums(target)
    if not room:
        # Something lies behind the code object, where its instrumented copy would grow.
        end = max(region.end for region in case.regions if region.is_of_object)
        start = end + 4096 - end % 4096
        more = lt.replay.Region(start, 64, True, "something", False, bytes(64))
        case = case.with_regions((*case.regions, more))
    plain, counted = replay(case), replay(case, Way(tools=[lt.tools.load("instr_count")]))
    assert counted.is_same and counted.tools["instr_count"]["instructions"] == plain.instructions
    assert counted.instructions > plain.instructions


class Records(lt.Tool):
    """A record of each wave, through a channel that has room for less."""

    waves = lt.Channel(64, "wait", group=lt.u32)

    @lt.hook
    def enter(waves: lt.channel):
        lt.record(waves, lt.workgroup_id_x())

    def __init__(self):
        self.got = []

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.waves)

    def on_records(self, channel, records):
        self.got += records["group"].tolist()


@pytest.mark.parametrize("target", ("gfx90a", "gfx1201"))
def test_records_of_a_replay_come_to_the_tool(target):
    case, _ = sums(target)
    tool = Records()
    assert replay(case, Way(tools=[tool])).is_same
    groups = case.dispatch.grid[0] // case.dispatch.block[0]
    assert sorted(tool.got) == sorted(list(range(groups)) * case.dispatch.block[0])
    assert tool.waves.dropped == 0


@pytest.mark.parametrize("target", ("gfx90a", "gfx1100"))
def test_another_code_object_is_compared_down_to_its_store(target):
    case, _ = sums(target)
    same = compare(case, lt.CodeObject.open(compiled.build(SOURCE, target, FACTORS[3], "O0")))
    assert same.is_same and same.first.instructions != same.second.instructions
    found = compare(case, lt.CodeObject.open(built(target, 4)))
    # 0 * 3 is 0 * 4.
    assert [(d.region.what, d.offset) for d in found.differences] == [("argument 1", 4)]
    first, second = found.stores
    assert (
        first
        and second
        and (first.lane, first.workgroup, first.wave) == (second.lane, second.workgroup, second.wave) == (1, 0, 0)
    )
    assert "store" in first.text and first.address == found.differences[0].address
    one, other = lt.replay.why_they_differ(case, found, lt.CodeObject.open(built(target, 4)))
    assert (one.pc, one.text, other.pc) == (first.pc, first.text, second.pc) and one.value != other.value
    assert any("argument 0" in leaf.what for leaf in one.leaves), str(one)


@pytest.mark.parametrize("target", ("gfx90a", "gfx1201"))
def test_a_case_is_explored_on_one_device_and_each_outcome_replayed(target):
    case, _ = sums(target)
    for by in ("order", "pct", "usual"):
        found = explore(case, 8, by=by)
        assert found.is_deterministic and found.outcomes[0].replayed.is_same
    assert explore(case, 4000, by="order").exhausted, "workgroups that do not meet have one order"


def beyond(target: str) -> Case:
    module = lt.Device(target).load(built(target))
    return record(module, "beyond", blocks=8, block=64, args=[np.zeros(500, "u4"), np.uint32(0)])


@pytest.mark.parametrize("target", TARGETS)
def test_a_launch_that_is_stopped_is_stopped_again(target):
    case = beyond(target)
    assert case.error is not None and all(region.after is None for region in case.regions)
    did = replay(case)
    assert did.is_same and did.stop is not None and "past the end of argument 0" in str(did.stop)
    lenient = replay(case, Way(strict=["out-of-bounds"]))
    assert [f["kind"] for f in lenient.findings] == ["out-of-bounds"] and lenient.stop is None and not lenient.is_same


@pytest.mark.parametrize("target", ("gfx90a", "gfx1201"))
def test_a_case_is_reduced_to_what_shows_its_finding(target):
    case = beyond(target)
    way = Way(strict=["out-of-bounds"])
    found = reduce(case, way)
    first = replay(case, way).findings[0]
    assert any((f["kind"], f["pc"]) == (first["kind"], first["pc"]) for f in replay(found.case, way).findings)
    assert found.case.dispatch.grid == (64, 1, 1) and found.case.size < case.size and found.removed > 5
    with pytest.raises(lt.ArgumentError, match="the case shows nothing"):
        reduce(sums(target)[0])


RACE = """
KERNEL early(volatile u32 *data, u32 *out) {
    u32 i = local_x() % 32;
    if (local_x() >= 32)
        out[i] = data[i];
    else {
        for (u32 k = 0; k < 30; k++) asm volatile("s_nop 0");
        data[i] = i + 1;
    }
}
"""


def test_schedules_with_other_outcomes_are_found_and_repeated():
    module = lt.Device("gfx1100").load(compiled.build(RACE, "gfx1100"))
    case = record(module, "early", blocks=1, block=64, args=[np.zeros(32, "u4"), np.zeros(32, "u4")])
    found = explore(case, 24)
    assert not found.is_deterministic and sum(outcome.schedules for outcome in found.outcomes) == 24
    for outcome in found.outcomes:
        assert replay(case, Way(schedule=outcome.schedule, threads=1)).memory == outcome.replayed.memory
    assert explore(sums("gfx1100")[0], 8).is_deterministic


def test_damaged_files_are_refused_and_never_believed(tmp_path):
    whole = sums("gfx90a")[0].to_bytes()
    seeded = random.Random(1)
    refused = 0
    for number in range(300):
        data = bytearray(whole)
        if number % 3 == 0:
            del data[seeded.randrange(len(data)) :]
        else:
            for _ in range(seeded.randrange(1, 8)):
                data[seeded.randrange(len(data))] = seeded.randrange(256)
        try:
            case = Case.read(io.BytesIO(data))
        except lt.CaseError:
            refused += 1
            continue
        try:
            replay(case, Way(watchdog=100_000, timeout=5))
        except lt.LuthierError:
            pass
    assert refused > 200
    path = tmp_path / "no.luthier"
    path.write_bytes(b"text")
    with pytest.raises(lt.CaseError, match="is no case file, or is damaged"):
        Case.open(path)
    with pytest.raises(lt.CaseError, match="cannot read .*: no such file"):
        Case.open(tmp_path / "missing.luthier")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"luthier-case/1"', b'"luthier-case/9"', "its schema is 'luthier-case/9'"),
        (b'"block": [\n   64', b'"block": [\n   -4', "`block` is"),
        (b'"cooperative": false', b'"cooperative": 123  ', "`cooperative` is 123, and no bool"),
        (b'"kernel": "sums"', b'"kernel": 123456', "`kernel` is 123456, and no str"),
        (b'"size": 4000', b'"size": 4001', "holds fewer than 4001 bytes"),
        (b'"size": 4000', b'"size": 3999', "holds more than 3999 bytes"),
    ],
)
def test_what_is_wrong_with_a_case_is_said_by_name(old, new, why):
    made = sums("gfx90a")[0].to_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(made)) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            target.writestr(info.filename, data.replace(old, new, 1) if info.filename == "case.json" else data)
    assert out.getvalue() != made
    with pytest.raises(lt.CaseError, match=why.replace("[", r"\[")):
        Case.read(out)


def test_a_case_is_bounded_and_of_code_without_tools():
    device = lt.Device("gfx90a")
    args = [np.zeros(1000, "u4"), np.zeros(1000, "u4"), np.uint32(1000)]
    with pytest.raises(lt.CaseError, match="the case may have 5,000: give a higher limit"):
        record(device.load(built("gfx90a")), "sums", limit=5000, blocks=16, block=64, args=args)
    with pytest.raises(lt.ArgumentError, match="without tools"):
        record(device.load(built("gfx90a"), tools=[lt.tools.load("instr_count")]), "sums", blocks=16, block=64, args=args)
    assert device.launch_watch is None
    with pytest.raises(lt.ArgumentError, match="the case's code is for gfx90a: give a code object for gfx1100"):
        replay(sums("gfx90a")[0], Way(processor="gfx1100"))
