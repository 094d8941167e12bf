"""Kernels in Triton and Gluon against NumPy, in strict mode, on six processors.

All of them with LUTHIER_TRITON_ALL=1; usually a few on each processor, as compiling takes a second each.
"""

from __future__ import annotations

import importlib
import os

import pytest

pytest.importorskip("triton.language", reason="Triton is not here: make setup-triton")

from triton_programs.case import CASES  # noqa: E402

for module in (
    "elementwise", "reductions", "matrices", "memory", "sampling", "quantisation", "cooperation", "gluon", "gluon_tasks",
):  # fmt: skip
    importlib.import_module(f"triton_programs.{module}")

#: What always runs.
USUAL = {
    "gfx90a": ("binary-add-f32", "atomic_sums_of_halves-bf16", "layer_norm_and_back"),
    "gfx942": ("matmul_fp8-fp8e4b8", "flash_attention-True", "arrays_as_they_are", "autotuning", "gluon_mfma"),
    "gfx950": ("matmul-f16-f32-4", "scan-linear-f64", "a_cooperative_launch", "matmul_of_four_bit_floats"),
    "gfx1100": ("softmax-f16", "gluon_wmma", "pointers_in_memory", "sampling_of_the_likeliest"),
    "gfx1201": ("cast_fp8-fp8e4nv", "sort-i16-True", "a_lock_counts"),
    "gfx1250": (
        "matmul_by_descriptors", "atomic-add-i64-release-sys", "random_numbers", "gluon_matmul_by_a_cluster",
        "gluon_warps_that_bring_what_others_sum_up",
    ),
}  # fmt: skip
ALL = bool(os.environ.get("LUTHIER_TRITON_ALL"))
MATRIX = [
    pytest.param(case, target, id=f"{target}-{case.name}")
    for case in CASES
    for target in case.targets
    if ALL or case.name in USUAL[target]
]


@pytest.mark.parametrize("case, target", MATRIX)
def test_a_kernel_computes_what_numpy_does_and_strict_mode_is_quiet(case, target, on_gpu):
    on_gpu(target)
    case.run(target)


def test_the_usual_ones_are_among_all():
    known = {(target, case.name) for case in CASES for target in case.targets}
    assert {(target, name) for target, names in USUAL.items() for name in names} <= known
    assert len({case.name.partition("-")[0] for case in CASES}) >= 70
