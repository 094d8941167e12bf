"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import timed


def luthier(*args, **options) -> subprocess.CompletedProcess:
    return timed.run([sys.executable, "-m", "luthier", *args], 300, **options)


def succeeds(*args) -> str:
    """Its standard output."""
    done = luthier(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fails(*args) -> str:
    """The one line on standard error."""
    done = luthier(*args)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("luthier: error: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr
