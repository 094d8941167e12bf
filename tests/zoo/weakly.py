"""Kernels in weak memory: what they come to within a number of schedules."""

from __future__ import annotations

from functools import cache

import compiled
import numpy as np

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")


@cache
def module(target: str, source: str) -> lt.Module:
    """The module of a source on a processor."""
    return lt.Device(target).load(compiled.build(source, target))


def seen(module: lt.Module, kernel: str, count: int, read, sizes=(128, 16), **launch):
    """What ``read`` makes of the arrays of each outcome, and the loads that had old values there."""
    arrays = lambda: [np.zeros(size, np.uint32) for size in sizes]  # noqa: E731
    found = module.explore(kernel, args=arrays(), schedules=count, weak=True, watchdog=20_000, **launch)
    outcomes = {}
    for outcome in found.outcomes:
        if outcome.error is not None:
            outcomes["endless"] = outcome
            continue
        left = arrays()
        module.run(kernel, args=left, schedule=outcome.schedule, **launch)
        outcomes[read(*left)] = outcome
    return outcomes
