"""The mock device as other processors than gfx90a: our kernels and Triton's, against NumPy, in strict mode."""

from __future__ import annotations

import cli
import compiled
import kernel_cases
import numpy as np
import proof
import pytest
import triton

import luthier as lt
from luthier import _core

TARGETS = ("gfx900", "gfx902", "gfx904", "gfx1010", "gfx906", "gfx908", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")
# Triton was not asked for these.
WITHOUT_TRITON = ("gfx900", "gfx902", "gfx904", "gfx1010", "gfx1030")


def _run(path, target, launches) -> None:
    for result in proof.run(path, launches, target=target):
        assert result.instructions == result.app_instructions > 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", kernel_cases.CASES)
def test_our_kernels(name, target):
    for level in ("O0", "O3"):
        launches = kernel_cases.launches(name)
        _run(compiled.code_object(name, level, target=target), target, launches)
        for launch in launches:
            launch.check(launch.args)


@pytest.mark.parametrize("target", [t for t in TARGETS if t.startswith("gfx1")])
@pytest.mark.parametrize("name", kernel_cases.CASES)
def test_our_kernels_in_waves_of_64(name, target):
    """Where waves have 32 lanes by default."""
    launches = kernel_cases.launches(name)
    path = compiled.code_object(name, "O3", target=target, flags=("-mwavefrontsize64",))
    _run(path, target, launches)
    for launch in launches:
        launch.check(launch.args)


def _check_xf32(launch) -> None:
    """gfx942 multiplies f32 matrices by 19 bits of each number."""
    a, b, c = launch.args[:3]
    a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in WITHOUT_TRITON])
@pytest.mark.parametrize("name", triton.NAMES)
def test_triton(name, target):
    launches = triton.launches(name, target)
    _run(triton.path(name, target), target, launches)
    if (target, name) == ("gfx942", "matmul_f32_32"):
        _check_xf32(launches[0])
    else:
        triton.check(launches)


def test_coverage_on_the_command_line():
    summary = cli.succeeds("device").splitlines()
    assert [line.partition(":")[0] for line in summary] == list(_core.TARGETS)
    head, *refused = cli.succeeds("device", "--coverage", "gfx942").splitlines()
    assert head == next(line for line in summary if line.startswith("gfx942:")) and f"{len(refused)} refused" in head
    assert any("ds_gws_init" in line for line in refused)
    assert "gfx803" in cli.fails("device", "--coverage", "gfx803")


def test_a_device_says_what_it_can_be():
    with pytest.raises(lt.DeviceError, match=r"gfx803.*gfx90a.*gfx942"):
        lt.Device("gfx803")
