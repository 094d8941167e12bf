"""Watched launches, snapshots and single steps, against what the kernels are known to do."""

from __future__ import annotations

import threading
from collections import Counter

import compiled
import kernel_cases
import numpy as np
import pytest

import luthier as lt
from luthier.device.observe import ACTIONS, SPACES

N = 200


def _vecadd(level: str = "O3"):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, N)).astype(np.float32)
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("vecadd", level)))
    return module, dict(kernel="vecadd", grid=256, block=128, args=[a, b, np.zeros_like(a), np.uint32(N)])


def _addresses(module) -> dict[int, object]:
    return {i.address: i for f in module.loaded.program.functions for b in f.blocks for i in b.instructions}


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_events_say_what_was_executed(level):
    module, launch = _vecadd(level)
    trace = module.trace(**launch, events=["instructions", "blocks", "memory"])
    assert trace.dropped == 0
    np.testing.assert_array_equal(launch["args"][2], launch["args"][0] + launch["args"][1])
    instructions = _addresses(module)
    # Each event is an instruction, and they are as many as the device counts by itself.
    events = trace.instructions
    assert len(events) == trace.result.instructions == trace.waves["instructions"].sum()
    by_name = Counter(instructions[int(pc)].mnemonic for pc in events["pc"])
    assert by_name == trace.result.histogram
    assert trace.counts == Counter(map(int, events["pc"]))
    # Four waves of 64 lanes, in order.
    assert trace.waves["lanes"].tolist() == [64] * 4
    assert list(zip(trace.waves["workgroup"], trace.waves["wave"])) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    # Blocks begin where the lifter says, and are entered as often as their first instruction is retired.
    starts = {b.address for f in module.loaded.program.functions for b in f.blocks}
    assert {int(pc) for pc in trace.blocks["pc"]} <= starts and trace.blocks.dtype.names == ("workgroup", "pc", "exec", "wave")
    assert trace.block_counts() == {start: trace.counts.get(start, 0) for start in starts}


def test_memory_events_say_where_each_lane_went():
    module, launch = _vecadd()
    trace = module.trace(**launch, events=["memory"])
    instructions = _addresses(module)
    memory = trace.memory
    lanes = memory[memory["kind"] >> 4 == SPACES.index("global")]
    assert len(lanes) == 3 * N and set(lanes["size"]) == {4}
    stores = lanes[lanes["kind"] & 3 == ACTIONS.index("store")]
    assert len(stores) == N
    # The stores go to consecutive words, one of each work-item that is within the array.
    items = stores["workgroup"] * 128 + stores["wave"] * 64 + stores["lane"]
    assert sorted(items) == list(range(N))
    np.testing.assert_array_equal(stores["address"], stores["address"].min() + 4 * items)
    assert {instructions[int(pc)].mnemonic for pc in stores["pc"]} == {"global_store_dword"}
    scalar = memory[memory["kind"] >> 4 == SPACES.index("scalar")]
    assert len(scalar) and {instructions[int(pc)].mnemonic[:6] for pc in scalar["pc"]} == {"s_load"}
    # Only some addresses, when asked for.
    (store,) = {int(pc) for pc in stores["pc"]}
    only = module.trace(**launch, events=["memory"], only=[store])
    assert len(only.memory) == N and len(only.instructions) == 0


def test_lds_and_atomics_are_seen():
    (launch,) = kernel_cases.launches("histogram")
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("histogram", "O3")))
    trace = module.trace(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args, events=["memory"])
    seen = {(ACTIONS[kind & 3], SPACES[kind >> 4]) for kind in map(int, np.unique(trace.memory["kind"]))}
    assert {("atomic", "lds"), ("store", "lds"), ("load", "lds"), ("atomic", "global"), ("load", "global")} <= seen


