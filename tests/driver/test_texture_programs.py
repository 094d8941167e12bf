"""Textures that HIP programs sample, on both runtimes: by points and linearly, wrapped, mirrored, clamped and with a border."""

from __future__ import annotations

import sys
from pathlib import Path

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


def is_refused_on_gfx90a(program: Path, case: str) -> bool:
    """By HIP 7 itself."""
    done = rocm.mock(program, case, target="gfx90a")
    return "hipCreateTextureObject" in done.stderr and "operation not supported" in done.stderr


@pytest.mark.parametrize("case", CASES_5)
def test_a_sampled_texture_is_what_hips_formulas_say(case):
    rocm.need("hipcc")
    for target in ("gfx906", "gfx90a", "gfx1030"):
        program = rocm.hip("textures", targets=("gfx906", "gfx90a", "gfx1030"))
        if rocm.RUNTIME == "7" and target == "gfx90a" and case in NOT_ON_GFX90A:
            assert is_refused_on_gfx90a(program, case)
        else:
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
    if case in NOT_ON_GFX90A:
        assert is_refused_on_gfx90a(program, case)
    else:
        assert f"{case}: passed" in rocm.passes(program, case, target="gfx90a")


@pytest.mark.parametrize("target", TARGETS_7)
def test_a_sampled_texture_of_rows_in_memory_is_what_hips_formulas_say(target):
    rocm.need_rocm7()
    assert "in_memory: passed" in rocm.passes(rocm.hip7("textures", TARGETS_7), "in_memory", target=target)


#: What HIP says to arrays of three mip levels, of a cube's faces, and, that the call is right, to one that may be gathered from.
ARRAYS = """
import ctypes as c
class Format(c.Structure): _fields_ = [(name, c.c_int) for name in "xyzwf"]
class Extent(c.Structure): _fields_ = [(name, c.c_size_t) for name in ("width", "height", "depth")]
hip, made, floats = c.CDLL("libamdhip64.so.7"), c.c_void_p(), Format(32, 0, 0, 0, 2)
hip.hipGetErrorName.restype = c.c_char_p
said = [hip.hipMallocMipmappedArray(c.byref(made), c.byref(floats), Extent(16, 16, 0), c.c_uint(3), c.c_uint(0))]
for flags, depth in ((4, 6), (8, 0)):
    said.append(hip.hipMalloc3DArray(c.byref(made), c.byref(floats), Extent(16, 16, depth), c.c_uint(flags)))
print("said", *[hip.hipGetErrorName(error).decode() for error in said])
"""


@pytest.mark.parametrize("target", ("gfx906", "gfx1030", "gfx1201"))
def test_mip_levels_and_cubes_are_refused_by_hip_itself(target):
    """So that no HIP program can have the device sample them."""
    rocm.need_rocm7()
    out = rocm.passes(sys.executable, "-c", ARRAYS, target=target, options=("--rocm", "7"))
    assert "said hipErrorNotSupported hipErrorInvalidValue hipSuccess" in out
