"""What workgroups on several workers see of each other's loads and stores: nothing in parts, and in no order that the
memory of a GPU does not have. The kernels and the judgement are in support/memory_model.py.

``LUTHIER_MEMORY=N`` is the deep run: N rounds instead of a few hundred (20,000 take some minutes), in strict mode too, and
programs that break the rules, which have to be found out.
"""

from __future__ import annotations

import os

import memory_model
import numpy as np
import pytest

DEEP = int(os.environ.get("LUTHIER_MEMORY", "0"))
TARGETS = ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1201")


@pytest.mark.parametrize("test", memory_model.TESTS)
@pytest.mark.parametrize("target", TARGETS)
def test_workgroups_see_only_what_memory_allows(target, test):
    assert not memory_model.outcomes(target, test, DEEP or 300)


def test_sixteen_bytes_are_whole_on_hosts_without_avx():
    assert not memory_model.outcomes("gfx90a", "tearing", DEEP or 300, LUTHIER_EMULATOR_SIMD="base")


@pytest.mark.parametrize("test", ("tearing", "workgroups"))
def test_strict_mode_tears_nothing_either(test):
    assert not memory_model.outcomes("gfx90a", f"{test}-strict", DEEP or 30)


@pytest.mark.skipif(not DEEP, reason="LUTHIER_MEMORY=N runs kernels whose accesses are in the wrong order, N rounds")
def test_accesses_in_the_wrong_order_are_found_out():
    found = memory_model.outcomes("gfx90a", "litmus-reordered", max(DEEP, 20_000), (4,))
    assert {line.split(",")[0] for line in found} == set(memory_model.LITMUS), found


def _seen(rounds, **roles):
    """What roles have seen: for each the counts of its first and of its second load."""
    seen = np.zeros((4, 2, rounds, 1), np.uint32)
    for role, loads in roles.items():
        for which, counts in enumerate(loads):
            seen[int(role[-1]), which, :, 0] = counts
    return seen


@pytest.mark.parametrize(
    ("test", "allowed", "wrong"),
    [
        ("message_passing", {"role1": ([0, 1, 2], [0, 1, 3])}, {"role1": ([0, 1, 2], [0, 1, 1])}),
        ("store_buffering", {"role0": ([1, 2, 2],), "role1": ([0, 1, 3],)}, {"role0": ([0, 2, 3],), "role1": ([0, 2, 3],)}),
        ("load_buffering", {"role0": ([0, 0, 1],), "role1": ([0, 1, 1],)}, {"role0": ([0, 2, 2],), "role1": ([0, 2, 3],)}),
        (
            "two_readers",
            {"role2": ([0, 1, 1], [0, 0, 2]), "role3": ([0, 1, 2], [1, 2, 2])},
            {"role2": ([0, 1, 1], [0, 0, 2]), "role3": ([0, 1, 2], [0, 0, 1])},
        ),
        ("coherence", {"role0": ([2, 4, 6],), "role1": ([0, 3, 4], [1, 3, 5])}, {"role0": ([2, 4, 6],), "role1": ([0, 3, 4], [4, 4, 5])}),
        ("coherence", {"role0": ([2, 4, 6],)}, {"role0": ([2, 3, 6],)}),
    ],
)  # fmt: skip
def test_outcomes_are_judged(test, allowed, wrong):
    assert memory_model.forbidden(test, _seen(3, **allowed)) == 0
    assert memory_model.forbidden(test, _seen(3, **wrong)) > 0
