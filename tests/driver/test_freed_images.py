"""Kernels of modules whose image the program has given back, as CuPy does: they have their names all the same, and count as the
program's."""

from __future__ import annotations

import re

import pytest
import rocm


def run(runtime: str, *words: str, options: tuple[str, ...]):
    if runtime == "5":
        rocm.need("hipcc")
    program = rocm.hip7("freed_image", alone=False) if runtime == "7" else rocm.hip("freed_image")
    return rocm.mock(program, *words, options=options, MODULE=str(rocm.code_object("vecadd")))


@pytest.mark.parametrize("runtime", ["5", "7"])
def test_a_kernel_whose_image_is_gone_has_its_name(runtime):
    done = run(runtime, options=("--log",))
    assert done.returncode == 0 and done.stdout.splitlines()[-1:] == ["right"], done.stderr[-2000:]
    assert re.search(r"has retired \d+ instructions of the kernel vecadd$", done.stderr, re.M), done.stderr[-2000:]


@pytest.mark.parametrize("runtime", ["5", "7"])
def test_strict_mode_counts_it_as_the_programs(runtime):
    done = run(runtime, "beyond", options=("--strict",))
    assert re.search(r"^luthier: launch 1: .*: vecadd\+pc ", done.stderr, re.M), done.stderr[-2000:]
    assert "luthier: strict: 1 launch checked, 3 findings" in done.stderr
    assert done.returncode != 0
