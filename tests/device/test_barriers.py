"""Barriers with numbers: split ones of RDNA4, named ones and those of clusters of gfx1250, by clang's builtins.

What comes out is compared with what the counting rules of LLVM's "AMDGPU Execution Synchronization" say. Strict mode judges
every run: the barriers must order what they order, and no more.
"""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt

SPLIT = """
#define FENCE(order) __builtin_amdgcn_fence(order, "workgroup")
#define WAVE __builtin_amdgcn_readfirstlane(local_x() / 32)
// All waves but the first arrive and go on at once; only then does the first let them end.
KERNEL arrive(u32 *out) {
    LDS u32 words[128];
    LDS volatile u32 go;
    u32 i = local_x();
    words[i] = i * 3;
    if (i == 0) go = 0;
    FENCE(__ATOMIC_RELEASE);
    __builtin_amdgcn_s_barrier();
    FENCE(__ATOMIC_ACQUIRE);
    words[i] += 1;
    FENCE(__ATOMIC_RELEASE);
    __builtin_amdgcn_s_barrier_signal(-1);
    if (WAVE == 0) {
        __builtin_amdgcn_s_barrier_wait(-1);
        FENCE(__ATOMIC_ACQUIRE);
        for (u32 k = i; k < 128; k += 32) out[k] = words[127 - k];
        FENCE(__ATOMIC_RELEASE);
        if (i == 0) __hip_atomic_fetch_add((u32 *)&go, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
        while ((__hip_atomic_fetch_add((u32 *)&go, 2, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) & 1) == 0) {}
        __builtin_amdgcn_s_barrier_wait(-1);
    }
}
// What is written between the signal and the wait is not ordered by that barrier.
KERNEL between(u32 *out) {
    LDS u32 words[64];
    u32 i = local_x();
    __builtin_amdgcn_s_barrier_signal(-1);
    words[i] = i;
    FENCE(__ATOMIC_RELEASE);
    __builtin_amdgcn_s_barrier_wait(-1);
    FENCE(__ATOMIC_ACQUIRE);
    out[i] = words[i ^ 32];
}
// The first of each round, and the states before, while and after.
KERNEL states(u32 *first, u32 *state) {
    u32 wave = WAVE;
    for (u32 round = 0; round < 3; round++) {
        if (__builtin_amdgcn_s_barrier_signal_isfirst(-1)) __hip_atomic_fetch_add(first + round, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_s_barrier_wait(-1);
    }
    if (wave == 0 && __builtin_amdgcn_workgroup_size_x() > 32) __builtin_amdgcn_s_barrier_signal(-1);
    state[local_x()] = wave == 0 ? __builtin_amdgcn_s_get_barrier_state(-1) : 0;
    if (wave == 0) {
        while (__builtin_amdgcn_s_get_barrier_state(-1) >> 16 & 127) {}
    } else {
        __builtin_amdgcn_s_barrier_signal(-1);
    }
    __builtin_amdgcn_s_barrier_wait(-1);
}
KERNEL forever() {
    if (WAVE != 1) __builtin_amdgcn_s_barrier_signal(-1);
    __builtin_amdgcn_s_barrier_wait(-1);
}
KERNEL absent(u32 *out) {
    if (WAVE != 1) __builtin_amdgcn_s_barrier();
    out[local_x()] = 1;
}
KERNEL twice() {
    __builtin_amdgcn_s_barrier_signal(-1);
    if (WAVE == 0) __builtin_amdgcn_s_barrier_signal(-1);
    __builtin_amdgcn_s_barrier_wait(-1);
}
"""

