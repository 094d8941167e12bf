"""Random hooks compute on the mock device what NumPy computes of the same source, bit for bit (tests/support/random_hooks).

Each runs with all lanes, some, one and, where its meaning is promised, none; strict mode may find nothing.
``LUTHIER_HOOKS=N`` is the deep run: N seeds for each target and wave size, from seed ``LUTHIER_HOOKS_FROM`` on. A failure
shows the seed, the hook, what it was given, and what was expected.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import random_hooks.run
from instrumented import TARGETS, W64
from random_hooks.generate import NEWER, generate
from random_hooks.model import Wave
from random_hooks.run import check, differences

HOOKS = int(os.environ.get("LUTHIER_HOOKS", "0"))
FEW = [("gfx90a", ()), ("gfx1030", W64), ("gfx1100", ()), ("gfx1201", W64), ("gfx1250", ())]
#: That of 1021 loads two bytes by a scalar load, 10210 a byte whose place another load gives, 10231 has a negative constant in a
#: scalar atomic.
FIXED = (*range(15), 1021, *range(NEWER, NEWER + 4), 10210, 10231)
SEEDS = range(first := int(os.environ.get("LUTHIER_HOOKS_FROM", "1000")), first + HOOKS)


def name(target: tuple[str, tuple[str, ...]]) -> str:
    return target[0] + ("-wave64" if target[1] else "")


@pytest.mark.parametrize("target", FEW, ids=name)
def test_fixed_hooks(target: tuple[str, tuple[str, ...]]) -> None:
    assert sum(check(seed, *target) for seed in FIXED) > 10_000


def test_what_nothing_comes_to_is_not_taken_for_a_way() -> None:
    assert check(10117, "gfx1100", W64) > 100


def test_hooks_have_every_statement() -> None:
    text = "".join(generate(seed, scalars=True).source for seed in (*range(100), *range(NEWER, NEWER + 100)))
    words = (
        "if ", "else:", "for ", "break", "continue", "lt.array(", "count += ", "wave_atomic_add(", "ballot(", " and ", "while ",
        "@lt.device", "c_u32[", "lt.record(", "per_wave=True", "lds[lane]", "atomic_add(lds", "atomic_xor(", "wave_state", "lane_state",
        "workitem_id_x", "kernel_arg(", "wave_sum(", "pk_mul_u16(", "scalar_atomic_cas(", "scalar_atomic_dec(", "lt.u64 = lt.scalar_atomic_",
    )  # fmt: skip
    for word in words:
        assert word in text, word


def test_a_wrong_result_is_shown_with_its_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Wave):
        def __init__(self, *given: Any):
            super().__init__(*given)
            self.arrays["o_u32"][3] += 1

    monkeypatch.setattr(random_hooks.run, "Wave", Wrong)
    with pytest.raises(AssertionError, match=r"(?s)hook 0 on gfx90a .*o_u32\[3\]: expected .*in_.*def hook"):
        check(0, "gfx90a")


def test_zeros_differ_by_their_signs_and_nans_do_not() -> None:
    got = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, np.inf], np.float16)
    expected = np.array([0.0, 0.0, -np.nan, np.nan, 1.5, -np.inf], np.float16)
    assert differences(got, expected) == [1, 4, 5]


@pytest.mark.skipif(not HOOKS, reason="LUTHIER_HOOKS=N tries N seeds for each target and wave size")
@pytest.mark.parametrize("target", TARGETS, ids=name)
def test_deep(target: tuple[str, tuple[str, ...]]) -> None:
    failed, elements = [], 0
    for seed in SEEDS:
        try:
            elements += check(seed, *target)
        except AssertionError as error:
            failed.append(str(error))
    print(f"{name(target)}: {len(SEEDS)} hooks, {elements} elements, {len(failed)} wrong")
    assert not failed, "\n\n".join(failed)
