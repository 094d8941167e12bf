"""Launches that tools hear of while the program goes on: in their order among all that is heard, and all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest
import rocm

import luthier as lt
from luthier.agent.controller import LIBRARY


@pytest.fixture(scope="module", autouse=True)
def runtime():
    rocm.need("hipcc")
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"


#: Launches that there is room for (crates/agent/src/ring.rs).
ROOM = 2048


class Hears(lt.Tool):
    """Writes down what all of its instances hear of."""

    heard: ClassVar[list[tuple]]
    #: Seconds that it takes to hear of a launch.
    takes: ClassVar[float] = 0

    def on_launch(self, launch):
        time.sleep(self.takes)
        self.heard.append(("launch", self.app.pid, launch.number, launch.thread, launch.queue))

    @classmethod
    def numbers(cls, what, pid=None):
        """The numbers of launches, in the order in which they were heard of."""
        return [event[2] for event in cls.heard if event[0] == what and pid in (None, event[1])]


class HearsEnds(Hears):
    """Of ends of launches as well."""

    def on_complete(self, launch):
        self.heard.append(("end", self.app.pid, launch.number, launch.start, launch.end))


def made(base, **parts):
    """A class of its own, which has heard of nothing."""
    return type(base.__name__, (base,), {"heard": [], **parts})


def run(tool, case, words=(), **variables):
    program = [*words, str(rocm.hip("heard")), case]
    done = lt.trace(program, [tool], mock="gfx90a", env={**rocm.ENVIRONMENT, **variables}, capture=True)
    return done, {p["pid"]: sum(k["launches"] for o in p["objects"] for k in o["kernels"]) for p in done.processes}


@pytest.mark.parametrize("waits", [True, False])
def test_launches_are_heard_of_between_allocations_and_frees(waits):
    class Alternates(Hears):
        def on_allocation(self, allocation):
            if allocation.size == 0x103000:
                self.heard.append((allocation.event, self.app.pid, 0, allocation.address))

    tool = made(Alternates, waits=waits)
    done, _ = run(tool, "alternates")
    assert done.status == 0, done.stderr
    # Without waiting, the first ones run before the kernel is known.
    order = [event[0] for event in tool.heard]
    pieces = "".join({"allocated": "(", "launch": "-", "freed": ")"}[event] for event in order)
    assert pieces == "(-)" * 100 if waits else set(pieces.split(")")) <= {"(", "(-", ""} and pieces.count("(") == 100, pieces


def test_launches_are_heard_of_inside_the_calls_that_make_them():
    class Inside(HearsEnds):
        hip = ("hipLaunchKernel",)

        def on_hip(self, call):
            self.heard.append((call.phase, self.app.pid, call.number, call.thread))

    tool = made(Inside)
    done, launches = run(tool, "threads")
    assert done.status == 0, done.stderr
    assert list(launches.values()) == [2000]
    threads = {event[3] for event in tool.heard if event[0] == "enter"}
    assert len(threads) == 4
    for thread in threads:
        order = [event[0] for event in tool.heard if event[0] != "end" and event[3] == thread]
        assert order == ["enter", "launch", "exit"] * 500
    begun, over = tool.numbers("launch"), tool.numbers("end")
    assert sorted(begun) == sorted(over) == list(range(2000))
    at = {(event[0], event[2]): n for n, event in enumerate(tool.heard) if event[0] in ("launch", "end")}
    assert all(at["launch", number] < at["end", number] for number in begun)


def test_a_slow_tool_holds_the_program_up_and_hears_of_all():
    count, takes = 2 * ROOM, 0.0002
    tool = made(HearsEnds, takes=takes)
    started = time.monotonic()
    done, launches = run(tool, "launches", LAUNCHES=str(count))
    assert done.status == 0, done.stderr
    assert time.monotonic() - started > count * takes and list(launches.values()) == [count]
    assert tool.numbers("launch") == list(range(count))
    assert sorted(tool.numbers("end")) == list(range(count))
    times = [event[3:] for event in tool.heard if event[0] == "end"]
    assert all(0 < start <= end for start, end in times)


@pytest.mark.parametrize("count", [1, 100, ROOM - 1, ROOM, ROOM + 1, 3000])
def test_a_program_that_is_killed_right_after_its_launches_has_told_them(count):
    tool = made(Hears, takes=0.0001)
    done, launches = run(tool, "killed", LAUNCHES=str(count))
    assert done.status == -signal.SIGKILL, done.stderr
    assert list(launches.values()) == [count] and tool.numbers("launch") == list(range(count))
    assert [p["ended"] for p in done.processes] == ["without notice"]


def test_a_program_that_is_killed_at_any_moment_has_told_what_the_ledger_counts():
    class Kills(Hears):
        """Kills the program at some launch, when others are under way."""

        at: ClassVar[int]

        def on_launch(self, launch):
            super().on_launch(launch)
            if launch.number == self.at:
                os.kill(self.app.pid, signal.SIGKILL)

    for at in range(0, 3000, 300):
        tool = made(Kills, at=at)
        done, launches = run(tool, "launches", LAUNCHES="20000")
        assert done.status == -signal.SIGKILL, done.stderr
        [counted] = launches.values()
        heard = tool.numbers("launch")
        # The last one is told before it is counted.
        assert heard == list(range(len(heard))) and len(heard) - counted in (0, 1), (at, counted, len(heard))
        assert counted >= at


def test_a_child_that_is_forked_in_between_takes_nothing_away():
    tool = made(HearsEnds)
    done, launches = run(tool, "forks")
    assert done.status == 0, done.stderr
    assert list(launches.values()) == [900]
    assert tool.numbers("launch") == list(range(900)) and sorted(tool.numbers("end")) == list(range(900))


def test_a_child_that_was_forked_before_it_used_a_gpu_tells_of_its_own_launches():
    class Both(HearsEnds):
        hip = ("hipMalloc",)  # so that the agent is there before the fork

    tool = made(Both)
    done = lt.trace([rocm.hip("devices"), "fork_before_use"], [tool], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    assert done.status == 0, done.stderr
    used = {p["pid"]: p["ended"] for p in done.processes if p["objects"]}
    # The child calls `_exit`.
    assert sorted(used.values()) == ["in the usual way", "without notice"]
    for pid in used:
        # HIP fills memory with a kernel of its own, which is not selected.
        assert tool.numbers("launch", pid) == tool.numbers("end", pid) == [1]


@pytest.mark.parametrize("count", [1, 2, 300])
@pytest.mark.parametrize("way", range(6))
def test_what_a_program_has_waited_for_is_told_before_it_knows(way, count):
    """It calls `_exit` as soon as it knows: by a signal of the launch's own, of a barrier behind it, of a copy, of another
    queue's barrier."""
    for _ in range(2):
        tool = made(HearsEnds)
        done, _ = run(tool, "leaves", LAUNCHES=str(count), WAY=str(way))
        assert done.status == 0 and "passed" in done.stdout, done.stderr
        [process] = done.processes
        assert process["ended"] == "without notice"
        # HIP 7 copies by a kernel of its own, which is not selected.
        told = [(k["launches"], k["unfinished"]) for o in process["objects"] for k in o["kernels"] if "unfinished" in k]
        assert told == [(count, 0)]
        assert tool.numbers("launch") == list(range(count)) and sorted(tool.numbers("end")) == list(range(count))


