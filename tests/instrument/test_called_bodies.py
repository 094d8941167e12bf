"""Hooks that are called: everything is as with hooks in place, on every generation, and the object is smaller."""

from __future__ import annotations

import collections

import compiled
import counted_plans
import numpy as np
import pytest
from instrumented import PLACES, TARGETS, on_every_target
from test_counted_plans import SEEDS, built, launches, places

import luthier as lt


class Sums(lt.Tool):
    """A hook with a loop, values of both files and a state of the wave's, before and after the instructions of a kernel."""

    last = lt.WaveState(lt.u32)

    @lt.hook
    def add(sums: lt.ptr[lt.u64], n: lt.u32, last: lt.inout[lt.u32]):
        left = lt.exec_mask()
        steps: lt.u32 = 0
        while left != 0:
            lane = lt.ctz(left)
            steps += lt.readlane(lt.lane_id(), lane) + 1
            left = left & (left - 1)
        last = last * 5 + n
        lt.wave_atomic_add(sums, lt.u64(steps))
        lt.wave_atomic_add(sums + 1, lt.u64(last))

    def on_kernel(self, kernel):
        self.sums = lt.DeviceArray(lt.u64, 2, name=f"sums.{kernel.name}")
        for function in kernel.functions:
            kernel.insert_at_entry(self.add, self.sums.at(0), 7, self.last, function=function)
            for n, instr in enumerate(function.instructions):
                kernel.insert_before(instr, self.add, self.sums.at(0), n, self.last)
                if instr.falls_through and not instr.is_call:
                    kernel.insert_after(instr, self.add, self.sums.at(0), 100 + n, self.last)


def ran(target, **options):
    code = lt.CodeObject.open(compiled.build(PLACES, target[0], target[1], "O1"))
    tool = Sums()
    module = lt.Device(target[0]).load(code, tools=[tool], check=True, on_rejected="raise", **options)
    (launch,) = places()
    result = module.run(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, strict=True)
    assert not result.findings, result.findings[0]
    return tool.sums.read().tolist(), [a.tobytes() for a in launch.args if isinstance(a, np.ndarray)], result


@on_every_target
def test_hooks_that_are_called_do_what_hooks_in_place_do(target):
    (sums, memory, plain), (called_sums, called_memory, called) = ran(target, bodies="in-place"), ran(target, bodies="called")
    assert sums == called_sums and sums[0] > 0
    assert memory == called_memory
    assert plain.app_instructions == called.app_instructions
    calls = sum(n for name, n in called.histogram.items() if name.startswith("s_call_")) - sum(
        n for name, n in plain.histogram.items() if name.startswith("s_call_")
    )
    # A call and a return for each hook that ran, where registers were free for it.
    assert calls > 0
    assert called.instructions <= plain.instructions + 3 * calls


@on_every_target
def test_plans_of_every_kind_count_the_same_with_called_bodies(target):
    assert counted_plans.compare(built(target), target[0], launches, SEEDS[0], bodies="called") > 100


def test_a_long_hook_is_called_by_choice_and_a_short_one_is_not():
    code = lt.CodeObject.open(compiled.build(PLACES, "gfx90a", (), "O1"))
    sizes = collections.defaultdict(dict)
    for name, make in (("long", Sums), ("short", lambda: lt.tools.load("instr_count:per=instruction"))):
        for bodies in ("in-place", "choose", "called"):
            sizes[name][bodies] = len(lt.instrument(code, [make()], bodies=bodies).data)
        assert len(lt.instrument(code, [make()]).data) == sizes[name]["choose"]
    assert sizes["long"]["choose"] <= sizes["long"]["called"] < 0.7 * sizes["long"]["in-place"]
    assert sizes["short"]["choose"] == sizes["short"]["in-place"]


def test_other_words_are_refused():
    with pytest.raises(lt.ArgumentError, match="'in-place', 'choose' or 'called'"):
        lt.instrument(built(TARGETS[0]), [Sums()], bodies="always")
