"""What helps a user along: help, what may have been meant, doctor, completion, examples."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli import fails, luthier, succeeds
from places import ROOT

from luthier.cli.parsers import build_parser

COMMANDS = ("inspect", "run", "trace", "check", "instrument", "doctor", "examples", "completion")


def test_luthier_alone_prints_its_help():
    assert succeeds() == succeeds("--help")
    assert all(command in succeeds() for command in COMMANDS)


@pytest.mark.parametrize(
    "words, meant",
    [
        (("insepct", "x"), "inspect"),
        (("run", "x", "--kernl", "k", "--grid", "1", "--block", "1"), "--kernel"),
        (("run", "x", "--kernel", "k", "--grid", "1", "--block", "1", "--stict"), "--strict"),
        (("run", "x", "--kernel", "k", "--grid", "1", "--block", "1", "--on-rejected", "rise"), "raise"),
        (("completion", "basch"), "bash"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_by_the_right_one(words, meant):
    assert f"did you mean {meant}?" in fails(*words)


def test_what_is_meant_by_nothing_is_not_guessed():
    assert "did you mean" not in fails("run", "x", "--zzz")
    assert "choose from inspect" in fails("zzz")


def test_the_words_of_a_program_need_no_dashes_in_front():
    def out(*words):
        return luthier("trace", "--mock", "gfx90a", *words).stdout

    assert out("echo", "--strict", "-x", "--", "y") == "--strict -x -- y\n"
    assert out("--", "echo", "--strict", "-x", "--", "y") == "--strict -x -- y\n"
    assert luthier("check", "sh", "-c", "exit 3").returncode == 3


def _doctor(**environment: str) -> dict[str, dict]:
    done = luthier("doctor", "--json", env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return {part["name"]: part for part in json.loads(done.stdout)}


def test_doctor_says_what_is_there_and_what_brings_the_rest(tmp_path):
    parts = _doctor()
    clang = shutil.which("clang-22")
    assert clang is not None and clang in parts["clang"]["found"]
    version = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    assert parts["clang"]["found"].split()[0] in version
    missing = _doctor(PATH=str(tmp_path))
    assert missing["clang"]["found"] is None and "apt-get install clang" in missing["clang"]["cure"]
    table = luthier("doctor", env={**os.environ, "PATH": str(tmp_path)}).stdout
    assert "not here" in table and "apt-get install hipcc" in table


def test_doctor_finds_a_runtime_in_a_folder_and_its_way_in(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libhsa-runtime64.so.1").write_bytes(b"\x7fELF........libdtif.so\0")
    found = _doctor(ROCM_PATH=str(tmp_path))["HSA runtime"]["found"]
    assert found.startswith(str(tmp_path)) and "libdtif.so" in found
    (tmp_path / "lib/libhsa-runtime64.so.1").write_bytes(b"\x7fELF........")
    assert "no way in" in _doctor(ROCM_PATH=str(tmp_path))["HSA runtime"]["found"]


def test_completion_is_a_script_that_the_shell_takes(tmp_path):
    script = succeeds("completion", "bash")
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    # What bash itself completes with it.
    asks = f"{script}\nCOMP_WORDS=(luthier ins); COMP_CWORD=1; _shtab_luthier luthier ins luthier; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", asks], capture_output=True, text=True)
    assert done.stdout.split() == ["inspect", "instrument"], (done.stdout, done.stderr)
    for shell in ("zsh", "fish"):
        assert "--on-rejected" in succeeds("completion", shell) or "on-rejected" in succeeds("completion", shell)


def test_examples_are_copied_into_a_new_folder(tmp_path):
    out = succeeds("examples", tmp_path / "mine").splitlines()
    assert str(tmp_path / "mine/nan_checker.py") in out and str(tmp_path / "mine/ci/CMakeLists.txt") in out
    for line in out:
        path = Path(line)
        assert path.read_bytes() == (ROOT / "examples" / path.relative_to(tmp_path / "mine")).read_bytes()
    assert "is there already" in fails("examples", tmp_path / "mine")
    assert "cannot write" in fails("examples", "/proc/none/x")


def test_every_option_has_a_help_text():
    import argparse

    def check(parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            assert action.help, (parser.prog, action.dest)
            if isinstance(action, argparse._SubParsersAction):
                for child in action.choices.values():
                    check(child)

    check(build_parser())


def test_doctor_runs_without_the_optional_packages(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nfor name in ('shtab', 'pyarrow', 'triton'): sys.modules[name] = None\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "luthier", "completion", "bash"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 2 and "pip install 'luthier[completion]'" in done.stderr
