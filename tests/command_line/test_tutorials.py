"""docs/tutorials.md: files are written and commands run in their order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

from places import ROOT

PAGE = ROOT / "docs/tutorials.md"
_BLOCK = re.compile(r"(?:File `(?P<name>[^`]+)`:\n\n)?```(?P<kind>[\w+]*)\n(?P<text>.*?)```", re.DOTALL)


def test_the_tutorials_run_as_they_stand(tmp_path):
    said, ran = {}, 0
    for block in _BLOCK.finditer(PAGE.read_text()):
        if block["name"]:
            (tmp_path / block["name"]).write_text(block["text"])
        for line in block["text"].splitlines() if block["kind"] == "console" else ():
            words, status = shlex.split(line[2:], comments=True), 1 if line.endswith("# status 1") else 0
            command = {"luthier": [sys.executable, "-m", "luthier"], "python": [sys.executable]}.get(words[0], words[:1])
            done = subprocess.run([*command, *words[1:]], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == status, (line, done.stdout, done.stderr)
            said[" ".join(words)] = done.stdout + done.stderr
            ran += 1
    assert ran >= 9
    (race,) = [text for line, text in said.items() if line.endswith("--strict=lds-race")]
    assert race.count("lds-race: another wave") == 2 and "race.hip:8" in race
    counts = [int(line.split()[0]) for line in said["python counted.py"].splitlines()]
    assert counts and all(count % 2 == 0 for count in counts)
    assert "514 accesses of lanes" in said["python traced.py"]
