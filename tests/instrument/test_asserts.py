"""HIP kernels with ``assert()``, which end where their compiler has put nothing: every instruction takes a hook."""

from __future__ import annotations

import numpy as np
import pytest
import rocm

import luthier as lt


@pytest.mark.parametrize("target, level", [("gfx906", "O2"), ("gfx90a", "O0"), ("gfx1030", "O2")])
def test_a_kernel_with_assertions_is_counted(target, level):
    rocm.need("hipcc")
    code = lt.CodeObject.open(rocm.hip("asserts", level, (target,)), target=target)
    (name,) = [kernel.name for kernel in code.kernels]
    outs, counts = [], []
    for tools in ([], ["instr_count"], ["instr_count:per=instruction"], ["opcode_hist"]):
        tools = [lt.tools.load(tool) for tool in tools]
        module = lt.Device(target).load(code, tools=tools, check=True, on_rejected="raise")
        values = np.zeros(64, np.float32)
        result = module.run(name, blocks=1, block=64, args=[values, np.int32(5)])
        outs.append(values)
        counted = list(result.tools.values())
        counts.append((result.app_histogram, *(c.get("instructions", result.app_instructions) for c in counted)))
    assert all((out == 5).all() for out in outs)
    assert all(histogram == counts[0][0] and all(n == sum(histogram.values()) for n in rest) for histogram, *rest in counts)