NAMED = """
#define FENCE(order) __builtin_amdgcn_fence(order, "workgroup")
#define WAVE __builtin_amdgcn_readfirstlane(local_x() / 32)
typedef __amdgpu_named_workgroup_barrier_t Bar;
// Wave 0 produces, wave 1 consumes; the others have no part in it.
KERNEL ring(const u32 *in, u32 *out, u32 rounds) {
    LDS Bar full, empty;
    LDS u32 slot[32];
    u32 wave = WAVE, lane = local_x() % 32;
    if (wave == 0) {
        __builtin_amdgcn_s_barrier_init(&full, 1);
        __builtin_amdgcn_s_barrier_init(&empty, 1);
        __builtin_amdgcn_s_barrier_join(&empty);
    } else if (wave == 1) {
        __builtin_amdgcn_s_barrier_join(&full);
    }
    __builtin_amdgcn_s_barrier();
    if (wave == 0) {
        for (u32 r = 0; r < rounds; r++) {
            slot[lane] = in[r * 32 + lane];
            FENCE(__ATOMIC_RELEASE);
            __builtin_amdgcn_s_barrier_signal_var(&full, 0);
            __builtin_amdgcn_s_barrier_wait(1);
            FENCE(__ATOMIC_ACQUIRE);
        }
    } else if (wave == 1) {
        for (u32 r = 0; r < rounds; r++) {
            __builtin_amdgcn_s_barrier_wait(1);
            FENCE(__ATOMIC_ACQUIRE);
            out[r * 32 + lane] = slot[lane ^ 1];
            FENCE(__ATOMIC_RELEASE);
            __builtin_amdgcn_s_barrier_signal_var(&empty, 0);
        }
    }
}
// Groups of two waves synchronize among themselves, each by one of an array of barriers, which a signal gives its members.
KERNEL pairs(u32 *out, u32 members) {
    LDS Bar bars[4];
    LDS u32 words[256];
    u32 i = local_x(), pair = WAVE / 2;
    Bar __attribute__((address_space(3))) *bar = (Bar __attribute__((address_space(3))) *)&bars[pair];
    if (pair == 0) { __builtin_amdgcn_s_barrier_join(&bars[0]); }
    else if (pair == 1) { __builtin_amdgcn_s_barrier_join(&bars[1]); }
    else if (pair == 2) { __builtin_amdgcn_s_barrier_join(&bars[2]); }
    else { __builtin_amdgcn_s_barrier_join(&bars[3]); }
    __builtin_amdgcn_s_barrier();
    for (u32 r = 0; r < 5; r++) {
        words[i] = i * 7 + r;
        FENCE(__ATOMIC_RELEASE);
        if (pair == 0) { __builtin_amdgcn_s_barrier_signal_var(&bars[0], members); }
        else if (pair == 1) { __builtin_amdgcn_s_barrier_signal_var(&bars[1], members); }
        else if (pair == 2) { __builtin_amdgcn_s_barrier_signal_var(&bars[2], members); }
        else { __builtin_amdgcn_s_barrier_signal_var(&bars[3], members); }
        __builtin_amdgcn_s_barrier_wait(1);
        FENCE(__ATOMIC_ACQUIRE);
        out[r * 256 + i] = words[i ^ 32];
        FENCE(__ATOMIC_RELEASE);
        if (pair == 0) { __builtin_amdgcn_s_barrier_signal_var(&bars[0], 0); }
        else if (pair == 1) { __builtin_amdgcn_s_barrier_signal_var(&bars[1], 0); }
        else if (pair == 2) { __builtin_amdgcn_s_barrier_signal_var(&bars[2], 0); }
        else { __builtin_amdgcn_s_barrier_signal_var(&bars[3], 0); }
        __builtin_amdgcn_s_barrier_wait(1);
        FENCE(__ATOMIC_ACQUIRE);
    }
}
// The third member leaves, which completes the round that the others wait for. What leaving tells in SCC.
KERNEL leave(u32 *scc, u32 *state) {
    LDS Bar bar;
    u32 wave = WAVE, left = 9;
    if (wave == 0) __builtin_amdgcn_s_barrier_init(&bar, 3);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_s_barrier_join(&bar);
    __builtin_amdgcn_s_barrier();
    if (wave == 0) state[0] = __builtin_amdgcn_s_get_named_barrier_state(&bar);
    if (wave != 2) {
        __builtin_amdgcn_s_barrier_signal_var(&bar, 0);
        __builtin_amdgcn_s_barrier_wait(1);
    } else {
        while (((state[1] = __builtin_amdgcn_s_get_named_barrier_state(&bar)) >> 16 & 127) != 2) {}
        asm volatile("s_barrier_leave\\n s_wait_kmcnt 0\\n s_cselect_b32 %0, 1, 0" : "=s"(left) :: "scc");
    }
    __builtin_amdgcn_s_barrier();
    if (wave == 0) state[2] = __builtin_amdgcn_s_get_named_barrier_state(&bar);
    if (wave == 0) asm volatile("s_barrier_leave\\n s_wait_kmcnt 0\\n s_cselect_b32 %0, 1, 0" : "=s"(left) :: "scc");
    __builtin_amdgcn_s_barrier();
    if (wave == 1) asm volatile("s_barrier_leave\\n s_wait_kmcnt 0\\n s_cselect_b32 %0, 1, 0" : "=s"(left) :: "scc");
    scc[wave] = left;
}
// Numbers as immediates, and waking what sleeps.
KERNEL immediates(u32 *out) {
    LDS Bar bar;
    u32 wave = WAVE, state;
    if (wave == 0) __builtin_amdgcn_s_barrier_init(&bar, 2);
    __builtin_amdgcn_s_barrier();
    asm volatile("s_barrier_join 1\\n s_barrier_signal 1\\n s_barrier_wait 1\\n s_wakeup_barrier 1\\n"
                 "s_get_barrier_state %0, 1\\n s_wait_kmcnt 0\\n s_barrier_join 0\\n s_barrier_wait 1\\n s_barrier_signal 0"
                 : "=s"(state));
    out[wave] = state;
}
KERNEL stuck() {
    LDS Bar bar;
    if (WAVE == 0) __builtin_amdgcn_s_barrier_init(&bar, 3);
    __builtin_amdgcn_s_barrier();
    if (WAVE == 2) return;
    __builtin_amdgcn_s_barrier_join(&bar);
    __builtin_amdgcn_s_barrier_signal_var(&bar, 0);
    __builtin_amdgcn_s_barrier_wait(1);
}
KERNEL uninitialized() {
    LDS Bar bar;
    __builtin_amdgcn_s_barrier_signal_var(&bar, 0);
}
KERNEL beyond() {
    LDS Bar bar;
    __builtin_amdgcn_s_barrier_init(&bar, 2);
    asm volatile("s_barrier_join 5");
}
KERNEL unjoined() { asm volatile("s_barrier_wait 1"); }
"""


