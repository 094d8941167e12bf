"""A launch of Triton's is watched as one of the device's is."""

from __future__ import annotations

import numpy as np
import pytest

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_memory_events_are_those_of_the_tensors(target, on_gpu):
    on_gpu(target)
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    trace = luthier.triton.trace(scale[(3,)], x, out, 300, BLOCK=128, events=["memory", "instructions"])
    np.testing.assert_array_equal(out, 2 * x)
    vector = (trace.memory["kind"] >> 4) == 0
    told = trace.memory_arguments()[vector]
    kinds = trace.memory["kind"][vector] & 3
    for argument, kind in ((0, 0), (1, 1)):
        mine = told["argument"] == argument
        offsets = np.repeat(told["offset"][mine], 1)
        assert (kinds[mine] == kind).all()
        touched = {int(o) + k for o, s in zip(offsets, trace.memory["size"][vector][mine]) for k in range(0, int(s), 4)}
        assert touched == set(range(0, 1200, 4))
    assert len(trace.instructions) == trace.result.instructions == sum(trace.counts.values())
    assert repr(luthier.triton.last) == repr(trace.result) and "tl.store" in trace.annotate().text()


def test_launches_behind_it_are_not_watched_and_tools_hear_of_it(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach("instr_count")
    x, out = np.arange(128, dtype="f4"), np.zeros(128, "f4")
    trace = luthier.triton.trace(scale[(1,)], x, out, 128, BLOCK=128, events=["blocks"])
    assert trace.result.tools["instr_count"]["instructions"] == trace.result.app_instructions
    scale[(1,)](x, out, 128, BLOCK=128)
    assert luthier.triton.last is not trace.result and luthier.triton.last.app_instructions == trace.result.app_instructions


def test_what_launches_nothing_is_refused(on_gpu):
    on_gpu("gfx942")
    with pytest.raises(lt.ArgumentError, match="no kernel was launched"):
        luthier.triton.trace(lambda: None)
    x, out = np.arange(128, dtype="f4"), np.zeros(128, "f4")
    with pytest.raises(lt.ArgumentError, match="there are no events 'steps'"):
        luthier.triton.trace(scale[(1,)], x, out, 128, BLOCK=128, events=["steps"])
    scale[(1,)](x, out, 128, BLOCK=128)
    np.testing.assert_array_equal(out, 2 * x)
