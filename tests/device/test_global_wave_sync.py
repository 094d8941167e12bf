"""Global wave sync (``ds_gws_*``): barriers and semaphores between all waves of a device, by clang's builtins and by hand.

What comes out is what the grid as a whole must come to, worked out here with NumPy; where a wave waits and for how many is
compared with the counting rules of AMD's manuals.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import compiled
import numpy as np
import pytest

import luthier as lt

#: One of each kind of processor that has it: GCN, CDNA1 to CDNA4, RDNA1 to RDNA3.5.
TARGETS = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151")
GROUPS = 120

HIP = """
#define FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define GROUPS_X (__builtin_amdgcn_grid_size_x() / block_x())
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ADD(p, v) __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
// As AMD's device library has a grid meet: one lane of each workgroup comes to the barrier of resource 0.
DEVICE static inline void grid_sync() {
    FENCE();
    __builtin_amdgcn_s_barrier();
    if (local_x() == 0) __builtin_amdgcn_ds_gws_barrier(GROUPS_X - 1, 0);
    __builtin_amdgcn_s_barrier();
    FENCE();
}
// Each workgroup adds up what others have left, whole rounds of it.
KERNEL exchange(u32 *data, u32 rounds) {
    u32 n = GROUPS_X * block_x(), i = global_x();
    for (u32 r = 0; r < rounds; r++) {
        u32 v = LOAD(data + (i + 7 * block_x() + 1) % n) * 3 + LOAD(data + (i * 5 + r) % n);
        grid_sync();
        STORE(data + i, v);
        grid_sync();
    }
}
// The same, but each wave comes by itself, to a resource of the caller's choice.
KERNEL by_wave(u32 *data, u32 rounds, u32 count, u32 resource) {
    u32 n = GROUPS_X * block_x(), i = global_x();
    for (u32 r = 0; r < rounds; r++) {
        u32 v = LOAD(data + (i + 77) % n) * 3 + r;
        FENCE();
        __builtin_amdgcn_ds_gws_barrier(count, resource);
        STORE(data + i, v);
        FENCE();
        __builtin_amdgcn_ds_gws_barrier(count, resource);
    }
}
KERNEL init(u32 value, u32 resource) { __builtin_amdgcn_ds_gws_init(value, resource); }
// A lock around a sum that is no atomic, as the KFD's test of semaphores has it.
KERNEL locked(u32 *sum, u32 resource) {
    if (local_x() == 0) {
        __builtin_amdgcn_ds_gws_sema_p(resource);
        FENCE();
        u32 v = LOAD(sum);
        __builtin_amdgcn_s_sleep(1);
        STORE(sum, v + 1 + group_x());
        FENCE();
        __builtin_amdgcn_ds_gws_sema_v(resource);
    }
}
// The last workgroup gives, in bulk, to the others, which have waited for what it writes.
KERNEL bulk(u32 *data, u32 *out, u32 resource) {
    u32 last = GROUPS_X - 1;
    if (group_x() == last) {
        STORE(data + local_x(), local_x() * 3 + 1);
        FENCE();
        __builtin_amdgcn_s_barrier();
        if (local_x() == 0) __builtin_amdgcn_ds_gws_sema_br(last, resource);
    } else {
        if (local_x() == 0) __builtin_amdgcn_ds_gws_sema_p(resource);
        __builtin_amdgcn_s_barrier();
        FENCE();
        out[global_x()] = LOAD(data + local_x()) + group_x();
    }
}
// All that wait are let go on, once as many as it takes do.
KERNEL release(u32 *come, u32 *out, u32 resource) {
    u32 last = GROUPS_X - 1;
    if (local_x() != 0) return;
    if (group_x() == last) {
        while (LOAD(come) != last) __builtin_amdgcn_s_sleep(2);
        // They have told, and come to wait at once.
        for (u32 k = 0; k < 200; k++) __builtin_amdgcn_s_sleep(1);
        STORE(come, 1000);
        FENCE();
        __builtin_amdgcn_ds_gws_sema_release_all(resource);
    } else {
        ADD(come, 1);
        __builtin_amdgcn_ds_gws_sema_p(resource);
        FENCE();
        out[group_x()] = LOAD(come);
    }
}
// Waves of one workgroup, and LDS between them.
KERNEL through_lds(u32 *out, u32 how) {
    LDS volatile u32 words[256];
    u32 i = local_x(), wave = __builtin_amdgcn_readfirstlane(i / 64);
    words[i] = i * 5;
    FENCE();
    if (how == 1) __builtin_amdgcn_ds_gws_barrier(256 / WAVE - 1, 1);
    if (how == 2 && wave == 0) __builtin_amdgcn_ds_gws_sema_br(300, 1);
    if (how == 2 && wave == 1) __builtin_amdgcn_ds_gws_sema_p(1);
    FENCE();
    if (wave == 1) out[i] = words[i - 64];
}
// Nothing waits for what the semaphore is asked; the resource is 2 by M0 and the offset.
KERNEL unwaited() { asm volatile("s_mov_b32 m0, 0x3f0000\\n s_nop 0\\n ds_gws_sema_v offset:3 gds\\n s_nop 0\\n s_waitcnt 0"); }
KERNEL dead_lanes(u32 value) {
    asm volatile("s_mov_b32 m0, 0\\n v_mov_b32 v2, %0\\n s_mov_b64 exec, 0\\n s_nop 4\\n ds_gws_init v2 offset:9 gds\\n s_waitcnt 0\\n"
                 "ds_gws_sema_v offset:9 gds\\n s_waitcnt 0" : : "s"(value) : "v2");
}
// An odd register, which no assembler lets pass where a pair is read.
KERNEL odd() { asm volatile("s_mov_b32 m0, 0\\n v_mov_b32 v3, 5\\n s_nop 0\\n .long 0xd9330009, 3\\n s_waitcnt 0" ::: "v3"); }
KERNEL take(u32 *out, u32 resource) { __builtin_amdgcn_ds_gws_sema_p(resource); out[local_x()] = 1; }
// One workgroup never comes: it goes round in circles.
KERNEL circles(u32 *never) {
    if (group_x() == 1) while (LOAD(never) == 0) {}
    __builtin_amdgcn_ds_gws_barrier(GROUPS_X - 1, 0);
}
// One wave gives, another takes: as often as it is told.
KERNEL ring(u32 *slot, u32 *out, u32 rounds) {
    if (group_x() == 0) {
        for (u32 r = 0; r < rounds; r++) {
            __builtin_amdgcn_ds_gws_sema_p(1);
            FENCE();
            STORE(slot + local_x(), r * 1000 + local_x());
            FENCE();
            __builtin_amdgcn_ds_gws_sema_v(2);
        }
    } else {
        for (u32 r = 0; r < rounds; r++) {
            __builtin_amdgcn_ds_gws_sema_p(2);
            FENCE();
            out[r * block_x() + local_x()] = LOAD(slot + local_x());
            FENCE();
            __builtin_amdgcn_ds_gws_sema_v(1);
        }
    }
}
"""


def _load(target: str, threads: int = 0, **config: int) -> lt.Module:
    flags = (f"-DWAVE={32 if target.startswith('gfx1') else 64}",)
    return lt.Device(target, threads=threads, **config).load(compiled.build(HIP, target, flags))


def _init(module: lt.Module, value: int, resource: int = 0) -> None:
    module.run("init", grid=1, block=1, args=[np.uint32(value), np.uint32(resource)])


def _exchange(data: np.ndarray, block: int, rounds: int) -> np.ndarray:
    i = np.arange(data.size)
    for r in range(rounds):
        data = data[(i + 7 * block + 1) % data.size] * np.uint32(3) + data[(i * 5 + r) % data.size]
    return data


def _by_wave(data: np.ndarray, rounds: int) -> np.ndarray:
    i = np.arange(data.size)
    for r in range(rounds):
        data = data[(i + 77) % data.size] * np.uint32(3) + np.uint32(r)
    return data


def _numbers(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", TARGETS)
def test_a_cooperative_grid_meets(target: str, threads: int) -> None:
    """More than a hundred workgroups exchange values, eight rounds of it, and then fewer; strict mode has nothing to say."""
    module = _load(target, threads)
    for groups, strict in ((GROUPS, False), (GROUPS, True), (7, False), (1, True)):
        data = _numbers(groups * 128)
        want = _exchange(data, 128, 8)
        args = [data, np.uint32(8)]
        result = module.run("exchange", grid=data.size, block=128, args=args, cooperative=True, strict=strict)
        np.testing.assert_array_equal(data, want)
        assert not result.findings and result.histogram["ds_gws_barrier"] == groups * 16


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", TARGETS)
def test_every_wave_comes_by_itself(target: str, threads: int) -> None:
    """To a resource that a kernel has initialised before, and to the one that a cooperative launch brings along."""
    module = _load(target, threads)
    waves = GROUPS * (4 if target.startswith("gfx1") else 2)
    start = _numbers(GROUPS * 128)
    for resource, cooperative in ((63, False), (0, False), (0, True), (63, True)):
        if not (resource == 0 and cooperative):
            _init(module, waves - 1, resource)
        data = start.copy()
        args = [data, *(np.uint32(x) for x in (5, waves - 1, resource))]
        module.run("by_wave", grid=data.size, block=128, args=args, cooperative=cooperative)
        np.testing.assert_array_equal(data, _by_wave(start, 5))
    # The counter is what the last barrier has left there, launch after launch.
    data = start.copy()
    args = [data, *(np.uint32(x) for x in (5, waves - 1, 63))]
    module.run("by_wave", grid=data.size, block=128, args=args)
    np.testing.assert_array_equal(data, _by_wave(start, 5))


@pytest.mark.parametrize("target", TARGETS)
def test_an_init_kernel_comes_before_a_cooperative_one(target: str) -> None:
    """As AMD's runtime has it; where the kernel has said another number, that counts, and no wave ever comes."""
    module = _load(target)
    start = _numbers(40 * 64)
    _init(module, 39)
    data = start.copy()
    module.run("exchange", grid=data.size, block=64, args=[data, np.uint32(3)], cooperative=True)
    np.testing.assert_array_equal(data, _exchange(start, 64, 3))
    _init(module, 40)
    with pytest.raises(lt.DeviceError, match=r"barrier of resource 0, where 40 waves wait for 1 wave more"):
        module.run("exchange", grid=data.size, block=64, args=[data, np.uint32(3)], cooperative=True)
    data = start.copy()
    module.run("exchange", grid=data.size, block=64, args=[data, np.uint32(3)], cooperative=True)
    np.testing.assert_array_equal(data, _exchange(start, 64, 3))


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", TARGETS)
def test_semaphores(target: str, threads: int) -> None:
    module = _load(target, threads)
    total = np.zeros(1, np.uint32)
    _init(module, 1, 5)
    module.run("locked", grid=300 * 64, block=64, args=[total, np.uint32(5)])
    assert total[0] == 300 + sum(range(300))
    _init(module, 0, 6)
    data, out = np.zeros(64, np.uint32), np.zeros((GROUPS, 64), np.uint32)
    module.run("bulk", grid=out.size, block=64, args=[data, out, np.uint32(6)])
    want = np.arange(64) * 3 + 1 + np.arange(GROUPS)[:, None]
    np.testing.assert_array_equal(out[:-1], want[:-1])
    _init(module, 0, 1)
    _init(module, 1, 2)
    slot, out = np.zeros(64, np.uint32), np.zeros((50, 64), np.uint32)
    _init(module, 1, 1)
    _init(module, 0, 2)
    # A workgroup is one wave: of two, each would take what the other is given.
    wave = 32 if target.startswith("gfx1") else 64
    module.run("ring", grid=2 * wave, block=wave, args=[slot, out, np.uint32(50)])
    np.testing.assert_array_equal(out.reshape(-1)[: 50 * wave].reshape(50, wave), np.arange(50)[:, None] * 1000 + np.arange(wave))


