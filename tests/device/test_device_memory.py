"""Arrays as device memory: what is shared, what is copied, and what is left of it afterwards."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt


@pytest.fixture
def vecadd():
    return lt.Device("gfx90a", threads=1).load(lt.CodeObject.open(compiled.code_object("vecadd", "O3")))


def _run(module, a, b, out, n, **more):
    return module.run("vecadd", grid=n, block=64, args=[a, b, out, np.uint32(n)], **more)


def test_kernels_work_on_the_arrays_themselves(vecadd):
    # Each workgroup reads what the one before it has written, through another view of the same array.
    x, zero = np.arange(64 * 4 + 4, dtype=np.float32), np.zeros(64 * 4, np.float32)
    wanted = x.copy()
    for group in range(0, 256, 64):
        wanted[group + 4 : group + 68] = wanted[group : group + 64].copy()
    _run(vecadd, x[:256], zero, x[4:], 256)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("first", [0, 1, 3, 4])
def test_arrays_may_begin_anywhere(vecadd, first):
    a, b, out = (np.arange(start, start + 200, dtype=np.float32) for start in (0, 1000, 2000))
    untouched = out.copy()
    view = slice(first, first + 128)
    assert _run(vecadd, a[view], b[view], out[view], 128, strict=True).findings == []
    np.testing.assert_array_equal(out[view], (a + b)[view])
    np.testing.assert_array_equal(
        np.delete(out, np.arange(first, first + 128)), np.delete(untouched, np.arange(first, first + 128))
    )


def test_a_read_only_array_stays_as_it_is(vecadd):
    a, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    out.flags.writeable = False
    with pytest.raises(lt.DeviceError, match="which is read-only"):
        _run(vecadd, a, a, out, 64)
    assert not out.any()


def test_an_array_ends_where_it_ends(vecadd):
    a = np.ones(64, np.float32)
    with pytest.raises(lt.DeviceError, match="in no allocation"):
        _run(vecadd, a, a, np.zeros(63, np.float32), 64)


def test_two_devices_share_an_array():
    a, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for _ in range(2):
        module = lt.Device("gfx90a").load(lt.CodeObject.open(compiled.code_object("vecadd", "O3")))
        _run(module, a, out, out, 64)
    assert (out == 2).all()


def test_freed_memory_is_told_from_any_other_wild_address(vecadd):
    core, a = vecadd.device.core, np.ones(64, np.float32)
    address = core.alloc(256)
    core.free(address)
    with pytest.raises(lt.DeviceError, match=rf"{address:#x}, which is in no allocation: it was freed before"):
        _run(vecadd, address, a, a.copy(), 64)
    kinds = [f["kind"] for f in _run(vecadd, address, a, a.copy(), 64, strict=True).findings]
    assert kinds == ["use-after-free"]
    kinds = [f["kind"] for f in _run(vecadd, address + 256, a, a.copy(), 64, strict=True).findings]
    assert kinds == ["out-of-bounds"]
