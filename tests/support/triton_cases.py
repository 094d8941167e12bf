"""The Triton kernels of the corpus, with the corpus' own recipes and checks."""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from places import CORPUS

import luthier as lt
from luthier.device.arguments import explicit

NAMES = (
    "vadd_f32", "vadd_f16", "softmax_f32", "layernorm_f32", "matmul_f16_64", "matmul_bf16_64", "matmul_f32_32",
    "matmul_i8_64", "histo", "fatomic", "idiv", "mathk", "i8quant", "cas_lock",
)  # fmt: skip


@functools.cache
def recipes():
    """The corpus' module of launch recipes."""
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    spec = importlib.util.spec_from_file_location("triton_cases", CORPUS / "triton" / "cases.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    assert set(NAMES) == set(module.CASES)
    return module


def path(name: str, target: str) -> Path:
    recipes()
    return CORPUS / "triton" / target / f"{name}.hsaco"


def launches(name: str, target: str):
    """The kernel's launch, made anew: inputs included."""
    file = path(name, target)
    about = json.loads(file.with_suffix(".json").read_text())
    (kernel,) = lt.CodeObject.open(file).kernels
    block = about["num_warps"] * about["warp_size"]
    case = recipes().case(name)
    # Triton's own scratch pointers follow the explicit arguments; these kernels use none.
    facts = kernel.code_object.core.kernel(kernel.name)
    args = case.args + [None] * (len(explicit(kernel.name, facts)) - len(case.args))
    grid = (case.grid[0] * block, case.grid[1], case.grid[2])
    return [SimpleNamespace(kernel=kernel.name, grid=grid, block=(block, 1, 1), args=args, lds=about["shared"], case=case)]


def check(launches) -> None:
    ok, error = launches[0].case.check(launches[0].args)
    assert ok, error
