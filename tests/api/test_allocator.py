"""What the native module's allocator does to the process that it is loaded into."""

from __future__ import annotations

import os
import subprocess
import sys

import compiled
import pytest

PROGRAM = """
import ctypes, re, sys
import luthier as lt
made = lt.instrument(sys.argv[1], ["instr_count"])
assert made.instrumentation["points"]
PR_GET_THP_DISABLE = 42
print(ctypes.CDLL(None).prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0))
flags = re.findall("^VmFlags: (.*)$", open("/proc/self/smaps").read(), re.MULTILINE)
print(any("hg" in one.split() for one in flags))
"""


@pytest.mark.parametrize(("said", "asks"), [(None, False), ("1", True)])
def test_huge_pages_are_asked_for_only_where_the_environment_says_so(said, asks):
    if not os.path.exists("/sys/kernel/mm/transparent_hugepage"):
        pytest.skip("this kernel has no huge pages to ask for")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MIMALLOC_")}
    if said is not None:
        environment["MIMALLOC_ALLOW_THP"] = said
    command = [sys.executable, "-c", PROGRAM, compiled.code_object("matmul", "O3")]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    # The process's own memory may have them in either case.
    assert done.stdout.split() == ["0", str(asks)]
