"""The tools that write pages of docs/audit keep what a run of a part did not see."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITES = """before
<!-- tools/rocm-tests writes from here -->

| library | processor | cases | passed | skipped | out of time | failed | ended the process |
|---|---|---|---|---|---|---|---|
| liba-tests | gfx90a | 10 | 7 | 1 | 2 | 0 | 0 |
| libb-tests | gfx942 | 3 | 2 | 0 | 1 | 0 | 0 |
| all |  | 13 | 9 | 1 | 3 | 0 | 0 |

Cases that did not pass:

| library | processor | case | outcome |
|---|---|---|---|
| liba-tests | gfx90a | `test Long/0.Sum` | out of time |
| liba-tests | gfx90a | `test Long/1.Sum` | out of time |
| libb-tests | gfx942 | `test_b all of it` | out of time |

<!-- to here -->
after
"""
RUNTIMES = """before
<!-- tools/runtimes-page writes from here -->

| ROCm | processor | cases | passed | refused by name | failed |
|---|---|---|---|---|---|
| 5.2.3 | gfx90a | 43 | 42 | 0 | 1 |
| 7.2.4 | gfx1100 | 43 | 38 | 4 | 1 |
| both | 2 | 86 | 80 | 4 | 2 |

Failed: `arrays layered` on gfx90a, ROCm 5.2.3; `arrays cube` on gfx1100, ROCm 7.2.4.

<!-- to here -->
after
"""


@pytest.fixture
def suites():
    loader = SourceFileLoader("rocm_tests", str(ROOT / "tools/rocm-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rocm_tests", loader))
    loader.exec_module(module)
    return module


def by_tool(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "tools" / tool), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True)


def test_a_suite_that_was_run_replaces_its_rows_and_no_others(tmp_path):
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(SUITES)
    results.write_text(
        json.dumps({"libb-tests": {"gfx942": {"test_b all of it": ["passed", ""], "test_c one": ["failed", "no"]}}})
    )
    done = by_tool("rocm-tests", "--only-page", "--results", results, "--page", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| liba-tests | gfx90a | 10 | 7 | 1 | 2 | 0 | 0 |\n| libb-tests | gfx942 | 2 | 1 | 0 | 0 | 1 | 0 |\n" in text
    assert "| all |  | 12 | 8 | 1 | 2 | 1 | 0 |" in text
    assert "| libb-tests | gfx942 | `test_c one` | failed |" in text and "test_b" not in text
    assert text.startswith("before\n") and text.endswith("-->\nafter\n")


def test_a_slow_case_that_passes_leaves_the_list_and_is_counted_among_those_that_passed(suites):
    page = suites.amended(SUITES, "liba-tests", "gfx90a", "test Long/0.Sum", "passed")
    assert "| liba-tests | gfx90a | 10 | 8 | 1 | 1 | 0 | 0 |" in page and "Long/0" not in page
    page = suites.amended(page, "liba-tests", "gfx90a", "test Long/1.Sum", "failed")
    assert "| liba-tests | gfx90a | 10 | 8 | 1 | 0 | 1 | 0 |" in page
    assert "| liba-tests | gfx90a | `test Long/1.Sum` | failed |" in page
    assert "| libb-tests | gfx942 | `test_b all of it` | out of time |" in page


def test_a_suite_behind_on_is_no_processor(tmp_path):
    done = by_tool("rocm-tests", "--only-page", "--page", tmp_path / "none", "--on", "gfx90a", "librccl1-tests")
    assert done.returncode == 2 and "--on takes processors, and librccl1-tests is none" in done.stderr


def test_processors_that_were_not_run_keep_their_rows_and_failures(tmp_path):
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(RUNTIMES)
    results.write_text(json.dumps({"7:gfx1100": {"arrays cube": "passed", "arrays plain": "refused"}, "7:gfx942": {}}))
    done = by_tool("runtimes-page", results, "--page", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| 5.2.3 | gfx90a | 43 | 42 | 0 | 1 |\n| 7.2.4 | gfx1100 | 2 | 1 | 1 | 0 |\n| both | 2 | 45 | 43 | 1 | 1 |\n" in text
    assert "Failed: `arrays layered` on gfx90a, ROCm 5.2.3.\n" in text and "gfx942" not in text
    assert text.startswith("before\n") and text.endswith("-->\nafter\n")


@pytest.mark.parametrize(
    ("program", "seconds", "why"),
    [
        ("import time; print('Sum.', '  one', sep='\\n', flush=True); time.sleep(60)", 1, "no list after 1 s"),
        ("print('Sum.', '  one', sep='\\n'); raise SystemExit('no memory left')", 60, "status 1: no memory left"),
        ("pass", 60, "its list names no case"),
    ],
)
def test_a_list_that_fails_or_breaks_off_is_not_taken_for_a_short_one(suites, monkeypatch, tmp_path, program, seconds, why):
    monkeypatch.setattr(suites, "command", lambda *words: [sys.executable, "-c", program])
    with pytest.raises(suites.Unlisted, match=why):
        suites.cases_of("gfx90a", tmp_path / "test_sum", tmp_path, seconds)


def test_a_binary_without_a_list_is_named_and_the_others_run(suites, monkeypatch, tmp_path, capsys):
    def listed(options, target, program, root):
        if program.name == "test_mute":
            raise suites.Unlisted("no list after 600 s")
        return ["Sum.one"]

    folder = tmp_path / "liba-tests"
    monkeypatch.setattr(suites, "programs", lambda root, names: {"liba-tests": [folder / "test_mute", folder / "test_sum"]})
    monkeypatch.setattr(suites, "listed", listed)
    monkeypatch.setattr(suites, "run", lambda target, program, cases, *rest: iter([(case, "passed", "") for case in cases]))
    options = argparse.Namespace(
        minutes=1, seed=1, suites=[], on=["gfx90a"], cases=5, seconds=9, again=False, results=tmp_path / "results.json"
    )
    results = {}
    assert suites.measure(options, tmp_path, results) == ["liba-tests test_mute on gfx90a: no list after 600 s"]
    assert results == {"liba-tests": {"gfx90a": {"test_sum Sum.one": ["passed", ""]}}}
    assert "cannot list the cases of liba-tests test_mute on gfx90a" in capsys.readouterr().out


def test_a_slow_case_that_its_binary_does_not_begin_is_named_and_stays(suites, monkeypatch, tmp_path, capsys):
    page, program = tmp_path / "page.md", tmp_path / "libb-tests" / "test_b"
    page.write_text(SUITES)
    made = []
    monkeypatch.setattr(suites, "programs", lambda root, names: {"libb-tests": [program]})
    monkeypatch.setattr(suites, "make_data", lambda *words: made.append(words))
    monkeypatch.setattr(suites, "run", lambda *words: iter([]))
    options = argparse.Namespace(minutes=1, seed=1, suites=[], on=["gfx942"], cases=2, seconds=9, page=page)
    suites.run_slow(options, tmp_path, {})
    assert "libb-tests on gfx942: test_b all of it: not run" in capsys.readouterr().out
    # As many records of data as the row's three cases were drawn from, though two are asked for.
    assert page.read_text() == SUITES and made == [(program, tmp_path, 12, 1)]
