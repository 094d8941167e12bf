"""What the command line makes of what is around it: signals, closed streams, full disks, terminals."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import compiled
import pytest
from cli import fails, luthier
from test_cli_bad_input import RUN, SIZES

FOREVER = 'extern "C" __attribute__((global)) void forever(volatile unsigned *out) { for (;;) *out = 1; }'


@pytest.fixture(scope="module")
def vecadd():
    return compiled.code_object("vecadd")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_file_behind(number, tmp_path):
    path = compiled.build(FOREVER, "gfx90a")
    command = [sys.executable, "-m", "luthier", "run", path, "--kernel", "forever", *SIZES, "--arg", "buf:u32[64]=zeros"]
    out = tmp_path / "out.json"
    process = subprocess.Popen([*command, "--json", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not list(tmp_path.iterdir()):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=60)
    # Signals that end a process end it; an interrupt is heard by Python.
    status = 130 if number == signal.SIGINT else -number
    assert process.returncode == status and said[0] == "" and said[1].count("\n") == 1, said
    assert not list(tmp_path.iterdir())


def test_closed_streams(vecadd):
    def close(*streams: int):
        return lambda: [os.close(stream) for stream in streams]

    for command in (["inspect", vecadd], ["run", vecadd, *RUN], ["fly"]):
        done = luthier(*command, preexec_fn=close(1))
        assert done.returncode == 2 and done.stderr == "luthier: error: standard output is closed\n", done.stderr
    assert luthier("inspect", vecadd, preexec_fn=close(2)).returncode == 0
    done = luthier("fly", preexec_fn=close(2))
    assert done.returncode == 2 and done.stdout == ""


def test_names_that_are_no_text(vecadd, tmp_path):
    name = os.fsdecode(b"ker\xffnel")
    assert r"--kernel ker\xffnel: these bytes are no UTF-8" in fails("run", vecadd, "--kernel", name, *SIZES)
    assert "no UTF-8" in fails("disasm", vecadd, "--kernel", name)
    assert "no UTF-8" in fails("inspect", vecadd, "--target", name)
    # A path may be any bytes.
    path = tmp_path / os.fsdecode(b"odd\xff.hsaco")
    path.write_bytes(vecadd.read_bytes())
    for command in ("inspect", "disasm", "lift"):
        done = luthier(command, path)
        assert done.returncode == 0 and r"odd\xff.hsaco" in done.stdout, done.stderr
    assert "no such file" in fails("inspect", tmp_path / os.fsdecode(b"odd\xff"))


def test_a_file_that_gets_too_large_is_named(vecadd, tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    dump = tmp_path / "out.npy"
    for more in (["--dump", f"2={dump}"], ["--json", dump]):
        done = luthier("run", vecadd, *RUN, *more, preexec_fn=small)
        assert done.returncode == 2 and f"cannot write {dump}: file too large" in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
    done = luthier("instrument", vecadd, "--tool", "instr_count", "-o", dump, preexec_fn=small)
    assert done.returncode == 2 and f"cannot write {dump}: file too large" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


def test_escapes_in_files_do_not_reach_the_terminal(vecadd, tmp_path):
    data = vecadd.read_bytes()
    assert data.count(b"vecadd") > 2
    path = tmp_path / "red.hsaco"
    # A name of the same length, in symbols and in metadata: red, and the window's title.
    path.write_bytes(data.replace(b"vecadd", b"\x1b[31m\x07"))
    wanted = r"\x1b[31m\x07"
    for command in (["inspect"], ["disasm"], ["lift"], ["lift", "--emit", "dot"], ["lift", "--emit", "mir"]):
        done = luthier(command[0], path, *command[1:])
        assert done.returncode == 0, done.stderr
        assert wanted in done.stdout and "\x1b" not in done.stdout + done.stderr, command
    line = fails("run", path, "--kernel", "vecsub", *SIZES)
    assert wanted in line and "\x1b" not in line
