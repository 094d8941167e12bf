"""Products of matrices by rocBLAS and hipBLASLt, exactly. A deep run: `tools/rocm7-packages librocblas-dev` loads 0.3 GB,
``libhipblaslt-dev libhipblas-common-dev`` as much, as ``LUTHIER_ROCM7``."""

from __future__ import annotations

import re

import pytest
import rocm


def near(target: str) -> list[str]:
    """RDNA3's WMMA is near what is right, as was measured (crates/emulator/src/fp/dot)."""
    return ["near"] if target.startswith("gfx11") else []


@pytest.mark.parametrize("target", ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_products_of_whole_numbers_are_exact_in_every_type_and_transposition(target):
    program = rocm.library_program7("gemm", "rocblas")
    assert rocm.passes(program, *near(target), target=target).splitlines()[-1] == "60 products, 0 wrong"


#: Of 60 products, those that Debian's hipBLASLt has no kernel for; it has none at all for other processors.
WITHOUT = {"gfx908": 15, "gfx90a": 2, "gfx1100": 6, "gfx1151": 6, "gfx1201": 0}


@pytest.mark.parametrize("target", WITHOUT)
def test_each_kernel_that_hipblaslt_proposes_makes_exact_products(target):
    program = rocm.library_program7("gemm_lt", "hipblaslt")
    said = rocm.passes(program, *near(target), target=target).splitlines()[-1]
    found = re.fullmatch(r"60 products, (\d+) without a kernel, (\d+) launches, 0 wrong", said)
    assert found and int(found[1]) == WITHOUT[target] and int(found[2]) > 50, said
