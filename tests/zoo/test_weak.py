"""Litmus tests in weak memory: no outcome is seen that LLVM's memory model forbids, and those that it allows where orders or scopes
are missing are seen within a number of schedules. What libraries build of atomics stays clean.
"""

from __future__ import annotations

import itertools

import compiled
import litmus
import numpy as np
import pytest
from exhibits.exhibit import build
from exhibits.memory import EXHIBITS

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
#: Schedules in which each outcome that is expected is seen, of a litmus test and of a message passed.
ENOUGH, FEW = 400, 60
MORE = {"message_passing": 4000, "independent_reads": 20_000, "kokkos_reduce": 4000}
PLACES = (("agent", False), ("workgroup", False), ("workgroup", True))


@pytest.fixture(scope="module")
def modules():
    """Modules by processor and source."""
    loaded: dict[tuple[str, str], lt.Module] = {}

    def of(target: str, source: str) -> lt.Module:
        if (target, source) not in loaded:
            loaded[target, source] = lt.Device(target).load(compiled.build(source, target))
        return loaded[target, source]

    return of


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


SOURCE = "\n".join(
    litmus.source(name, *place, fenced) for name in litmus.PROGRAMS for place in PLACES for fenced in (False, True)
)


@pytest.mark.parametrize("name", litmus.PROGRAMS)
@pytest.mark.parametrize("target", TARGETS)
def test_no_outcome_is_seen_that_the_model_forbids(modules, target, name):
    threads = len(litmus.PROGRAMS[name].threads)
    for (scope, lds), fenced in itertools.product(PLACES, (True, False)):
        blocks, waves = (threads, 1) if scope == "agent" else (1, threads)
        kernel = f"{name}_{scope}_{'lds' if lds else 'global'}_{'fenced' if fenced else 'relaxed'}"
        read = lambda cells, out, lds=lds: litmus.outcome(name, lds, cells.tobytes(), out.tobytes())  # noqa: E731
        found = seen(modules(target, SOURCE), kernel, ENOUGH // 2, read, blocks=blocks, block=64 * waves)
        assert set(found) <= litmus.allowed(litmus.PROGRAMS[name], fenced), (scope, lds, fenced)


#: Of workgroups without fences; that of load buffering is not modelled.
EXPECTED = {
    "message_passing": {(1, 0, 1, 1)},
    "store_buffering": {(0, 0, 1, 1)},
    "independent_reads": {(1, 0, 1, 0, 1, 1)},
    "writes_crossed": {(1, 1)},
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("target", TARGETS)
def test_what_no_order_of_steps_gives_is_seen_without_fences(modules, target, name):
    program = litmus.PROGRAMS[name]
    weak = litmus.allowed(program, fenced=False) - litmus.allowed(program, fenced=True)
    assert EXPECTED[name] <= weak
    read = lambda cells, out: litmus.outcome(name, False, cells.tobytes(), out.tobytes())  # noqa: E731
    found = seen(
        modules(target, SOURCE),
        f"{name}_agent_global_relaxed",
        MORE.get(name, ENOUGH),
        read,
        blocks=len(program.threads),
        block=64,
    )
    assert EXPECTED[name] <= set(found)


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
def test_a_message_is_missed_where_it_is_not_released_or_not_acquired_and_nowhere_else(modules, target, scope):
    """Plain data behind a flag of every order, between two workgroups and between two waves of one."""
    module = modules(target, PASSED)
    for write, read in itertools.product(WRITES, READS):
        for apart in (True, False):
            launch = {"blocks": 2, "block": 64} if apart else {"blocks": 1, "block": 128}
            ordered = _releases(write) and _acquires(read) and (not apart or scope != "workgroup")
            plain = {write, read} <= {"relaxed", "release", "acquire"}
            if not ordered and not (plain and apart):
                continue
            count = FEW if ordered else ENOUGH
            found = seen(module, f"pass_{write}_{read}_{scope}", count, lambda _, out: int(out[0]), **launch)
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
def test_a_loop_that_looks_into_its_cache_alone_may_never_end(modules, target):
    reads = lambda cells, _: int(cells[0])  # noqa: E731
    launch = {"blocks": 2, "block": 64}
    plain = seen(modules(target, SPINS.replace("SCOPE_SCOPE", "SCOPE_WAVEFRONT")), "spins", 36, reads, **launch)
    assert set(plain) == {1, "endless"}
    fresh = seen(modules(target, SPINS.replace("SCOPE_SCOPE", "SCOPE_AGENT")), "spins", 36, reads, **launch)
    assert set(fresh) == {1}


def test_what_cannot_be_is_refused_by_name(modules):
    module = modules("gfx90a", SPINS.replace("SCOPE_SCOPE", "SCOPE_AGENT"))
    args = [np.zeros(128, np.uint32), np.zeros(16, np.uint32)]
    for by in ("order", "preemptions"):
        with pytest.raises(lt.ArgumentError, match="weak=True: what memory answers is up to seeds"):
            module.explore("spins", blocks=2, block=64, args=args, by=by, weak=True)
    with pytest.raises(lt.ArgumentError, match="or weak:SEED: before one of the last three"):
        module.run("spins", blocks=2, block=64, args=args, schedule="weak:1:fair")


PUBLIC = tuple(exhibit for exhibit in EXHIBITS if exhibit.name in ("kokkos_reduce", "pytorch_reduce", "fuser_split_k"))


@pytest.mark.parametrize(
    ("exhibit", "target"), [(e, t) for e in PUBLIC for t in e.targets], ids=lambda part: getattr(part, "name", part)
)
def test_public_kernels_give_the_wrong_result_and_their_mended_ones_never(exhibit, target):
    """In memory that does as it is told they are right under every schedule. (PyTorch's is right on RDNA4 as it is modelled, too:
    its barrier invalidates the only cache.)"""
    shown = (exhibit.name, target) != ("pytorch_reduce", "gfx1201")
    for mended, weak, is_wrong in ((False, False, False), (False, True, shown), (True, True, False)):
        module = lt.Device(target).load(build(exhibit.path, target, mended, exhibit.flags))
        launch = exhibit.launch()
        shape = {"blocks": launch.blocks, "block": launch.block}
        found = module.explore(
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
            module.run("exhibit", args=again.args, schedule=outcome.schedule, **shape)
            if not np.array_equal(again.args[number], again.expected[number]):
                wrong.append(outcome)
        assert bool(wrong) == is_wrong, (mended, weak)
        lines = {frame["line"] for outcome in wrong for one in outcome.stale for frame in one.load.source}
        assert not is_wrong or lines & set(exhibit.marks()), "a load in the line that is marked had an old value"
