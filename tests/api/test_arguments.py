"""Packing kernel arguments, without a device: a dictionary stands for its memory."""

from __future__ import annotations

import mmap
import os
import struct

import numpy as np
import pytest

from luthier.device.arguments import pack
from luthier.device.sizes import dimensions
from luthier.errors import ArgumentError


class FakeMemory:
    def __init__(self):
        self.blocks: dict[int, bytearray | memoryview] = {}

    def share(self, address, size, owner, writable=True):
        assert writable == owner.flags.writeable
        assert address % 16 == 0 and owner.ctypes.data == address and owner.nbytes == size
        place = 0x1000 * (len(self.blocks) + 1)
        self.blocks[place] = memoryview(owner).cast("B")
        return place

    def alloc(self, size, writable=True):
        address = 0x1000 * (len(self.blocks) + 1)
        self.blocks[address] = bytearray(size)
        return address

    def free(self, address):
        del self.blocks[address]

    def write(self, address, data):
        self.blocks[address][: len(data)] = data

    def read(self, address, size):
        return bytes(self.blocks[address][:size])


def _facts(*args):
    """(offset, size, kind) of each."""
    listed = [{"name": None, "offset": o, "size": s, "kind": k, "hidden": k.startswith("hidden")} for o, s, k in args]
    return {"args": listed}


FACTS = _facts((0, 8, "global_buffer"), (8, 4, "by_value"), (16, 8, "by_value"), (24, 4, "hidden_block_count_x"))


def test_layout_and_buffers():
    memory, array = FakeMemory(), np.arange(4, dtype=np.float16)
    packed = pack("k", FACTS, [array, np.float32(1.5), 7], memory)
    address, number, wide = struct.unpack("<Qf4xQ", packed.kernarg)
    assert (number, wide) == (1.5, 7)
    assert memory.blocks[address] == array.tobytes()
    memory.blocks[address][:2] = np.float16(9).tobytes()
    assert array.tolist() == [9, 1, 2, 3]
    packed.fetch(memory)
    assert array.tolist() == [9, 1, 2, 3]
    packed.free(memory)
    assert not memory.blocks


def test_an_array_that_begins_anywhere_is_copied_and_brought_back():
    memory, array = FakeMemory(), np.arange(40, dtype=np.float16)[1:5]
    assert array.ctypes.data % 16
    packed = pack("k", FACTS, [array, np.float32(1.5), 7], memory)
    (address,) = memory.blocks
    memory.blocks[address][:2] = np.float16(9).tobytes()
    assert array.tolist() == [1, 2, 3, 4]
    packed.fetch(memory)
    assert array.tolist() == [9, 2, 3, 4]
    packed.free(memory)
    assert not memory.blocks


def test_an_array_that_maps_a_file_is_copied_and_its_file_looked_at(tmp_path):
    path = tmp_path / "mapped"
    path.write_bytes(bytes(3 * 4096))
    # From the second page on, and a view further behind.
    mapped = np.memmap(path, dtype=np.float16, mode="r+", offset=4096, shape=(4096,))
    for array in (mapped, mapped[8:], np.asarray(mapped)):
        memory = FakeMemory()
        packed = pack("k", FACTS, [array, np.float32(1.5), 7], memory)
        (address,) = memory.blocks
        memory.blocks[address][:2] = np.float16(9).tobytes()
        assert array[0] != 9
        packed.fetch(memory)
        assert array[0] == 9
        os.truncate(path, 4096)
        with pytest.raises(
            ArgumentError, match="cannot be brought back: the array maps 12288 bytes of a file that has only 4096"
        ):
            packed.fetch(memory)
        with pytest.raises(ArgumentError, match="argument 0: pointer: the array maps 12288 bytes of a file that has only 4096"):
            pack("k", FACTS, [array, np.float32(1.5), 7], FakeMemory())
        os.truncate(path, 3 * 4096)
    # What maps no file is shared.
    shared = np.frombuffer(mmap.mmap(-1, 4096), np.float16)
    memory = FakeMemory()
    packed = pack("k", FACTS, [shared, np.float32(1.5), 7], memory)
    assert not packed.copies


def test_more_bytes_than_a_kernel_can_have():
    for size in (0xFFFFFFFF, (1 << 20) - 3):
        facts = _facts((0, 4, "by_value"), (4, size, "by_value"))
        with pytest.raises(ArgumentError, match=f"ask for {4 + size} bytes of arguments, and no kernel has more than 1048576"):
            pack("k", facts, [1, b""], FakeMemory())


def test_null_address_and_shared_array():
    facts = _facts((0, 8, "global_buffer"), (8, 8, "global_buffer"), (16, 8, "global_buffer"), (24, 8, "global_buffer"))
    memory, array = FakeMemory(), np.zeros((2, 3), np.int32)
    null, address, first, second = struct.unpack("<4Q", pack("k", facts, [None, 0xABC, array, array], memory).kernarg)
    assert (null, address) == (0, 0xABC)
    assert first == second != 0


def test_read_only_arrays_stay_as_they_are():
    array = np.zeros(4, np.uint32)
    array.flags.writeable = False
    memory = FakeMemory()
    pack("k", _facts((0, 8, "global_buffer")), [array], memory).fetch(memory)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], r"takes 3 arguments \(0: pointer, 1: 4 bytes, 2: 8 bytes\), 0 were given"),
        ([None, 1, 1, 1], "4 were given"),
        ([np.float32(1), np.int32(1), 1], "argument 0: pointer: needs an array, None or a device address, not a float32"),
        ([1.5, np.int32(1), 1], "needs an array"),
        ([None, np.int64(1), 1], "argument 1: 4 bytes: an int64 of 8 bytes was given"),
        ([None, np.zeros(1, np.int32), 1], "needs a number or bytes, not an array of int32"),
        ([None, None, 1], "needs a number or bytes, not None"),
        ([None, 1 << 32, 1], "4294967296 does not fit"),
        ([None, 1, 1 << 64], "does not fit"),
        ([None, "1", 1], "needs a number or bytes, not a str"),
        ([np.zeros((4, 4))[:, ::2], 1, 1], "not contiguous"),
        ([np.array([object()]), 1, 1], "array of Python objects"),
        ([-1, 1, 1], "not an address"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_stays_allocated(values, why):
    memory = FakeMemory()
    with pytest.raises(ArgumentError, match=why) as error:
        pack("k", FACTS, values, memory)
    assert "\n" not in str(error.value)
    assert not memory.blocks


def test_unknown_kinds_are_named():
    with pytest.raises(ArgumentError, match="kind image are not supported"):
        pack("k", _facts((0, 8, "image")), [None], FakeMemory())
    with pytest.raises(ArgumentError, match="no metadata"):
        pack("k", {"args": None}, [], FakeMemory())


def test_dimensions():
    assert dimensions("grid", 64) == (64, 1, 1)
    assert dimensions("grid", np.int64(64)) == (64, 1, 1)
    assert dimensions("grid", (4, 2)) == (4, 2, 1)
    for bad in (0, -1, (4, 0), (1, 1, 1, 1), (), 1 << 32, (1.5,)):
        with pytest.raises(ArgumentError):
            dimensions("grid", bad)
