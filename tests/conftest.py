"""Where the tests find things."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _corpus() -> Path | None:
    """Real code objects: LUTHIER_CORPUS, or shared/corpus beside the project or one folder up."""
    named = os.environ.get("LUTHIER_CORPUS")
    places = [Path(named)] if named else [ROOT.parent / "shared" / "corpus", ROOT.parent.parent / "shared" / "corpus"]
    return next((place for place in places if place.is_dir()), None)


CORPUS = _corpus()


@pytest.fixture(scope="session")
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    return CORPUS
