"""Suppressions, baselines, --fail-on, and the exit status that they make; luthier check over several processes."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys

import cli
import planted
import pytest
import rocm
from places import ROOT, TESTS

RULE = '[[suppress]]\nkind = "{kind}"\nreason = "every lane writes the same"\n{more}\n'


def _run(name: str, *more):
    return cli.luthier(*planted.command(name), "--strict", *more, cwd=ROOT)


def test_kinds_that_fail_are_chosen():
    assert _run("past_end", "--fail-on", "lds-race").returncode == 0
    assert _run("past_end", "--fail-on", "none").returncode == 0
    assert _run("past_end", "--fail-on", "all").returncode == 1
    done = _run("past_end", "--fail-on", "lds-race,out-of-bounds")
    assert done.returncode == 1
    told = _run("past_end", "--fail-on", "lds-race")
    assert "out-of-bounds: a store" in told.stderr and "1 finding told, and no failure by --fail-on" in told.stderr
    assert "no kind 'races'" in cli.fails(*planted.command("past_end"), "--strict", "--fail-on", "races")


@pytest.mark.parametrize(
    "more",
    [
        "",
        'kernel = "plan*"',
        'source = "tests/planted/past_end.hip"',
        'source = "past_end.hip:3"',
        'source = "tests/planted/*.hip:2-4"',
        # The line of the call of the inlined function.
        'source = "past_end.hip:6"',
    ],
)
def test_a_suppression_takes_findings_out(more, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE.format(kind="out-of-*", more=more))
    done = _run("past_end", "--suppress", rules, "--format", f"json={tmp_path / 'out.json'}")
    assert done.returncode == 0, done.stderr
    (finding,) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert finding["standing"] == "suppressed" and finding["suppressed"]["reason"] == "every lane writes the same"


@pytest.mark.parametrize("more", ['kernel = "other"', 'source = "past_end.hip:4"', 'source = "other.hip"'])
def test_a_suppression_of_something_else_does_not(more, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE.format(kind="out-of-bounds", more=more))
    done = _run("past_end", "--suppress", rules)
    assert done.returncode == 1 and "fitted no finding" in done.stderr
    rules.write_text(RULE.format(kind="lds-race", more=""))
    assert _run("past_end", "--suppress", rules).returncode == 1


def test_an_expired_suppression_suppresses_nothing_and_is_told(tmp_path):
    rules = tmp_path / "rules.toml"
    today = datetime.date.today()
    rules.write_text(RULE.format(kind="out-of-bounds", more=f"until = {today}"))
    assert _run("past_end", "--suppress", rules).returncode == 0
    rules.write_text(RULE.format(kind="out-of-bounds", more=f"until = {today - datetime.timedelta(1)}"))
    done = _run("past_end", "--suppress", rules)
    assert done.returncode == 1 and "has expired" in done.stderr


@pytest.mark.parametrize(
    "text, says",
    [
        ("[[suppress]]\nkind = 'hazard'\n", "give the reason"),
        ("[[suppress]]\nreason = 'x'\n", "would suppress everything"),
        ("[[suppress]]\nkind = 'hazards'\nreason = 'x'\n", "no kind 'hazards'"),
        ("[[suppress]]\nkind = 'hazard'\nreason = 'x'\nline = '3'\n", "no key 'line'"),
        ("[[suppress]]\nkind = 'hazard'\nreason = 'x'\nuntil = 'soon'\n", "no date"),
        ("[[suppress]]\nkind = 3\nreason = 'x'\n", "kind is not text"),
        ("suppress = 3\n", "expected [[suppress]]"),
        ("[[supress]]\nkind = 'hazard'\nreason = 'x'\n", "expected [[suppress]]"),
        ("[[suppress\n", "rules.toml"),
    ],
)
def test_a_bad_suppression_file_is_refused_before_anything_runs(text, says, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(text)
    assert says in cli.fails(*planted.command("past_end"), "--strict", "--suppress", rules)
    assert "no such file" in cli.fails(*planted.command("past_end"), "--strict", "--suppress", tmp_path / "none")


def _variant(folder, text: str):
    """race_lds.hip, changed, as a code object."""
    source = folder / "race.hip"
    source.write_text(text)
    out = folder / "race.hsaco"
    command = ["clang-22", "-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a", "-O1", "-g"]
    command += ["--no-gpu-bundle-output", "-include", TESTS / "kernels/gpu.h", source, "-o", out]
    subprocess.run(command, check=True, cwd=folder)
    return [
        "run",
        out,
        "--kernel",
        "planted",
        "--blocks",
        "1",
        "--block",
        "128",
        "--arg",
        "buf:u32[128]=zeros",
        "--strict=lds-race",
    ]


def test_only_what_is_not_in_the_baseline_fails(tmp_path):
    text = (TESTS / "planted/race_lds.hip").read_text()
    run = _variant(tmp_path, text)
    baseline = tmp_path / "baseline.json"
    assert cli.luthier(*run, "--write-baseline", baseline, cwd=tmp_path).returncode == 1
    done = cli.luthier(*run, "--baseline", baseline, cwd=tmp_path)
    assert done.returncode == 0 and "2 findings in the baseline" in done.stderr
    # Lines in front of it change nothing.
    _variant(tmp_path, "\n\n// more\n" + text)
    assert cli.luthier(*run, "--baseline", baseline, cwd=tmp_path).returncode == 0
    # The same line once more is new.
    line = "    out[local_x()] = words[local_x() ^ 64]; // planted: lds-race\n"
    assert line in text
    _variant(tmp_path, text.replace(line, line + line.replace("out[", "out[0 * ").replace("^ 64]", "^ 65]")))
    assert cli.luthier(*run, "--baseline", baseline, cwd=tmp_path).returncode == 1
    # And what is written with a baseline holds what is in it.
    both = tmp_path / "both.json"
    cli.luthier(*run, "--baseline", baseline, "--write-baseline", both, cwd=tmp_path)
    assert cli.luthier(*run, "--baseline", both, cwd=tmp_path).returncode == 0
    baseline.write_text("{}")
    assert "--write-baseline makes one" in cli.fails(*run, "--baseline", baseline)


def test_the_environment_has_defaults(tmp_path):
    import os

    done = cli.luthier(*planted.command("past_end"), "--strict", cwd=ROOT, env={**os.environ, "LUTHIER_FAIL_ON": "hazard"})
    assert done.returncode == 0
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE.format(kind="out-of-bounds", more=""))
    done = cli.luthier(*planted.command("past_end"), "--strict", cwd=ROOT, env={**os.environ, "LUTHIER_SUPPRESS": str(rules)})
    assert done.returncode == 0


PROGRAM = """
import os, sys, numpy as np, luthier as lt
def launch(strict):
    device = lt.Device("gfx90a", threads=1)
    device.run(sys.argv[1], "planted", blocks=1, block=128, args=[np.zeros(128, np.uint32)], **strict)
