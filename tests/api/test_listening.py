"""Traces whose events are heard while the kernel runs."""

from __future__ import annotations

import compiled
import kernel_cases
import numpy as np
import pytest

import luthier as lt
from luthier.device.observe import SPACES

N = 64
#: A wave tells this many at once, and what an instruction of 64 lanes adds.
MOST = 4096 + 64


def _matmul(threads: int):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-3, 4, (2, N, N)).astype(np.float32)
    module = lt.Device("gfx90a", threads=threads).load(lt.CodeObject.open(compiled.code_object("matmul", "O3")))
    return module, dict(kernel="matmul", grid=(N, N), block=(16, 16), args=[a, b, np.zeros_like(a), np.uint32(N)])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("schedule", [None, "pct:1"])
def test_what_is_heard_is_what_a_trace_keeps(threads, schedule):
    module, launch = _matmul(threads)
    events = ["instructions", "blocks", "memory"]
    launch["schedule"] = schedule
    kept = module.trace(**launch, events=events)
    heard: dict[str, list[np.ndarray]] = {name: [] for name in events}
    places = []

    def hear(some: lt.Events) -> None:
        waves = set()
        for name in events:
            array = getattr(some, name)
            waves |= set(zip(array["workgroup"].tolist(), array["wave"].tolist()))
            assert len(array) <= MOST
            heard[name].append(array.copy())
        assert len(waves) == 1
        places.append(some.memory_arguments())

    trace = module.trace(**launch, events=events, on_events=hear)
    assert len(heard["memory"]) > len(trace.waves) and trace.dropped == 0
    for name in events:
        assert len(getattr(trace, name)) == 0
        got, want = np.concatenate(heard[name]), getattr(kept, name)
        # Those of a wave are in order already.
        order = np.lexsort((got["wave"], got["workgroup"]))
        for field in set(got.dtype.names) - {"address"}:
            np.testing.assert_array_equal(got[order][field], want[field])
    np.testing.assert_array_equal(trace.waves, kept.waves)
    assert trace.counts == kept.counts
    # Each launch has the arrays elsewhere; `order` is that of memory's events.
    np.testing.assert_array_equal(np.concatenate(places)[order], kept.memory_arguments())
    lds = kept.memory["kind"] >> 4 == SPACES.index("lds")
    assert lds.any() and not lds.all()
    np.testing.assert_array_equal(got[order]["address"][lds], kept.memory["address"][lds])
    np.testing.assert_array_equal(launch["args"][2], launch["args"][0] @ launch["args"][1])


def test_snapshots_are_heard():
    (launch,) = kernel_cases.launches("reduce")
    module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("reduce", "O3")))
    address = module.loaded.program.functions[0].blocks[0].instructions[0].address
    watched = dict(grid=launch.grid, block=launch.block, args=launch.args, snapshots=[address])
    kept = module.trace(launch.kernel, **watched)
    heard: list[lt.Snapshot] = []
    trace = module.trace(launch.kernel, **watched, on_events=lambda some: heard.extend(some.snapshots))
    assert not trace.snapshots and len(heard) == len(kept.snapshots) > 0
    places = [(snapshot.workgroup, snapshot.wave, snapshot.pc) for snapshot in kept.snapshots]
    assert sorted((snapshot.workgroup, snapshot.wave, snapshot.pc) for snapshot in heard) == places


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_listener_raises_ends_the_launch(threads):
    module, launch = _matmul(threads)
    calls = []

    def hear(some: lt.Events) -> None:
        calls.append(len(some.instructions))
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        module.trace(**launch, events=["instructions"], on_events=hear)
    assert len(calls) == 1
    # The device goes on.
    module.run(**launch)
    np.testing.assert_array_equal(launch["args"][2], launch["args"][0] @ launch["args"][1])


def test_a_listener_may_launch():
    module, launch = _matmul(2)
    other, small = _matmul(1)
    found = []

    def hear(some: lt.Events) -> None:
        if not found:
            found.append(other.run(**small).instructions)

    trace = module.trace(**launch, events=["blocks"], on_events=hear)
    assert found == [trace.result.instructions]


def test_a_listener_needs_something_to_hear():
    module, launch = _matmul(1)
    with pytest.raises(lt.ArgumentError, match="nothing to hear"):
        module.trace(**launch, on_events=print)
    with pytest.raises(lt.ArgumentError, match="expected a function"):
        module.trace(**launch, events=["memory"], on_events=3)
