"""Races in device memory where workgroups run on several threads: programs without races have no findings, whichever
thread comes first."""

from __future__ import annotations

import os

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx90a", "gfx942", "gfx1100", "gfx1201", "gfx1250"]
GROUPS, LANES = 4, 32
ROUNDS = int(os.environ.get("LUTHIER_RACE_ROUNDS", "15"))

SOURCE = """
#define INLINE __attribute__((device, always_inline)) static inline
#define AGENT __HIP_MEMORY_SCOPE_AGENT
INLINE u32 look(u32 *flag) { return __hip_atomic_load(flag, __ATOMIC_RELAXED, AGENT); }
INLINE void raise(u32 *flag, u32 value) { __hip_atomic_store(flag, value, __ATOMIC_RELAXED, AGENT); }
INLINE u32 add(u32 *flag) { return __hip_atomic_fetch_add(flag, 1, __ATOMIC_RELAXED, AGENT); }
INLINE void release() { __builtin_amdgcn_wave_barrier(); __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); }
INLINE void acquire() { __builtin_amdgcn_wave_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); }

// All workgroups store the same.
KERNEL equal_values(u32 *data, u32 *flags, u32 *out) {
    if (local_x() == 0)
        for (u32 k = 0; k < 4096; k++) {
            data[k * 8 % 4096 + k * 8 / 4096] = k;
            asm volatile("" ::: "memory");
        }
}

// Two workgroups leave a message in each box, whichever is read.
KERNEL boxes(u32 *data, u32 *flags, u32 *out) {
    u32 lane = local_x(), me = group_x(), sum = 0;
    for (u32 box = 0; box < 64; box++) {
        u32 *messages = data + box * 64;
        if (me < 2) {
            messages[me * 32 + lane] = lane;
            release();
            if (lane == 0)
                raise(flags + box, me + 1);
        } else {
            u32 from;
            do
                from = __builtin_amdgcn_readfirstlane(look(flags + box));
            while (from == 0);
            acquire();
            sum += messages[(from - 1) * 32 + lane];
        }
    }
    out[me * 32 + lane] = sum;
}

// Lane n tells workgroup n, by an atomic that brings nothing back.
KERNEL all_to_all(u32 *data, u32 *flags, u32 *out) {
    u32 lane = local_x(), me = group_x(), groups = 4, sum = 0;
    data[me * 32 + lane] = lane;
    release();
    if (lane < groups)
        add(flags + lane);
    while (look(flags + me) != groups)
        __builtin_amdgcn_s_sleep(1);
    acquire();
    for (u32 group = 0; group < groups; group++)
        sum += data[group * 32 + lane];
    out[me * 32 + lane] = sum;
}

// The one to be served is stored by the thread that was served.
KERNEL tickets(u32 *data, u32 *flags, u32 *out) {
    u32 lane = local_x();
    for (u32 round = 0; round < 32; round++) {
        u32 ticket = lane == 0 ? add(flags) : 0;
        ticket = __builtin_amdgcn_readfirstlane(ticket);
        while (look(flags + 1) != ticket)
            __builtin_amdgcn_s_sleep(1);
        acquire();
        data[lane] += 1;
        release();
        if (lane == 0)
            raise(flags + 1, ticket + 1);
    }
}
"""

# What is in the first words of each buffer.
EXPECTED = {
    "equal_values": ("data", np.arange(4096).reshape(8, 512).T.ravel()),
    "boxes": ("out", np.concatenate([np.zeros(2 * LANES), np.tile(64 * np.arange(LANES), 2)])),
    "all_to_all": ("out", np.tile(4 * np.arange(LANES), 4)),
    "tickets": ("data", np.full(LANES, 32 * GROUPS)),
}
#: Stores that two waves may make at any time say that they are atomic there.
MARKED = ["gfx942", "gfx1201", "gfx1250"]


def findings(device: lt.Device, name: str, **more) -> list:
    buffers = {"data": np.zeros(4096, np.uint32), "flags": np.zeros(64, np.uint32), "out": np.zeros(4 * LANES, np.uint32)}
    code = compiled.build(SOURCE, device.properties.processor)
    result = device.run(code, name, blocks=GROUPS, block=LANES, args=list(buffers.values()), strict=["memory-race"], **more)
    where, values = EXPECTED[name]
    np.testing.assert_array_equal(buffers[where][: len(values)], values)
    return result.findings


@pytest.mark.parametrize("name, target", [(n, t) for n in EXPECTED for t in (MARKED if n == "boxes" else TARGETS)])
def test_who_comes_first_makes_no_findings(name, target):
    for threads in (2, 4):
        device = lt.Device(target, threads=threads)
        for _ in range(ROUNDS):
            assert not findings(device, name)


@pytest.mark.parametrize("target", MARKED)
def test_whoever_reads_the_first_of_two_stores_knows_it_after_the_second(target):
    device = lt.Device(target, threads=1)
    for seed in range(20):
        assert not findings(device, "boxes", schedule=f"random:{seed}")


def test_two_stores_in_any_order_are_reported_where_stores_say_nothing():
    assert findings(lt.Device("gfx90a", threads=1), "boxes")


CONTENDED = """
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define ONCE for (bool first = local_x() == 0; first; first = false)

KERNEL compare_and_swap(u32 *word, u32 *count, u32 rounds, u32 groups) {
    ONCE for (u32 round = 0; round < rounds; round++) {
        u32 zero = 0;
        while (!__hip_atomic_compare_exchange_strong(word, &zero, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, AGENT))
            zero = 0;
        count[0] += 1;
        __hip_atomic_store(word, 0, __ATOMIC_RELEASE, AGENT);
    }
}
KERNEL exchange(u32 *word, u32 *count, u32 rounds, u32 groups) {
    ONCE for (u32 round = 0; round < rounds; round++) {
        while (__hip_atomic_exchange(word, 1, __ATOMIC_ACQUIRE, AGENT) != 0) {}
        count[0] += 1;
        __hip_atomic_exchange(word, 0, __ATOMIC_RELEASE, AGENT);
    }
}
// The last one of each round sets back what all have counted in, by a plain store, and lets the others go on.
KERNEL meet(u32 *word, u32 *count, u32 rounds, u32 groups) {
    ONCE for (u32 round = 1; round <= rounds; round++) {
        count[group_x()] = round;
        if (__hip_atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL, AGENT) == groups - 1) {
            word[0] = 0;
            u32 sum = 0;
            for (u32 group = 0; group < groups; group++)
                sum += count[group];
            count[groups] = sum;
            __hip_atomic_store(word + 1, round, __ATOMIC_RELEASE, AGENT);
        }
        while (__hip_atomic_load(word + 1, __ATOMIC_ACQUIRE, AGENT) != round) {}
    }
}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["compare_and_swap", "exchange", "meet"])
def test_workgroups_on_several_threads_that_keep_each_other_out_are_clean(name, target):
    code, groups, rounds = compiled.build(CONTENDED, target), 24, 5
    for threads in (1, 2, 4):
        device = lt.Device(target, threads=threads)
        for _ in range(ROUNDS // 3):
            word, count = np.zeros(2, np.uint32), np.zeros(groups + 1, np.uint32)
            result = device.run(code, name, blocks=groups, block=LANES, args=[word, count, rounds, groups], strict=True)
            assert not result.findings, (threads, result.findings)
            assert count[groups if name == "meet" else 0] == groups * rounds
