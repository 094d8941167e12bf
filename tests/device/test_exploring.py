"""One launch under many schedules: the outcomes of litmus tests are exactly those that some order has, deadlocks and lost
updates are found within so many schedules, and what is in order has one outcome."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
SOURCE = """
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL lost(u32 *count, u32 *out) {
    if (local_x() == 0) STORE(count, LOAD(count) + 1);
}
KERNEL counted(u32 *count, u32 *out) {
    if (local_x() == 0) __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL crosswise(u32 *lock, u32 *out) {
    if (local_x() != 0) return;
    u32 *first = group_x() ? lock : lock + 16, *second = group_x() ? lock + 16 : lock;
    while (__hip_atomic_exchange(first, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
    while (__hip_atomic_exchange(second, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1);
    __hip_atomic_store(second, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_store(first, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL ticket(u32 *lock, u32 *out) {
    if (local_x() != 0) return;
    u32 mine = __hip_atomic_fetch_add(lock, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(lock + 16, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != mine) __builtin_amdgcn_s_sleep(1);
    out[0] += 1;
    __hip_atomic_store(lock + 16, mine + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
// Decoupled look-back: the sum of all tiles up to each one's own, flags beside values that are no atomics.
template <int RELEASE, int ACQUIRE> DEVICE static inline void scan(u32 *state, u32 *out) {
    if (local_x() != 0) return;
    u32 *flag = state + 8, *sum = state + 64, *prefix = state + 128;
    u32 tile = __hip_atomic_fetch_add(state, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), own = 3 * tile + 1, before = 0;
    sum[tile] = own;
    __hip_atomic_store(flag + tile, 1, RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    for (u32 at = tile; at != 0;) {
        u32 found;
        at--;
        while (!(found = __hip_atomic_load(flag + at, ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))) __builtin_amdgcn_s_sleep(1);
        before += found == 2 ? prefix[at] : sum[at];
        if (found == 2) break;
    }
    prefix[tile] = out[tile] = before + own;
    __hip_atomic_store(flag + tile, 2, RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL lookback(u32 *state, u32 *out) { scan<__ATOMIC_RELEASE, __ATOMIC_ACQUIRE>(state, out); }
KERNEL lookback_relaxed(u32 *state, u32 *out) { scan<__ATOMIC_RELAXED, __ATOMIC_RELAXED>(state, out); }
// Stream-K: two tiles of three parts each over three workgroups, two parts each; who has a tile's first part adds the others'.
template <bool FENCED> DEVICE static inline void stream(u32 *work, u32 *out) {
    u32 *flag = work, *partial = work + 64, lane = local_x(), total = 0, group = group_x();
    for (u32 part = 2 * group; part < 2 * group + 2; part++) {
        total += 100 * (part / 3) + 10 * (part % 3) + lane;
        bool is_last = part % 3 == 2 || part == 2 * group + 1;
        if (!is_last) continue;
        bool owns = 2 * group <= part / 3 * 3;
        if (!owns) {
            partial[group * 64 + lane] = total;
            barrier();
            if (lane == 0) __hip_atomic_store(flag + group, 1, FENCED ? __ATOMIC_RELEASE : __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        } else {
            if (part % 3 != 2) {
                if (lane == 0)
                    while (!__hip_atomic_load(flag + group + 1, FENCED ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
                        __builtin_amdgcn_s_sleep(1);
                barrier();
                if (FENCED) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
                total += partial[(group + 1) * 64 + lane];
            }
            out[part / 3 * 64 + lane] = total;
        }
        total = 0;
    }
}
KERNEL streamk(u32 *work, u32 *out) { stream<true>(work, out); }
KERNEL streamk_relaxed(u32 *work, u32 *out) { stream<false>(work, out); }
KERNEL meets(u32 *at, u32 *out) {
    if (local_x() == 0) {
        __hip_atomic_fetch_add(at, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (LOAD(at) != 40) __builtin_amdgcn_s_sleep(1);
    }
}
"""


@pytest.fixture(scope="module")
def modules():
    return compiled.modules(SOURCE)


def explore(module, kernel, blocks, **how):
    args = [np.zeros(64, np.uint32), np.zeros(64, np.uint32)]
    found = module.explore(kernel, blocks=blocks, block=64, args=args, **how)
    assert not args[0].any() and not args[1].any(), "the arrays are what they were"
    return found


def left(module, kernel, blocks, schedule):
    args = [np.zeros(64, np.uint32), np.zeros(64, np.uint32)]
    module.run(kernel, blocks=blocks, block=64, args=args, schedule=schedule)
    return int(args[0][0]), int(args[1][0])


@pytest.mark.parametrize("target", TARGETS)
def test_lost_updates_are_all_found_and_an_atomic_loses_none(modules, target):
    found = explore(modules(target), "lost", 2, by="order", schedules=2000)
    counts = {left(modules(target), "lost", 2, outcome.schedule)[0] for outcome in found.outcomes}
    assert found.exhausted and counts == {1, 2}
    found = explore(modules(target), "counted", 2, by="order", schedules=2000)
    assert found.exhausted and found.is_clean


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("by", "count"), [("pct", 128)])
def test_two_locks_taken_crosswise_are_found_within_so_many_schedules(modules, target, by, count):
    found = explore(modules(target), "crosswise", 2, by=by, schedules=count, watchdog=2_000)
    assert any(outcome.error is not None and "watchdog" in str(outcome.error) for outcome in found.outcomes), str(found)


@pytest.mark.parametrize("target", TARGETS)
def test_a_ticket_lock_has_one_outcome(modules, target):
    found = explore(modules(target), "ticket", 4, by="pct", schedules=64, strict=True)
    assert found.is_clean and found.schedules == 64, str(found)
    assert left(modules(target), "ticket", 4, found.outcomes[0].schedule) == (4, 4)


def of_many(module, kernel, blocks, block, **how):
    """The kernel under many schedules, and what one of them leaves in its second argument."""
    args = [np.zeros(512, np.uint32), np.zeros(512, np.uint32)]
    found = module.explore(kernel, blocks=blocks, block=block, args=args, strict=True, **how)
    module.run(kernel, blocks=blocks, block=block, args=args, schedule=found.outcomes[0].schedule)
    return found, args[1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("by", ["pct", "usual"])
def test_decoupled_look_back_is_clean_and_without_its_fences_it_is_not(modules, target, by):
    found, out = of_many(modules(target), "lookback", 5, 32, by=by, schedules=48)
    assert found.is_clean and found.schedules == 48, str(found)
    np.testing.assert_array_equal(out[:5], np.cumsum(3 * np.arange(5) + 1))
    found, _ = of_many(modules(target), "lookback_relaxed", 5, 32, by=by, schedules=16)
    assert any(outcome.kinds for outcome in found.outcomes), str(found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("by", ["pct", "usual"])
def test_stream_k_is_clean_and_without_its_fences_it_is_not(modules, target, by):
    found, out = of_many(modules(target), "streamk", 3, 64, by=by, schedules=48)
    assert found.is_clean and found.schedules == 48, str(found)
    parts = 100 * np.arange(2)[:, None] + 10 * np.arange(3)
    np.testing.assert_array_equal(out[:128].reshape(2, 64), parts.sum(1)[:, None] + 3 * np.arange(64))
    found, _ = of_many(modules(target), "streamk_relaxed", 3, 64, by=by, schedules=16)
    assert any(outcome.kinds for outcome in found.outcomes), str(found)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_in_order_stays_so_in_weak_memory(modules, target):
    found = explore(modules(target), "ticket", 4, weak=True, schedules=48, strict=True)
    assert found.is_clean and found.schedules == 48 and not found.exhausted, str(found)
    assert left(modules(target), "ticket", 4, found.outcomes[0].schedule) == (4, 4)
    for kernel, blocks, block in (("lookback", 5, 32), ("streamk", 3, 64)):
        found, _ = of_many(modules(target), kernel, blocks, block, weak=True, schedules=48)
        assert found.is_clean and found.schedules == 48, str(found)
        if kernel == "lookback" or target in ("gfx90a", "gfx942"):  # RDNA's barrier waits for stores and invalidates L0
            found, _ = of_many(modules(target), f"{kernel}_relaxed", blocks, block, weak=True, schedules=96, watchdog=20_000)
            assert len(found.outcomes) > 1, str(found)


def test_a_barrier_of_more_workgroups_than_have_room_never_ends(modules):
    found = explore(modules("gfx90a"), "meets", 40, by="pct", schedules=2, watchdog=20_000)
    assert all(outcome.error is not None for outcome in found.outcomes), str(found)


def test_a_lost_update_is_found_by_priorities_and_repeated(modules):
    module = modules("gfx90a")
    found = explore(module, "lost", 8, by="pct", schedules=16)
    assert len(found.outcomes) > 1
    for outcome in found.outcomes:
        assert left(module, "lost", 8, outcome.schedule) == left(module, "lost", 8, outcome.schedule)
    assert len({left(module, "lost", 8, outcome.schedule) for outcome in found.outcomes}) == len(found.outcomes)


def test_wrong_ways_to_explore_are_refused(modules):
    for wrong in ({"by": "luck"}, {"schedules": 0}, {"depth": 0}, {"seed": -1}, {"watchdog": 0}, {"schedule": "fair"}):
        with pytest.raises(lt.ArgumentError):
            explore(modules("gfx90a"), "lost", 2, **wrong)
