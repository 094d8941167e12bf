"""A program of the tests' that does not end: tests/support/timed.py."""

import os
import re
import sys
import time

import pytest
import timed

SLEEPS = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"


def test_a_program_that_ends_gives_its_output_and_status():
    done = timed.run([sys.executable, "-c", "print(input()); exit(3)"], 60, input="said")
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\n", "")


def test_a_program_that_does_not_end_fails_with_its_threads_and_leaves_no_process():
    with pytest.raises(
        AssertionError, match=r"(?s)has not ended in 2 seconds.*process \d+: .*process \d+: .*sleep\(600\)"
    ) as failed:
        timed.run([sys.executable, "-c", SLEEPS], 2)
    child = int(re.findall(r"^process (\d+): ", str(failed.value), re.MULTILINE)[-1])
    until = time.monotonic() + 20
    while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{child}")
