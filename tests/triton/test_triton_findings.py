"""pytest --luthier-strict: which findings fail a test, and where they are told, over workers and processes."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import cli

SUITE = """
import numpy as np, pytest, triton, triton.language as tl

@triton.jit
def wild(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)

@pytest.mark.parametrize("more", [0, 8])
def test_wild(more):
    wild[(1,)](np.zeros(64, np.float32), 64 + more, BLOCK=128)

def test_wild_again():
    wild[(1,)](np.zeros(32, np.float32), 64, BLOCK=128)
"""


def _pytest(folder, *options):
    suite = folder / "test_suite.py"
    suite.write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--luthier=gfx942", "--luthier-strict", *options]
    return subprocess.run([*command, "test_suite.py"], capture_output=True, text=True, cwd=folder)


def test_what_all_workers_found_is_in_one_report(tmp_path):
    forms = ["--luthier-format=json=out.json", "--luthier-format=sarif=out.sarif", "--luthier-format=junit=out.xml"]
    done = _pytest(tmp_path, "-n", "2", *forms, "--luthier-write-baseline=base.json")
    assert done.returncode == 1 and "2 failed, 1 passed" in done.stdout, done.stdout
    assert "luthier: strict: 3 launches checked, 1 finding" in done.stdout
    (finding,) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert (finding["times"], finding["kernel"]) == (2, "wild") and finding["source"][0]["line"] == 7
    place = json.loads((tmp_path / "out.sarif").read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"], place["region"]["startLine"]) == ({"uri": "test_suite.py", "uriBaseId": "SRCROOT"}, 7)
    assert len(list(ET.parse(tmp_path / "out.xml").getroot().iter("failure"))) == 1
    # With what was found as the baseline, nothing is new.
    known = _pytest(tmp_path, "--luthier-baseline=base.json")
    assert known.returncode == 0 and "1 finding in the baseline" in known.stdout, known.stdout


def test_suppressed_findings_and_other_kinds_fail_no_test(tmp_path):
    (tmp_path / "rules.toml").write_text('[[suppress]]\nkernel = "wild"\nreason = "it is a test"\n')
    done = _pytest(tmp_path, "--luthier-suppress=rules.toml")
    assert done.returncode == 0 and "it is a test" in done.stdout, done.stdout
    done = _pytest(tmp_path, "--luthier-fail-on=hazard")
    assert done.returncode == 0 and "FindingWarning" in done.stdout and "no failure by --fail-on" in done.stdout
    for options, says in (
        (["--luthier-fail-on=races"], "no kind 'races'"),
        (["--luthier-suppress=none.toml"], "no such file"),
        (["--luthier-format=json"], "give FORM=FILE"),
        (["--luthier-format=xml=out"], "there are text, json"),
    ):
        done = _pytest(tmp_path, *options)
        assert done.returncode == 4 and says in done.stderr, done.stderr


def test_luthier_check_collects_what_pytest_and_its_workers_found(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = cli.luthier("check", "--triton", "gfx942", "--", *tests, "-n", "2", "test_suite.py", cwd=tmp_path)
    assert done.returncode == 1 and "3 passed" in done.stdout, (done.stdout, done.stderr)
    assert "found 2 times" in done.stderr and "3 launches checked, 1 finding" in done.stderr
    done = cli.luthier("check", "--", *tests, "--luthier=gfx942", "test_suite.py", cwd=tmp_path)
    assert done.returncode == 1 and "3 launches checked, 1 finding" in done.stderr, (done.stdout, done.stderr)
