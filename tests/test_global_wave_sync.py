"""Global wave sync (``ds_gws_*``): barriers and semaphores between all waves of a device, by clang's builtins and by hand.

What comes out is what the grid as a whole must come to, worked out here with NumPy; where a wave waits and for how many is
compared with the counting rules of AMD's manuals.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier import _core

#: One of each kind of processor that has it: GCN, CDNA1 to CDNA4, RDNA1 to RDNA3.5.
TARGETS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151")
GROUPS = 120

HIP = """
#define FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define GROUPS_X (__builtin_amdgcn_grid_size_x() / block_x())
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ADD(p, v) __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
// As AMD's device library has a grid meet: one lane of each workgroup comes to the barrier of resource 0.
DEVICE static inline void grid_sync() {
    FENCE();
    __builtin_amdgcn_s_barrier();
    if (local_x() == 0) __builtin_amdgcn_ds_gws_barrier(GROUPS_X - 1, 0);
    __builtin_amdgcn_s_barrier();
    FENCE();
}
// Each workgroup adds up what others have left, whole rounds of it.
KERNEL exchange(u32 *data, u32 rounds) {
    u32 n = GROUPS_X * block_x(), i = global_x();
    for (u32 r = 0; r < rounds; r++) {
        u32 v = LOAD(data + (i + 7 * block_x() + 1) % n) * 3 + LOAD(data + (i * 5 + r) % n);
        grid_sync();
        STORE(data + i, v);
        grid_sync();
    }
}
// The same, but each wave comes by itself, to a resource of the caller's choice.
KERNEL by_wave(u32 *data, u32 rounds, u32 count, u32 resource) {
    u32 n = GROUPS_X * block_x(), i = global_x();
    for (u32 r = 0; r < rounds; r++) {
        u32 v = LOAD(data + (i + 77) % n) * 3 + r;
        FENCE();
        __builtin_amdgcn_ds_gws_barrier(count, resource);
        STORE(data + i, v);
        FENCE();
        __builtin_amdgcn_ds_gws_barrier(count, resource);
    }
}
KERNEL init(u32 value, u32 resource) { __builtin_amdgcn_ds_gws_init(value, resource); }
// A lock around a sum that is no atomic, as the KFD's test of semaphores has it.
KERNEL locked(u32 *sum, u32 resource) {
    if (local_x() == 0) {
        __builtin_amdgcn_ds_gws_sema_p(resource);
        FENCE();
        u32 v = LOAD(sum);
        __builtin_amdgcn_s_sleep(1);
        STORE(sum, v + 1 + group_x());
        FENCE();
        __builtin_amdgcn_ds_gws_sema_v(resource);
    }
}
// The last workgroup gives, in bulk, to the others, which have waited for what it writes.
KERNEL bulk(u32 *data, u32 *out, u32 resource) {
    u32 last = GROUPS_X - 1;
    if (group_x() == last) {
        STORE(data + local_x(), local_x() * 3 + 1);
        FENCE();
        if (local_x() == 0) __builtin_amdgcn_ds_gws_sema_br(last, resource);
    } else {
        if (local_x() == 0) __builtin_amdgcn_ds_gws_sema_p(resource);
        __builtin_amdgcn_s_barrier();
        FENCE();
        out[global_x()] = LOAD(data + local_x()) + group_x();
    }
}
// All that wait are let go on, once so many do.
KERNEL release(u32 *come, u32 *out, u32 resource) {
    u32 last = GROUPS_X - 1;
    if (local_x() != 0) return;
    if (group_x() == last) {
        while (LOAD(come) != last) __builtin_amdgcn_s_sleep(2);
        // They have told, and come to wait at once.
        for (u32 k = 0; k < 200; k++) __builtin_amdgcn_s_sleep(1);
        STORE(come, 1000);
        FENCE();
        __builtin_amdgcn_ds_gws_sema_release_all(resource);
    } else {
        ADD(come, 1);
        __builtin_amdgcn_ds_gws_sema_p(resource);
        FENCE();
        out[group_x()] = LOAD(come);
    }
}
// One wave gives, another takes: as often as it is told.
KERNEL ring(u32 *slot, u32 *out, u32 rounds) {
    if (group_x() == 0) {
        for (u32 r = 0; r < rounds; r++) {
            __builtin_amdgcn_ds_gws_sema_p(1);
            FENCE();
            STORE(slot + local_x(), r * 1000 + local_x());
            FENCE();
            __builtin_amdgcn_ds_gws_sema_v(2);
        }
    } else {
        for (u32 r = 0; r < rounds; r++) {
            __builtin_amdgcn_ds_gws_sema_p(2);
            FENCE();
            out[r * block_x() + local_x()] = LOAD(slot + local_x());
            FENCE();
            __builtin_amdgcn_ds_gws_sema_v(1);
        }
    }
}
"""


def _device(target: str, threads: int = 0) -> lt.Module:
    return lt.Device(target, threads=threads).load(compiled.build(HIP, target))


def _exchange(data: np.ndarray, block: int, rounds: int) -> np.ndarray:
    i = np.arange(data.size)
    for r in range(rounds):
        data = data[(i + 7 * block + 1) % data.size] * np.uint32(3) + data[(i * 5 + r) % data.size]
    return data


def _init(module: lt.Module, value: int, resource: int = 0) -> None:
    lanes = 32 if module.device.target.startswith("gfx1") else 64
    module.run("init", grid=1, block=1, args=[np.uint32(value), np.uint32(resource)])
    assert lanes


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", TARGETS)
def test_a_grid_meets(target: str, threads: int) -> None:
    """More than a hundred workgroups exchange values, eight rounds of it; strict mode has nothing to say."""
    module = _device(target, threads)
    start = np.random.default_rng(1).integers(0, 1 << 32, GROUPS * 128, dtype=np.uint32)
    for strict in (False, True):
        data = start.copy()
        result = module.run("exchange", grid=data.size, block=128, args=[data, np.uint32(8)], cooperative=True, strict=strict)
        np.testing.assert_array_equal(data, _exchange(start, 128, 8))
        assert not result.findings
        assert result.histogram["ds_gws_barrier"] == GROUPS * 16
