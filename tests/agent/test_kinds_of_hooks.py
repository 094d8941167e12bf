"""All that hooks can be and have, under programs: HIP, ids, arguments, a stack, state, channels, printf. Results stay, and what the
kinds count is the same."""

from __future__ import annotations

import os

import numpy as np
import pytest
import rocm

import luthier as lt

#: The deep run: rocRAND and rocSPARSE, too.
DEEP = os.environ.get("LUTHIER_HOOKS_DEEP") == "1"

SOURCE = """
#include <luthier/hooks.h>
__managed__ unsigned long long waves = 0;
__constant__ unsigned factors[4] = {1, 2, 3, 4};
static __device__ __attribute__((noinline)) unsigned mixed(unsigned x) {
  volatile unsigned kept[4];
  for (int i = 0; i < 4; i++) kept[i] = x + factors[i];
  return kept[0] + kept[1] + kept[2] + kept[3] - 10 - 4 * x;
}
LT_HOOK void enter(unsigned x) { lt::wave_atomic_add(&waves, 1ull + mixed(x)); }
"""


class Kinds(lt.Tool):
    """Counts waves at their entry and at their end in every way that there is."""

    hip = []
    hooks = lt.HookLibrary(SOURCE, "hip")
    counter = lt.Counter()
    groups = lt.DeviceArray(lt.u64, 2)
    entries = lt.Channel(64, group=lt.u32, wave=lt.u64, passed=lt.u32)
    passed = lt.WaveState(lt.u32)
    lanes = lt.LaneState(lt.u32)

    @lt.hook
    def enter(counter: lt.counter, groups: lt.ptr[lt.u64], passed: lt.inout[lt.u32], lanes: lt.inout[lt.u32]):
        counter += 1
        passed += 3
        lanes += lt.lane_id() + 1
        kept = lt.array(lt.u32, 8)
        for i in range(8):
            kept[i] = lt.lane_id() * i
        inside = lt.workgroup_id_x() < lt.num_workgroups_x() and kept[lt.lane_id() % 8] == lt.lane_id() * (lt.lane_id() % 8)
        if inside and lt.kernarg_ptr() != 0:
            lt.wave_atomic_add(groups, 1)

    @lt.hook
    def leave(entries: lt.channel, groups: lt.ptr[lt.u64], passed: lt.inout[lt.u32], lanes: lt.inout[lt.u32]):
        if lanes != lt.lane_id() + 1:
            lt.wave_atomic_add(groups + 1, 1)
        lt.record(entries, lt.workgroup_id_x(), lt.wave_id(), passed, per_wave=True)
        if lt.wave_id() == 0:
            lt.printf("the first wave has %u\n", passed, per_wave=True)

    def __init__(self):
        self.records = 0
        self.wrong = 0

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.hooks["enter"], lt.Literal(7))
        kernel.insert_at_entry(self.enter, self.counter, self.groups, self.passed, self.lanes)
        kernel.insert_at_exit(self.leave, self.entries, self.groups, self.passed, self.lanes)

    def on_records(self, channel, records):
        self.records += len(records)
        self.wrong += int(np.count_nonzero(records["passed"] != 3))

    def on_exit(self, report):
        report.result = {
            "counted": int(self.counter),
            "hip": self.hooks.variables["waves"][0],
            "ids": self.groups[0],
            "lanes wrong": self.groups[1],
            "records": self.records,
            "wrong": self.wrong,
            "lost": self.entries.dropped + self.entries.unfinished,
            "rejected": [one["reason"] for one in self.rejected],
        }


def agree(done: lt.TracedProgram) -> int:
    """Checks what the kinds say of each kernel; how many waves there were."""
    told = done.results("kinds")
    assert told
    for one in told:
        assert one["rejected"] == [] and one["wrong"] == one["lost"] == one["lanes wrong"] == 0, one
        assert one["counted"] == one["hip"] == one["ids"] == one["records"], one
    return sum(one["counted"] for one in told)


@pytest.mark.parametrize(("program", "case", "target"), [
    ("kernels", "lds", "gfx90a"), ("kernels", "lds", "gfx1030"), ("streams", "events", "gfx90a"), ("memory", "symbols", "gfx90a"),
])  # fmt: skip
def test_all_kinds_of_hooks_agree_under_programs(program, case, target, capfd):
    rocm.need("hipcc")
    words = [rocm.hip(program, targets=(target,)), case]
    alone = lt.trace(words, ["instr_count"], mock=target, env=rocm.ENVIRONMENT, capture=True)
    done = lt.trace(words, [Kinds], mock=target, env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.stdout) == (alone.status, alone.stdout) == (0, alone.stdout), done.stderr
    assert agree(done) > 0
    assert "the first wave has 3\n" in capfd.readouterr().out


@pytest.mark.skipif(not DEEP, reason="deep: LUTHIER_HOOKS_DEEP=1, rocRAND and rocSPARSE")
@pytest.mark.parametrize("name", ["rocrand", "rocsparse"])
def test_all_kinds_of_hooks_agree_in_libraries(name, tmp_path, monkeypatch):
    from test_proof import _matrix

    monkeypatch.chdir(tmp_path)
    if name == "rocsparse":
        _matrix(tmp_path)
    program = rocm.library_program(name)
    alone = lt.trace([program], ["instr_count"], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    wrote = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = lt.trace([program], [Kinds], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    assert (done.status, done.stdout) == (0, alone.stdout), done.stderr
    assert wrote == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert agree(done) > 0
