"""Code objects that write themselves to files."""

from __future__ import annotations

import os
import signal
import threading

import compiled
import pytest

import luthier as lt

ORIGINAL = compiled.code_object("matmul", "O3")


def _instrumented() -> lt.CodeObject:
    return lt.instrument(ORIGINAL, ["instr_count"])


@pytest.mark.parametrize("make", [_instrumented, lambda: lt.CodeObject.open(ORIGINAL)])
def test_what_is_written_is_the_data(make, tmp_path):
    made, path = make(), tmp_path / "written"
    with path.open("wb") as file:
        file.write(b"before")
        file.flush()
        made.write_to(file.fileno())
        file.write(b"behind")
    assert path.read_bytes() == b"before" + made.data + b"behind"
    assert made.size == len(made.data)


def test_bytes_and_their_code_object_are_the_same():
    made = _instrumented()
    before = made.data
    assert made.core.data == before == made.data
    assert made.instrumented
    assert lt.CodeObject.open(before).kernels[0].name == made.kernels[0].name


def test_a_pipe_gets_all_of_it_in_parts():
    made = _instrumented()
    reading, writing = os.pipe()
    os.set_blocking(writing, True)
    parts: list[bytes] = []

    def read() -> None:
        while part := os.read(reading, 1000):
            parts.append(part)

    thread = threading.Thread(target=read)
    thread.start()
    made.write_to(writing)
    os.close(writing)
    thread.join()
    os.close(reading)
    assert b"".join(parts) == made.data


def test_a_file_that_cannot_be_written():
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        _instrumented().write_to(full.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        _instrumented().write_to(-1)


def test_a_signal_ends_waiting_for_a_reader():
    class Enough(Exception):
        pass

    def enough(*_) -> None:
        raise Enough

    made = _instrumented()
    reading, writing = os.pipe()
    before = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Enough):
            # No pipe takes that much without a reader.
            for _ in range(1 << 20):
                made.write_to(writing)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(reading)
        os.close(writing)
