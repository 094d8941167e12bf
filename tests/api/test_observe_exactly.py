"""Counts and snapshots of watched launches against kernels whose every instruction is known beforehand."""

from __future__ import annotations

import compiled
import kernel_cases
import numpy as np
import pytest
from conformance.assembly import Trial, Writer
from conformance.targets import TARGETS, Target

import luthier as lt

GROUPS = 3
#: Workgroup number g goes round three times more than the one before it.
LOOP = """
    s_mul_i32 s4, {group}, 3
    s_add_u32 s4, s4, 1
    v_lshlrev_b32_e32 v0, 2, v0
loop:
    v_mov_b32_e32 v1, s4
    ds_write_b32 v0, v1
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 loop
after:
    s_nop 0
    s_endpgm
"""
ROUND = {"v_mov_b32": 1, "ds": 1, "s_sub": 1, "s_cmp_lg_u32": 1, "s_cbranch_scc1": 1}


def _looping(target: Target) -> lt.CodeObject:
    writer = Writer(target)
    trial = Trial("loop", [], lds=256)
    writer.body = lambda _: LOOP.format(group="s2" if target.major < 12 else "ttmp9").splitlines()
    return lt.CodeObject.open(writer.assemble([trial]))


ALL = [Target("gfx906", "", 64, 9), TARGETS["gfx950"], Target("gfx1030", "", 32, 10)]
ALL += [TARGETS[name] for name in ("gfx1100", "gfx1201", "gfx1250")]


def _entered(trace: lt.Trace) -> dict[int, int]:
    """How often waves came to blocks, by the stream of events."""
    return {int(address): int(times) for address, times in zip(*np.unique(trace.blocks["pc"], return_counts=True))}


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.processor)
def test_counts_are_exact(target: Target) -> None:
    """By address, opcode, block and wave, with one thread and with several."""
    rounds = [3 * g + 1 for g in range(GROUPS)]
    whole = []
    for threads in (1, 3):
        module = lt.Device(target.processor, threads=threads).load(_looping(target))
        trace = module.trace("trial_loop", grid=GROUPS * target.lanes, block=target.lanes, events=["blocks"])
        start, after = min(trace.counts), max(trace.counts)
        assert trace.waves["instructions"].tolist() == [3 + 5 * n + 2 for n in rounds]
        assert trace.waves["lanes"].tolist() == [target.lanes] * GROUPS
        counts = [trace.counts[at] for at in sorted(trace.counts)]
        assert counts == [GROUPS] * 3 + [sum(rounds)] * 5 + [GROUPS] * 2
        blocks = trace.block_counts()
        assert blocks[start] == GROUPS and sorted(blocks.values()) == sorted([GROUPS, sum(rounds), GROUPS])
        histogram = trace.result.histogram
        assert sum(histogram.values()) == trace.result.instructions == sum(3 + 5 * n + 2 for n in rounds)
        for name, times in ROUND.items():
            assert sum(n for op, n in histogram.items() if op.startswith(name)) == times * sum(rounds), name
        assert histogram["s_endpgm"] == GROUPS and trace.counts[after] == GROUPS
        assert _entered(trace) == {address: times for address, times in blocks.items() if times}
        whole.append((trace.blocks.tobytes(), trace.waves.tobytes(), trace.counts, histogram))
    assert whole[0] == whole[1]


@pytest.mark.parametrize("target", ("gfx90a", "gfx1030", "gfx1100", "gfx1201", "gfx1250"))
def test_threads_do_not_change_what_is_seen(target: str) -> None:
    (launch,) = kernel_cases.launches("reduce")
    code = lt.CodeObject.open(compiled.code_object("reduce", "O3", target=target))
    seen = []
    for threads in (1, 4):
        module = lt.Device(target, threads=threads).load(code)
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.args]
        events = ["instructions", "blocks", "memory"]
        trace = module.trace(launch.kernel, grid=launch.grid, block=launch.block, args=args, events=events)
        assert len(trace.instructions) == trace.result.instructions == trace.waves["instructions"].sum()
        in_lds = trace.memory[trace.memory["kind"] >> 4 == 1]
        assert len(in_lds)
        seen.append((trace.instructions.tobytes(), trace.blocks.tobytes(), in_lds.tobytes(), trace.counts))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kernel", ("reduce", "matmul", "collatz", "call"))