launch({})
if os.fork() == 0:
    launch({})
    launch({"strict": False})
    os._exit(0)
os.wait()
sys.exit(int(sys.argv[2]))
"""


def test_check_judges_all_launches_of_all_processes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out = tmp_path / "out.json"

    def check(*options, status="0"):
        words = [sys.executable, program, planted.build("past_end"), status]
        return cli.luthier("check", "--format", f"json={out}", *options, "--", *words, cwd=ROOT)

    done = check()
    assert done.returncode == 1 and done.stderr.endswith("luthier: strict: 2 launches checked, 1 finding\n"), done.stderr
    (finding,) = json.loads(out.read_text())["findings"]
    assert (finding["kind"], finding["times"], finding["kernel"]) == ("out-of-bounds", 2, "planted")
    # A program's own status comes first.
    assert check(status="7").returncode == 7
    assert check("--strict=hazard").returncode == 0
    assert check("--fail-on", "none").returncode == 0
    # Reports of runs are merged.
    shutil.copy(out, tmp_path / "first.json")
    done = cli.luthier("check", "--report", tmp_path / "first.json", "--report", out, cwd=ROOT)
    assert done.returncode == 1 and "found 4 times" in done.stderr and "4 launches checked, 1 finding" in done.stderr
    assert "no such program" in cli.fails("check", "--", "/does/not/exist")
    assert "nothing to check" in cli.fails("check")
    assert "not JSON" in cli.fails("check", "--report", ROOT / "pyproject.toml")
    first = tmp_path / "first.json"
    first.write_text("[]")
    assert "no report of findings" in cli.fails("check", "--report", first)


def test_check_says_that_nothing_was_checked():
    done = cli.luthier("check", "--", "true")
    assert (done.returncode, done.stderr) == (0, "luthier: strict: no launches checked\n")
    assert cli.luthier("check", "--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_check_judges_hip_programs():
    rocm.need("hipcc")
    script = f"{rocm.hip('mistakes')} race_in_lds; {rocm.hip('mistakes')} race_in_lds"
    done = subprocess.run(
        [sys.executable, "-m", "luthier", "check", "--mock", "gfx90a", "--", "sh", "-c", script],
        capture_output=True, text=True, env=rocm.ENVIRONMENT, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "2 launches checked" in done.stderr and "found 2 times" in done.stderr and "lds-race" in done.stderr
    # Told once, when it is known which count: not by the driver as they are made.
    assert "luthier: GPU 0, launch" not in done.stderr
