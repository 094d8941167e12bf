"""The programs of tests/hip on both runtimes and sixteen processors, a program and a processor at a time. A deep run:
``LUTHIER_RUNTIMES=1``, or the runtimes and processors that are to be tried, ``LUTHIER_RUNTIMES=7:gfx942,7:gfx1201``. With
``LUTHIER_RUNTIMES_RESULTS=FILE`` what came out is kept there, and what passed or was refused is not run again, so that a run
which is stopped can go on; `tools/runtimes-page FILE` makes docs/audit/runtimes.md of it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rocm
from hip_programs import CASES

PROCESSORS = {
    "5": ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx90c", "gfx1010", "gfx1030", "gfx1035"),
    "7": ("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201"),
}
WANTED = os.environ.get("LUTHIER_RUNTIMES", "")
ALL = [f"{runtime}:{target}" for runtime, targets in PROCESSORS.items() for target in targets]
#: What stops a program, by its name, the runtime and the beginnings of processors' names.
REFUSED = {
    ("arrays", "7"): {
        "gfx94": "operation not supported",
        "gfx95": "operation not supported",
    },
}


def built(runtime: str, name: str, target: str) -> Path:
    return rocm.hip7(name, (target,)) if runtime == "7" else rocm.hip(name, "O3", (target,))


def refusal(name: str, runtime: str, target: str) -> str | None:
    """What is said where the runtime refuses a program's cases by name."""
    refused = REFUSED.get((name, runtime), {})
    return next((said for start, said in refused.items() if target.startswith(start)), None)


class Kept:
    """What came out of each case, in a file if there is to be one."""

    def __init__(self, one: str):
        self.one = one
        self.path = Path(os.environ.get("LUTHIER_RUNTIMES_RESULTS") or os.devnull)
        text = self.path.read_text() if self.path.exists() else ""
        self.all = json.loads(text) if text else {}
        self.mine = self.all.setdefault(one, {})

    def knows(self, case: str) -> bool:
        return self.mine.get(case) in ("passed", "refused")

    def put(self, case: str, outcome: str) -> None:
        self.mine[case] = outcome
        new = self.path.with_suffix(".new")
        if self.path != Path(os.devnull):
            new.write_text(json.dumps(self.all, indent=0))
            new.replace(self.path)


def outcome_of(runtime: str, target: str, name: str, case: str, program: Path) -> tuple[str, str]:
    """`passed`, `refused` or `failed`, and what was said where it is the last."""
    module = str(rocm.code_object("vecadd", target))
    try:
        done = rocm.mock(program, case, target=f"{target},2", MODULE=module)
    except subprocess.TimeoutExpired:
        return "failed", f"no end within {rocm.TIMEOUT} s"
    said = refusal(name, runtime, target)
    if said is not None and done.returncode != 0 and said in done.stderr:
        return "refused", ""
    if said is None and done.returncode == 0 and f"{case}: passed" in done.stdout:
        return "passed", ""
    return "failed", f"status {done.returncode}: {done.stderr[-600:]}"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("one", ALL if WANTED in ("", "1") else WANTED.split(","))
def test_every_case_has_right_results_or_is_refused_by_name(one, name):
    if not WANTED:
        pytest.skip("a deep run: LUTHIER_RUNTIMES=1 runs tests/hip on both runtimes and sixteen processors")
    runtime, target = one.split(":")
    if runtime == "5":
        rocm.need("hipcc")
    kept, failed = Kept(one), {}
    left = [case for case in CASES[name] if not kept.knows(f"{name} {case}")]
    program = built(runtime, name, target) if left else Path()
    for case in left:
        outcome, why = outcome_of(runtime, target, name, case, program)
        kept.put(f"{name} {case}", outcome)
        if outcome == "failed":
            failed[case] = why
    assert not failed, failed


@pytest.mark.parametrize("runtime", PROCESSORS)
def test_processes_that_are_killed_leave_nothing_and_disturb_no_other(runtime):
    """Processes die by SIGKILL at any time of their lives, two at once, while a third has to end well.
    A deep run: ``LUTHIER_DRIVER_KILLS=300``."""
    kills = int(os.environ.get("LUTHIER_DRIVER_KILLS", "0"))
    if not kills:
        pytest.skip("a deep run: LUTHIER_DRIVER_KILLS=300 kills as many pairs of processes")
    if runtime == "5":
        rocm.need("hipcc")
    programs = {name: built(runtime, name, "gfx90a") for name in ("streams", "memory", "kernels")}
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a,2", "--"]

    def left() -> set[str]:
        # Python's multiprocessing has semaphores there, of tests that run meanwhile.
        return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")}

    random.seed(1)
    before, groups = left(), []
    for n in range(kills):
        name, case = ("streams", "threads") if n % 2 else ("memory", "many_allocations")
        words = [*command, str(programs[name]), case]
        doomed = [
            subprocess.Popen(
                words, env=rocm.ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            for _ in range(2)
        ]
        time.sleep(random.uniform(0, 1.5))
        for process in doomed:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            groups.append(process.pid)
        if n % 10 == 0:
            assert "lds: passed" in rocm.passes(programs["kernels"], "lds")
    time.sleep(0.5)
    alive = [group for group in groups if _is_alive(group)]
    assert alive == [] and left() <= before


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
