"""Data races in device memory: the classic ones, each found with both parties, and each mended without findings."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

TARGETS = ["gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
LANES = 32

SOURCE = """
#define INLINE __attribute__((device, always_inline)) static inline
#define AGENT __HIP_MEMORY_SCOPE_AGENT
INLINE u32 look(u32 *flag) { return __hip_atomic_load(flag, __ATOMIC_RELAXED, AGENT); }
INLINE void raise(u32 *flag, u32 value) { __hip_atomic_store(flag, value, __ATOMIC_RELAXED, AGENT); }
INLINE u32 ticket(u32 *flag) { return __hip_atomic_fetch_add(flag, 1, __ATOMIC_RELAXED, AGENT); }
INLINE void release() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); }
INLINE void acquire() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"); }
INLINE void release_group() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); }
INLINE void acquire_group() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
#define wait_for(flag, value) while (look(flag) < (value)) __builtin_amdgcn_s_sleep(1)
#define BOTH(name) \\
    KERNEL name##_right(u32 *data, u32 *flag, u32 *out) { name(data, flag, out, true); } \\
    KERNEL name##_wrong(u32 *data, u32 *flag, u32 *out) { name(data, flag, out, false); }
#define CASE(name) INLINE void name(u32 *data, u32 *flag, u32 *out, bool right)

CASE(barrier_missing) {
    data[local_x()] = local_x();
    if (right)
        barrier();
    out[local_x()] = data[local_x() ^ 128];
}
BOTH(barrier_missing)

CASE(scope) {
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane;
        if (right) release(); else release_group();
        if (lane == 0)
            raise(flag, 1);
    } else {
        wait_for(flag, 1);
        if (right) acquire(); else acquire_group();
        out[lane] = data[lane ^ 1];
    }
}
BOTH(scope)

CASE(release_missing) {
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane;
        if (right)
            release();
        if (lane == 0)
            raise(flag, 1);
    } else {
        wait_for(flag, 1);
        acquire();
        out[lane] = data[lane ^ 1];
    }
}
BOTH(release_missing)

CASE(acquire_missing) {
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane;
        release();
        if (lane == 0)
            raise(flag, 1);
    } else {
        wait_for(flag, 1);
        if (right)
            acquire();
        out[lane] = data[lane ^ 1];
    }
}
BOTH(acquire_missing)

CASE(reuse) {
    u32 lane = local_x(), sum = 0;
    for (u32 round = 1; round <= 3; round++) {
        if (group_x() == 0) {
            // The slot may be written again when the other has taken what was in it.
            if (right) {
                wait_for(flag + 1, round - 1);
                acquire();
            }
            data[lane] = lane + round;
            release();
            if (lane == 0)
                raise(flag, round);
        } else {
            wait_for(flag, round);
            acquire();
            sum += data[lane ^ 1];
            release();
            if (lane == 0)
                raise(flag + 1, round);
        }
    }
    if (group_x() == 1)
        out[lane] = sum;
}
BOTH(reuse)

CASE(double_buffer) {
    u32 lane = local_x(), sum = 0;
    for (u32 round = 0; round < 4; round++) {
        u32 *buffer = data + (right ? round % 2 * 256 : 0);
        buffer[lane] = lane + round;
        barrier();
        sum += buffer[lane ^ 128];
    }
    out[lane] = sum;
}
BOTH(double_buffer)

CASE(split_reduction) {
    u32 lane = local_x(), groups = 4;
    data[group_x() * 32 + lane] = lane;
    if (right)
        release();
    u32 number = lane == 0 ? ticket(flag) : 0;
    if (__builtin_amdgcn_readfirstlane(number) == groups - 1) {
        if (right)
            acquire();
        u32 sum = 0;
        for (u32 group = 0; group < groups; group++)
            sum += data[group * 32 + lane];
        out[lane] = sum;
    }
}
BOTH(split_reduction)

// All threads release, and one of them tells; one counts the group in, and all threads acquire.
CASE(all_release) {
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane;
        release();
        if (lane == 0 && !right)
            raise(flag, 1);
        barrier();
        if (lane == 0 && right)
            raise(flag, 1);
    } else {
        wait_for(flag, 1);
        acquire();
        out[lane] = data[lane ^ 64];
    }
}
BOTH(all_release)

CASE(all_acquire) {
    LDS u32 number;
    u32 lane = local_x();
    data[group_x() * 128 + lane] = lane;
    release();
    barrier();
    if (!right)
        acquire();
    if (lane == 0)
        number = ticket(flag);
    barrier();
    if (number == 1) {
        if (right)
            acquire();
        out[lane] = data[lane ^ 64] + data[128 + (lane ^ 64)];
    }
}
BOTH(all_acquire)

// A wave that has acquired what its mate looked at tells it on.
CASE(told_on) {
    LDS u32 seen;
    u32 lane = local_x();
    if (group_x() == 0) {
        data[lane] = lane;
        release();
        if (lane == 64 && !right)
            raise(flag, 1);
        barrier();
        if (lane == 64 && right)
            raise(flag, 1);
    } else if (group_x() == 1) {
        if (lane == 0) {
            wait_for(flag, 1);
            seen = 1;
        }
        barrier();
        acquire();
        data[128 + lane] = seen;
        release();
        barrier();
        if (lane == 64)
            raise(flag + 1, 1);
    } else {
        if (lane == 0)
            wait_for(flag + 1, 1);
        barrier();
        acquire();
        out[lane] = data[lane ^ 64] + data[128 + (lane ^ 64)];
    }
}
BOTH(told_on)

