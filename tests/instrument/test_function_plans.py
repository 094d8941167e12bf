"""Hooks where functions begin and end, are called and come back, in both ways of placing them: strict mode finds nothing,
memory is the same, and what a hook reads is what the application had, whatever other hooks there are in the functions
that call this one and that it calls. ``LUTHIER_PLANS=N`` tries N plans of each kind."""

from __future__ import annotations

import os
import random
from functools import partial

import function_plans
import pytest
import random_plans
from function_plans import AtFunctions, Elsewhere, Reader, Runs

import luthier as lt

PLANS = int(os.environ.get("LUTHIER_PLANS", "1"))
W64 = ("-mwavefrontsize64",)
TARGETS = [
    ("gfx908", ()), ("gfx90a", ()), ("gfx1010", ()), ("gfx1010", W64), ("gfx1030", ()), ("gfx1100", ()), ("gfx1100", W64),
    ("gfx1201", ()),
]  # fmt: skip
on_targets = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))
PLACEMENTS = [False, True]


@on_targets
@pytest.mark.parametrize("calling_convention", PLACEMENTS, ids=["free", "convention"])
@pytest.mark.parametrize("name", ["calls", "indexed"])
def test_strict_mode_finds_nothing_where_functions_begin_and_end(name, target, calling_convention):
    path = function_plans.build(name, target)
    for seed in range(PLANS):
        launches = partial(function_plans.launches, name)
        plain, hooked = launches(), launches()
        random_plans.run(lt.CodeObject.open(path), target[0], plain)
        options = {"check": True, "on_rejected": "report", "calling_convention": calling_convention}
        code = lt.instrument(path, [AtFunctions(seed, (0.3, 0.02)[seed % 2])], **options)
        results = random_plans.run(code, target[0], hooked)
        found = [f for r in results for f in r.findings if not random_plans.of_the_plan(f)]
        assert found == [], (seed, found[0])
        assert random_plans.memory(plain) == random_plans.memory(hooked), seed
        placed = code.instrumentation
        # Where VGPRs are indexed, all of them are in use.
        others = [r for r in placed["rejected"] if not (name == "indexed" and r["kind"] in ("indexed", "old_value"))]
        assert placed["points"] > 5 and not others, others[:2]


def readers(path, seed: int, count: int) -> list[tuple[int, str]]:
    """Places and registers, most of them in functions that are called, few of which the function itself needs there."""
    choose = random.Random(seed)
    (kernel,) = lt.CodeObject.open(path).kernels
    touched = sorted({str(r) for f in kernel.functions for i in f.instructions for r in [*i.reads, *i.writes]})
    registers = [r for r in touched if r[0] in "sv" and r[1:].isdigit()] + ["vcc_lo", "scc"]
    instructions = {
        kind: [i for f in kernel.functions if f.kind == kind for i in f.instructions] for kind in ("kernel", "device")
    }
    chosen = []
    for n in range(count):
        among = instructions["device" if n % 4 else "kernel"]
        chosen.append((choose.choice(among).address, choose.choice(registers)))
    # Before anything is set.
    return [*chosen, (kernel.functions[0].address, "vcc_lo")]


@on_targets
@pytest.mark.parametrize("calling_convention", PLACEMENTS, ids=["free", "convention"])
def test_a_hook_reads_the_applications_value_whatever_other_hooks_do(target, calling_convention):
    path = function_plans.build("calls", target)
    runs, compared = Runs(path, target[0], "calls"), 0
    for seed in range(PLANS):
        for address, register in readers(path, seed, 5):
            found = []
            for tools in ([], [Elsewhere()], [AtFunctions(seed + address, 0.3)]):
                reader = Reader(address, register)
                try:
                    found.append(runs.reads(reader, tools, strict=not tools, calling_convention=calling_convention))
                except lt.ToolError as problem:
                    assert "allocated" in str(problem), problem
                    break
            # Some registers hold where things are.
            if len(found) == 3 and found[0][0] == found[1][0]:
                assert found[2] == found[0], (hex(address), register, found[0][0], found[2][0])
                compared += found[0][0][1] > 0
    assert compared >= 2 * PLANS


@pytest.mark.parametrize("target", [("gfx1010", ()), ("gfx1030", ()), ("gfx1030", W64), ("gfx906", ())], ids=str)
def test_vcc_at_a_kernels_start_is_the_applications_in_both_placements(target):
    path = function_plans.build("calls", target)
    (kernel,) = lt.CodeObject.open(path).kernels
    runs = Runs(path, target[0], "calls")
    readers = [Reader(kernel.functions[0].address, "vcc_lo") for _ in PLACEMENTS]
    free, called = [runs.reads(r, [], calling_convention=c) for r, c in zip(readers, PLACEMENTS, strict=True)]
    assert free == called
