"""`luthier trace --mock`, without AMD's runtime: what the program that it becomes sees."""

from __future__ import annotations

import signal

import pytest
from cli import fails, luthier


def trace(*words):
    return luthier("trace", "--mock", "gfx90a,2", *words)


@pytest.fixture(autouse=True)
def driver():
    from places import ROOT

    assert (ROOT / "python/luthier/driver/libhsakmt.so.1").exists(), "`make driver` builds it, and so does `make setup`"


def test_status_signals_and_streams_are_the_programs_own():
    done = trace("--", "sh", "-c", "echo out; echo err >&2; exit 42")
    assert (done.returncode, done.stdout, done.stderr) == (42, "out\n", "err\n")
    assert trace("--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


def test_options_become_variables():
    words = [
        "--memory",
        "2G",
        "--cus",
        "5",
        "--apu",
        "--copies",
        "kernels",
        "--strict=hazard",
        "--watchdog",
        "77",
        "--log",
        "--threads",
        "1",
        "--schedule",
        "random:7",
    ]
    out = trace(*words, "--", "env").stdout.splitlines()
    expected = {
        "LUTHIER_MOCK=gfx90a,2", "LUTHIER_MOCK_MEMORY=2G", "LUTHIER_MOCK_CUS=5", "LUTHIER_MOCK_APU=1", "LUTHIER_STRICT=hazard",
        "LUTHIER_WATCHDOG=77", "LUTHIER_MOCK_LOG=1", "LUTHIER_THREADS=1", "HSA_DISABLE_FRAGMENT_ALLOCATOR=1",
        "LUTHIER_MOCK_COPIES=kernels", "LUTHIER_SCHEDULE=random:7",
    }  # fmt: skip
    assert expected <= set(out)
    assert any(line.startswith("HSA_TOOLS_LIB=") and line.endswith("luthier/driver/libhsakmt.so.1") for line in out)
    assert any(line.startswith("LD_LIBRARY_PATH=") and "luthier/driver" in line for line in out)


def test_words_behind_the_dashes_are_not_ours():
    assert trace("--", "echo", "--strict=nonsense", "--", "--help").stdout == "--strict=nonsense -- --help\n"


def test_bad_input_is_one_line():
    assert "nothing to run" in fails("trace", "--mock", "gfx90a")
    assert "no such program" in fails("trace", "--mock", "gfx90a", "--", "/does/not/exist")
    assert "--watchdog" in fails("trace", "--mock", "gfx90a", "--watchdog", "soon", "--", "true")
    assert "nonsense" in fails("trace", "--mock", "gfx90a", "--strict=nonsense", "--", "true")
    assert "--mock" in fails("trace", "--", "true")
    assert "driver or kernels" in fails("trace", "--mock", "gfx90a", "--copies", "fast", "--", "true")
    assert "fair, alternate or random" in fails("trace", "--mock", "gfx90a", "--schedule", "pct:7", "--", "true")
    assert "can be gfx90a" in fails("trace", "--mock", "gfx803", "--", "true")
    assert "there are MI50" in fails("trace", "--as", "MI300", "--", "true")
    assert "--as MI300X:TPX: MI300X has no partitions TPX; it has SPX" in fails("trace", "--as", "MI300X:TPX", "--", "true")
    assert "in SPX has no memory partitions NPS4; it has NPS1" in fails("trace", "--as", "MI300X:SPX/NPS4", "--", "true")
    assert "RX 7600 is one GPU, without partitions" in fails("trace", "--as", "RX 7600:CPX", "--", "true")
    assert "2 of them are 16 GPUs" in fails("trace", "--mock", "gfx942,2", "--as", "MI300X:CPX", "--", "true")
    assert "and --mock asks for gfx90a" in fails("trace", "--mock", "gfx90a", "--as", "MI300X", "--", "true")
    assert "1 to 8" in fails("trace", "--mock", "gfx90a,9", "--", "true")
    # An option's value may look like a variable of the driver's.
    assert "--as LUTHIER_MOCK=1: there is no such card" in fails("trace", "--as", "LUTHIER_MOCK=1", "--", "true")
