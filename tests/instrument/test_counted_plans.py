"""How often hooks run, by the device's events, where instructions around them are replaced, removed or left by a rejection;
where some of an object's kernels are instrumented; behind calls that do not come back; with both ways to place hooks.

``LUTHIER_PLANS=N`` is the deep run: N plans for each target, kernel of the corpus and seed of random programs, from
``LUTHIER_PLANS_FROM`` on.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import compiled
import counted_plans
import numpy as np
import pytest
import test_random_plans as random_programs
import triton_cases
from instrumented import PLACES, TARGETS, on_every_target

import luthier as lt

PLANS = int(os.environ.get("LUTHIER_PLANS", "0"))
SEEDS = range(first := int(os.environ.get("LUTHIER_PLANS_FROM", "0")), first + max(PLANS, 1))

SOURCE = """
NOINLINE u32 mix(u32 a, u32 b) {
    u32 sum = 0;
    for (u32 i = 0; i < (a & 7); i++) sum += b ^ i;
    return sum;
}
NOINLINE u32 deep(u32 n, u32 x) { return n == 0 ? x : deep(n - 1, x * 3 + n) ^ mix(x, n); }
NOINLINE __attribute__((noreturn)) void fail(u32 *out, u32 x) {
    out[0] = mix(x, 5);
    __builtin_trap();
}
NOINLINE void stop(u32 *out, u32 x) {
    if (__builtin_amdgcn_readfirstlane(x) == 3) { out[1] = 77; __builtin_amdgcn_endpgm(); }
    out[x & 31] += x;
}
KERNEL one(u32 *in, u32 *out, u32 n) {
    u32 i = global_x(), sum = 0;
    if (i >= n) return;
    u32 x = in[i];
    if (n > 9999) fail(out, x);
    for (u32 k = 0; k < n % 5 + 2; k++) {
        if (x & 1) sum += mix(x, k);
        else sum ^= x >> k;
        x = x * 3 + 1;
    }
    out[i] = sum + deep(n & 3, x);
}
KERNEL two(u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    if (i < n) out[i] = mix(in[i], n) + deep(2, in[i]);
}
KERNEL three(u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    if (n == 12345) fail(out, i);
    // What 32 lanes share no other wave touches.
    stop(out + 64 * group_x() + (local_x() & 32), n & 15);
    if (i < n) out[i] ^= in[i] + mix(i, n);
}
"""


def launches():
    """Each kernel once, one of them on a number for which it stops early."""
    made = []
    for kernel, n in (("one", 190), ("two", 200), ("three", 195), ("three", 192 + 5)):
        values = np.random.default_rng(n).integers(0, 1 << 32, 256, np.uint32)
        made.append(SimpleNamespace(kernel=kernel, grid=192, block=64, args=[values, np.zeros(256, np.uint32), np.uint32(n)]))
    return made


def places():
    values = np.random.default_rng(4).integers(0, 1 << 32, 192, np.uint32)
    return [SimpleNamespace(kernel="places", grid=192, block=64, args=[values, np.zeros(192, np.uint32), np.uint32(190)])]


def built(target, level: str = "O1") -> Path:
    return compiled.build(SOURCE, target[0], target[1], level)


@on_every_target
def test_hooks_run_as_often_as_their_places_whatever_stands_around_them(target):
    for seed in SEEDS:
        assert counted_plans.compare(built(target), target[0], launches, seed) > 100


@on_every_target
def test_kernels_that_are_not_selected_run_what_they_ran(target):
    for seed in SEEDS:
        for kernels in (["one"], ["two", "three"]):
            assert counted_plans.compare(built(target), target[0], launches, seed, kernels=kernels) > 30


@pytest.mark.parametrize("target", [TARGETS[n] for n in (0, 2, 4, 6, 8)], ids=lambda t: t[0])
def test_counts_are_the_same_by_the_calling_convention(target):
    for seed in SEEDS:
        path = compiled.build(PLACES, target[0], target[1], "O1")
        assert counted_plans.compare(path, target[0], places, seed, calling_convention=True) > 30


@pytest.mark.parametrize("target", [TARGETS[n] for n in (0, 3, 6, 9, 10)], ids=lambda t: t[0])
def test_unoptimised_code_is_counted_as_well(target):
    assert counted_plans.compare(built(target, "O0"), target[0], launches, SEEDS[0], density=0.2) > 100


@pytest.mark.parametrize("name, target", [("softmax_f32", "gfx90a"), ("histo", "gfx1100"), ("vadd_f16", "gfx1250")])
def test_triton_kernels_are_counted_as_they_run(name: str, target: str) -> None:
    path = triton_cases.path(name, target)
    if not path.exists():
        pytest.skip(f"{path} is not here")
    # Results are compared where the order of waves does not decide them.
    assert counted_plans.compare(path, target, lambda: triton_cases.launches(name, target), 1, density=0.3) > 10


@pytest.mark.skipif(not PLANS, reason="LUTHIER_PLANS=N tries N plans for each kernel")
@pytest.mark.parametrize("target", random_programs.on(random_programs.TARGETS))
def test_deep_triton_kernels(target: str) -> None:
    failed: list[str] = []
    for name in triton_cases.NAMES:
        path = triton_cases.path(name, target)
        for seed in SEEDS if path.exists() and name not in random_programs.IN_ANY_ORDER else ():
            try:
                counted_plans.compare(path, target, lambda name=name: triton_cases.launches(name, target), seed, density=0.3)
            except (AssertionError, lt.LuthierError) as error:
                failed.append(f"{name} on {target}, seed {seed}: {str(error)[:500]}")
    assert not failed, "\n\n".join(failed)
