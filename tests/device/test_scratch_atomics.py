"""64-bit atomics on scratch through flat addresses: gfx1250's LLVM has them, elsewhere it tests the address first."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

SOURCE = """
KERNEL wide(u64 *in, u64 *out, u32 n) {
    u32 i = global_x();
    LDS u64 shared[64];
    u64 own[2] = {in[i], in[i] * 3};
    shared[i & 63] = in[i] * 5;
    u64 *cell = i % 3 == 0 ? &own[i & 1] : i % 3 == 1 ? &shared[i & 63] : &in[i];
    u64 old = __scoped_atomic_fetch_min((i64 *)cell, (i64)(i * 0x123456789abcdul), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    old ^= __scoped_atomic_exchange_n(cell, old + 7, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) * 3;
    u64 expected = i & 4 ? old : *cell;
    old += __scoped_atomic_compare_exchange_n(cell, &expected, 99ul, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, 1);
    out[i] = old ^ (*cell * 11);
}
"""


def _by_numpy(values: np.ndarray) -> np.ndarray:
    i = np.arange(len(values), dtype=np.uint64)
    first = np.where(i % 3 == 0, np.where(i & np.uint64(1), values * 3, values), np.where(i % 3 == 1, values * 5, values))
    least = np.minimum(first.view(np.int64), (i * np.uint64(0x123456789ABCD)).view(np.int64)).view(np.uint64)
    old = first ^ (least * np.uint64(3))
    now = first + np.uint64(7)
    agrees = np.where(i & np.uint64(4), old, now) == now
    return (old + agrees.astype(np.uint64)) ^ (np.where(agrees, np.uint64(99), now) * np.uint64(11))


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1201", "gfx1250"])
def test_wide_atomics_where_the_address_says(target: str, level: str) -> None:
    values = np.random.default_rng(3).integers(0, 1 << 64, 64, dtype=np.uint64)
    out = np.zeros(64, np.uint64)
    module = lt.Device(target).load(compiled.build(SOURCE, target, level=level))
    result = module.run("wide", grid=64, block=64, args=[values.copy(), out, np.uint32(64)], strict=True)
    np.testing.assert_array_equal(out, _by_numpy(values))
    assert not result.findings
