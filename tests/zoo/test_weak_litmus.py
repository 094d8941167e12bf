"""Litmus tests in weak memory: within a number of schedules all outcomes are seen that LLVM's memory model allows, and none that it
forbids, but for those that the hardware, as it is modelled, is too strong for. Which these are, axioms say that know nothing of
caches (``axioms``).
"""

from __future__ import annotations

import itertools

import axioms
import litmus
import pytest
from weakly import TARGETS, module, seen

#: Schedules in which each outcome that is expected is seen.
ENOUGH = 400
MORE = {"independent_reads": 8000, "passed_on": 8000}
PLACES = (("agent", False), ("workgroup", False), ("workgroup", True))

SOURCE = "\n".join(
    litmus.source(name, *place, fenced) for name in litmus.PROGRAMS for place in PLACES for fenced in (False, True)
)


def outcomes(target: str, name: str, scope: str, lds: bool, fenced: bool, count: int) -> set[litmus.Outcome]:
    """What a litmus test comes to within a number of schedules."""
    threads = len(litmus.PROGRAMS[name].threads)
    blocks, waves = (threads, 1) if scope == "agent" else (1, threads)
    kernel = f"{name}_{scope}_{'lds' if lds else 'global'}_{'fenced' if fenced else 'relaxed'}"
    read = lambda cells, out: litmus.outcome(name, lds, cells.tobytes(), out.tobytes())  # noqa: E731
    return set(seen(module(target, SOURCE), kernel, count, read, blocks=blocks, block=64 * waves))


def allowed(name: str, fenced: bool) -> set[litmus.Outcome]:
    program = litmus.PROGRAMS[name]
    return axioms.allowed(program.threads, program.fences if fenced else None)


@pytest.mark.parametrize("name", litmus.PROGRAMS)
def test_axioms_and_orders_of_steps_allow_the_same(name):
    for fenced in (True, False):
        assert allowed(name, fenced) == litmus.allowed(litmus.PROGRAMS[name], fenced)


@pytest.mark.parametrize("name", litmus.PROGRAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_no_outcome_is_seen_that_the_model_forbids(target, name):
    for (scope, lds), fenced in itertools.product(PLACES, (True, False)):
        found = outcomes(target, name, scope, lds, fenced, ENOUGH // 2)
        assert found <= allowed(name, fenced), (scope, lds, fenced)


#: The weak outcomes that are never seen between waves of one workgroup, as the hardware is modelled, though the model allows them.
_ISSUED = ("writes_crossed", "overwritten", "written_and_read")
STRONGER = {
    # Waves share a cache that does what they ask for in order, be it so that they wait for more than that (gfx1250).
    **dict.fromkeys(("gfx90a", "gfx942", "gfx1250"), tuple(litmus.PROGRAMS)),
    # Each half of a workgroup has a cache, but stores of a workgroup to the same bytes arrive in the order in which they were
    # issued.
    **dict.fromkeys(("gfx1100", "gfx1201"), _ISSUED),
    # The same; and loads of this scope pass that cache, and find in the one behind it what their workgroup has stored.
    "gfx1030": (*_ISSUED, "message_passing", "store_buffering", "independent_reads"),
}
#: Their outcomes take too many schedules between waves to be all met here.
RARE = ("independent_reads", "passed_on")


@pytest.mark.parametrize("name", litmus.PROGRAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_without_fences_all_is_seen_that_the_model_allows_and_the_hardware_does_not_forbid(target, name):
    count = MORE.get(name, ENOUGH)
    agent, workgroup, lds = (outcomes(target, name, *place, False, count) for place in PLACES)
    of_orders, all_of_them = allowed(name, fenced=True), allowed(name, fenced=False)
    assert agent == all_of_them
    stronger = of_orders if name in STRONGER[target] else all_of_them
    # LDS does all at once.
    assert workgroup <= stronger and lds <= of_orders
    assert name in RARE or (workgroup, lds) == (stronger, of_orders)


#: How the store of a thread depends on what it has loaded; without changing what it stores, or where.
DEPENDENT = {
    "data": "__hip_atomic_store({other}, loaded | 1, {how});",
    "address": "__hip_atomic_store({other} + none(loaded), 1, {how});",
    "control": "if (none(loaded) == 0) __hip_atomic_store({other}, 1, {how});",
    "thin_air": "__hip_atomic_store({other}, loaded, {how});",
}
RELAXED = "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT"


def _dependent(name: str, both: bool) -> str:
    steps = []
    for role, own, other in ((0, "cells", "cells + 64"), (1, "cells + 64", "cells")):
        store = DEPENDENT[name] if both or role == 0 else "__hip_atomic_store({other}, 1, {how});"
        steps.append(
            f"if (group_x() == {role}) {{ u32 loaded = __hip_atomic_load({own}, {RELAXED});"
            f" {store.format(other=f'({other})', how=RELAXED)} out[{role}] = loaded; }}"
        )
    return f"KERNEL {name}_{'both' if both else 'one'}(u32 *cells, u32 *out) {{ if (local_x() != 0) return; {' '.join(steps)} }}"


DEPENDENCIES = """
DEVICE static inline u32 none(u32 of) {
    u32 zero;
    __asm__ volatile("v_mov_b32 %0, 0" : "=v"(zero) : "v"(of));
    return zero;
}
""" + "\n".join(_dependent(name, both) for name in DEPENDENT for both in (True, False))


@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.parametrize("target", TARGETS)
def test_a_store_that_depends_on_a_load_is_never_done_before_it(target, name):
    read = lambda cells, out: litmus.outcome("load_buffering", False, cells.tobytes(), out.tobytes())  # noqa: E731
    both, one = (
        set(seen(module(target, DEPENDENCIES), f"{name}_{which}", ENOUGH, read, blocks=2, block=64)) for which in ("both", "one")
    )
    if name == "thin_air":
        assert both == {(0, 0, 0, 0)}
    else:
        assert both == allowed("load_buffering", fenced=True)
        assert one == allowed("load_buffering", fenced=False)


LATE = "\n".join(
    f"""
KERNEL {name}_{order}(u32 *cells, u32 *out) {{
    u32 *flag = cells + 64;
    if (local_x() != 0) return;
    if (group_x() == 0) {{
        u32 before = {change};
        {'__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");' if order == "released" else ""}
        __hip_atomic_store(flag, 1, {RELAXED});
        {"out[2] = before;" if name == "returned" else ""}
    }} else {{
        out[0] = __hip_atomic_load(flag, {RELAXED});
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        out[1] = __hip_atomic_load(cells, {RELAXED});
    }}
}}"""
    for name, change in {
        "returned": f"__hip_atomic_exchange(cells, 1, {RELAXED})",
        "unreturned": f"__hip_atomic_fetch_add(cells, 1, {RELAXED})",
    }.items()
    for order in ("relaxed", "released")
)


@pytest.mark.parametrize("name", ["returned", "unreturned"])
@pytest.mark.parametrize("target", TARGETS)
def test_an_atomic_is_done_behind_a_store_that_follows_unless_that_releases(target, name):
    read = lambda _, out: (int(out[0]), int(out[1]))  # noqa: E731
    relaxed, released = (
        set(seen(module(target, LATE), f"{name}_{order}", ENOUGH, read, blocks=2, block=64)) for order in ("relaxed", "released")
    )
    assert released == {(0, 0), (0, 1), (1, 1)}
    assert relaxed == released | {(1, 0)}
