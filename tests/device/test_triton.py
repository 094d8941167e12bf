"""The Triton kernels of the corpus: as they are and under the tools."""

from __future__ import annotations

import proof
import pytest
import triton_cases

# Sums of f32 atomics depend on the order in which workgroups arrive, and a spin lock on how long each one waits.
RACING = {"fatomic", "cas_lock"}


@pytest.mark.parametrize("name", triton_cases.NAMES)
def test_triton(name):
    path = triton_cases.path(name, "gfx90a")
    proof.prove(path, lambda: triton_cases.launches(name, "gfx90a"), triton_cases.check, deterministic=name not in RACING)
