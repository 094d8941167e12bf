"""What tests of every area use."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from places import CORPUS

# A shell has what it starts in the background ignore Ctrl-C, nohup the terminal's end; the programs that tests start would
# inherit that. Python's own handler is no more than the default to them.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def corpus() -> Path:
    if CORPUS is None:
        pytest.skip("the corpus of real code objects is not here (set LUTHIER_CORPUS)")
    return CORPUS