@pytest.mark.parametrize("target", ("gfx90a", "gfx1030", "gfx1100"))
def test_all_that_wait_are_released(target: str) -> None:
    module = _load(target, threads=1)
    _init(module, 0, 8)
    come, out = np.zeros(1, np.uint32), np.zeros(20, np.uint32)
    module.run("release", grid=21 * 64, block=64, args=[come, out, np.uint32(8)])
    assert (out == 1000).all()


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("target", ("gfx900", "gfx90a", "gfx1100"))
def test_who_waits_for_ever_is_told(target: str, threads: int) -> None:
    """Which instruction, which resource, how many wait, and how many are missing: the same on any number of threads."""
    module = _load(target, threads)
    _init(module, 99, 7)
    data = _numbers(40 * 64)
    waves = 80 if target == "gfx1100" else 40
    args = [data, *(np.uint32(x) for x in (1, 99, 7))]
    with pytest.raises(lt.DeviceError) as error:
        module.run("by_wave", grid=data.size, block=64, args=args)
    text = str(error.value)
    assert "kernel by_wave: deadlock in workgroup [0, 0, 0]: wave 0, at 0x" in text
    assert "ds_gws_barrier v" in text
    assert f"the barrier of resource 7, where {waves} waves wait for {100 - waves} waves more" in text
    with pytest.raises(lt.DeviceError, match="resource 7 of global wave sync is used and was never initialised.*ds_gws_barrier"):
        module.run("by_wave", grid=data.size, block=64, args=args)
    _init(module, 3, 4)
    out = np.zeros(64, np.uint32)
    with pytest.raises(lt.DeviceError, match=r"ds_gws_sema_p.*the semaphore of resource 4, which no wave gives anything"):
        module.run("take", grid=64 * 64, block=64, args=[out, np.uint32(4)])


