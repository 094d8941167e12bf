"""Every order of a few steps, by exploring schedules: the classic litmus tests have the outcomes that they may have and no
other, planted faults are found within a number of schedules, and what libraries build of atomics is clean.
"""

from __future__ import annotations

import compiled
import litmus
import numpy as np
import pytest

import luthier as lt
from luthier.replay import Case, Explored, Way, explore, record

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
#: Schedules in which every outcome is seen.
ENOUGH = {"independent_reads": 1000, "passed_on": 1000}
#: Schedules in which each planted fault is found.
FEW = 8
PLACES = (("agent", False), ("workgroup", False), ("workgroup", True))


@pytest.fixture(scope="module")
def programs():
    """The module with a processor's litmus tests."""
    loaded: dict[str, lt.Module] = {}

    def of(target: str) -> lt.Module:
        if target not in loaded:
            texts = [
                litmus.source(name, *place, fenced) for name in litmus.PROGRAMS for place in PLACES for fenced in (False, True)
            ]
            loaded[target] = lt.Device(target).load(compiled.build("\n".join(texts), target))
        return loaded[target]

    return of


def outcomes(module: lt.Module, name: str, scope: str, lds: bool, fenced: bool, count: int) -> set[litmus.Outcome]:
    """What a litmus test has come to under a number of schedules."""
    threads = len(litmus.PROGRAMS[name].threads)
    blocks, waves = (threads, 1) if scope == "agent" else (1, threads)
    kernel = f"{name}_{scope}_{'lds' if lds else 'global'}_{'fenced' if fenced else 'relaxed'}"
    args = [np.zeros(128, np.uint32), np.zeros(16, np.uint32)]
    case = record(module, kernel, blocks=blocks, block=64 * waves, args=args)
    cells, out = (next(k for k, r in enumerate(case.regions) if r.what.startswith(f"argument {n}")) for n in (0, 1))
    found = explore(case, count)
    assert not [o for o in found.outcomes if o.replayed.stop is not None]
    return {litmus.outcome(name, lds, o.replayed.memory[cells], o.replayed.memory[out]) for o in found.outcomes}


