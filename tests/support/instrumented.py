"""A kernel with loops, branches and calls, on every kind of processor; and how tests run tools on it."""

from __future__ import annotations

from collections import Counter

import compiled
import numpy as np
import pytest

import luthier as lt

W64 = ("-mwavefrontsize64",)
#: One of each generation, and both wave sizes where there are two.
TARGETS = [
    ("gfx900", ()), ("gfx908", ()), ("gfx90a", ()), ("gfx942", ()), ("gfx1030", ()), ("gfx1030", W64), ("gfx1100", ()),
    ("gfx1100", W64), ("gfx1201", ()), ("gfx1201", W64), ("gfx1250", ()),
]  # fmt: skip

on_every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t[0] + ("-wave64" if t[1] else ""))

PLACES = """
NOINLINE u32 mix(u32 a, u32 b) {
    u32 sum = 0;
    for (u32 i = 0; i < (a & 7); i++) sum += b ^ i;
    return sum;
}
KERNEL places(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x(), sum = 0;
    if (i >= n) return;
    u32 x = in[i];
    for (u32 k = 0; k < n % 5 + 2; k++) {
        if (x & 1) sum += mix(x, k);
        else sum ^= x >> k;
        x = x * 3 + 1;
    }
    out[i] = sum;
}
"""
LANES = 300


def places_by_python(values: np.ndarray) -> np.ndarray:
    """What the kernel computes."""
    out = []
    for x in map(int, values):
        total = 0
        for k in range(LANES % 5 + 2):
            total = (total + sum(k ^ i for i in range(x & 7))) % 2**32 if x & 1 else total ^ (x >> k)
            x = (x * 3 + 1) % 2**32
        out.append(total)
    return np.array(out, np.uint32)


def launch(module: lt.Module, kernel: str = "places", trace: bool = False):
    """Runs the kernel; gives its output and the result (or the trace)."""
    values = np.random.default_rng(7).integers(0, 1 << 32, LANES, np.uint32)
    out = np.zeros(LANES, np.uint32)
    sizes = {"grid": 384, "block": 128, "args": [values, out, np.uint32(LANES)]}
    if trace:
        return out, module.trace(kernel, events=["instructions"], **sizes)
    result = module.run(kernel, strict=True, **sizes)
    assert result.findings == [], result.findings[:3]
    return out, result


def places(target) -> lt.CodeObject:
    """The kernel's code, with the callee's call kept."""
    return lt.CodeObject.open(compiled.build(PLACES, target[0], target[1], "O1"))


def instrumented(code_object: lt.CodeObject, target, tools, **options) -> lt.Module:
    """A loaded module, every placement of it proved."""
    return lt.Device(target[0]).load(code_object, tools=tools, check=True, **{"on_rejected": "raise", **options})


def steps(trace: lt.Trace) -> Counter:
    """How often each instruction ran right behind each other one of the same wave; ``None`` is before the first and
    behind the last."""
    found: Counter = Counter()
    events = trace.instructions
    waves = {}
    for workgroup, wave, pc in zip(events["workgroup"].tolist(), events["wave"].tolist(), events["pc"].tolist()):
        before = waves.get((workgroup, wave))
        found[before, pc] += 1
        waves[workgroup, wave] = pc
    for last in waves.values():
        found[last, None] += 1
    return found


def expected(kernel, names, seen: Counter) -> dict:
    """How often each of a kernel's points is come to, by the steps of the plain run. Points are named by where they are:
    ``("before", address)``, ``("after", address)``, ``("block", address)``, ``("edge", last, to)``, ``("entry", function)``,
    ``("exit", function)``, ``("start",)``, ``("end",)``."""
    program = kernel.code_object.program
    of = {i.address: f.name for f in program.functions for i in f.instructions}
    first = {f.address: f.name for f in kernel.functions}
    at, entered = Counter(), Counter()
    waves = 0
    for (before, pc), n in seen.items():
        at[pc] += n
        if before is None:
            # With preloaded arguments a wave does not begin at the function's address.
            if of[pc] == kernel.functions[0].name:
                waves += n
                entered[of[pc]] += n
        elif pc in first and (of[before] != of[pc] or program.instruction_at(before).is_call):
            entered[first[pc]] += n
    calls = {i.address for f in kernel.functions for i in f.instructions if i.is_call}
    returns = {b.instructions[-1].address for f in program.functions for b in f.blocks if b.terminator == "return"}

    def times(name):
        match name:
            case ("entry", function):
                return entered[function]
            case ("exit", function):
                (found,) = [f for f in kernel.functions if f.name == function]
                return sum(at[b.instructions[-1].address] for b in found.blocks if b.terminator == "return")
            case ("edge", last, to):
                return sum(seen[back, to] for back in returns) if last in calls else seen[last, to]
            case ("start",):
                return waves
            case ("end",):
                return sum(at[b.instructions[-1].address] for b in kernel.blocks if b.terminator == "end")
            case (_, address):
                return at[address]

    return {name: times(name) for name in names}
