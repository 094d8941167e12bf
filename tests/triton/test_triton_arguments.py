"""What kernels may be given: arrays of any layout, tuples of them, what autotuning resets; and what is refused in a line."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402


@triton.jit
def copy_strided(x, out, stride, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * stride, mask=at < n), mask=at < n)


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def copy_pair(pair, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(pair[1] + at, tl.load(pair[0] + at, mask=at < n), mask=at < n)


@triton.jit
def count(x):
    tl.atomic_add(x, 1)


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_strides_may_be_negative_or_zero(on_gpu, target):
    on_gpu(target)
    x = np.arange(20, dtype=np.float32)
    for view in (x[::-1], x[15:3:-3], x[::2], np.broadcast_to(x[3], (10,))):
        out = np.zeros(20, np.float32)
        copy_strided[(1,)](view, out, view.strides[0] // 4, len(view), BLOCK=32)
        np.testing.assert_array_equal(out[: len(view)], view)


def test_a_tensor_stands_for_what_its_array_is_at_each_launch(on_gpu):
    array = np.arange(10, dtype=np.float32)
    array.flags.writeable = False
    tensor, out = luthier.triton.Tensor(array), luthier.triton.tensor(np.zeros(10, np.float32))
    for target in ("gfx942", "gfx1201", "gfx942"):
        on_gpu(target)
        copy_strided[(1,)](tensor, out, 1, 10, BLOCK=16)
        np.testing.assert_array_equal(out.numpy(), array)
        out.zero_()
    with pytest.raises(lt.StrictError, match="which is read-only"):
        double[(1,)](tensor, 10, BLOCK=16)
    array.flags.writeable = True
    double[(1,)](tensor, 10, BLOCK=16)
    assert array.tolist() == [2 * n for n in range(10)]
    tensor.array = np.ones(10, np.float32)
    copy_strided[(1,)](tensor, out, 1, 10, BLOCK=16)
    assert out.numpy().tolist() == [1] * 10


def test_arrays_of_other_classes_and_in_tuples_are_taken_in_place(on_gpu):
    class Own(np.ndarray):
        pass

    on_gpu("gfx942")
    own = np.arange(10, dtype=np.float32).view(Own)
    double[(1,)](own, 10, BLOCK=16)
    np.testing.assert_array_equal(own, 2 * np.arange(10))

    class Pair(NamedTuple):
        source: np.ndarray
        out: np.ndarray

    for kind in (tuple, lambda both: Pair(*both)):
        source, out = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
        copy_pair[(1,)](kind((source, out)), 10, BLOCK=16)
        np.testing.assert_array_equal(out, source)


def test_what_was_compiled_before_takes_arrays_too(on_gpu):
    on_gpu("gfx942")
    x = np.arange(10, dtype=np.float32)
    compiled = double.warmup(x, 10, BLOCK=16, grid=(1,))
    compiled[(1, 1, 1)](x, 10, 16)
    np.testing.assert_array_equal(x, 2 * np.arange(10))
    with pytest.raises(lt.StrictError, match=r"0 bytes past the end of argument 0 'x' \(40 bytes\)"):
        compiled[(1, 1, 1)](x, 11, 16)


def test_an_element_of_a_tensor_is_a_view(on_gpu):
    on_gpu("gfx942")
    x = luthier.triton.tensor([[1, 2], [3, 4]], "int32")
    count[(5,)](x[1, 0])
    count[(2,)](x[0][1])
    np.testing.assert_array_equal(x.numpy(), [[1, 4], [8, 4]])
    assert x[1, 0].shape == () and x[..., 1].shape == (2,)


@pytest.mark.parametrize("kind", [np.array, luthier.triton.tensor])
@pytest.mark.parametrize("what", ["reset_to_zero", "restore_value"])
def test_autotuning_resets_arrays(on_gpu, kind, what):
    on_gpu("gfx942")
    configs = [triton.Config({"BLOCK": block}) for block in (32, 64)]
    tuned = triton.autotune(configs, key=["n"], **{what: ["x"]})(double)
    x = kind(np.arange(100, dtype=np.float32))
    tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
    # With zeros the last run doubles zeros.
    np.testing.assert_array_equal(np.asarray(x), 2 * np.arange(100) * (what == "restore_value"))


@pytest.mark.parametrize(
    "array", [np.zeros(3, np.complex64), np.zeros(3, ">f4"), np.zeros(3, object), np.zeros(3, [("a", "f4")])]
)
def test_arrays_of_types_that_triton_lacks_are_refused(on_gpu, array):
    on_gpu("gfx942")
    with pytest.raises(lt.ArgumentError, match=r"^Triton has no type for the elements of an array of [^\n]*$"):
        double[(1,)](array, 3, BLOCK=16)


@pytest.mark.parametrize("grid", [(-1,), (1 << 31,), (1, 1 << 32)])
def test_grids_beyond_the_hardware_are_refused(on_gpu, grid):
    on_gpu("gfx942")
    with pytest.raises(lt.ArgumentError, match=r"kernel count: a grid of .* less than 2\*\*32 threads"):
        count[grid](np.zeros(1, np.int32))


def test_a_store_to_a_read_only_array_is_no_use_after_free(on_gpu):
    on_gpu("gfx942", findings="keep")
    for _ in range(20):  # arrays at the same addresses, which were freed
        x = np.ones(100, np.float32)
        double[(1,)](x, 100, BLOCK=128)
        del x
    x = np.ones(100, np.float32)
    x.setflags(write=False)
    double[(1,)](x, 100, BLOCK=128)
    assert [f["kind"] for f in luthier.triton.last.findings] == ["out-of-bounds"] and (x == 1).all()


def test_a_launch_that_failed_leaves_no_result(on_gpu):
    on_gpu("gfx942", strict=False)
    double[(1,)](np.zeros(10, np.float32), 10, BLOCK=16)
    assert luthier.triton.last is not None
    with pytest.raises(lt.DeviceError):
        double[(1,)](np.zeros(10, np.float32), 1 << 20, BLOCK=1024)
    assert luthier.triton.last is None


def test_a_warning_of_a_finding_points_at_the_launch(on_gpu):
    on_gpu("gfx942", findings="warn")
    x = np.zeros(10, np.float32)
    with pytest.warns(lt.FindingWarning) as warned:
        double[(1,)](x, 16, BLOCK=16)
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.parametrize("strict", ["lds-race", ["lds"], 5, None])
def test_kinds_of_findings_are_looked_at_before_anything_is_installed(strict):
    with pytest.raises(lt.ArgumentError, match=r"^strict=.*: expected True, False, \['all'\] or a list of out-of-bounds, "):
        luthier.triton.install("gfx942", strict=strict)
    assert not luthier.triton.gpu.is_chosen()


def test_threads_may_install_and_uninstall(on_gpu):
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def in_a_thread(call):
        failed = []

        def work():
            try:
                call()
            except Exception as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not failed

    def is_the_mock_there():
        try:
            return torch.zeros(1, device="cuda").device.type == "cpu"
        except (AssertionError, RuntimeError):
            return False

    in_a_thread(lambda: on_gpu("gfx942"))
    luthier.triton.uninstall()
    assert not is_the_mock_there()
    on_gpu("gfx942")
    assert is_the_mock_there()
    in_a_thread(luthier.triton.uninstall)
    assert not is_the_mock_there()
    on_gpu("gfx942")
    assert is_the_mock_there()
