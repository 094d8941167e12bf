"""What tools over programs cost. Empty where Debian's ROCm is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from inputs import ROOT, WORK

import luthier as lt
from luthier import TracedProgram

DRIVER = ROOT / "python/luthier/driver"


class Nothing(lt.Tool):
    """Inserts nothing: the agent is there, and that is all."""


class Filtered(lt.Tool):
    """A function that stays wrapped, and is not wanted after its first call."""

    hsa = ("hsa_signal_load_relaxed",)
    hip = ("hipGetLastError",)

    def on_hsa(self, call):
        assert self.app is not None
        wishes = self.app._process.wishes.map
        wishes[:] = bytes(len(wishes))

    def on_hip(self, call):
        pass


class Enters(lt.Tool):
    """Hears of calls before they are made, and does nothing about it."""

    hsa = ("hsa_signal_load_relaxed",)
    phases: tuple[str, ...] = ("enter",)

    def on_hsa(self, call):
        pass


class EntersAndExits(Enters):
    """Before and after."""

    phases = ("enter", "exit")


def _program(name: str) -> Path:
    out = WORK / name
    source = str(ROOT / f"tests/hip/{name}.hip")
    command = ["hipcc", "-std=c++17", "-O3", "-w", "--offload-arch=gfx90a", source, "-o", str(out), "-lhsa-runtime64"]
    subprocess.run(command, check=True, env={**os.environ, "HIP_PLATFORM": "amd"})
    return out


def _numbers(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if not line.endswith("passed"))
    return {name: float(number) for name, number, _ in lines}


def _plain(program: Path, case: str, **variables: str) -> dict[str, float]:
    environment = {**os.environ, "LUTHIER_MOCK": "gfx90a", "LD_LIBRARY_PATH": str(DRIVER), **variables}
    done = subprocess.run([program, case], check=True, capture_output=True, text=True, env=environment)
    return _numbers(done.stdout)


def _traced(program: Path, case: str, *tools: str | type[lt.Tool], **variables: str) -> dict[str, float]:
    environment = {**os.environ, **variables}
    done: TracedProgram = lt.trace([program, case], tools, mock="gfx90a", env=environment, capture=True)
    if done.status or done.stdout is None:
        raise RuntimeError(f"{program} {case} has the status {done.status}: {done.stderr}")
    return _numbers(done.stdout)


def _whole(program: Path, *options: str) -> float:
    """Seconds of ``luthier trace`` from its start to its end, with Python's code compiled, as installed packages have it."""
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", *options, "--", program, "vecadd"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def measured() -> dict[str, dict]:
    if shutil.which("hipcc") is None:
        return {}  # bench/driver.py has said so
    program, speed = _program("agent_speed"), _program("speed")
    plain, wrapped = _plain(program, "calls"), _traced(program, "calls", Filtered)
    few = {"CALLS": "2000"}
    enters = _traced(program, "calls", Enters, **few)["call"] / 1e3
    both = _traced(program, "calls", EntersAndExits, **few)["call"] / 1e3
    pairs = [(_plain(program, "launches"), _traced(program, "launches", Nothing)) for _ in range(5)]
    alone, watched = (min(pair[i]["launches"] for pair in pairs) for i in range(2))
    counted = min(_traced(program, "launches", "instr_count")["launches"] for _ in range(3))
    # In turns, so that other work on the machine lengthens both alike.
    starts = [(_plain(program, "first"), _traced(program, "first", "instr_count")) for _ in range(5)]
    unwatched, first_of_all = (min(start[i]["first_of_all_0"] for start in starts) for i in range(2))
    turns = [(_whole(speed), _whole(speed, "--tool", "instr_count")) for _ in range(5)]
    without, with_ = (min(turn[i] for turn in turns) for i in range(2))

    def row(ours: float, other: float, unit: str, against: str) -> dict:
        return {"ours": ours, "other": other, "ratio": other / ours, "unit": unit, "against": against, "least": 1}

    return {
        "agent: HSA call, wrapped and not wanted": row(wrapped["call"], plain["call"] + 50, "ns", "50 ns more than unwrapped"),
        "agent: HIP call, not wanted": row(wrapped["hip_call"], plain["hip_call"] + 50, "ns", "50 ns more than unwrapped"),
        "agent: call that reaches Python, before it": row(enters, 30, "us", "the target"),
        "agent: the same, before and after": row(both, 60, "us", "the target, twice"),
        "agent: 10,000 launches, no tool's": row(watched, 1.03 * alone, "ms", "1.03 x without the agent"),
        "agent: 10,000 launches, instr_count": row(counted, 2 * alone, "ms", "2 x without the agent"),
        "agent: first launch of a kernel": row(min(start[1]["first_0"] for start in starts), 30, "ms", "the target"),
        "agent: first launch of all": {
            "ours": first_of_all, "other": unwatched, "ratio": unwatched / first_of_all, "unit": "ms",
            "against": "without the agent",
        },
        "agent: instr_count, whole process": row(with_ * 1e3, 1.2 * without * 1e3, "ms", "1.2 x without a tool"),
    }  # fmt: skip
