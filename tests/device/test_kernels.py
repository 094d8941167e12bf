"""Our own kernels, at three optimisation levels and in three code object versions, against NumPy and under the tools."""

from __future__ import annotations

import compiled
import kernel_cases
import proof
import pytest


def _check(launches) -> None:
    for launch in launches:
        launch.check(launch.args)


@pytest.mark.parametrize(("name", "level", "version"), compiled.every_build(kernel_cases.CASES))
def test_kernel(name, level, version):
    path = compiled.code_object(name, level, version)
    proof.prove(path, lambda: kernel_cases.launches(name), _check)
