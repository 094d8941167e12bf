"""Triton's last launch, annotated: the lines are those of the kernel's Python."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import luthier as lt
import luthier.triton

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, values * 2.0, mask=i < n)


def test_the_last_launch_shows_lines_of_python_beside_counts_of_a_tool(on_gpu):
    on_gpu("gfx942")
    luthier.triton.attach(block_count)
    x, out = np.arange(300, dtype="f4"), np.zeros(300, "f4")
    scale[(3,)](x, out, 300, BLOCK=128)
    annotation = luthier.triton.last.annotate()
    np.testing.assert_array_equal(out, 2 * x)
    data = annotation.to_dict()
    (file,) = [f for f in data["files"].values() if f["path"] == __file__]
    lines, first = inspect.getsourcelines(scale.fn)
    store = first + next(i for i, line in enumerate(lines) if "tl.store" in line)
    assert file["text"][store - 1] == lines[store - first].rstrip("\n")
    (function,) = data["functions"]
    executed, lanes = (function["values"][[c["title"] for c in data["columns"]].index(name)] for name in ("executed", "lanes"))
    code = function["instructions"]
    stores = [i for i, text in enumerate(code["text"]) if code["line"][i] == store and "_store_" in text]
    # 3 programs of 4 waves of 64; the mask is in the buffer's offset, not in EXEC.
    assert stores and all(executed[i] == 12 and lanes[i] == 12 * 64 for i in stores)
    assert "tl.store(out + i" in annotation.text()


def block_count():
    return lt.tools.load("block_count")
