"""Where the tests find the project's files and the corpus."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


def _corpus() -> Path | None:
    """Real code objects: LUTHIER_CORPUS, or shared/corpus beside the project or one folder up."""
    named = os.environ.get("LUTHIER_CORPUS")
    places = [Path(named)] if named else [ROOT.parent / "shared" / "corpus", ROOT.parent.parent / "shared" / "corpus"]
    return next((place for place in places if place.is_dir()), None)


CORPUS = _corpus()
