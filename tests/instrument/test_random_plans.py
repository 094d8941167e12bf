"""Random plans on code that was not written for them: Triton's kernels of the corpus, and random C programs.

Original against instrumented: strict mode finds nothing new, memory is the same bit for bit, and the application's
instructions are as many. ``LUTHIER_PLANS=N`` is the deep run: N plans for each kernel and for each seed of programs,
from seed ``LUTHIER_PLANS_FROM`` on.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import random_plans
import triton_cases
from programs.generate import programs
from programs.known import wrong_code
from programs.run import LEVELS, CompilerError, Sources, build

import luthier as lt

PLANS = int(os.environ.get("LUTHIER_PLANS", "0"))
SEEDS = range(first := int(os.environ.get("LUTHIER_PLANS_FROM", "0")), first + PLANS)
ONLY = os.environ.get("LUTHIER_PLANS_ON", "").split(",") if os.environ.get("LUTHIER_PLANS_ON") else []
TARGETS = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"]
#: What strict mode looks for. Which of a kernel's own races are found depends on how its waves take turns.
KINDS = [kind for kind in lt.finding_kinds() if kind != "memory-race"]
#: Their workgroups add floats in whatever order they come, or try until a lock is free.
IN_ANY_ORDER = {"cas_lock", "fatomic"}


def density(seed: int) -> float:
    """From few hooks to several at every instruction."""
    return (0.6, 0.05, 0.25)[seed % 3]


def on(targets):
    return [target for target in targets if not ONLY or target in ONLY]


def triton(name: str, target: str, seed: int) -> int:
    path = triton_cases.path(name, target)
    if not path.exists():
        return 0
    launches = lambda: triton_cases.launches(name, target)  # noqa: E731
    check = triton_cases.check if name in IN_ANY_ORDER else None
    return random_plans.compare(path, target, launches, seed, density=density(seed), strict=KINDS, check=check)


def random_programs(target: str, seed: int, level: str, count: int, folder: Path) -> int:
    """Hooks in all programs of a seed; none if clang cannot compile them for the target."""
    sources = Sources(folder, seed, programs(seed, count))
    what = build(target, level, seed)
    try:
        path = sources.compile(what)
    except CompilerError:
        return 0
    known = [one for one in sources.programs if not wrong_code(one.name, target, what.flags)]

    def launches():
        made = []
        for program in known:
            args = [
                sources.inputs.copy(),
                *sources._buffers(program),
                np.uint64(sources.uniform),
                np.uint32(sources.count(program)),
            ]
            grid = sources.groups(program) * program.block
            made.append(SimpleNamespace(kernel=program.name, grid=grid, block=program.block, args=args))
        return made

    # Unoptimised code with calls through pointers keeps all registers, and has no scratch for hooks.
    rejected = 10 if level == "O0" else 0.05
    points = random_plans.compare(path, target, launches, seed, density=density(seed), strict=KINDS, rejected=rejected)
    path.unlink()
    return points


@pytest.mark.parametrize(
    "name, target, seed",
    [
        ("softmax_f32", "gfx90a", 2),
        ("histo", "gfx1100", 2),
        ("vadd_f16", "gfx1250", 2),
        ("softmax_f32", "gfx942", random_plans.NEWER),
        ("vadd_f16", "gfx1201", random_plans.NEWER + 1),
    ],
)
def test_plans_change_nothing_in_triton_kernels(name: str, target: str, seed: int) -> None:
    assert triton(name, target, seed) > 10


# In the last one no VGPR is free where waves begin, and what a lane carries is in scratch: one is lent.
@pytest.mark.parametrize("target, seed, count", [("gfx942", 2, 1), ("gfx1100", 2, 1), ("gfx1100", 12_001, 2)])
def test_plans_change_nothing_in_random_programs(target: str, seed: int, count: int, tmp_path: Path) -> None:
    assert random_programs(target, seed, "O2", count, tmp_path) > 10


def _tell(target: str, what: str, points: list[int], failed: list[str]) -> None:
    placed = [n for n in points if n]
    without = len(points) - len(placed)
    print(f"{target} {what}: {len(placed)} plans, {sum(placed)} hooks, {len(failed)} wrong; {without} not compiled or not copied")
    assert not failed, "\n\n".join(failed)


@pytest.mark.skipif(not PLANS, reason="LUTHIER_PLANS=N tries N plans for each kernel")
@pytest.mark.parametrize("target", on(TARGETS))
def test_deep_triton_kernels(target: str) -> None:
    failed: list[str] = []
    points: list[int] = []
    for name in triton_cases.NAMES:
        for seed in SEEDS:
            try:
                points.append(triton(name, target, seed))
            except (AssertionError, lt.LuthierError) as error:
                failed.append(f"{name} on {target}, seed {seed}: {str(error)[:500]}")
    _tell(target, "Triton", points, failed)


@pytest.mark.skipif(not PLANS, reason="LUTHIER_PLANS=N tries N plans for each seed")
@pytest.mark.parametrize("target", on(TARGETS))
def test_deep_random_programs(target: str) -> None:
    failed: list[str] = []
    refused: list[str] = []
    points: list[int] = []
    with tempfile.TemporaryDirectory(prefix="luthier-plans-") as folder:
        for seed in SEEDS:
            for level in LEVELS:
                try:
                    points.append(random_programs(target, 2000 + seed, level, 2, Path(folder)))
                except lt.InstrumentError as error:
                    # As above: what tools have at a kernel's entry has no room either, and the kernel is refused as a whole.
                    (refused if level in ("O0", "O1") else failed).append(f"-{level}: {str(error)[:500]}")
                except (AssertionError, lt.LuthierError) as error:
                    failed.append(f"programs {2000 + seed} -{level} on {target}: {str(error)[:500]}")
    print(f"{target}: {len(refused)} plans refused for want of room at -O0 and -O1")
    _tell(target, "programs", points, failed)
