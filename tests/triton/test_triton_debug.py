"""A launch of Triton's on the stage: lines of Python, program ids, arguments by name, and tensors against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

TARGETS = ["gfx942", "gfx1100", "gfx1201"]


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, v * 2.0 + 1, mask=at < n)


@triton.jit
def product(a, b, c, K, lda, SIZE: tl.constexpr, PART: tl.constexpr):
    m = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    n = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    k = tl.arange(0, PART)
    left = a + m[:, None] * lda + k[None, :]
    right = b + k[:, None] * lda + n[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for i in range(0, tl.cdiv(K, PART)):
        x = tl.load(left, mask=k[None, :] < K - i * PART, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - i * PART, other=0.0)
        total += tl.dot(x, y)
        left += PART
        right += PART * lda
    tl.store(c + m[:, None] * lda + n[None, :], total)


@triton.jit
def gather(x, index, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    where = tl.load(index + at)
    v = tl.load(x + where)
    tl.store(out + at, v)


@gluon.jit
def twice(x, out, n, BLOCK: gl.constexpr, layout: gl.constexpr, turned: gl.constexpr):
    at = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    v = gl.load(x + at, mask=at < n)
    w = gl.convert_layout(v, turned)
    there = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=turned)
    gl.store(out + there, w * 2, mask=there < n)


@triton.jit
def prints(x, out):
    v = tl.load(x)
    tl.device_print("v", v)
    tl.store(out, v)


@triton.jit
def count(x, out, times):
    total = 0.0
    for _ in range(times):
        total += tl.load(x)
        tl.store(x, total)
    tl.store(out, total)


def line_of(text: str) -> str:
    lines = open(__file__).read().splitlines()
    return f"test_triton_debug.py:{next(number for number, line in enumerate(lines, 1) if text in line)}"


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_are_refused_in_weak_memory_where_it_is_not_known_what_a_load_saw(on_gpu, target):
    on_gpu(target, schedule="weak:33:pct:0")
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    with luthier.triton.debug(scale[(3,)], x, out, 300, BLOCK=128) as stage:
        stage.break_at(line_of("tl.store(out + at, v * 2.0"))
        stop = stage.resume()
        for look in (stage.blocks, lambda line: stage.elements(line, "x")):
            with pytest.raises(lt.ArgumentError, match="in weak memory it is not known what a load saw: give a schedule without"):
                look(line_of("v = tl.load(x + at, mask"))
        assert stage.last == stop
        while stage.resume().why != "over":
            pass
    np.testing.assert_array_equal(out, 2 * x + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_a_line_of_python_stops_the_programs_that_the_condition_is_about(on_gpu, target):
    on_gpu(target)
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    with luthier.triton.debug(scale[(3,)], x, out, 300, BLOCK=128) as stage:
        assert stage.programs == (3, 1, 1) and stage.values["BLOCK"] == 128 and stage.values["n"] == 300
        stage.break_at(line_of("tl.store(out + at, v * 2.0"), "program[0] == 2 and n == 300")
        stop = stage.resume()
        assert stop.why == "address" and stage.program(stop.wave) == (2, 0, 0)
        (block,) = stage.blocks(line_of("v = tl.load(x + at, mask"))
        assert (block.name, block.argument, block.action) == ("v", "x", "load")
        at = 256 + np.arange(128)
        np.testing.assert_array_equal(block.values.mask, at >= 300)
        np.testing.assert_array_equal(block.values.compressed(), x[256:300])
        assert (block.lanes["wave"][44:] == -1).all() and (block.lanes["wave"][:44] >= 0).all()
        # The program's store is still to come: what it will be is told, and the launch stands where it stood.
        (stored,) = stage.blocks(line_of("tl.store(out + at, v * 2.0"), program=1)
        np.testing.assert_array_equal(stored.values, 2 * x[128:256] + 1)
        assert stage.event == stop.event and not stage.array("out")[256:].any()
        np.testing.assert_array_equal(stage.array("x"), x)
        read = stage.elements(line_of("v = tl.load(x + at, mask"), "x")
        np.testing.assert_array_equal(read.offsets, np.arange(256, 300))
        np.testing.assert_array_equal(read.at(at).filled(-1), np.where(at < 300, at, -1))
        while stage.resume().why != "over":
            pass
    np.testing.assert_array_equal(out, 2 * x + 1)
    assert luthier.triton.last is None


@pytest.mark.parametrize("target", [*TARGETS, "gfx950"])
@pytest.mark.parametrize("stages", [1, 2])
def test_tensors_of_a_matrix_product_are_those_of_numpy_in_each_iteration(on_gpu, target, stages):
    on_gpu(target)
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((64, 64)).astype("f2") for _ in range(2))
    c = np.zeros((64, 64), "f4")
    with luthier.triton.debug(product[(2, 2)], a, b, c, 60, 64, SIZE=32, PART=32, num_stages=stages) as stage:
        for i, (m, n) in ((0, (1, 0)), (1, (1, 0)), (1, (0, 1))):
            (x,) = stage.blocks(line_of("x = tl.load(left"), program=(m, n), iteration=i)
            (y,) = stage.blocks(line_of("y = tl.load(right"), program=(m, n), iteration=i)
            assert (x.name, x.argument, y.name, y.argument) == ("x", "a", "y", "b"), (x, y)
            on = np.arange(32) + 32 * i < 60
            assert x.values.shape == (32, 32) and (~x.values.mask == on[None, :]).all() and (~y.values.mask == on[:, None]).all()
            np.testing.assert_array_equal(x.values.filled(0), a[32 * m :, 32 * i :][:32, :32] * on[None, :])
            np.testing.assert_array_equal(y.values.filled(0), b[32 * i :, 32 * n :][:32, :32] * on[:, None])
        (z,) = stage.blocks(line_of("tl.store(c + m"), program=(1, 1))
        expected = a.astype("f4")[32:, :60] @ b.astype("f4")[:60, 32:]
        np.testing.assert_allclose(z.values.filled(np.nan), expected, atol=1e-3)
        assert stage.event == 0 and not c.any()
        with pytest.raises(lt.ArgumentError, match="2 times: iteration=2 is not there"):
            stage.blocks(line_of("x = tl.load(left"), program=0, iteration=2)


@pytest.mark.parametrize("target", TARGETS)
def test_tensors_of_gluon_are_told_whatever_their_layouts(on_gpu, target):
    on_gpu(target)
    lanes = 64 if target == "gfx942" else 32
    layouts = [gl.BlockedLayout([each], [lanes], [4], [0]) for each in (4, 1)]
    x, out = np.arange(700, dtype="f4"), np.zeros(700, "f4")
    with luthier.triton.debug(twice[(2,)], x, out, 700, BLOCK=512, layout=layouts[0], turned=layouts[1]) as stage:
        (v,) = stage.blocks(line_of("v = gl.load"), program=1)
        (w,) = stage.blocks(line_of("gl.store(out + there"), program=1)
        for block, expected in ((v, x), (w, 2 * x)):
            np.testing.assert_array_equal(block.values.mask, np.arange(512, 1024) >= 700)
            np.testing.assert_array_equal(block.values.compressed(), expected[512:])
        # Four elements of each lane, and one.
        assert (v.lanes["lane"][:4] == 0).all() and w.lanes["lane"][:4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_gathered_is_told_by_elements_and_its_block_says_why_not(on_gpu, target):
    on_gpu(target)
    x, out = np.arange(512, dtype="i4") * 3, np.zeros(128, "i4")
    index = np.random.default_rng(5).permutation(512)[:128].astype("i4")
    with luthier.triton.debug(gather[(1,)], x, index, out, BLOCK=128) as stage:
        (where,) = stage.blocks(line_of("where = tl.load"), program=0)
        np.testing.assert_array_equal(where.values, index)
        (block,) = stage.blocks(line_of("v = tl.load(x + where)"), program=0)
        assert block.values is None and "loaded from memory" in block.note
        found = stage.elements(line_of("v = tl.load(x + where)"), "x", program=0, action="load")
        np.testing.assert_array_equal(found.offsets, np.sort(index))
        np.testing.assert_array_equal(found.at(where.values), 3 * index)
    assert not out.any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_number_that_is_loaded_again_and_again_is_told_of_each_time(on_gpu, target):
    on_gpu(target)
    x, out = np.ones(1, "f4"), np.zeros(1, "f4")
    with luthier.triton.debug(count[(1,)], x, out, 3) as stage:
        told = []
        for i in range(3):
            (stored,) = stage.blocks(line_of("tl.store(x, total)"), program=0, iteration=i)
            told.append(None if stored.values is None else float(stored.values))
        assert told == [1, 2, 4]
        stage.resume()
    assert out[0] == 4


def test_what_cannot_be_debugged_is_refused_and_autotuning_is_done_before(on_gpu):
    on_gpu("gfx942")
    x, out = np.arange(128, dtype="f4"), np.zeros(128, "f4")
    with pytest.raises(lt.ArgumentError, match="no kernel was launched"):
        luthier.triton.debug(lambda: None)
    with pytest.raises(lt.ArgumentError, match=r"2 kernels were launched \(scale, scale\)"):
        luthier.triton.debug(lambda: [scale[(1,)](x, out, 128, BLOCK=128) for _ in range(2)])
    assert not out.any()
    with luthier.triton.debug(scale[(1,)], x, out, 128, BLOCK=128) as stage:
        for bad, why in (
            (lambda: stage.blocks(line_of("at = tl.program_id"), program=0), "neither loads nor stores"),
            (lambda: stage.blocks(line_of("v = tl.load(x + at, mask"), program=1), "program 1 is not there"),
            (lambda: stage.blocks(line_of("v = tl.load(x + at, mask")), "say which program"),
            (lambda: stage.elements(line_of("v = tl.load(x + at, mask"), "n", program=0), "no array 'n', only x, out"),
        ):
            with pytest.raises(lt.ArgumentError, match=why):
                bad()
    with luthier.triton.debug(prints[(1,)], x, out) as stage:
        with pytest.raises(lt.DeviceError, match="calls its host, which cannot be taken back"):
            stage.blocks(line_of("tl.store(out, v)"), program=0)
        assert stage.event == 0, "the call was not made"
        stage.break_at(line_of("tl.store(out, v)"))
        stop = stage.resume()
        with pytest.raises(lt.DeviceError, match="calls its host, which cannot be taken back"):
            stage.blocks(line_of("v = tl.load(x)"))
        assert stage.event == stop.event and stage.last == stop
    tuned = triton.autotune([triton.Config({"BLOCK": size}) for size in (64, 128)], key=["n"])(scale)
    grid = lambda meta: (triton.cdiv(128, meta["BLOCK"]),)  # noqa: E731
    with luthier.triton.debug(tuned[grid], x, out, 128) as stage:
        assert stage.values["BLOCK"] in (64, 128)
        out[:] = 0
        while stage.resume().why != "over":
            pass
    np.testing.assert_array_equal(out, 2 * x + 1)
    scale[(1,)](x, out, 128, BLOCK=128)
    assert luthier.triton.last is not None
