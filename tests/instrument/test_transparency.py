"""Instrumented kernels leave the memory that the plain ones leave, whatever is put into them and wherever.

Plans are random: at every instruction of every function some hooks or none, before, after and at the other places, with
arguments of every kind. The mock device runs both versions in strict mode, and the checker proves every placement.
``LUTHIER_PLANS=N`` runs N plans a kernel instead of one, ``LUTHIER_ALL_TARGETS=1`` on every processor.
"""

from __future__ import annotations

import os
from functools import partial

import compiled
import kernel_cases
import pytest
import random_plans
from instrumented import TARGETS

import luthier as lt

PLANS = int(os.environ.get("LUTHIER_PLANS", "1"))
SOME = ("vecadd", "reduce", "matmul", "histogram", "call", "pointer", "scratch", "half", "double", "wide", "choose", "table")


def targets():
    if "LUTHIER_ALL_TARGETS" not in os.environ:
        return TARGETS
    wave64 = ("-mwavefrontsize64",)
    flags = {t: [(), wave64] if t[3:5] in ("10", "11") or t.startswith("gfx120") else [()] for t in lt.Device.targets()}
    return [(target, flag) for target, both in flags.items() for flag in both]


@pytest.mark.parametrize("target", targets(), ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
@pytest.mark.parametrize("name", SOME)
def test_random_plans_change_nothing(name, target):
    processor, flags = target
    for seed in range(PLANS):
        level = ("O0", "O1", "O2", "O3")[(seed + len(name)) % 4]
        path = compiled.code_object(name, level, 5, processor, flags)
        number = seed * 1000 + sum(map(ord, name))
        random_plans.compare(path, processor, partial(kernel_cases.launches, name, seed), number)
