# ruff: noqa: F821, UP037 (an address space is a word in quotes, not a type)
"""A tool that has hooks of all kinds: in HIP and Python, with ids, arguments, a stack, state, LDS, channels and printf. Each counts the
waves of a kernel in its own way."""

from __future__ import annotations

import numpy as np

import luthier as lt

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
    groups = lt.DeviceArray(lt.u64, 3)
    arrived = lt.shared(lt.u32, 4)
    entries = lt.Channel(64, group=lt.u32, wave=lt.u64, passed=lt.u32)
    passed = lt.WaveState(lt.u32)
    lanes = lt.LaneState(lt.u32)

    @lt.hook
    def enter(
        counter: lt.counter, groups: lt.ptr[lt.u64], passed: lt.inout[lt.u32], lanes: lt.inout[lt.u32],
        arrived: lt.ptr[lt.u32, "lds"],
    ):  # fmt: skip
        counter += 1
        lt.wave_atomic_add(arrived + 3, 1)
        passed += 3
        lanes += lt.lane_id() + 1
        kept = lt.array(lt.u32, 8)
        for i in range(8):
            kept[i] = lt.lane_id() * i
        inside = lt.workgroup_id_x() < lt.num_workgroups_x() and kept[lt.lane_id() % 8] == lt.lane_id() * (lt.lane_id() % 8)
        if inside and lt.kernarg_ptr() != 0:
            lt.wave_atomic_add(groups, 1)

    @lt.hook
    def leave(
        entries: lt.channel, groups: lt.ptr[lt.u64], passed: lt.inout[lt.u32], lanes: lt.inout[lt.u32],
        arrived: lt.ptr[lt.u32, "lds"],
    ):  # fmt: skip
        lt.wave_atomic_add(groups + 2, lt.u64(lt.wave_atomic_exchange(arrived + 3, 0)))
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
        kernel.insert_at_entry(self.enter, self.counter, self.groups, self.passed, self.lanes, self.arrived)
        kernel.insert_at_exit(self.leave, self.entries, self.groups, self.passed, self.lanes, self.arrived)

    def on_records(self, channel, records):
        self.records += len(records)
        self.wrong += int(np.count_nonzero(records["passed"] != 3))

    def on_exit(self, report):
        report.result = {
            "counted": int(self.counter),
            "hip": self.hooks.variables["waves"][0],
            "ids": self.groups[0],
            "lds": self.groups[2],
            "lanes wrong": self.groups[1],
            "records": self.records,
            "wrong": self.wrong,
            "lost": self.entries.dropped + self.entries.unfinished,
            "rejected": [one["reason"] for one in self.rejected],
        }


def waves(told: dict) -> int:
    """Checks that all kinds say the same of the waves that there were; how many."""
    assert told["rejected"] == [] and told["wrong"] == told["lost"] == told["lanes wrong"] == 0, told
    assert told["counted"] == told["hip"] == told["ids"] == told["lds"] == told["records"], told
    return told["counted"]