def _run(source: str, target: str, kernel: str, waves: int, *args, strict: bool = True, **launch) -> lt.device.RunResult:
    module = lt.Device(target, watchdog=1_000_000).load(compiled.build(source, target))
    return module.run(kernel, grid=32 * waves, block=32 * waves, args=args, strict=strict, **launch)


SPLIT_TARGETS = ("gfx1201", "gfx1250")


@pytest.mark.parametrize("target", SPLIT_TARGETS)
def test_arriving_is_not_waiting(target: str) -> None:
    out = np.zeros(128, np.uint32)
    result = _run(SPLIT, target, "arrive", 4, out)
    assert [f for f in result.findings if f["kind"] != "barrier-divergence"] == []
    np.testing.assert_array_equal(out, 3 * (127 - np.arange(128)) + 1)


@pytest.mark.parametrize("target", SPLIT_TARGETS)
def test_a_barrier_orders_what_came_before_the_signal(target: str) -> None:
    found = _run(SPLIT, target, "between", 2, np.zeros(64, np.uint32)).findings
    assert {f["kind"] for f in found} == {"lds-race"}


@pytest.mark.parametrize("target", SPLIT_TARGETS)
@pytest.mark.parametrize("waves", (1, 4))
def test_the_first_and_the_state(target: str, waves: int) -> None:
    first, state = np.zeros(3, np.uint32), np.zeros(32 * waves, np.uint32)
    _run(SPLIT, target, "states", waves, first, state, strict=False)
    one = waves > 1
    # A single wave has no barrier; what clang asks for then is SCC from before on gfx1250.
    if one or target == "gfx1201":
        assert first.tolist() == [32 * one] * 3
    assert state[0] in ({s << 16 | waves << 4 | 1 for s in range(1, 4)} if one else {0})


