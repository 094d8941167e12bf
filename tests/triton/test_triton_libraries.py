"""Libraries of Triton kernels that others wrote, against torch on the CPU, in strict mode. docs/triton.md has the figures.

With LUTHIER_TRITON_LIBRARY=gfx942 or another target (one a process: flag-gems keeps what was compiled), where torch, flag-gems
and liger-kernel are installed (torch for CPUs; the libraries with ``pip install --no-deps``, and PyYAML and SQLAlchemy for
flag-gems).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings

import pytest

TARGET = os.environ.get("LUTHIER_TRITON_LIBRARY", "")
if not TARGET:
    pytest.skip("libraries of Triton kernels are asked for by LUTHIER_TRITON_LIBRARY=gfx942", allow_module_level=True)
LIBRARIES = {"flag_gems": "gems", "liger_kernel": "liger"}
absent = [name for name in ("triton", "torch", *LIBRARIES) if importlib.util.find_spec(name) is None]
if absent:
    pytest.skip(f"not installed: {', '.join(absent)}", allow_module_level=True)

import luthier as lt  # noqa: E402
import luthier.triton  # noqa: E402

luthier.triton.install(TARGET)  # the libraries ask for the device when they are imported
from triton_libraries.operator import OPERATORS  # noqa: E402

for name in LIBRARIES.values():
    importlib.import_module(f"triton_libraries.{name}")
luthier.triton.uninstall()


#: docs/audit/triton-libraries.md says of each what it is.
KNOWN = {
    ("var_mean", "gfx942"): "lds-race",
    ("var_mean", "gfx1201"): "lds-race",
}


@pytest.mark.parametrize("operator", [pytest.param(o, id=f"{o.library}-{o.name}") for o in OPERATORS])
def test_an_operator_of_a_library_computes_what_torch_does_and_strict_mode_tells_what_is_known(
    operator, on_gpu, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))  # flag-gems keeps what it has tuned there
    on_gpu(TARGET, findings="warn")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", lt.FindingWarning)
        operator.check()
    findings = [str(w.message) for w in told if issubclass(w.category, lt.FindingWarning)]
    assert [f for f in findings if not f.startswith(KNOWN.get((operator.name, TARGET), "nothing") + ":")] == []
    assert luthier.triton.last.module.device.processor == TARGET


def test_there_are_many():
    assert len(OPERATORS) >= 150
