"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def luthier(*args, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "luthier", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


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