def test_a_barrier_nobody_completes(target: str = "gfx1201") -> None:
    with pytest.raises(
        lt.DeviceError, match=r"deadlock in workgroup .*: wave 0.*the workgroup's barrier, which has 1 of 2 signals"
    ):
        _run(SPLIT, target, "forever", 2)


@pytest.mark.parametrize("target", SPLIT_TARGETS)
def test_divergence(target: str) -> None:
    for kernel, args, what in (
        ("absent", [np.zeros(64, np.uint32)], "ended without coming"),
        ("twice", [], "signals the workgroup's barrier again"),
    ):
        found = [f for f in _run(SPLIT, target, kernel, 2, *args).findings if f["kind"] == "barrier-divergence"]
        assert any(what in f["message"] for f in found), (kernel, found)


@pytest.mark.parametrize("waves", (2, 5))
def test_a_producer_and_a_consumer(waves: int) -> None:
    data = np.random.default_rng(1).integers(0, 1 << 32, (9, 32)).astype(np.uint32)
    out = np.zeros_like(data)
    result = _run(NAMED, "gfx1250", "ring", waves, data, out, np.uint32(9))
    assert result.findings == []
    np.testing.assert_array_equal(out, data.reshape(9, 16, 2)[:, :, ::-1].reshape(9, 32))


def test_pairs_of_waves() -> None:
    out = np.zeros((5, 256), np.uint32)
    assert _run(NAMED, "gfx1250", "pairs", 8, out, np.uint32(2)).findings == []
    np.testing.assert_array_equal(out, (np.arange(256) ^ 32) * 7 + np.arange(5)[:, None])


def test_leaving() -> None:
    scc, state = np.zeros(3, np.uint32), np.zeros(3, np.uint32)
    _run(NAMED, "gfx1250", "leave", 3, scc, state, strict=False)
    assert scc.tolist() == [0, 1, 0]
    fields = [(int(s) & 1, int(s) >> 4 & 127, int(s) >> 16 & 127) for s in state]
    assert fields[1:] == [(1, 3, 2), (1, 2, 0)] and fields[0][:2] == (1, 3)


def test_numbers_as_immediates() -> None:
    out = np.zeros(2, np.uint32)
    result = _run(NAMED, "gfx1250", "immediates", 2, out)
    # Waiting with nothing joined passes, which strict mode has something to say to.
    assert [f["kind"] for f in result.findings] == ["barrier-divergence"]
    assert {int(s) & 0xFFFF for s in out} == {2 << 4 | 1}


def test_what_goes_wrong_is_named() -> None:
    for kernel, waves, message in (
        ("stuck", 3, r"wave 0.*waits for named barrier 1, which has 2 of 3 signals.*wave 2 has ended"),
        ("uninitialized", 2, "named barrier 1 is signalled and has no members"),
        ("beyond", 2, "named barrier 5: the kernel's descriptor says that it uses 4"),
    ):
        with pytest.raises(lt.DeviceError, match=message):
            _run(NAMED, "gfx1250", kernel, waves, strict=False)
    (finding,) = _run(NAMED, "gfx1250", "unjoined", 2).findings
    assert "has joined none" in finding["message"]


def test_rdna4_has_no_named_barriers() -> None:
    source = 'KERNEL k() { asm volatile("s_mov_b32 m0, 0x20001\\n s_barrier_init m0"); }'
    with pytest.raises(lt.DeviceError, match="RDNA4 has no named barriers"):
        _run(source, "gfx1201", "k", 2)


