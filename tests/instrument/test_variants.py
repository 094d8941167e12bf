"""Several instrumented variants beside the original, chosen for each launch: one set of the original's variables for all."""

from __future__ import annotations

import json

import compiled
import numpy as np
import pytest
from cli import succeeds

import luthier as lt

SOURCE = """
__attribute__((device, used)) u32 total;
static __attribute__((device, noinline)) u32 more(u32 x) { return x * 3 + 1; }
KERNEL adds(u32 *p) { p[global_x()] = more(p[global_x()]); __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED); }
KERNEL other(u32 *p) { p[global_x()] = total; }
"""
TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")


class Instructions(lt.Tool):
    count = lt.Counter()

    @lt.hook
    def add(count: lt.counter):
        count += 1

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            kernel.insert_before(instr, self.add, self.count)

    def on_exit(self, report):
        report.result = int(self.count)


class Lanes(lt.Tool):
    lanes = lt.DeviceArray(lt.u64, 1)
    seen = lt.Channel(64, lanes=lt.u64)

    @lt.hook
    def add(lanes: lt.ptr[lt.u64], seen: lt.channel):
        lt.wave_atomic_add(lanes, lt.active_lanes())
        lt.record(seen, lt.exec_mask(), per_wave=True)

    def __init__(self):
        self.waves = 0
        self.launches: list[str] = []

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.lanes, self.seen)

    def on_launch(self, launch):
        self.launches.append(launch.kernel)

    def on_records(self, channel, records):
        self.waves += len(records)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("calls", [True, False])
