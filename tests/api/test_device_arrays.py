"""A tool's arrays: elements as NumPy gives them, read in place, and sizes that the machine has."""

from __future__ import annotations

import compiled
import numpy as np
import pytest

import luthier as lt


def made(n=1000, **how):
    class Sparse(lt.Tool):
        """Has an array."""

        array = lt.DeviceArray(lt.i32, n, **how)

        def on_kernel(self, kernel):
            pass

    return Sparse()


def loaded(tool):
    lt.Device().load(compiled.code_object("vecadd"), tools=[tool])
    return tool.array


VALUES = np.arange(1000, dtype=np.int32) * 3 - 500
INDICES = [
    0, 999, -1, -1000, np.int64(7), np.uint8(200), np.array(5), slice(None), slice(3, 9), slice(9, 3, -1), slice(None, None, -1),
    slice(-5, None), slice(2, 900, 7), slice(900, 2, -7), slice(5, 5), slice(2000, 3000), [1, 5, 999], VALUES > 0, np.array([3]),
    (slice(1, 3),), ..., None,
]  # fmt: skip


@pytest.mark.parametrize("is_loaded", [False, True])
def test_an_index_gives_what_numpy_gives(is_loaded):
    tool = made(init=VALUES)
    array = loaded(tool) if is_loaded else tool.array
    for index in INDICES:
        expected, found = VALUES[index], array[index]
        np.testing.assert_array_equal(found, expected)
        assert isinstance(found, int) == (np.ndim(expected) == 0), index
    assert list(array) == VALUES.tolist() and array.nonzero() == {int(i): int(VALUES[i]) for i in VALUES.nonzero()[0]}
    for index in (1000, -1001, "x", 1.5):
        with pytest.raises(IndexError):
            array[index]


def test_what_is_given_is_a_copy():
    array = loaded(made(init=VALUES))
    array[2:5][...] = 0
    assert array[2:5].tolist() == VALUES[2:5].tolist()


def test_only_the_bytes_of_an_element_are_read():
    array = loaded(made(init=VALUES))
    [(home, _)] = array._homes
    read, asked = home.read, []
    home.read = lambda name, start, size: (asked.append((start, size)), read(name, start, size))[1]
    assert (array[10], array[-1], array[20:30:3].tolist()) == (VALUES[10], VALUES[-1], VALUES[20:30:3].tolist())
    assert asked == [(40, 4), (3996, 4), (80, 40)]


def test_an_array_that_the_machine_has_no_memory_for_is_refused_at_the_start():
    with pytest.raises(
        lt.ToolError, match=r"sparse.array has [\d,]+ bytes, and all variables of the tool [\d,]+: this machine has"
    ):
        loaded(made(1 << 50))
    with pytest.raises(lt.ToolError, match="sparse.array has"):
        lt.trace(["false"], [lambda: made(1 << 50)])


def test_a_large_array_costs_what_is_touched_of_it():
    array = loaded(made(1 << 28))
    assert (array[0], array[(1 << 28) - 1], array[5:7].tolist()) == (0, 0, [0, 0])