CLUSTER = """
#define STORE(at, value) out[18 * group + at] = value
#define GROUP() \\
    u32 x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y(), z = __builtin_amdgcn_workgroup_id_z(); \\
    u32 group = x + groups_x * (y + groups_y * z);
KERNEL ATTRIBUTE ids(u32 *out, u32 groups_x, u32 groups_y) {
    GROUP()
    STORE(0, x); STORE(1, y); STORE(2, z);
    STORE(3, __builtin_amdgcn_cluster_id_x());
    STORE(4, __builtin_amdgcn_cluster_id_y());
    STORE(5, __builtin_amdgcn_cluster_id_z());
    STORE(6, __builtin_amdgcn_cluster_workgroup_id_x());
    STORE(7, __builtin_amdgcn_cluster_workgroup_id_y());
    STORE(8, __builtin_amdgcn_cluster_workgroup_id_z());
    STORE(9, __builtin_amdgcn_cluster_workgroup_max_id_x());
    STORE(10, __builtin_amdgcn_cluster_workgroup_max_id_y());
    STORE(11, __builtin_amdgcn_cluster_workgroup_max_id_z());
    STORE(12, __builtin_amdgcn_cluster_workgroup_flat_id());
    STORE(13, __builtin_amdgcn_cluster_workgroup_max_flat_id());
    STORE(14, __builtin_amdgcn_s_get_barrier_state(-3));
}
// All workgroups of a cluster add to its sum, some later than others; then each reads it.
KERNEL ATTRIBUTE sums(u32 *out, u32 *sums, u32 groups_x, u32 groups_y) {
    GROUP()
    u32 cluster = __builtin_amdgcn_cluster_id_x() + 100 * __builtin_amdgcn_cluster_id_y();
    u32 flat = __builtin_amdgcn_cluster_workgroup_flat_id();
    for (u32 round = 0; round < 3; round++) {
        for (u32 k = 0; k < flat * 300; k++) asm volatile("s_nop 0");
        if (local_x() == 0)
            __hip_atomic_fetch_add(sums + cluster, group + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        __builtin_amdgcn_s_cluster_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        if (local_x() == 0)
            out[3 * group + round] = __hip_atomic_fetch_add(sums + cluster, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_s_cluster_barrier();
    }
}
KERNEL ATTRIBUTE one_stays_away(u32 *out, u32 groups_x, u32 groups_y) {
    GROUP()
    while (group == 1 && __hip_atomic_fetch_add(out, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    if (group != 1) __builtin_amdgcn_s_cluster_barrier();
    if (group == 0) out[0] = 1;
}
"""


def _clusters(kernel: str, cluster, groups, block: int, *args, compiled_for=None, target="gfx1250", threads=0):
    attribute = f"__attribute__((cluster_dims({compiled_for})))" if compiled_for else ""
    path = compiled.build(CLUSTER.replace("ATTRIBUTE", attribute), target)
    grid = (groups[0] * block, *groups[1:])
    module = lt.Device(target, threads=threads, watchdog=20_000_000).load(path)
    sizes = [np.uint32(groups[0]), np.uint32(groups[1])]
    return module.run(kernel, grid=grid, block=block, args=[*args, *sizes], strict=True, cluster=cluster)


@pytest.mark.parametrize(
    ("cluster", "compiled_for", "groups"),
    [(None, None, (4, 3, 2)), ((1, 1, 1), None, (3, 1, 1)), ((4, 2, 1), None, (8, 4, 3)), ((2, 2, 4), None, (4, 6, 4)),
     ((2, 2, 1), "2, 2, 1", (4, 2, 2)), (None, "2, 2, 1", (6, 4, 1)), (16, None, (32, 1, 1))],
)  # fmt: skip
def test_ids_in_a_cluster(cluster, compiled_for, groups) -> None:
    count = int(np.prod(groups))
    out = np.zeros((count, 18), np.uint32)
    assert _clusters("ids", cluster, groups, 64, out, compiled_for=compiled_for).findings == []
    size = np.array(
        (2, 2, 1) if compiled_for else (1, 1, 1) if cluster is None else (cluster, 1, 1) if cluster == 16 else cluster
    )
    z, y, x = np.meshgrid(*(np.arange(n) for n in groups[::-1]), indexing="ij")
    ids = np.stack([x.ravel(), y.ravel(), z.ravel()], 1)
    within = ids % size
    want = np.zeros((count, 14), np.uint32)
    want[:, 0:3], want[:, 3:6], want[:, 6:9], want[:, 9:12] = ids, ids // size, within, size - 1
    want[:, 12] = within @ [1, size[0], size[0] * size[1]]
    want[:, 13] = size.prod() - 1
    np.testing.assert_array_equal(out[:, :14], want)
    # Those that have ended are no members any more.
    states = set(out[:, 14].tolist())
    assert states <= ({n << 4 | 1 for n in range(1, size.prod() + 1)} if size.prod() > 1 else {0}), states


