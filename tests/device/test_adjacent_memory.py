"""Short kernels whose arrays go on in other arrays, which begin where they end: what all lanes may access, they find; what some may not
is refused at the first of them, in the middle of a launch that native code has done until then."""

from __future__ import annotations

import functools

import compiled
import numpy as np
import pytest
from short_kernels.area import Area

import luthier as lt

TARGETS = ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250")
#: Workgroups of 64 work-items, from which on a worker goes over to native code early in a launch, with room to spare.
GROUPS = 6000
ITEMS = 64 * GROUPS
#: Where one array ends and the next one begins: work-items at the edge of a workgroup, in the middle of one, and of a vector of words.
BORDERS = (64 * 4000, 64 * 4000 + 32, 64 * 4000 + 37)

SOURCE = """
KERNEL thrice(const u32 *a, u32 *out) {
    u32 i = global_x();
    out[i] = a[i] * 3;
}
KERNEL counted(u32 *out) {
    u32 i = global_x();
    out[i] += 1;
}
KERNEL filled(const u32 *from, u32 *out) {
    u32 i = global_x();
    out[i] = from[local_x()];
}
"""


@functools.cache
def area() -> Area:
    return Area()


def two(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An array of ``size`` bytes, the array that begins where it ends, and both as words that count from 0."""
    area().begin()
    first = area().take(size, 4096)
    second = area().take(4 * ITEMS - size, 0)
    words = area().all(4096 + 4 * ITEMS)[4096:].view(np.uint32)
    words[:] = np.arange(ITEMS)
    return first, second, words


def run(device: lt.Device, kernel: str, *args: object) -> None:
    module = device.load(compiled.build(SOURCE, device.processor, (), "O3"))
    module.run(kernel, grid=ITEMS, block=64, args=[*args])


def refused(device: lt.Device, kernel: str, item: int, *args: object) -> str:
    """What is said of the launch, whose first work-item that may not do what it does is ``item``."""
    with pytest.raises(lt.DeviceError) as error:
        run(device, kernel, *args)
    lanes = 64 if device.processor[:4] == "gfx9" else 32
    group, place = divmod(item, 64)
    wave, lane = divmod(place, lanes)
    assert f"(workgroup [{group}, 0, 0], wave {wave}, lane {lane})" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_words_of_two_arrays_side_by_side(target: str, border: int) -> None:
    device = lt.Device(target, threads=1)
    first, second, words = two(4 * border)
    address = device.share(first)
    device.share(second)
    out = device.array(np.zeros(ITEMS, np.uint32))
    run(device, "thrice", address, out.ctypes.data)
    np.testing.assert_array_equal(out, 3 * np.arange(ITEMS, dtype=np.uint32))
    run(device, "counted", address)
    np.testing.assert_array_equal(words, np.arange(ITEMS) + 1)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_second_one_is_read_only(target: str, border: int) -> None:
    device = lt.Device(target, threads=1)
    first, second, words = two(4 * border)
    second.flags.writeable = False
    address = device.share(first)
    device.share(second)
    told = refused(device, "counted", border, address)
    assert f"a store to {second.ctypes.data:#x}, which is read-only" in told
    # Whole workgroups before it have stored, and nothing is stored where nothing is to be.
    before = border // 64 * 64
    np.testing.assert_array_equal(words[:before], np.arange(before) + 1)
    np.testing.assert_array_equal(words[border:], np.arange(border, ITEMS))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_second_one_is_read_only_and_each_wave_has_read_it(target: str, border: int) -> None:
    device = lt.Device(target, threads=1)
    first, second, words = two(4 * border)
    second.flags.writeable = False
    address = device.share(first)
    told = refused(device, "filled", border, device.share(second), address)
    assert f"a store to {second.ctypes.data:#x}, which is read-only" in told
    before = border // 64 * 64
    np.testing.assert_array_equal(words[:before], border + np.arange(before) % 64)
    np.testing.assert_array_equal(words[border:], np.arange(border, ITEMS))


@pytest.mark.parametrize("is_gone", [False, True])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_second_one_is_not_the_devices(target: str, border: int, is_gone: bool) -> None:
    device = lt.Device(target, threads=1)
    first, second, _ = two(4 * border)
    address, end = device.share(first), second.ctypes.data
    if is_gone:
        device.share(second)
        del second
    out = device.array(np.zeros(ITEMS, np.uint32))
    told = refused(device, "thrice", border, address, out.ctypes.data)
    # Right behind an array nothing says that there was another one: to read too far is the mistake that is told of.
    assert f"a load from {end:#x}, which is in no allocation, at" in told
    before = border // 64 * 64
    np.testing.assert_array_equal(out[:before], 3 * np.arange(before, dtype=np.uint32))
    assert not out[border:].any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_word_that_begins_in_the_first_one_is_its_own(target: str) -> None:
    """The last word of an array is whole, even if its last bytes are the next one's; the words behind it are refused."""
    device = lt.Device(target, threads=1)
    item = BORDERS[-1]
    first, second, words = two(4 * item + 2)
    second.flags.writeable = False
    address = device.share(first)
    device.share(second)
    told = refused(device, "counted", item + 1, address)
    assert f"a store to {address + 4 * item + 4:#x}, which is read-only" in told
    np.testing.assert_array_equal(words[item + 1 :], np.arange(item + 1, ITEMS))
