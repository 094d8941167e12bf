"""What launches keep from one to the next, to be cheap, and what they look at anew."""

from __future__ import annotations

import gc
import os
import weakref

import compiled
import numpy as np
import pytest

import luthier as lt
from luthier import _core
from luthier.device.arguments import Packed, Place


@pytest.fixture
def vecadd():
    return lt.Device("gfx90a", threads=1).load(lt.CodeObject.open(compiled.code_object("vecadd", "O3")))


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


ARRAYS = {
    "plain": np.zeros((3, 5), np.float32),
    "empty": np.zeros((3, 0), np.int16),
    "view": np.zeros((6, 4), np.uint8)[2:],
    "columns": np.zeros((3, 5), order="F"),
    "every second": np.zeros(8, np.int64)[::2],
    "backwards": np.zeros(8, np.int32)[::-1],
    "one element many times": np.broadcast_to(np.float16(1), (4, 4)),
    "read-only": _read_only(np.zeros(3, np.complex64)),
    "dates": np.zeros(2, "M8[s]"),
    "text": np.zeros(2, "U3"),
    "big-endian": np.zeros(2, ">f4"),
    "of a buffer": np.frombuffer(bytearray(12), np.uint16),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_where_an_array_is_is_what_numpy_says(what):
    array = ARRAYS[what]
    wanted = array.ctypes.data, array.nbytes, array.flags.writeable, array.flags.c_contiguous
    assert _core.array_place(array) == wanted


@pytest.mark.parametrize(
    "value", [3, "text", None, np.float32(1), np.zeros(()), np.array([None]), np.zeros(2, "i4,O"), bytearray(4), object()]
)
def test_what_is_no_array_of_numbers_has_no_place(value):
    assert _core.array_place(value) is None


def test_what_claims_to_be_an_array_is_not_believed():
    class Claims:
        __array_struct__ = "nothing of the kind"

    assert _core.array_place(Claims()) is None


def test_an_array_goes_as_if_it_had_not_been_looked_at():
    array = np.zeros(4)
    gone = weakref.ref(array)
    _core.array_place(array)
    del array
    assert gone() is None


def test_variables_are_those_of_the_program(monkeypatch):
    assert _core.environment("LUTHIER_NO_SUCH_VARIABLE") is None
    monkeypatch.setenv("LUTHIER_SUCH", "a=b ä")
    assert _core.environment("LUTHIER_SUCH") == os.environ["LUTHIER_SUCH"] == "a=b ä"
    os.environb[b"LUTHIER_SUCH"] = b"\xff"
    assert _core.environment("LUTHIER_SUCH") == os.environ["LUTHIER_SUCH"]
    monkeypatch.delenv("LUTHIER_SUCH")
    assert _core.environment("LUTHIER_SUCH") is None


def test_whether_a_launch_is_judged_is_looked_up_for_each(vecadd, monkeypatch):
    a, out = np.zeros(64, np.float32), np.zeros(32, np.float32)

    def judged() -> bool:
        try:
            return bool(vecadd.run("vecadd", grid=64, block=64, args=[a, a, out, np.uint32(64)]).findings)
        except lt.DeviceError:
            return False

    found = []
    for told in ("0", "1", "", "out-of-bounds", "lds-race"):
        monkeypatch.setenv("LUTHIER_CHECK", told)
        found.append(judged())
    monkeypatch.delenv("LUTHIER_CHECK")
    assert [*found, judged()] == [False, True, False, True, False, False]


def test_a_shared_array_that_may_be_written_from_now_on_is_shared_anew(vecadd):
    device, out = vecadd.device, _read_only(np.zeros(64, np.float32))
    address = device.share(out)
    assert device.share(out[3:]) == address + 12 and [writable for *_, writable in device.memory.ranges()] == [False]
    out.flags.writeable = True
    assert device.share(out) == address and [writable for *_, writable in device.memory.ranges()] == [True]


def test_what_a_device_shares_does_not_keep_it(vecadd):
    device = lt.Device("gfx90a", threads=1)
    gone, array = weakref.ref(device.memory), np.zeros(64)
    device.share(array)
    gc.disable()
    try:
        del device
        assert gone() is None
        del array
    finally:
        gc.enable()


def test_memory_is_given_back_when_its_array_goes(vecadd):
    memory, array = vecadd.device.memory, np.zeros(1 << 16, np.uint8)
    vecadd.device.share(array)
    assert len(memory.ranges()) == 1
    del array
    assert memory.ranges() == []


def test_places_of_arguments_are_made_when_they_are_asked_for(vecadd):
    given = Place(64, 8, 0, "argument 0", False)
    packed = Packed(b"", [given])
    packed.placed(4096, 16, (1, "argument 1 'x'"), True)
    assert packed.places == [given, Place(4096, 16, 1, "argument 1 'x'", True)]


def test_a_launch_has_all_attributes_of_its_class():
    told = []

    class Hears(lt.Tool):
        def on_launch(self, launch: lt.Launch) -> None:
            told.append(launch)

        def instrument(self, function) -> None:
            pass

    code = lt.CodeObject.open(compiled.code_object("vecadd", "O3"))
    a, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    args = [a, a, out, np.uint32(64)]
    lt.Device("gfx90a", threads=1).run(code, "vecadd", grid=(32, 2), block=(32, 2), args=args, tools=[Hears()])
    (launch,) = told
    assert launch == lt.Launch("vecadd", (32, 2, 1), (32, 2, 1), args)
    assert [place.index for place in launch.places()] == [0, 2]  # of two arguments that are one array, the first