@pytest.mark.parametrize("threads", (1, 2))
def test_more_workgroups_than_a_device_holds_do_not_meet(threads: int) -> None:
    """There is room for 1,365 workgroups of three waves, whatever the number of threads."""
    module = _load("gfx90a", threads)
    _init(module, 4095, 2)
    data = np.zeros(2000 * 192, np.uint32)
    with pytest.raises(lt.DeviceError, match="where 4095 waves wait for 1 wave more; .*; 635 workgroups have not begun"):
        module.run("by_wave", grid=data.size, block=192, args=[data, *(np.uint32(x) for x in (1, 4095, 2))])


@pytest.mark.parametrize("target", ("gfx90a", "gfx942", "gfx1030", "gfx1100"))
def test_what_is_not_documented_is_refused(target: str) -> None:
    module = _load(target)
    with pytest.raises(lt.DeviceError, match="4096 is more than the twelve bits"):
        _init(module, 4096)
    out = np.zeros(64, np.uint32)
    with pytest.raises(lt.DeviceError, match=r"resource 12 of global wave sync is used and was never initialised.*ds_gws_sema_p"):
        module.run("take", grid=64, block=64, args=[out, np.uint32(12)])
    if target != "gfx1100":
        with pytest.raises(lt.DeviceError, match="no lane active"):
            module.run("dead_lanes", grid=64, block=64, args=[np.uint32(2)])
        return
    # RDNA3 takes the operand of lane 0, and what has none does nothing.
    module.run("dead_lanes", grid=64, block=64, args=[np.uint32(2)])
    module.run("take", grid=64, block=32, args=[out, np.uint32(9)])
    with pytest.raises(lt.DeviceError, match="semaphore of resource 9"):
        module.run("take", grid=32, block=32, args=[out, np.uint32(9)])