def test_variants_and_the_original_share_the_variables_and_give_the_same(target, calls):
    source = SOURCE if calls else SOURCE.replace("noinline", "always_inline")
    device, counts, lanes = lt.Device(target), Instructions(), Lanes()
    module = device.load(compiled.build(source, target), tools=[counts], variants={"lanes": [lanes]})
    assert list(module.variants) == ["original", "full", "lanes"]
    runs = {name: [] for name in module.variants}
    for number, name in enumerate(["original", "full", "lanes", "full", None, "original"], 1):
        array = np.arange(64, dtype=np.uint32)
        kind = {} if name is None else {"variant": name}
        result = module.run("adds", grid=64, block=64, args=[array], **kind, strict=["out-of-bounds", "missing-wait"])
        assert result.findings == [] and result.variant == (name or "full")
        assert (array == np.arange(64) * 3 + 1).all()
        assert module.read_symbol("total", "u4").tolist() == [64 * number], "one `total` for all variants"
        runs[result.variant].append(result)
    plain = runs["original"][0].instructions
    assert all(r.app_instructions == plain for name in runs for r in runs[name])
    assert runs["original"][1].instructions == plain < runs["lanes"][0].instructions
    assert int(counts.count) == 3 * plain, "only the launches of `full` are counted"
    assert lanes.lanes[0] == 64 and lanes.waves == (64 // module.variants["original"].loaded.program.wavefront_size)
    assert lanes.launches == ["adds"]
    assert runs["full"][0].tools == {"instructions": 3 * plain, "lanes": {}}
    assert module.read_symbol("instructions.count", "u8").tolist() == [3 * plain]


def test_select_says_which_launches_are_instrumented():
    device, tool = lt.Device("gfx90a"), Lanes()
    module = device.load(
        compiled.build(SOURCE, "gfx90a"), tools=[tool], select=[lt.Select("adds", grid=128, every=3, first=7), "other,grid=64"]
    )
    ran = []
    for items in [128, 64] * 10:
        ran.append(module.run("adds", grid=items, block=64, args=[np.zeros(items, np.uint32)]).variant)
        module.run("other", grid=items, block=64, args=[np.zeros(items, np.uint32)])
    assert ran[1::2] == ["original"] * 10
    assert ran[0::2] == ["full" if n in (0, 3, 6) else "original" for n in range(10)]
    assert tool.lanes[0] == 3 * 128 + 10 * 64 and sorted(tool.launches) == ["adds"] * 3 + ["other"] * 10


def test_launches_that_run_by_name_are_not_counted_by_select():
    tool = Lanes()
    module = lt.Device("gfx90a").load(compiled.build(SOURCE, "gfx90a"), tools=[tool], select=[lt.Select(first=1)])
    for kind in ({"variant": "original"}, {"variant": "full"}, {}, {}):
        module.run("other", grid=64, block=64, args=[np.zeros(64, np.uint32)], **kind)
    assert tool.lanes[0] == 128


def test_run_takes_select_and_variants_and_keeps_the_module():
    device, tool, source = lt.Device("gfx90a"), Lanes(), lt.CodeObject.open(compiled.build(SOURCE, "gfx90a"))
    for number in range(1, 5):
        array = np.zeros(64, np.uint32)
        told = {"tools": [tool], "select": [lt.Select("adds", every=2)]}
        result = device.run(source, "adds", grid=64, block=64, args=[array], **told)
        assert result.module.read_symbol("total", "u4").tolist() == [64 * number]
    assert tool.lanes[0] == 128
    result = device.run(source, "adds", grid=64, block=64, args=[array], variants={"counts": ["instr_count"]}, variant="counts")
    assert result.tools["instr_count"]["instructions"] == result.app_instructions < result.instructions


def test_where_nothing_is_inserted_the_original_runs_and_the_tool_hears_of_it():
    tool = Lanes()
    tool.on_kernel = lambda kernel: None
    module = lt.Device("gfx90a").load(compiled.build(SOURCE, "gfx90a"), tools=[tool], select=["adds"])
    result = module.run("adds", grid=64, block=64, args=[np.zeros(64, np.uint32)])
    assert result.variant == "full" and result.instructions == result.app_instructions and tool.launches == ["adds"]


def test_events_and_sessions_are_of_the_variant():
    tool = Instructions()
    module = lt.Device("gfx90a").load(compiled.build(SOURCE, "gfx90a"), variants={"counts": [tool]})
    launch = {"grid": 64, "block": 64, "args": [np.zeros(64, np.uint32)]}
    plain, counted = (module.trace("adds", **launch, variant=name, events=["blocks"]) for name in ("original", "counts"))
    assert sum(plain.counts.values()) == plain.result.instructions < counted.result.instructions == sum(counted.counts.values())
    assert sum(counted.block_counts().values()) > 0
    with module.session("adds", **launch, variant="counts") as session:
        assert session.workgroup == (0, 0, 0)


def test_what_cannot_be_chosen_is_said():
    source, device = compiled.build(SOURCE, "gfx90a"), lt.Device("gfx90a")
    launch = {"grid": 64, "block": 64, "args": [np.zeros(64, np.uint32)]}
    with pytest.raises(lt.ArgumentError, match="no variant 'original' here, only full: select= or variants= keep the original"):
        device.load(source, tools=[Lanes()]).run("adds", **launch, variant="original")
    with pytest.raises(lt.ArgumentError, match="no variant 'all' here, only original, few"):
        device.load(source, variants={"few": [Lanes()]}).run("adds", **launch, variant="all")
    with pytest.raises(lt.ArgumentError, match="variants: 'full' is not a name for a variant"):
        device.load(source, variants={"full": [Lanes()]})
    with pytest.raises(lt.ArgumentError, match="select= is about the launches that run the tools of tools="):
        device.load(source, variants={"few": [Lanes()]}, select=["adds"])
    with pytest.raises(lt.ArgumentError, match="is about no kernel of"):
        device.load(source, tools=[Lanes()], select=["nothing*"])
    with pytest.raises(lt.ArgumentError, match="is not a Select"):
        device.load(source, tools=[Lanes()], select=[3])


def test_a_kernel_that_calls_through_a_pointer_is_rejected_beside_the_original_by_name():
    source = """
    typedef void (*function)(u32 *);
    static __attribute__((device, noinline)) void a(u32 *p) { *p += 1; }
    static __attribute__((device, noinline)) void b(u32 *p) { *p += 2; }
    __attribute__((device, used)) function table[] = {a, b};
    KERNEL calls(u32 *p, u32 n) { table[n](p + global_x()); }
    """
    with pytest.raises(lt.NothingInsertedError, match="calls through a pointer"):
        lt.Device("gfx90a").load(compiled.build(source, "gfx90a"), tools=[Instructions()], select=["calls"])


def test_the_command_line_selects(tmp_path):
    source = compiled.build(SOURCE, "gfx90a")
    common = (
        "run",
        source,
        "--kernel",
        "adds",
        "--grid",
        "64",
        "--block",
        "64",
        "--arg",
        "buf:u32[64]=arange",
        "--tool",
        "instr_count",
    )
    for text, variant in (("adds,grid=64", "full"), ("adds,grid=128", "original")):
        done = succeeds(*common, "--select", text, "--json", tmp_path / "out.json")
        data = json.loads((tmp_path / "out.json").read_text())
        count = data["emulator"]["app_instructions"] if variant == "full" else 0
        assert data["tools"]["instr_count"]["instructions"] == count, done
        assert data["variant"] == variant and data["instrumentation"]["points"] > 0


class Shares(lt.Tool):
    """Lanes of a workgroup, added up in LDS of the tool's own, and stored by its last wave."""

    sums = lt.shared(lt.u32, 1)
    total = lt.DeviceArray(lt.u32, 1)

    @lt.hook
    def add(sums: lt.ptr[lt.u32, "lds"], total: lt.ptr[lt.u32]):  # noqa: F821, UP037
        before = lt.atomic_add(sums, 1)
        lt.atomic_max(total, before + 1)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.sums, self.total)


@pytest.mark.parametrize("target", ("gfx90a", "gfx1100", "gfx1250"))
def test_a_variant_has_lds_of_its_own_and_the_original_has_its(target):
    source = """
    LDS u32 kept[64];
    KERNEL turns(u32 *p) { kept[local_x()] = p[global_x()]; barrier(); p[global_x()] = kept[63 - local_x()]; }
    """
    tool = Shares()
    module = lt.Device(target).load(compiled.build(source, target), variants={"shares": [tool]})
    for name, lanes in (("original", 0), ("shares", 64), ("shares", 64), ("original", 64)):
        array = np.arange(128, dtype=np.uint32)
        result = module.run("turns", grid=128, block=64, args=[array], variant=name, strict=True)
        assert (array == np.concatenate([np.arange(64)[::-1], np.arange(64, 128)[::-1]])).all() and result.findings == []
        assert tool.total[0] == lanes, "of one workgroup: LDS is zero when it starts"
