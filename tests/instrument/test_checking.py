"""Which placements the splice checker proves, and who hears of a wrong one. That a wrong one is found is tested in Rust,
with a hook that lies (crates/codegen/tests/checking.rs): hooks of Python cannot."""

from __future__ import annotations

import compiled
import numpy as np
import pytest
import rocm
from cli import luthier, succeeds

import luthier as lt
from luthier import _core

WRONG = "internal error, please report it: the splice checker found 1 wrong placement (--no-check places hooks unproven)"
CORE = _core.instrument
FAILS = f"""
import luthier as lt
from luthier import _core

def wrong(program, plan):
    raise lt.InternalError({WRONG!r} + str(plan.check))

_core.instrument = wrong

class Counts(lt.Tool):
    count = lt.Counter()
    @lt.hook
    def add(count: lt.counter):
        count += 1
    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.add, self.count)
"""


@pytest.fixture
def asked(monkeypatch):
    """What the core was asked to prove, so far."""
    asked: list = []

    def instrument(program, plan):
        asked.append(plan.check)
        return CORE(program, plan)

    monkeypatch.setattr(_core, "instrument", instrument)
    return asked


@pytest.fixture(scope="module")
def vecadd():
    return compiled.code_object("vecadd")


@pytest.mark.parametrize("check", [None, True, False])
def test_all_that_instruments_hands_on_which_placements_are_proven(asked, vecadd, check):
    def tool():
        return lt.tools.load("instr_count")

    launch = {"grid": 64, "block": 64, "args": [np.zeros(64, np.float32)] * 3 + [np.uint32(64)]}
    device = lt.Device("gfx90a")
    made = [
        lt.instrument(vecadd, [tool()], check=check).data,
        lt.instrument_file(vecadd, lambda: [tool()], check=check).data,
        device.load(vecadd, tools=[tool()], check=check).loaded.data,
    ]
    device.run(vecadd, "vecadd", tools=[tool()], check=check, **launch)
    assert asked == [check] * 4
    assert made[0] == made[1] == made[2] == lt.instrument(vecadd, [tool()]).data, "the checker changes nothing"
    assert asked[-1] is None, "a sample is proven unless something else is asked for"


@pytest.mark.parametrize("options, given", [((), "None"), (("--check",), "True"), (("--no-check",), "False")])
def test_a_wrong_placement_is_one_line_on_the_command_line(tmp_path, vecadd, options, given):
    (tmp_path / "fails.py").write_text(FAILS)
    out = tmp_path / "out.hsaco"
    done = luthier("instrument", vecadd, "--tool", f"{tmp_path}/fails.py", "-o", out, *options)
    assert done.returncode == 2 and done.stderr == f"luthier: error: {WRONG}{given}\n"
    assert not out.exists()
    run = ("--kernel", "vecadd", "--grid", "64", "--block", "64", *["--arg", "buf:f32[64]=ones"] * 3, "--arg", "u32=64")
    done = luthier("run", vecadd, *run, "--tool", f"{tmp_path}/fails.py", *options)
    assert done.returncode == 2 and done.stderr == f"luthier: error: {WRONG}{given}\n"
    succeeds("instrument", vecadd, "--tool", "instr_count", "-o", out, *options)


def test_all_and_none_exclude_each_other(vecadd):
    done = luthier("instrument", vecadd, "--tool", "instr_count", "-o", "/dev/null", "--check", "--no-check")
    assert done.returncode == 2 and "not allowed with" in done.stderr


@pytest.mark.parametrize("options, given", [((), "None"), (("--check",), "True"), (("--no-check",), "False")])
def test_a_wrong_placement_under_a_program_is_a_failure_of_the_tool(tmp_path, options, given):
    rocm.need("hipcc")
    (tmp_path / "fails.py").write_text(FAILS)
    done = rocm.mock(rocm.hip("kernels"), "lds", options=("--tool", f"{tmp_path}/fails.py", *options))
    assert done.returncode == 3 and f"{WRONG}{given}\n" in done.stderr, (done.returncode, done.stderr)
    assert "passed" in done.stdout, "the kernel runs as it is"


def test_a_wrong_placement_under_a_program_is_raised_in_python(monkeypatch):
    rocm.need("hipcc")

    def wrong(program, plan):
        raise lt.InternalError(f"{WRONG}{plan.check}")

    monkeypatch.setattr(_core, "instrument", wrong)
    program = (rocm.hip("kernels"), "lds")
    for check in (None, True, False):
        with pytest.raises(lt.InternalError, match=f"wrong placement.*{check}$"):
            lt.trace(program, ["instr_count"], mock="gfx90a", capture=True, check=check)
