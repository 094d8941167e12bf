"""The pages to look things up in are whole: variables, options, errors, kinds; and the site builds strictly."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys

import compiled
import pytest
from places import ROOT

import luthier as lt
from luthier.cli.parsers import build_parser

DOCS = ROOT / "docs"


def _users_variables() -> set[str]:
    """Variables that the package, the driver and the agent read, without those of unit tests."""
    found = set()
    for folder, pattern in (
        ("python/luthier", "*.py"),
        ("crates/driver/src", "*.rs"),
        ("crates/agent/src", "*.rs"),
        ("crates/emulator/src", "*.rs"),
    ):
        for path in (ROOT / folder).rglob(pattern):
            if "tests" not in path.parts and path.stem != "tests":
                text = re.split(r"#\[(?:cfg\(test\)|test)\]", path.read_text())[0]
                found |= set(re.findall(r"\"(LUTHIER_[A-Z_]+)\"", text))
    return found


def test_every_variable_has_its_line():
    text = (DOCS / "environment.md").read_text()
    assert sorted(name for name in _users_variables() if f"`{name}`" not in text) == []


def test_every_error_class_has_its_line():
    text = (DOCS / "errors.md").read_text()
    names = {name for name in lt.__all__ if isinstance(getattr(lt, name), type) and issubclass(getattr(lt, name), Exception)}
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_every_command_and_option_is_in_some_page():
    text = "\n".join(page.read_text() for page in DOCS.rglob("*.md"))
    (commands,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    missing = [name for name in commands.choices if f"luthier {name}" not in text and f"`{name}`" not in text]
    for name, parser in commands.choices.items():
        for action in parser._actions:
            shown = [option for option in action.option_strings if option.startswith("--") and option != "--help"]
            known = any(option in text for option in action.option_strings)
            if shown and not known and shown != ["--strict-kinds"]:
                missing.append(f"{name} {shown[0]}")
    assert missing == []


def test_every_public_name_is_in_some_page():
    text = "\n".join(page.read_text() for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    assert [name for name in lt.__all__ if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_every_exit_status_and_kind_is_explained():
    text = (DOCS / "cli.md").read_text()
    assert all(f"| {status} |" in text for status in (0, 1, 2, 3, 130))
    kinds = (DOCS / "kinds.md").read_text()
    assert [kind for kind in lt.finding_kinds() if f"\n## {kind}\n" not in kinds] == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    shutil.copy(compiled.code_object("vecadd"), folder / "vecadd.hsaco")
    return folder


def _howto() -> list[list[str]]:
    """The commands of the page that need nothing but the demo's kernel."""
    text = (DOCS / "howto.md").read_text()
    lines = "\n".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ").splitlines()
    (arguments,) = [line[len('$ ARGS="') : -1] for line in lines if line.startswith("$ ARGS=")]
    runnable = [line[2:].replace("$ARGS", arguments) for line in lines if line.startswith("$ luthier ") and " -- " not in line]
    return [shlex.split(line) for line in runnable]


def test_the_commands_of_the_page_of_tasks_run(demo):
    commands = _howto()
    assert len(commands) >= 10
    for command in commands:
        done = subprocess.run([sys.executable, "-m", *command], cwd=demo, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)


def test_the_programs_of_the_pages_run(demo):
    howto = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "howto.md").read_text(), re.DOTALL))
    errors = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "errors.md").read_text(), re.DOTALL))
    for program, says in ((howto, "past the end of argument 2"), (errors, "vecadd 0x")):
        done = subprocess.run([sys.executable, "-c", program], cwd=demo, capture_output=True, text=True)
        assert done.returncode == 0 and says in done.stdout, (done.stdout, done.stderr)


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="MKDOCS IS MISSING: make setup brings it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site/api/device.html").read_text()
    assert "luthier.device.mock_device.Device" in page and ":class:" not in page
    assert (tmp_path / "site/files/examples/nan_checker.py.txt").read_bytes() == (ROOT / "examples/nan_checker.py").read_bytes()