@pytest.mark.parametrize("target", ("gfx900", "gfx908", "gfx90a", "gfx942", "gfx950"))
def test_cdna_reads_an_even_register(target: str) -> None:
    module = _load(target)
    if target in ("gfx900", "gfx908"):
        module.run("odd", grid=64, block=64)
        module.run("take", grid=5 * 64, block=64, args=[np.zeros(64, np.uint32), np.uint32(9)])
    else:
        with pytest.raises(lt.DeviceError, match="ds_gws_init.*even register"):
            module.run("odd", grid=64, block=64)


@pytest.mark.parametrize("threads", (1, 2))
def test_the_watchdog_ends_what_others_wait_for(threads: int) -> None:
    module = _load("gfx90a", threads, watchdog=300_000)
    with pytest.raises(lt.DeviceError, match="stopped after"):
        module.run("circles", grid=100 * 64, block=64, args=[np.zeros(1, np.uint32)], cooperative=True)


@pytest.mark.parametrize("target", ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"))
def test_strict_mode_knows_what_is_ordered(target: str) -> None:
    """Waves of a workgroup may read what others have left in LDS behind a barrier or a semaphore, and not without."""
    module = _load(target)
    for how, kinds in ((1, set()), (2, set()), (0, {"lds-race"})):
        _init(module, 256 // (32 if target.startswith("gfx1") else 64) - 1 if how == 1 else 0, 1)
        out = np.zeros(256, np.uint32)
        result = module.run("through_lds", grid=256, block=256, args=[out, np.uint32(how)], strict=True)
        assert {finding["kind"] for finding in result.findings} == kinds, result.findings
    _init(module, 0, 2)
    (finding,) = module.run("unwaited", grid=64, block=64, strict=True).findings
    assert finding["kind"] == "missing-wait" and "ds_gws_sema_v" in finding["text"] and "lgkmcnt(0)" in finding["message"]
    module.run("take", grid=64, block=64, args=[np.zeros(64, np.uint32), np.uint32(2)])


@pytest.mark.parametrize("target", ("gfx90a", "gfx1030"))
def test_waiting_waves_are_watched_and_stepped(target: str) -> None:
    module = _load(target)
    start = _numbers(50 * 128)
    want = _exchange(start, 128, 2)
    data = start.copy()
    launch = {"grid": data.size, "block": 128, "args": [data, np.uint32(2)], "cooperative": True}
    trace = module.trace("exchange", events=["instructions"], **launch)
    np.testing.assert_array_equal(data, want)
    data[:] = start
    with module.session("exchange", **launch) as session:
        seen = set()
        while session.workgroup is not None:
            seen.add(session.workgroup)
            session.step()
        assert len(seen) == 50 and session.instructions == trace.result.instructions
    np.testing.assert_array_equal(data, want)
    take = {"grid": 32, "block": 32, "args": [data, np.uint32(1)]}
    _init(module, 1, 1)
    with module.session("take", **take) as session:
        while session.workgroup is not None:
            session.step()
    # A session has resources of its own: what it has taken is there still, and what it leaves undone disturbs no launch.
    module.run("take", **take)
    with module.session("take", **take) as session:
        with pytest.raises(lt.DeviceError, match="waits for the semaphore of resource 1"):
            while session.workgroup is not None:
                session.step()
        assert session.waves[0].state == "barrier"
    _init(module, 1, 1)
    with module.session("exchange", **launch) as session:
        session.step(count=200)
    module.run("take", **take)
    data[:] = start
    module.run("exchange", **launch)
    np.testing.assert_array_equal(data, want)
    assert session.workgroup is not None


def _side_by_side(works: list[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result(timeout=60)


def test_launches_of_several_threads() -> None:
    """Cooperative ones come one after the other; others run side by side, and wait for their own waves only."""
    module = _load("gfx90a")
    starts = [_numbers(groups * 64) for groups in (30, 50, 70, 90)]
    data = [start.copy() for start in starts]

    def together(own: np.ndarray) -> None:
        module.run("exchange", grid=own.size, block=64, args=[own, np.uint32(4)], cooperative=True)

    def apart(own: np.ndarray) -> None:
        count = own.size // 64
        _init(module, count - 1, count % 64)
        module.run("by_wave", grid=own.size, block=64, args=[own, *(np.uint32(x) for x in (20, count - 1, count % 64))])

    _side_by_side([functools.partial(together, own) for own in data])
    for start, own in zip(starts, data, strict=True):
        np.testing.assert_array_equal(own, _exchange(start, 64, 4))
    data = [start.copy() for start in starts]
    _side_by_side([functools.partial(apart, own) for own in data])
    for start, own in zip(starts, data, strict=True):
        np.testing.assert_array_equal(own, _by_wave(start, 20))
