"""Kernels in weak memory: messages are missed where orders or scopes are missing, within a number of schedules, and nowhere else;
so are mistakes of public kernels.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from exhibits.exhibit import build
from exhibits.memory import EXHIBITS
from weakly import TARGETS, module, seen

import luthier as lt

#: Schedules in which each outcome that is expected is seen, and of a message that is never missed.
ENOUGH, FEW = 400, 60
MORE = {"kokkos_reduce": 4000}

ORDERS = {"relaxed": "RELAXED", "acquire": "ACQUIRE", "release": "RELEASE", "acq_rel": "ACQ_REL", "seq_cst": "SEQ_CST"}
WRITES = ("relaxed", "release", "seq_cst", "exchange_relaxed", "exchange_release", "exchange_acq_rel")
READS = ("relaxed", "acquire", "seq_cst", "fetch_relaxed", "fetch_acquire", "fetch_acq_rel")
SCOPES = {"workgroup": "WORKGROUP", "agent": "AGENT", "system": "SYSTEM"}


def _access(how: str, scope: str, value: str) -> str:
    """An access to the flag."""
    form, _, order = how.partition("_") if how.startswith(("exchange", "fetch")) else ("", "", how)
    rest = f"__ATOMIC_{ORDERS[order]}, __HIP_MEMORY_SCOPE_{SCOPES[scope]})"
    if form == "exchange":
        return f"__hip_atomic_exchange(flag, {value}, {rest}"
    if form == "fetch":
        return f"__hip_atomic_fetch_or(flag, 0, {rest}"
    return f"__hip_atomic_store(flag, {value}, {rest}" if value else f"__hip_atomic_load(flag, {rest}"


def _message(write: str, read: str, scope: str) -> str:
    return f"""
KERNEL pass_{write}_{read}_{scope}(u32 *cells, u32 *out) {{
    u32 *flag = cells + 64, wave = __builtin_amdgcn_readfirstlane(local_x() / 64), role = wave + group_x();
    u32 lane = local_x() % 64;
    if (lane >= 32) return; // of 64 work-items two waves may be made
    if (role == 0) {{
        cells[lane % 32] = 1;
        __builtin_amdgcn_s_sleep(1);
        if (lane == 0) {_access(write, scope, "1")};
    }} else {{
        u32 before = out[lane % 8], found = 0;
        for (u32 n = 0; n < 4 && !found; n++) {{
            __builtin_amdgcn_s_sleep(1);
            if (lane == 0) found = {_access(read, scope, "")};
            found = __builtin_amdgcn_readfirstlane(found);
        }}
        if (found) out[lane % 8] = 1 + cells[lane % 8];
        else out[lane % 8] = before;
    }}
}}"""


def _releases(write: str) -> bool:
    return not write.endswith("relaxed")


def _acquires(read: str) -> bool:
    return not read.endswith("relaxed")


PASSED = "\n".join(_message(*how) for how in itertools.product(WRITES, READS, SCOPES))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_message_is_missed_where_it_is_not_released_or_not_acquired_and_nowhere_else(target, scope):
    """Plain data behind a flag of every order, between two workgroups and between two waves of one."""
    messages = module(target, PASSED)
    for write, read in itertools.product(WRITES, READS):
        for apart in (True, False):
            launch = {"blocks": 2, "block": 64} if apart else {"blocks": 1, "block": 128}
            ordered = _releases(write) and _acquires(read) and (not apart or scope != "workgroup")
            plain = {write, read} <= {"relaxed", "release", "acquire"}
            if not ordered and not (plain and apart):
                continue
            count = FEW if ordered else ENOUGH
            found = seen(messages, f"pass_{write}_{read}_{scope}", count, lambda _, out: int(out[0]), **launch)
            assert set(found) - {"endless"} <= ({0, 2} if ordered else {0, 1, 2}), (write, read, apart)
            if not ordered and scope != "workgroup":
                assert 1 in found, (write, read, apart)
                stale = found[1].stale
                assert any(one.load.workgroup == (1, 0, 0) and one.store.workgroup == (0, 0, 0) for one in stale)


SPINS = """
KERNEL spins(u32 *cells, u32 *out) {
    if (local_x() != 0) return;
    if (group_x() == 0) __hip_atomic_store(cells, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    else while (__hip_atomic_load(cells, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SCOPE) == 0) __builtin_amdgcn_s_sleep(1);
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_looks_into_its_cache_alone_may_never_end(target):
    reads = lambda cells, _: int(cells[0])  # noqa: E731
    launch = {"blocks": 2, "block": 64}
    plain = seen(module(target, SPINS.replace("SCOPE_SCOPE", "SCOPE_WAVEFRONT")), "spins", 36, reads, **launch)
    assert set(plain) == {1, "endless"}
    fresh = seen(module(target, SPINS.replace("SCOPE_SCOPE", "SCOPE_AGENT")), "spins", 36, reads, **launch)
    assert set(fresh) == {1}


def test_what_cannot_be_is_refused_by_name():
    spins = module("gfx90a", SPINS.replace("SCOPE_SCOPE", "SCOPE_AGENT"))
    args = [np.zeros(128, np.uint32), np.zeros(16, np.uint32)]
    for by in ("order", "preemptions"):
        with pytest.raises(lt.ArgumentError, match="weak=True: what memory answers is up to seeds"):
            spins.explore("spins", blocks=2, block=64, args=args, by=by, weak=True)
    with pytest.raises(lt.ArgumentError, match="or weak:SEED: before one of the last three"):
        spins.run("spins", blocks=2, block=64, args=args, schedule="weak:1:fair")


PUBLIC = tuple(exhibit for exhibit in EXHIBITS if exhibit.name in ("kokkos_reduce", "pytorch_reduce", "fuser_split_k"))


@pytest.mark.parametrize(
    ("exhibit", "target"), [(e, t) for e in PUBLIC for t in e.targets], ids=lambda part: getattr(part, "name", part)
)
def test_public_kernels_give_the_wrong_result_and_their_mended_ones_never(exhibit, target):
    """In memory that does as it is told they are right under every schedule. (PyTorch's is right on RDNA4 as it is modelled, too:
    its barrier invalidates the only cache.)"""
    shown = (exhibit.name, target) != ("pytorch_reduce", "gfx1201")
    for mended, weak, is_wrong in ((False, False, False), (False, True, shown), (True, True, False)):
        kernel = lt.Device(target).load(build(exhibit.path, target, mended, exhibit.flags))
        launch = exhibit.launch()
        shape = {"blocks": launch.blocks, "block": launch.block}
        found = kernel.explore(
            "exhibit",
            args=launch.args,
            by="pct",
            schedules=MORE.get(exhibit.name, ENOUGH) if weak and not mended else ENOUGH,
            weak=weak,
            **shape,
        )
        (number,) = launch.expected
        wrong = []
        for outcome in found.outcomes:
            assert outcome.error is None
            again = exhibit.launch()
            kernel.run("exhibit", args=again.args, schedule=outcome.schedule, **shape)
            if not np.array_equal(again.args[number], again.expected[number]):
                wrong.append(outcome)
        assert bool(wrong) == is_wrong, (mended, weak)
        lines = {frame["line"] for outcome in wrong for one in outcome.stale for frame in one.load.source}
        assert not is_wrong or lines & set(exhibit.marks()), "a load in the line that is marked had an old value"
