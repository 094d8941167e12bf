"""Launches that take long: a limit of time, and what is said meanwhile."""

from __future__ import annotations

import contextlib
import os
import sys

import compiled
import numpy as np
import pytest
from cli import luthier

import luthier as lt
from luthier.cli.run import Progressing

SPIN = """
KERNEL spin(volatile u32 *p) {
    while (p[0] == 0) {
    }
}
"""


@pytest.fixture(scope="module")
def spin():
    return compiled.build(SPIN, "gfx90a", ("-g",))


def _run(device, spin, **options):
    device.run(spin, "spin", blocks=4, block=64, args=[np.zeros(4, np.uint32)], **options)


@pytest.mark.parametrize("strict", [False, True])
def test_a_launch_is_given_up_when_its_time_is_over(spin, strict):
    device = lt.Device("gfx90a", timeout=0.2)
    with pytest.raises(lt.DeviceError, match=r"spin: stopped after \d+\.\d s \(the device's time limit\), .* waves? at 0x"):
        _run(device, spin, strict=strict)
    with pytest.raises(lt.DeviceError, match="time limit"):
        _run(device, spin, strict=strict)


def test_progress_is_told_while_a_launch_goes_on(spin):
    told = []
    with pytest.raises(lt.DeviceError, match="time limit"):
        _run(lt.Device("gfx90a", timeout=3.5, progress=told.append), spin)
    assert told and all((one.workgroups, one.of) == (0, 4) for one in told)
    assert all(later.instructions > earlier.instructions for earlier, later in zip(told, told[1:]))
    assert str(told[0]).startswith("running for 1 s: 0 of 4 workgroups done, ")


def test_what_progress_raises_ends_the_launch(spin):
    def stop(progress):
        raise RuntimeError("enough")

    device = lt.Device("gfx90a", timeout=60, progress=stop)
    with pytest.raises(RuntimeError, match="enough"):
        _run(device, spin)


def test_the_command_line_tells_rarer_and_rarer(capsys):
    progressing = Progressing()
    for second in range(1, 100):
        progressing.tell(lt.Progress(second, 1000 * second, 1, 4))
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in said] == [f" running for {n} s" for n in (10, 20, 40, 80)]
    assert said[0] == "luthier: running for 10 s: 1 of 4 workgroups done, 10,000 instructions"


def test_the_command_line_has_the_limit(spin):
    args = ["run", spin, "--kernel", "spin", "--blocks", "1", "--block", "64", "--arg", "buf:u32[4]=zeros"]
    done = luthier(*args, "--timeout", "0.2")
    assert done.returncode == 2 and "time limit" in done.stderr and done.stderr.count("\n") == 1
    for wrong in ("0", "-1", "soon", "nan"):
        done = luthier(*args, "--timeout", wrong)
        assert (done.returncode, done.stderr) == (2, f"luthier: error: --timeout {wrong}: expected a number of seconds\n")


def on_terminal(monkeypatch, work) -> str:
    """What standard error gets, where it is a terminal."""
    outside, inside = os.openpty()
    with os.fdopen(inside, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        work()
        terminal.flush()
        os.set_blocking(outside, False)
        said = b""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(outside, 1 << 16):
                said += part
    os.close(outside)
    return said.decode()


def test_on_a_terminal_a_bar_shows_how_far_a_launch_is(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    def work():
        with Progressing() as progressing:
            progressing.tell(lt.Progress(1.0, 1_000_000, 3, 8))
            progressing.tell(lt.Progress(2.0, 2_000_000, 8, 8))

    said = on_terminal(monkeypatch, work)
    assert "luthier: workgroups" in said and "8/8" in said and "2,000,000 instructions" in said
    assert said.rstrip().endswith("\x1b[2K") or "\x1b[2K" in said  # it is taken away in the end


def test_where_rich_is_not_there_a_terminal_gets_lines(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)

    def work():
        with Progressing() as progressing:
            progressing.tell(lt.Progress(11.0, 1_000_000, 3, 8))

    assert "running for 11 s: 3 of 8 workgroups done" in on_terminal(monkeypatch, work)