def test_snapshots_hold_registers():
    module, launch = _vecadd()
    (store,) = [a for a, i in _addresses(module).items() if i.mnemonic == "global_store_dword"]
    trace = module.trace(**launch, snapshots=[store])
    want = launch["args"][0] + launch["args"][1]
    assert len(trace.snapshots) == 4
    data = _addresses(module)[store].operands[1]
    row = int(str(data).removeprefix("v"))
    for snapshot in trace.snapshots:
        first = int(snapshot.workgroup) * 128 + snapshot.wave * 64
        active = [lane for lane in range(64) if snapshot.registers.exec >> lane & 1]
        assert active == [lane for lane in range(64) if first + lane < N]
        got = snapshot.registers.vgprs[row].view(np.float32)[active]
        np.testing.assert_array_equal(got, want[first : first + len(active)])


def test_the_limit_holds():
    module, launch = _vecadd()
    trace = module.trace(**launch, events=["instructions"], limit=10)
    # Each worker keeps up to the limit.
    kept = len(trace.instructions)
    assert 10 <= kept < trace.result.instructions
    assert trace.dropped >= trace.result.instructions - kept


def test_steps_do_what_a_launch_does():
    module, launch = _vecadd()
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in launch["args"]]
    result = module.run("vecadd", grid=256, block=128, args=plain)
    with module.session(**launch) as session:
        assert session.workgroup == (0, 0, 0) and [w.state for w in session.waves] == ["ready", "ready"]
        wave = session.waves[1]
        pcs = []
        for _ in range(5):
            pcs.append(wave.pc)
            wave.step()
        assert wave.retired == 5 and session.waves[0].retired == 0 and session.instructions == 5
        addresses = sorted(_addresses(module))
        at = addresses.index(pcs[0])
        assert pcs == addresses[at : at + 5]
        while session.workgroup is not None:
            session.step()
        assert session.instructions == result.instructions
    np.testing.assert_array_equal(launch["args"][2], plain[2])


def test_a_session_stops_where_it_is_told_to():
    (launch,) = kernel_cases.launches("reduce")
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("reduce", "O3")))
    barriers = [a for a, i in _addresses(module).items() if i.mnemonic == "s_barrier"]
    with module.session(launch.kernel, grid=launch.grid, block=launch.block, args=launch.args) as session:
        wave = session.run_to(barriers[0])
        assert wave.pc == barriers[0]
        before = wave.registers
        wave.step()
        assert wave.state == "barrier"
        wave.step()
        assert wave.pc != barriers[0] and wave.state == "barrier"
        assert before.exec == wave.registers.exec
        # What the wave has stored is in LDS.
        assert any(session.lds)
        assert session.run_to(0xDEAD) is None and session.workgroup is None
    launch.check(launch.args)


def test_a_session_shows_undefined_waves_and_bad_requests():
    module, launch = _vecadd()
    with module.session(**launch) as session, pytest.raises(lt.ArgumentError, match="no wave 7"):
        session.step(7)
    with pytest.raises(lt.ArgumentError, match="no events 'everything'"):
        module.trace(**launch, events=["everything"])
    with pytest.raises(lt.ArgumentError, match="expected a list"):
        module.trace(**launch, events="memory")
    # A fault in a step says what a launch's fault says.
    with module.session("vecadd", grid=64, block=64, args=[None, None, None, np.uint32(64)]) as session:
        with pytest.raises(lt.DeviceError, match="global_load_dword"):
            while session.workgroup is not None:
                session.step()


def test_a_session_goes_on_in_other_threads():
    module, launch = _vecadd()
    instructions = module.run(**launch).instructions
    launch["args"][2][:] = 0
    session = module.session(**launch)
    failed: list[BaseException] = []

    def work():
        try:
            for _ in range(5):
                session.step()
                assert session.waves[0].registers.exec and session.workgroup is not None
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert session.run_to(1) is None and session.workgroup is None and session.instructions == instructions
    last = threading.Thread(target=session.finish)
    last.start()
    last.join()
    np.testing.assert_array_equal(launch["args"][2], launch["args"][0] + launch["args"][1])
    # What it held may end in another thread, too.
    launches = [module.session(**launch)]
    last = threading.Thread(target=launches.clear)
    last.start()
    last.join()
