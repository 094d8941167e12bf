"""examples/ci: the CMake project is built and its tests run under `luthier check`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import rocm
from places import ROOT


def test_the_cmake_project_runs_under_luthier_check(tmp_path):
    rocm.need("hipcc")
    if shutil.which("cmake") is None or shutil.which("ctest") is None:
        pytest.skip("CMAKE IS MISSING: apt-get install cmake")
    folder = tmp_path / "ci"
    shutil.copytree(ROOT / "examples/ci", folder)
    for words in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=rocm.ENVIRONMENT)
        assert done.returncode == 0, done.stdout + done.stderr
    command = [sys.executable, "-m", "luthier", "check", "--mock", "gfx90a", "--suppress", "suppressions.toml"]
    command += ["--format", "sarif=out.sarif", "--", "ctest", "--test-dir", "build"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=rocm.ENVIRONMENT)
    assert done.returncode == 1 and "4 launches checked" in done.stderr, done.stdout + done.stderr
    (run,) = json.loads((folder / "out.sarif").read_text())["runs"]
    races = [result for result in run["results"] if result["ruleId"] == "lds-race"]
    assert races and all(
        race["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "scale.hip", "uriBaseId": "SRCROOT"}
        for race in races
    )
