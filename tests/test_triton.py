"""The Triton kernels of the corpus, with the corpus' own recipes and checks."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import SimpleNamespace

import proof
import pytest
from conftest import CORPUS

import luthier as lt
from luthier.arguments import explicit

NAMES = (
    "vadd_f32", "vadd_f16", "softmax_f32", "layernorm_f32", "matmul_f16_64", "matmul_bf16_64", "matmul_f32_32",
    "matmul_i8_64", "histo", "fatomic", "idiv", "mathk", "i8quant", "cas_lock",
)  # fmt: skip
# Sums of f32 atomics depend on the order in which workgroups arrive, and a spin lock on how long each one waits.
RACING = {"fatomic", "cas_lock"}


@pytest.fixture(scope="module")
def cases():
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    spec = importlib.util.spec_from_file_location("triton_cases", CORPUS / "triton" / "cases.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    assert set(NAMES) == set(module.CASES)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_triton(cases, name):
    folder = CORPUS / "triton" / "gfx90a"
    about = json.loads((folder / f"{name}.json").read_text())
    path = folder / f"{name}.hsaco"
    (kernel,) = lt.CodeObject.open(path).kernels
    block = about["num_warps"] * about["warp_size"]

    def fresh():
        case = cases.case(name)
        # Triton's own scratch pointers follow the explicit arguments; these kernels use none.
        facts = kernel.code_object.core.kernel(kernel.name)
        args = case.args + [None] * (len(explicit(kernel.name, facts)) - len(case.args))
        grid = (case.grid[0] * block, case.grid[1], case.grid[2])
        launch = SimpleNamespace(kernel=kernel.name, grid=grid, block=(block, 1, 1), args=args, lds=about["shared"], case=case)
        return [launch]

    def check(launches):
        ok, error = launches[0].case.check(launches[0].args)
        assert ok, error

    proof.prove(path, fresh, check, deterministic=name not in RACING)
