"""Textures that HIP programs sample, on both runtimes: by points and linearly, wrapped, mirrored, clamped and with a border."""

from __future__ import annotations

import pytest
import rocm

CASES = ("line", "plane", "volume", "lines", "planes")
#: HIP 5.2.3 itself refuses to copy into layers of lines (hipErrorInvalidValue).
CASES_5 = [case for case in CASES if case != "lines"]
#: HIP 7.2.4 copies into layers of lines by an instruction for layers of planes, and no manual says what RDNA makes of that.
NOT_ON_RDNA = ("lines",)
#: HIP 7.2.4 itself refuses to make these textures on gfx90a.
NOT_ON_GFX90A = ("volume", "lines", "planes")
TARGETS_7 = ("gfx906", "gfx90a", "gfx1030", "gfx1100", "gfx1201")


@pytest.mark.parametrize("case", CASES_5)
def test_a_sampled_texture_is_what_hips_formulas_say(case):
    rocm.need("hipcc")
    for target in ("gfx906", "gfx90a", "gfx1030"):
        program = rocm.hip("textures", targets=("gfx906", "gfx90a", "gfx1030"))
        assert f"{case}: passed" in rocm.passes(program, case, target=target), target


@pytest.mark.parametrize("case", CASES)
def test_a_sampled_texture_is_what_hips_formulas_say_on_rocm_7(case):
    rocm.need_rocm7()
    program = rocm.hip7("textures", TARGETS_7)
    assert f"{case}: passed" in rocm.passes(program, case, target="gfx906")
    for target in ("gfx1030", "gfx1100", "gfx1201"):
        done = rocm.mock(program, case, target=target)
        if case in NOT_ON_RDNA:
            assert "DIM 5 of a resource whose TYPE says D1Array is not modelled" in done.stderr, done.stderr
        else:
            assert f"{case}: passed" in done.stdout, done.stderr
    done = rocm.mock(program, case, target="gfx90a")
    if case in NOT_ON_GFX90A:
        assert "hipCreateTextureObject" in done.stderr and "operation not supported" in done.stderr, done.stderr
    else:
        assert f"{case}: passed" in done.stdout, done.stderr


@pytest.mark.parametrize("target", TARGETS_7)
def test_a_sampled_texture_of_rows_in_memory_is_what_hips_formulas_say(target):
    rocm.need_rocm7()
    assert "in_memory: passed" in rocm.passes(rocm.hip7("textures", TARGETS_7), "in_memory", target=target)
