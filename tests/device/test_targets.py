"""The mock device as other processors than gfx90a: our kernels and Triton's, against NumPy, in strict mode."""

from __future__ import annotations

import cli
import compiled
import kernel_cases
import numpy as np
import proof
import pytest
import triton_cases

import luthier as lt
from luthier import _core

TARGETS = (
    "gfx900",
    "gfx902",
    "gfx904",
    "gfx1010",
    "gfx906",
    "gfx908",
    "gfx942",
    "gfx950",
    "gfx1030",
    "gfx1100",
    "gfx1151",
    "gfx1200",
    "gfx1201",
    "gfx1250",
)
# Waves have 32 lanes, whatever a compiler is told.
ONLY_32 = ("gfx1250",)
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


@pytest.mark.parametrize("target", [t for t in TARGETS if t.startswith("gfx1") and t not in ONLY_32])
@pytest.mark.parametrize("name", kernel_cases.CASES)
def test_our_kernels_in_waves_of_64(name, target):
    """Where waves have 32 lanes by default."""
    launches = kernel_cases.launches(name)
    path = compiled.code_object(name, "O3", target=target, flags=("-mwavefrontsize64",))
    _run(path, target, launches)
    for launch in launches:
        launch.check(launch.args)


GENERIC = {
    "gfx9-generic": "gfx906",
    "gfx9-4-generic": "gfx950",
    "gfx10-1-generic": "gfx1012",
    "gfx10-3-generic": "gfx1036",
    "gfx11-generic": "gfx1151",
    "gfx12-generic": "gfx1201",
}


@pytest.mark.parametrize("generic", GENERIC)
@pytest.mark.parametrize("name", kernel_cases.CASES)
def test_generic_code_runs_on_its_members(name, generic):
    launches = kernel_cases.launches(name)
    path = compiled.code_object(name, "O3", target=generic, flags=("-mcode-object-version=6",))
    _run(path, GENERIC[generic], launches)
    for launch in launches:
        launch.check(launch.args)


def test_generic_code_on_the_command_line():
    path = compiled.code_object("vecadd", "O3", target="gfx11-generic", flags=("-mcode-object-version=6",))
    launch = ("--kernel", "vecadd", "--grid", "64", "--block", "64", *("--arg", "buf:f32[64]=ones") * 3, "--arg", "u32=64")
    for chosen in ((), ("--target", "gfx1151")):
        cli.succeeds("run", path, *launch, *chosen)
    assert "gfx1201" in cli.fails("run", path, *launch, "--target", "gfx1201")
    with pytest.raises(lt.DeviceError, match=r"for gfx11-generic, the device is gfx1201"):
        lt.Device("gfx1201").load(lt.CodeObject.open(path))


def _check_xf32(launch) -> None:
    """gfx942 multiplies f32 matrices by 19 bits of each number."""
    a, b, c = launch.args[:3]
    a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", [t for t in TARGETS if t not in WITHOUT_TRITON])
@pytest.mark.parametrize("name", triton_cases.NAMES)
def test_triton(name, target):
    launches = triton_cases.launches(name, target)
    _run(triton_cases.path(name, target), target, launches)
    if (target, name) == ("gfx942", "matmul_f32_32"):
        _check_xf32(launches[0])
    else:
        triton_cases.check(launches)


def test_coverage_on_the_command_line():
    summary = cli.succeeds("device").splitlines()
    assert [line.partition(":")[0] for line in summary] == list(_core.TARGETS)
    head, *refused = cli.succeeds("device", "--coverage", "gfx942").splitlines()
    assert head == next(line for line in summary if line.startswith("gfx942:")) and f"{len(refused)} refused" in head
    assert any("s_setvskip" in line for line in refused)
    assert "gfx803" in cli.fails("device", "--coverage", "gfx803")


def test_a_device_says_what_it_can_be():
    with pytest.raises(lt.DeviceError, match=r"gfx803.*gfx90a.*gfx942"):
        lt.Device("gfx803")
