"""What tests of every area use."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import CORPUS


@pytest.fixture(scope="session")
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    return CORPUS
