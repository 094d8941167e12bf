"""The README's commands and programs run as they stand, in the folder where `make demo` leaves its kernel."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import compiled
import pytest
from places import ROOT

TEXT = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    shutil.copy(compiled.code_object("vecadd"), folder / "vecadd.hsaco")
    return folder


def _commands() -> list[list[str]]:
    """Every `luthier ...` of the console examples."""
    consoles = "\n".join(re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)).replace("\\\n", " ")
    lines = [line[2:] for line in consoles.splitlines() if line.startswith("$ luthier ")]
    return [shlex.split(line, comments=True) for line in lines]


def test_there_are_commands():
    assert {command[1] for command in _commands()} >= {"run", "inspect", "disasm", "instrument", "kernels"}


@pytest.mark.parametrize("command", _commands(), ids=lambda command: command[1])
def test_commands(demo, command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=demo, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_programs(demo):
    tool, launch = re.findall(r"```python\n(.*?)```", TEXT[TEXT.index("<!-- example") :], re.DOTALL)[:2]
    (demo / "stores.py").write_text(tool)
    (demo / "program.py").write_text(tool + launch)
    done = subprocess.run([sys.executable, "program.py"], cwd=demo, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1. 2. 3.] {'stores': {'lanes': 1000}}\n"