def test_launches_are_heard_of_when_the_runtime_is_started_again():
    tool = made(HearsEnds)
    environment = {**rocm.ENVIRONMENT, "MODULE": str(rocm.code_object("vecadd")), "LAUNCHES": "300", "ROUNDS": "3"}
    done = lt.trace([rocm.host("dispatch")], [tool], mock="gfx90a", env=environment, capture=True)
    assert done.status == 0 and done.stdout == "1024 elements, 0 packets\n" * 3, done.stderr
    assert [k["launches"] for p in done.processes for o in p["objects"] for k in o["kernels"]] == [300] * 3
    assert tool.numbers("launch") == list(range(900)) and sorted(tool.numbers("end")) == list(range(900))


def test_two_processes_are_heard_at_a_time():
    tool = made(HearsEnds)
    program = rocm.hip("heard")
    script = f"{program} launches & {program} launches & wait"
    done = lt.trace(["sh", "-c", script], [tool], mock="gfx90a", env=rocm.ENVIRONMENT, capture=True)
    assert done.status == 0 and done.stdout.count("passed") == 2, done.stderr
    assert len(done.processes) == 2
    for process in done.processes:
        assert tool.numbers("launch", process["pid"]) == list(range(5000))
        assert sorted(tool.numbers("end", process["pid"])) == list(range(5000))


def test_a_program_goes_on_when_a_tool_fails_while_it_waits_for_room():
    class Fails(Hears):
        def on_launch(self, launch):
            super().on_launch(launch)
            if launch.number == 50:
                time.sleep(0.3)  # so that there is no room any more
                raise ZeroDivisionError("on purpose")

    tool = made(Fails, takes=0.001)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run(tool, "launches", LAUNCHES="9000")
    assert tool.numbers("launch") == list(range(51))


TOOL = """
import pathlib
import luthier as lt

class Listens(lt.Tool):
    def on_launch(self, launch):
        if launch.number == 20:
            pathlib.Path({mark!r}).touch()
"""


@pytest.mark.parametrize("more", [1000, 5000])
def test_a_program_whose_controller_is_killed_says_so_and_goes_on(tmp_path, more):
    """Be there room for the launches that follow or not."""
    mark, settings, end = (tmp_path / name for name in ("mark", "settings", "end"))
    (tmp_path / "tool.py").write_text(TOOL.format(mark=str(mark)))
    command = [sys.executable, "-m", "luthier", "trace", "--mock", "gfx90a", "--tool", str(tmp_path / "tool.py")]
    controller = subprocess.Popen([*command, "--serve", str(settings)], env=rocm.ENVIRONMENT)
    script = f'. {settings}; exec "$0" goes_on'
    try:
        until(settings.exists, controller)
        environment = {**rocm.ENVIRONMENT, "FILE": str(end), "LAUNCHES": str(more)}
        program = subprocess.Popen(
            ["sh", "-c", script, str(rocm.hip("heard"))],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(mark.exists, program)
        controller.kill()
        controller.wait()
        end.touch()
        out, said = program.communicate(timeout=60)
    finally:
        controller.kill()
        controller.wait()
    assert program.returncode == 0 and "passed" in out
    assert said.count("luthier: the controller is lost (it has ended): the program goes on") == 1, said


def until(is_so, process):
    latest = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None and time.monotonic() < latest
        time.sleep(0.01)
