"""What tests of every area use."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from places import CORPUS

# A shell starts background programs with SIGINT ignored, and nohup ignores SIGHUP. Programs that tests start would inherit
# that. pytest goes on ignoring these signals, but with a handler: exec sets what is handled to the default.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda _number, _frame: None)


@pytest.fixture(scope="session")
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    return CORPUS
