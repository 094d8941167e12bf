"""Memory that is shared: at which address, for how long; and what limits a device has."""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess

import compiled
import numpy as np
import pytest

import luthier as lt


@pytest.fixture
def device():
    return lt.Device("gfx90a", threads=1, compute_units=3)


@pytest.fixture
def vecadd(device):
    return device.load(lt.CodeObject.open(compiled.code_object("vecadd", "O3")))


def _run(module, a, b, out, n, **more):
    return module.run("vecadd", grid=n, block=min(n, 64), args=[a, b, out, np.uint32(n)], **more)


def test_a_shared_array_has_the_same_address_on_both_sides(device, vecadd):
    a, out = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
    assert device.share(a) == a.ctypes.data and device.share(out[7:]) == out.ctypes.data + 28
    assert device.share(out) == out.ctypes.data and device.share(out[:0]) == out.ctypes.data
    for _ in range(2):
        assert _run(vecadd, a.ctypes.data, a, out.ctypes.data, 200, strict=True).findings == []
        np.testing.assert_array_equal(out, 2 * a)
        out[:] = 0


@pytest.mark.parametrize("offset", [1, 2, 3, 6])
def test_a_view_at_any_offset_is_part_of_its_base(device, vecadd, offset):
    a, base = np.arange(64, dtype=np.float32), np.zeros(300, np.uint8)
    view = base[offset : offset + 256].view(np.float32)
    assert device.share(view) == base.ctypes.data + offset
    _run(vecadd, a, a, view, 64)
    np.testing.assert_array_equal(view, 2 * a)
    assert not base[:offset].any() and not base[offset + 256 :].any()
    # By another view's address, and in place: a kernel that is given the array finds it where it is.
    result = _run(vecadd, a, base[offset:].ctypes.data, view, 64)
    np.testing.assert_array_equal(view, 3 * a)
    assert result.findings == []


def test_what_is_freed_is_found_when_a_kernel_uses_it(device, vecadd):
    a, out = device.array(np.ones(64, np.float32)), device.alloc(256)
    address, view = out.ctypes.data, out[:8]
    del out
    _run(vecadd, a, a, address, 64)
    assert view.view(np.float32).tolist() == [2, 2]
    del view
    gc.collect()
    with pytest.raises(lt.DeviceError, match="it was freed before"):
        _run(vecadd, a, a, address, 64)
    (finding,) = {f["kind"] for f in _run(vecadd, a, a, address, 64, strict=True).findings}
    assert finding == "use-after-free"


def test_a_new_array_may_be_where_a_freed_one_was(device, vecadd):
    a = device.array(np.arange(64), np.float32)
    addresses = set()
    for _ in range(20):
        out = np.zeros(64, np.float32)
        addresses.add(device.share(out))
        _run(vecadd, a, a, out.ctypes.data, 64)
        np.testing.assert_array_equal(out, 2 * a)
    assert len(addresses) < 20  # or this shows nothing


def test_allocated_memory_begins_at_256_bytes_and_ends_where_it_ends(device, vecadd):
    a, b = device.array(np.ones(63, np.float32)), device.array([1, 2, 3], np.int16)
    assert a.ctypes.data % 256 == b.ctypes.data % 256 == 0 and b.tolist() == [1, 2, 3]
    with pytest.raises(lt.DeviceError, match=r"past the end of argument 2"):
        _run(vecadd, np.ones(64, np.float32), np.ones(64, np.float32), a, 64)
    assert device.alloc(0).size == 0


def test_two_views_of_a_buffer_are_one_memory(device, vecadd):
    buffer = bytearray(1024)
    first, second = np.frombuffer(buffer, np.float32, 64, 4), np.frombuffer(buffer, np.float32, 64, 132)
    for array in (first, second, np.frombuffer(buffer, np.float32, 8, 800)):
        device.share(array)
    a = np.arange(64, dtype=np.float32)
    _run(vecadd, a, a, first.ctypes.data, 64)
    np.testing.assert_array_equal(second[:32], 2 * a[32:])
    del second
    gc.collect()
    _run(vecadd, a, first.ctypes.data, first.ctypes.data, 64)
    np.testing.assert_array_equal(first, 3 * a)


