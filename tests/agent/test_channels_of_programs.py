"""Records of kernels in programs: none is lost with ``wait``, be the program killed or not."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import rocm

import luthier as lt

#: The deep run: how many kills.
KILLS = int(os.environ.get("LUTHIER_KILLS", "3"))


class Entries(lt.Tool):
    """A record for each lane at each entry, of numbers that belong together; and what is printed."""

    entries = lt.Channel(64, lane=lt.u32, twice=lt.u64)
    waves = lt.Channel(1 << 12, exec=lt.u64)
    count = lt.Counter()
    kill_after: int | None = None

    @lt.hook
    def enter(entries: lt.channel, waves: lt.channel, count: lt.counter):
        count += lt.active_lanes()
        lt.record(entries, lt.lane_id(), lt.u64(lt.lane_id()) * 2 + (1 << 40))
        lt.record(waves, lt.exec_mask(), per_wave=True)

    def __init__(self):
        self.lanes = self.waves_seen = 0
        self.torn = False

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.enter, self.entries, self.waves, self.count)

    def on_records(self, channel, records):
        if channel.name == "waves":
            self.waves_seen += int(sum(int(mask).bit_count() for mask in records["exec"].tolist()))
            return
        self.torn |= bool((records["twice"] != records["lane"].astype(np.uint64) * 2 + (1 << 40)).any())
        self.lanes += len(records)
        if self.kill_after is not None and self.lanes > self.kill_after and self.app is not None:
            type(self).kill_after = None
            os.kill(self.app.pid, signal.SIGKILL)

    def on_exit(self, report):
        report.result = {
            "lanes": self.lanes,
            "waves": self.waves_seen,
            "count": int(self.count),
            "torn": self.torn,
            "unfinished": self.entries.unfinished,
            "lost": self.entries.dropped,
        }


@pytest.fixture(scope="module")
def program():
    rocm.need("hipcc")
    return rocm.hip("streams"), "many_launches"


def test_every_record_of_a_program_comes(program):
    done = lt.trace(program, [Entries], mock="gfx90a", capture=True)
    assert done.status == 0 and done.stdout == "many_launches: passed\n"
    told = done.results("entries")
    assert sum(one["count"] for one in told) > 5000
    for one in told:
        assert one["lanes"] == one["waves"] == one["count"]
        assert not one["torn"] and one["unfinished"] == one["lost"] == 0


@pytest.mark.parametrize("number", range(KILLS))
def test_a_killed_program_loses_no_record_that_was_there(program, number):
    Entries.kill_after = 100 + 997 * number % 200_000
    done = lt.trace(program, [Entries], mock="gfx90a", capture=True)
    assert done.status == -signal.SIGKILL
    told = done.results("entries")
    # What a wave's counter has was counted at its end, when all of it was recorded.
    assert sum(one["lanes"] for one in told) >= sum(one["count"] for one in told)
    assert sum(one["lanes"] for one in told) > 100
    assert not any(one["torn"] for one in told)
