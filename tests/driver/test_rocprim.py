"""rocPRIM's scans and selections of one pass, on mock GPUs with several workers: each workgroup waits for words that those
before it store. Where hipCUB's headers are (``CPLUS_INCLUDE_PATH``), its DeviceScan and DeviceSelect too.

``LUTHIER_SCANS=N`` runs each N times (200 take some minutes). Debian 12 has rocPRIM in librocprim-dev.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import rocm

REPEATS = int(os.environ.get("LUTHIER_SCANS", "0"))


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    if not Path("/usr/include/rocprim/rocprim.hpp").exists():
        pytest.skip("ROCPRIM IS MISSING: Debian 12 has it in librocprim-dev")


@pytest.mark.skipif(not REPEATS, reason="LUTHIER_SCANS=N runs rocPRIM's scans and selections N times each")
@pytest.mark.parametrize("workers", (2, 4, 8))
def test_scans_and_selections_are_right_every_time(workers):
    how = {"options": ("--threads", str(workers)), "RAYON_NUM_THREADS": str(workers)}
    out = rocm.passes(rocm.hip("scans"), REPEATS, **how)
    assert out.count(f": 0 of {REPEATS} wrong") >= 10 and "passed" in out
