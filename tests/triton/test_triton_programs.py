"""Launches in Triton's terms: programs, tensors and lines have the flops and bytes that the algorithm says."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import luthier as lt
import luthier.triton
from luthier.triton.by_program import _distinct

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    doubled = value * 2.5
    tl.store(out + i, doubled, mask=i < n)


@triton.jit
def product(a, b, c, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, BLOCK):
        step = k + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + rows[:, None] * N + step), tl.load(b + step[:, None] * N + columns))
    tl.store(c + rows[:, None] * N + columns, total)


def line_of(kernel, text: str) -> str:
    """``file:line`` of the kernel's line with this text."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return f"test_triton_programs.py:{first + next(n for n, line in enumerate(lines) if text in line)}"


@pytest.mark.parametrize("target", TARGETS)
def test_programs_tensors_and_lines_have_the_bytes_of_the_kernel(target, on_gpu):
    on_gpu(target)
    n, block = 1000, 256
    x, out = np.arange(n, dtype="f4"), np.zeros(n, "f4")
    told = luthier.triton.programs(scale[(4,)], x, out, n, BLOCK=block, needs={"flops": n})
    np.testing.assert_array_equal(out, x * np.float32(2.5))
    assert list(told.programs) == [(p, 0, 0) for p in range(4)]
    # Masked lanes move nothing: the last program has fewer elements.
    assert (
        [p["loaded"] for p in told.programs.values()] == [p["stored"] for p in told.programs.values()] == [1024, 1024, 1024, 928]
    )
    for name, moved, programs in (("x", "loaded", "programs that load"), ("out", "stored", "programs that store")):
        assert told.tensors[name][moved] == told.tensors[name][f"distinct {moved}"] == 4 * n and told.tensors[name][programs] == 4
    assert told.tensors["x"]["stored"] == told.tensors["out"]["loaded"] == 0
    assert told.lines[line_of(scale, "tl.load")]["loaded"] == told.lines[line_of(scale, "tl.store")]["stored"] == 4 * n
    # Lanes that are masked multiply as well.
    assert told.lines[line_of(scale, "2.5")]["flops"] == told.flops["f32"] == 4 * block
    needs = told.against_needs()
    assert needs["loaded"]["times"] == needs["stored"]["times"] == 1 and needs["flops"]["times"] == pytest.approx(1.024)
    assert sum(p["instructions"] for p in told.programs.values()) == luthier.triton.last.instructions


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1201"])
def test_a_product_loads_its_operands_once_for_each_program_of_a_row(target, on_gpu):
    on_gpu(target)
    n, block = 64, 32
    a, b = np.random.default_rng(1).random((2, n, n)).astype("f2")
    c = np.zeros((n, n), "f4")
    told = luthier.triton.programs(product[(2, 2)], a, b, c, N=n, BLOCK=block, needs={"flops": 2 * n**3}, num_warps=4)
    np.testing.assert_allclose(c, a.astype("f4") @ b.astype("f4"), rtol=1e-3)
    needs = told.against_needs()
    # Each half of an operand goes to two programs, some of it to waves that hold it twice.
    assert needs["loaded"]["needs"] == 2 * 2 * n * n and needs["loaded"]["times"] >= 2
    assert told.tensors["c"]["distinct stored"] == 4 * n * n and told.tensors["a"]["programs that load"] == 4
    assert needs["flops"]["done"] >= 2 * n**3 and set(told.programs) == {(x, y, 0) for x in (0, 1) for y in (0, 1)}
    assert sum(line["flops"] for line in told.lines.values()) == told.flops.total()
    tables = told.report().to_arrow()
    assert tables["programs"].num_rows == 4 and set(tables["tensors"].column("tensor").to_pylist()) == {"a", "b", "c"}
    assert told.to_dict()["grid"] == [2, 2, 1] and "tensors" in told.html() and "2.00" in told._repr_html_()


def test_the_last_launch_is_made_again_and_watched(on_gpu):
    on_gpu("gfx942")
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    scale[(3,)](x, out, 300, BLOCK=128)
    before = luthier.triton.last
    out[:] = 0
    trace = before.trace(events=["instructions", "memory"])
    np.testing.assert_array_equal(out, x * np.float32(2.5))
    assert len(trace.instructions) == trace.result.instructions == before.instructions
    told = luthier.triton.Programs(trace)
    # 256 threads, 128 elements: each is loaded by two of them.
    assert (told.tensors["x"]["loaded"], told.tensors["x"]["distinct loaded"]) == (2400, 1200)
    assert trace.result.trace(events=["blocks"]).result.instructions == before.instructions
    luthier.triton.install("gfx90a")
    with pytest.raises(lt.ArgumentError, match="was on gfx942, which is not installed now"):
        before.trace()


def test_a_launch_of_the_device_is_made_again_with_the_arrays_as_they_are(on_gpu):
    on_gpu("gfx942")
    x, out = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    scale[(1,)](x, out, 64, BLOCK=64)
    last = luthier.triton.last
    facts = {"grid": last.grid, "block": last.block, "args": [*last.args, None, None], "lds": 0}
    result = lt.Device("gfx942").run(last.module.code_object, last.kernel, **facts)
    x += 1
    again = result.trace(events=["memory"])
    np.testing.assert_array_equal(out, x * np.float32(2.5))
    assert again.result.instructions == result.instructions and len(again.memory)


def test_tools_are_told_the_arguments(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach("kernel_args")
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    scale[(3,)](x, out, 300, BLOCK=128)
    (launch,) = luthier.triton.last.tools["kernel_args"]["launches"]
    array = {"array": "float32", "shape": [300], "bytes": 1200}
    assert launch["args"] == [array, array, 300]


def test_what_would_say_too_little_is_refused(on_gpu):
    on_gpu("gfx942")
    x, out = np.arange(128, dtype="f4"), np.zeros(128, "f4")
    with pytest.raises(lt.ArgumentError, match="there is no 'bytes', only flops, loaded, stored"):
        luthier.triton.programs(scale[(1,)], x, out, 128, BLOCK=128, needs={"bytes": 1})
    with pytest.raises(lt.ArgumentError, match="events were not kept"):
        luthier.triton.programs(scale[(1,)], x, out, 128, BLOCK=128, limit=10)
    with pytest.raises(lt.ArgumentError, match="was not watched"):
        luthier.triton.Programs(luthier.triton.last.trace())


def test_bytes_that_overlap_count_once():
    addresses, sizes = np.array([10, 0, 4, 2, 100, 12], "u8"), np.array([4, 4, 4, 2, 1, 1])
    touched = {int(a) + k for a, s in zip(addresses, sizes) for k in range(int(s))}
    assert _distinct(addresses, sizes) == len(touched)