@pytest.mark.parametrize("name", litmus.PROGRAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_outcome_of_some_order_is_seen_and_no_other(programs, target, name):
    """With fences (and of one variable) that is all that LLVM's memory model allows; without, it allows more, which the device,
    whose memory does as it is told at once, does not show."""
    orders = litmus.allowed(litmus.PROGRAMS[name], fenced=True)
    assert orders <= litmus.allowed(litmus.PROGRAMS[name], fenced=False)
    for place in PLACES:
        for fenced in (True, False):
            few = name in ENOUGH and (place, fenced) != (PLACES[0], True)
            seen = outcomes(programs(target), name, *place, fenced, 100 if few else ENOUGH.get(name, 64))
            assert seen <= orders and (few or seen == orders), (place, fenced)


@pytest.mark.parametrize("name", litmus.PROGRAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_all_orders_that_are_said_to_be_all_give_exactly_the_outcomes(programs, target, name):
    orders = litmus.allowed(litmus.PROGRAMS[name], fenced=True)
    threads = len(litmus.PROGRAMS[name].threads)
    for scope, lds in PLACES:
        blocks, waves = (threads, 1) if scope == "agent" else (1, threads)
        launch = {"blocks": blocks, "block": 64 * waves}
        kernel = f"{name}_{scope}_{'lds' if lds else 'global'}_relaxed"
        args = [np.zeros(128, np.uint32), np.zeros(16, np.uint32)]
        found = programs(target).explore(kernel, **launch, args=args, by="order", schedules=5000)
        seen = set()
        for outcome in found.outcomes:
            cells, out = np.zeros(128, np.uint32), np.zeros(16, np.uint32)
            programs(target).run(kernel, **launch, args=[cells, out], schedule=outcome.schedule)
            seen.add(litmus.outcome(name, lds, cells.tobytes(), out.tobytes()))
        assert seen <= orders and (seen == orders or not found.exhausted), (scope, lds, found.schedules)
        assert found.exhausted or threads > 2, (scope, lds, found.schedules)


@pytest.mark.parametrize(
    ("name", "forbidden", "others"),
    [
        ("message_passing", (1, 0, 1, 1), 3),
        ("store_buffering", (0, 0, 1, 1), 3),
        ("load_buffering", (1, 1, 1, 1), 3),
        ("independent_reads", (1, 0, 1, 0, 1, 1), 15),
    ],
)
def test_fences_forbid_what_the_literature_says(name, forbidden, others):
    program = litmus.PROGRAMS[name]
    assert forbidden not in litmus.allowed(program, fenced=True) and len(litmus.allowed(program, fenced=True)) == others
    assert litmus.allowed(program, fenced=False) == litmus.allowed(program, fenced=True) | {forbidden}


PLANTED = """
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define look(p) __hip_atomic_load(p, __ATOMIC_RELAXED, AGENT)
#define raise(p, value) __hip_atomic_store(p, value, __ATOMIC_RELAXED, AGENT)
DEVICE static inline void pass(u32 *data, u32 *flag, u32 *out, bool releases, bool acquires, bool waits) {
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane + 1;
        if (releases) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        if (lane == 0) raise(flag, 1);
    } else {
        if (waits) while (look(flag) == 0) __builtin_amdgcn_s_sleep(1);
        if (acquires) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        out[lane] = data[lane];
    }
}
KERNEL right(u32 *data, u32 *flag, u32 *out) { pass(data, flag, out, true, true, true); }
KERNEL no_release(u32 *data, u32 *flag, u32 *out) { pass(data, flag, out, false, true, true); }
KERNEL no_acquire(u32 *data, u32 *flag, u32 *out) { pass(data, flag, out, true, false, true); }
KERNEL no_wait(u32 *data, u32 *flag, u32 *out) { pass(data, flag, out, true, true, false); }

// The one that waits sets the signal back first: if it was given before, it is lost.
KERNEL lost_signal(u32 *data, u32 *flag, u32 *out) {
    if (group_x() == 0) raise(flag, 1);
    else {
        raise(flag, 0);
        while (look(flag) == 0) __builtin_amdgcn_s_sleep(1);
    }
}
// Each of two has one lock and waits for the other's.
KERNEL two_locks(u32 *data, u32 *flag, u32 *out) {
    if (local_x() != 0) return;
    for (u32 n = 0; n < 2; n++) {
        u32 *lock = flag + 16 * (n ^ group_x());
        while (__hip_atomic_exchange(lock, 1, __ATOMIC_ACQUIRE, AGENT) != 0) __builtin_amdgcn_s_sleep(1);
    }
    data[0] += 1;
    for (u32 n = 0; n < 2; n++) __hip_atomic_store(flag + 16 * n, 0, __ATOMIC_RELEASE, AGENT);
}
"""
STREAM_K = """
#define AGENT __HIP_MEMORY_SCOPE_AGENT
// Each workgroup takes an equal share of the steps of all tiles. Who has a tile's first step adds what others have of it.
KERNEL stream_k(const u32 *a, u32 *parts, u32 *flags, u32 *out) {
    enum { STEPS = 6, SHARE = 8 };
    u32 lane = local_x(), me = group_x();
    for (u32 unit = me * SHARE, end = unit + SHARE; unit < end;) {
        u32 tile = unit / STEPS, first = unit % STEPS, left = end - unit;
        u32 last = first + left < STEPS ? first + left : STEPS, sum = 0;
        for (u32 k = first; k < last; k++) sum += a[(tile * STEPS + k) * 64 + lane];
        unit += last - first;
        if (first != 0) {
            parts[me * 64 + lane] = sum;
            barrier();
            if (lane == 0) __hip_atomic_store(flags + me, 1, __ATOMIC_RELEASE, AGENT);
            continue;
        }
        for (u32 other = me + 1, done = unit; done < (tile + 1) * STEPS; other++, done += SHARE) {
            if (lane == 0)
                while (__hip_atomic_load(flags + other, __ATOMIC_ACQUIRE, AGENT) == 0) __builtin_amdgcn_s_sleep(1);
            barrier();
            sum += parts[other * 64 + lane];
        }
        out[tile * 64 + lane] = sum;
    }
}
"""


def planted(target: str, kernel: str) -> Explored:
    module = lt.Device(target, watchdog=20_000).load(compiled.build(PLANTED, target))
    args = [np.zeros(32, np.uint32), np.zeros(64, np.uint32), np.zeros(32, np.uint32)]
    return explore(record(module, kernel, blocks=2, block=32, args=args), FEW, way=Way(strict=True, watchdog=20_000))


@pytest.mark.parametrize("kernel", ["no_release", "no_acquire", "no_wait"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_missing_fence_or_wait_is_found(target, kernel):
    kinds = {kind for outcome in planted(target, kernel).outcomes for kind in outcome.kinds}
    assert kinds == {"memory-race"}


@pytest.mark.parametrize("kernel", ["lost_signal", "two_locks"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_some_schedules_never_end_is_found_and_named(target, kernel):
    found = planted(target, kernel).outcomes
    stops = [str(outcome.replayed.stop) for outcome in found if outcome.replayed.stop is not None]
    assert stops and all("the device's watchdog" in stop for stop in stops)
    assert any(outcome.replayed.stop is None for outcome in found), "it ends under others"


def assert_clean(case: Case, count: int, watchdog: int = 2_000_000) -> None:
    found = explore(case, count, way=Way(strict=True, watchdog=watchdog))
    assert not [outcome for outcome in found.outcomes if outcome.kinds or outcome.replayed.stop is not None]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_right_is_clean(target):
    found = planted(target, "right")
    assert found.is_deterministic and not found.outcomes[0].kinds and found.outcomes[0].replayed.stop is None


@pytest.mark.parametrize("target", TARGETS)
def test_a_ticket_lock_is_clean_and_keeps_all_others_out(target):
    module = lt.Device(target).load(compiled.code_object("workers/workgroups", target=target))
    following, called, shared = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(3, np.uint32)
    case = record(module, "ticket_lock_32", blocks=4, block=32, args=[following, called, shared, np.uint32(3)])
    assert shared.tolist() == [66, 0, 12]
    assert explore(case, 12).is_deterministic
    assert_clean(case, 12)


@pytest.mark.parametrize("target", TARGETS)
def test_decoupled_look_back_is_clean_and_every_schedule_gives_the_same_sums(target):
    module = lt.Device(target).load(compiled.code_object("workers/workgroups", target=target))
    given = np.random.default_rng(1).integers(0, 1000, 6 * 64).astype(np.uint32)
    out, states = np.zeros_like(given), np.zeros(16 * 6, np.uint8)
    case = record(module, "scan_global_64", blocks=6, block=64, args=[given, out, states, np.zeros(1, np.uint32)])
    np.testing.assert_array_equal(out, np.cumsum(given, dtype=np.uint32))
    assert_clean(case, 12)
    at = next(k for k, region in enumerate(case.regions) if region.what.startswith("argument 1"))
    assert {outcome.replayed.memory[at] for outcome in explore(case, 12).outcomes} == {case.regions[at].left}


@pytest.mark.parametrize("target", TARGETS)
def test_stream_k_is_clean_and_every_schedule_gives_the_same_tiles(target):
    module = lt.Device(target).load(compiled.build(STREAM_K, target))
    a = np.random.default_rng(2).integers(0, 1000, (4, 6, 64)).astype(np.uint32)
    out = np.zeros((4, 64), np.uint32)
    case = record(module, "stream_k", blocks=3, block=64, args=[a, np.zeros(192, np.uint32), np.zeros(3, np.uint32), out])
    np.testing.assert_array_equal(out, a.sum(1))
    assert explore(case, 12).is_deterministic
    assert_clean(case, 12)
