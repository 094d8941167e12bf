"""``luthier debug``: the commands of the terminal debugger."""

from __future__ import annotations

import sys

import debugged
import pytest
import timed
from cli import fails, luthier

import luthier as lt


def debug(folder, *commands, more=()):
    arguments = [word for arg in debugged.arguments(folder) for word in ("--arg", arg)]
    given = [word for command in commands for word in ("-x", command)]
    launch = ("--kernel", "softmax", "--blocks", 2, "--block", 64)
    return luthier("debug", debugged.program(), *launch, *arguments, "--batch", *given, *more)


def test_a_wrong_sum_is_gone_back_to(tmp_path):
    line = debugged.line_of("out[group_x()")
    done = debug(
        tmp_path, f"break {line} if group == 1", "c", "bt", "info waves", "rs", "info breaks", "c", "c", "rc", "p group", "q"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"softmax.hip:{line}" in done.stdout and "softmax at" in done.stdout
    assert "wave 0 of workgroup (1, 0, 0)" in done.stdout and "1 (0x1)" in done.stdout


def test_where_a_value_comes_from_is_told_from_the_end(tmp_path):
    done = debug(tmp_path, "c", "last-write out[70]", "why out[70]", "p out[70]", "watch out[70]", "rc", "x 0x0 1", "p nothing")
    assert done.returncode == 1, "two of the commands are wrong"
    assert "the launch is over" in done.stdout
    assert f"softmax.hip:{debugged.line_of('out[group_x()')}" in done.stdout
    sums = f"softmax.hip:{debugged.line_of('sum +=')}"
    assert sums in done.stdout and "watchpoint 1" in done.stdout
    assert done.stdout.count("error: ") == 2 and "NameError" in done.stdout and "Traceback" not in done.stdout + done.stderr


def test_commands_are_read_from_standard_input(tmp_path):
    arguments = [word for arg in debugged.arguments(tmp_path) for word in ("--arg", arg)]
    command = [
        sys.executable,
        "-m",
        "luthier",
        "debug",
        str(debugged.program()),
        "--kernel",
        "softmax",
        "--blocks",
        "2",
        "--block",
        "64",
    ]
    typed = "b softmax\nc\nstepi 3\nreverse-stepi 3\ni registers\ndisas\nl\nhelp\nhelp why\nbogus\nq\n"
    done = timed.run([*command, *arguments], 240, input=typed)
    assert done.returncode == 0, done.stderr
    assert (
        "breakpoint 1: function softmax" in done.stdout
        and "there is no command 'bogus'" in done.stdout
        and "why REGISTER" in done.stdout
    )


def test_a_case_is_debugged_in_the_schedule_that_exploring_told(tmp_path):
    import numpy as np

    module = lt.Device("gfx90a").load(debugged.program())
    args = [np.linspace(-3, 3, 128, dtype=np.float32), np.zeros(128, np.float32)]
    case = lt.replay.record(module, "softmax", blocks=2, block=64, args=args)
    case.save(tmp_path / "case.luthier")
    done = luthier("debug", tmp_path / "case.luthier", "--schedule", "pct:5", "--batch", "-x", "c", "-x", "info schedule")
    assert done.returncode == 0 and "choices:" in done.stdout, done.stdout + done.stderr
    assert "says its kernel" in fails("debug", tmp_path / "case.luthier", "--kernel", "softmax")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "needs --kernel"),
        (("--kernel", "softmax", "--block", "64"), "needs --kernel"),
        (("--kernel", "softmax", "--launch", "2"), "--launch is for a program"),
        (("--kernel", "softmax", "--", "true"), "a program says its code object"),
        (("--kernel", "none", "--blocks", "1", "--block", "64"), "none"),
        (
            ("--kernel", "softmax", "--blocks", "1", "--block", "64", "--arg", "null", "--arg", "null", "--schedule", "random:1"),
            "only fair",
        ),
    ],
)
def test_what_cannot_be_debugged_is_one_line(more, message):
    assert message in fails("debug", debugged.program(), *more)


def test_a_chain_says_once_what_its_values_have_in_common(tmp_path):
    done = debug(tmp_path, "c", "why out[70]", "b softmax", "rc", "i registers")
    chain = [line for line in done.stdout.splitlines() if " event " in line and " = 0x" in line]
    assert "v4 in lane 6 of wave 0 of workgroup 1 = " in chain[1] and chain[2].lstrip().startswith("v4 = 0x")
    # The source's text stands where the line is another than that of the value above.
    assert "__builtin_exp2f(room[i] - most) / sum;" in chain[0] and "/ sum;" not in chain[1] and "softmax.hip:15" in chain[1]
    assert all(str(tmp_path) not in line and "/softmax.hip" not in line for line in chain)
    assert "in all lanes" in done.stdout or "[ 8] " in done.stdout
    assert max(map(len, done.stdout.split("exec ")[-1].splitlines())) < 100