@pytest.mark.parametrize("target", ("gfx90a", "gfx942", "gfx1030", "gfx1250"))
def test_events_of_blocks_are_those_of_the_first_instructions_of_kernel_blocks(target: str, kernel: str) -> None:
    code = lt.CodeObject.open(compiled.code_object(kernel, "O1", target=target))
    for launch in kernel_cases.launches(kernel):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.args]
        module = lt.Device(target).load(code)
        trace = module.trace(launch.kernel, grid=launch.grid, block=launch.block, args=args, events=["instructions", "blocks"])
        starts = [block.address for function in code.program.functions for block in function.blocks]
        (kernel,) = [kernel for kernel in code.kernels if kernel.name == launch.kernel]
        assert set(starts) >= {block.address for block in kernel.blocks}
        at_starts = trace.instructions[np.isin(trace.instructions["pc"], starts)]
        assert len(at_starts) and trace.dropped == 0
        for field in ("workgroup", "wave", "pc", "exec"):
            np.testing.assert_array_equal(trace.blocks[field], at_starts[field])
        assert _entered(trace) == {address: times for address, times in trace.block_counts().items() if times}


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.processor)
def test_snapshots_hold_lds(target: Target) -> None:
    """The loop leaves the round's number at the address that the first work-item's number is."""
    module = lt.Device(target.processor, threads=1).load(_looping(target))
    plain = module.trace("trial_loop", grid=target.lanes, block=target.lanes)
    (write,) = sorted(plain.counts)[4:5]
    trace = module.trace("trial_loop", grid=GROUPS * target.lanes, block=target.lanes, snapshots=[write + 8])
    found = [(s.workgroup, s.registers.sgprs[4], np.frombuffer(s.lds, np.uint32)[0]) for s in trace.snapshots]
    assert found == [(g, n, n) for g in range(GROUPS) for n in range(3 * g + 1, 0, -1)]
    assert all(len(s.lds) == 256 and s.pc == write + 8 for s in trace.snapshots)


def test_memory_at_a_pc() -> None:
    """In a session stopped before a store, memory is as it was; one step on, the wave's lanes have stored."""
    n = 128
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    out = np.full(n, 7, np.float32)
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("vecadd", "O3")))
    addresses = {i.address: i for f in module.loaded.program.functions for b in f.blocks for i in b.instructions}
    (store,) = [at for at, i in addresses.items() if i.mnemonic == "global_store_dword"]
    traced = module.trace("vecadd", grid=n, block=n, args=[a, b, out.copy(), np.uint32(n)], events=["memory"], only=[store])
    assert len(traced.memory) == n
    with module.session("vecadd", grid=n, block=n, args=[a, b, out, np.uint32(n)]) as session:
        wave = session.run_to(store)
        lanes = slice(64 * wave.number, 64 * wave.number + 64)
        place = wave.registers
        low, high = (place.vgprs[k] for k in _pair(addresses[store]))
        base = int(low[0]) | int(high[0]) << 32
        before = np.frombuffer(session.read(base, 256), np.float32)
        wave.step()
        after = np.frombuffer(session.read(base, 256), np.float32)
        with pytest.raises(lt.DeviceError):
            session.read(1, 4)
    assert (before == 7).all()
    np.testing.assert_array_equal(after, (a + b)[lanes])
    np.testing.assert_array_equal(out[lanes], (a + b)[lanes])


def _pair(store) -> tuple[int, int]:
    first = int(str(store.operands[0]).removeprefix("v[").split(":")[0])
    return first, first + 1