@pytest.mark.parametrize("block", (32, 96))
@pytest.mark.parametrize("cluster", ((1, 1), (2, 1), (2, 2), (4, 4)))
def test_a_clusters_barrier(cluster, block: int) -> None:
    groups = (8, 4, 1)
    out, sums = np.zeros((32, 3), np.uint32), np.zeros(1000, np.uint32)
    assert _clusters("sums", cluster, groups, block, out, sums).findings == []
    number = np.arange(32)
    key = number % 8 // cluster[0] + 100 * (number // 8 // cluster[1])
    total = np.array([(number[key == k] + 1).sum() for k in key])
    np.testing.assert_array_equal(out, total[:, None] * [1, 2, 3])


def test_a_workgroup_that_ends_leaves_its_cluster() -> None:
    with pytest.raises(lt.DeviceError, match="stopped after|deadlock"):
        _clusters("one_stays_away", (2, 1), (2, 1, 1), 64, np.zeros(1, np.uint32))
    out = np.ones(1, np.uint32)
    _clusters("one_stays_away", (2, 1), (2, 1, 1), 64, out)


def test_what_is_no_cluster() -> None:
    out = np.zeros((64, 18), np.uint32)
    for cluster, groups, why in (
        ((17, 1), (17, 1, 1), "at most 16"),
        ((2, 1), (3, 1, 1), "no whole number"),
    ):
        with pytest.raises(lt.DeviceError, match=why):
            _clusters("ids", cluster, groups, 64, out)
    with pytest.raises(lt.DeviceError, match=r"requires \[2, 2, 1\]"):
        _clusters("ids", (2, 1), (2, 2, 1), 64, out, compiled_for="2, 2, 1")
    with pytest.raises(lt.DeviceError, match="has no clusters"):
        lt.Device("gfx1201").load(compiled.build("KERNEL k() {}", "gfx1201")).run("k", grid=64, block=32, cluster=2)


@pytest.mark.parametrize("cluster", (None, (2, 1), (4, 4)))
def test_clusters_are_watched_and_stepped(cluster) -> None:
    """As they are run."""
    groups = (4, 4, 1)
    attribute = "" if cluster else "__attribute__((cluster_dims(2, 2, 1)))"
    module = lt.Device("gfx1250").load(compiled.build(CLUSTER.replace("ATTRIBUTE", attribute), "gfx1250"))

    def launch():
        args = [np.zeros((16, 3), np.uint32), np.zeros(1000, np.uint32), np.uint32(4), np.uint32(4)]
        return args, dict(grid=(4 * 64, 4), block=64, args=args, cluster=cluster)

    ran, how = launch()
    module.run("sums", **how)
    watched, how = launch()
    trace = module.trace("sums", **how, events=["memory"])
    assert len(trace.waves) == 32 and len(trace.memory)
    stepped, how = launch()
    with module.session("sums", **how) as session:
        seen = set()
        while session.workgroup is not None:
            seen.add(session.workgroup)
            session.step(count=20)
    assert seen == {(x, y, 0) for x in range(groups[0]) for y in range(groups[1])}
    for args in (watched, stepped):
        np.testing.assert_array_equal(args[0], ran[0])
        np.testing.assert_array_equal(args[1], ran[1])


def test_a_cluster_that_is_stuck_is_told_in_a_session() -> None:
    module = lt.Device("gfx1250").load(compiled.build(CLUSTER.replace("ATTRIBUTE", ""), "gfx1250"))
    # Workgroup 1 looks for what workgroup 0 writes behind the barrier; by itself it does not come to an end.
    args = [np.zeros(1, np.uint32), np.uint32(2), np.uint32(1)]
    with module.session("one_stays_away", grid=128, block=64, args=args, cluster=2) as session:
        assert session.run_to(1, limit=5000) is None and session.workgroup == (1, 0, 0)
