"""Products of matrices by rocBLAS, exactly. A deep run: `tools/rocm7-packages librocblas-dev` loads 0.3 GB, as
``LUTHIER_ROCM7``."""

from __future__ import annotations

import pytest
import rocm


@pytest.mark.parametrize("target", ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_products_of_whole_numbers_are_exact_in_every_type_and_transposition(target):
    program = rocm.library_program7("gemm", "rocblas")
    # As WMMA of RDNA3 was measured (crates/emulator/src/fp/dot).
    words = ["near"] if target.startswith("gfx11") else []
    assert rocm.passes(program, *words, target=target).splitlines()[-1] == "60 products, 0 wrong"