// A thread that learns that a flag was seen may write it.
CASE(flag_reset) {
    if (local_x() != 0)
        return;
    if (group_x() == 0) {
        data[0] = 1;
        release();
        raise(flag, 1);
    } else if (group_x() == 1) {
        if (right)
            wait_for(flag, 1);
        acquire();
        release();
        raise(flag + 1, 1);
    } else {
        wait_for(flag + 1, 1);
        acquire();
        flag[0] = 0;
        out[0] = 1;
    }
}
BOTH(flag_reset)
"""

# Blocks, work-items of a block, and what the second buffer and the sum of the results are.
CASES = {
    "barrier_missing": (1, 256),
    "scope": (2, LANES),
    "release_missing": (2, LANES),
    "acquire_missing": (2, LANES),
    "reuse": (2, LANES),
    "double_buffer": (1, 256),
    "split_reduction": (4, LANES),
    "flag_reset": (3, LANES),
    "all_release": (2, 128),
    "all_acquire": (2, 128),
    "told_on": (3, 128),
}
EXPECTED = {
    "barrier_missing": np.arange(256) ^ 128,
    "reuse": 3 * (np.arange(LANES) ^ 1) + 6,
    "double_buffer": 4 * (np.arange(256) ^ 128) + 6,
    "split_reduction": 4 * np.arange(LANES),
    "flag_reset": np.arange(LANES) == 0,
    "all_release": np.arange(128) ^ 64,
    "all_acquire": 2 * (np.arange(128) ^ 64),
    "told_on": (np.arange(128) ^ 64) + 1,
}


def run(name: str, which: str, target: str, level: str = "O2", **more):
    blocks, block = CASES[name]
    data, flag, out = np.zeros(512, np.uint32), np.zeros(2, np.uint32), np.zeros(block, np.uint32)
    device = lt.Device(target)
    code = compiled.build(SOURCE, target, level=level)
    result = device.run(code, f"{name}_{which}", blocks=blocks, block=block, args=[data, flag, out], strict=True, **more)
    return result.findings, out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_race_is_found_and_its_mended_version_is_not(name, target):
    findings, out = run(name, "right", target)
    assert not findings, findings
    np.testing.assert_array_equal(out, EXPECTED.get(name, np.arange(LANES) ^ 1))
    findings, _ = run(name, "wrong", target, schedule="alternate")
    races = [f for f in findings if f["kind"] == "memory-race"]
    assert races and len(races) == len(findings), findings
    for race in races:
        assert race["other"]["text"] and race["address"] is not None and " of workgroup (" in race["message"]
        assert {race["text"].split("_")[1], race["other"]["text"].split("_")[1]} & {"store"}


@pytest.mark.parametrize("name", CASES)
def test_mended_versions_are_clean_unoptimised_and_in_any_order(name):
    for schedule in ("fair", "alternate", "random:1", "random:2"):
        for level in ("O0", "O3"):
            findings, out = run(name, "right", "gfx942", level, schedule=schedule)
            assert not findings, findings


# What writes a cache back, and the wait for it that a release has.
WRITE_BACKS = {
    "gfx942": ("buffer_wbl2", "s_waitcnt"),
    "gfx950": ("buffer_wbl2", "s_waitcnt"),
    "gfx1250": ("global_wb", "s_wait_storecnt"),
}


@pytest.mark.parametrize("target", WRITE_BACKS)
def test_a_cache_is_written_back_when_that_was_waited_for(target, tmp_path):
    """The right release without its wait, the wait in front of the write-back instead, and as it was."""
    write_back, wait = WRITE_BACKS[target]
    lines = compiled.assembly(SOURCE, target).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("scope_right:"))
    at = next(n for n in range(start, len(lines)) if write_back in lines[n])
    last = next(n for n in range(at, len(lines)) if "global_store" in lines[n])
    waits = [n for n in range(at, last) if lines[n].split()[:1] == [wait]]
    assert waits, lines[at:last]
    without = [line for n, line in enumerate(lines) if n not in waits]
    early = [*without[:at], *(lines[n] for n in waits), *without[at:]]
    for text, is_right in ((lines, True), (without, False), (early, False)):
        code = compiled.assembled("\n".join(text), target, tmp_path / f"{is_right}.hsaco")
        data, flag, out = np.zeros(512, np.uint32), np.zeros(2, np.uint32), np.zeros(LANES, np.uint32)
        launch = {"blocks": 2, "block": LANES, "args": [data, flag, out], "strict": True}
        findings = lt.Device(target).run(code, "scope_right", **launch).findings
        assert {f["kind"] for f in findings} == (set() if is_right else {"memory-race"}), findings


def test_races_are_looked_for_only_where_wanted():
    device = lt.Device("gfx90a")
    code = compiled.build(SOURCE, "gfx90a")
    args = [np.zeros(512, np.uint32), np.zeros(2, np.uint32), np.zeros(256, np.uint32)]
    for strict, some in ((["memory-race"], True), (["lds-race"], False)):
        result = device.run(code, "double_buffer_wrong", blocks=1, block=256, args=args, strict=strict, schedule="alternate")
        assert bool(result.findings) == some
