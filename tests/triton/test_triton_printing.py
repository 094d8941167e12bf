"""What kernels print, and assertions that fail."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402


@triton.jit
def printing_kernel(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_print("value", value)
    if tl.program_id(0) == 1:
        tl.device_print("n", n)


@triton.jit(debug=True)  # as TRITON_DEBUG=1 has it for all
def asserting_kernel(x, BLOCK: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, BLOCK)) >= 0, "no value may be negative")


ASSERTED = asserting_kernel.starting_line_number + 2


@pytest.mark.parametrize("target", ["gfx942", "gfx1201", "gfx1250"])
def test_tensors_and_scalars_are_printed(on_gpu, capsys, target):
    on_gpu(target)
    x = np.arange(16, dtype=np.float32) / 4
    printing_kernel[(2,)](x, 7, BLOCK=16)
    lines = capsys.readouterr().out.splitlines()
    values = {m.groups() for line in lines if (m := re.fullmatch(r"pid \((\d), 0, 0\) idx \( ?(\d+)\) value: (\S+)", line))}
    assert values == {(str(pid), str(i), f"{i / 4:f}") for pid in range(2) for i in range(16)}
    assert {line for line in lines if "value" not in line} == {"pid (1, 0, 0) idx () n: 7"}


@pytest.mark.parametrize("target", ["gfx942", "gfx1201", "gfx1250"])
def test_a_failed_assertion_is_the_error_of_the_launch(on_gpu, capsys, target):
    on_gpu(target)
    x = np.arange(64, dtype=np.float32)
    asserting_kernel[(1,)](x, BLOCK=64)
    x[5] = -1
    with pytest.raises(lt.DeviceError, match=f"no value may be negative.*test_triton_printing.py:{ASSERTED} .trap 2"):
        asserting_kernel[(1,)](x, BLOCK=64)
    captured = capsys.readouterr()
    assert "device assertion failed: 'no value may be negative'" in captured.err and captured.out == ""