def _part(page, offset, size):
    """An array that owns some bytes of another, as far as it shows."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(page.ctypes.data + offset))


def test_arrays_in_one_page_have_their_own_bounds(device, vecadd):
    page, a = np.zeros(4096, np.uint8), np.ones(64, np.float32)
    first, second = _part(page, 512, 252), _part(page, 768, 256)
    device.share(first), device.share(second)
    for strict in (False, True):
        # The last of 64 floats lies between the two.
        if not strict:
            with pytest.raises(lt.DeviceError, match="in no allocation"):
                _run(vecadd, a, a, first.ctypes.data, 64)
        else:
            (finding,) = _run(vecadd, a, a, first.ctypes.data, 64, strict=True).findings
            assert (finding["kind"], finding["address"]) == ("out-of-bounds", page.ctypes.data + 764)
        assert not page[764:768].any()
        _run(vecadd, a, a, second.ctypes.data, 64)
        assert second.view(np.float32).tolist() == [2] * 64


def test_arrays_in_one_word_have_their_own_bounds(device, vecadd):
    page, a = np.zeros(4096, np.uint8), np.ones(64, np.float32)
    first, second = _part(page, 512, 253), _part(page, 765, 259)
    device.share(first), device.share(second)
    # The last float has a byte of the first one's and three of the second one's.
    (finding,) = _run(vecadd, a, a, first.ctypes.data, 64, strict=True).findings
    assert (finding["kind"], finding["address"]) == ("out-of-bounds", page.ctypes.data + 764)
    assert _run(vecadd, a, a, second[3:].ctypes.data, 64, strict=True).findings == []


def test_arrays_that_overlap_are_one_memory_while_they_live(device, vecadd):
    page, a = np.zeros(4096, np.uint8), np.ones(64, np.float32)
    parts = [_part(page, 256, 128), _part(page, 768, 64), _part(page, 320, 480), _part(page, 256, 576)]
    for part in parts[:3]:
        device.share(part)
    assert _run(vecadd, a, a, parts[0].ctypes.data, 64, strict=True).findings == []
    # What the others have stays the device's when the one in between goes.
    del parts[2:], part
    gc.collect()
    _run(vecadd, a, a, parts[0].ctypes.data, 32)
    _run(vecadd, a, a, parts[1].ctypes.data, 16)
    with pytest.raises(lt.DeviceError, match="it was freed before"):
        _run(vecadd, a, a, page.ctypes.data + 560, 1)
    # So near to one that lives it is that one's bounds that count.
    with pytest.raises(lt.DeviceError, match="is in no allocation"):
        _run(vecadd, a, a, page.ctypes.data + 400, 1)


def test_the_owners_of_the_same_bytes_keep_them_each(device, vecadd):
    a, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    other = np.ctypeslib.as_array((ctypes.c_float * 64).from_address(out.ctypes.data))
    device.share(other), device.share(out)
    del other
    gc.collect()
    _run(vecadd, a, a, out.ctypes.data, 64)
    assert out.tolist() == [2] * 64


def test_what_the_device_has_at_an_address_is_no_arrays(device):
    # No array can be there; an address that the device has given out stands for one.
    address = device.core.alloc(4096)
    with pytest.raises(lt.DeviceError, match=f"from {address:#x} to {address + 16:#x} cannot be the device's"):
        device.core.share_in_place(address, 16)


def test_a_session_keeps_what_is_shared(device, vecadd):
    out = device.array(np.zeros(64, np.float32))
    a, address = np.ones(64, np.float32), out.ctypes.data
    with vecadd.session("vecadd", grid=64, block=64, args=[a, a, address, np.uint32(64)]) as session:
        del out
        gc.collect()
        while session.workgroup is not None:
            session.step()
        assert np.frombuffer(session.read(address, 256), np.float32).tolist() == [2] * 64
    gc.collect()
    with pytest.raises(lt.DeviceError, match="it was freed before"):
        _run(vecadd, a, a, address, 64)


def test_a_read_only_array_is_read_only_on_the_device(device, vecadd):
    out = np.zeros(64, np.float32)
    out.flags.writeable = False
    device.share(out)
    with pytest.raises(lt.DeviceError, match="read-only"):
        _run(vecadd, np.ones(64, np.float32), np.ones(64, np.float32), out.ctypes.data, 64)


def test_what_has_no_memory_of_its_own_is_refused(device, tmp_path):
    (tmp_path / "file").write_bytes(bytes(4096))
    for value, why in (
        ([1, 2], "a NumPy array or a torch tensor"),
        (np.array([object()]), "Python objects"),
        (np.memmap(tmp_path / "file"), "maps a file"),
    ):
        with pytest.raises(lt.ArgumentError, match=why):
            device.share(value)
    with pytest.raises(lt.ArgumentError, match="-1 is not a number of bytes"):
        device.alloc(-1)


def test_properties_are_those_of_llvm(device):
    assert (device.properties.lds, device.properties.compute_units, device.properties.workgroup) == (65536, 3, 1024)
    assert lt.Device("gfx950").properties.lds == 163840 and lt.Device("gfx1250").properties.lds == 327680
    assert lt.Device("gfx1201").properties.wave_sizes == (32, 64) and lt.Device("gfx1250").properties.clusters
    for target in ("gfx90a", "gfx950", "gfx1100", "gfx1201", "gfx1250"):
        # LLVM complains of one byte more.
        lds = lt.Device(target).properties.lds
        for size in (lds, lds + 4):
            source = f"""
@x = addrspace(3) global [{size} x i8] poison
define amdgpu_kernel void @k() {{
  store volatile i8 0, ptr addrspace(3) @x
  ret void
}}"""
            done = subprocess.run(
                ["llc-22", "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-o", "-"],
                input=source,
                capture_output=True,
                text=True,
            )
            refused = re.search(r"exceeds limit", done.stderr) is not None
            assert refused == (size > lds), (target, size, done.stderr)
