"""The memory in which agents tell of launches, written by one that need not be an agent."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import random
import socket
import struct
import threading
import time
from typing import ClassVar

import pytest
import rocm
from fake_agent import HELLO, LAUNCH, LEDGER, LOADED, Agent, join, sealed

import luthier as lt
from luthier import _core
from luthier.agent import controller as controllers
from luthier.agent.controller import LIBRARY, Controller

#: As crates/agent/src/ring.rs has it: entries that there is room for, words of each, and where there are how many were written,
#: how many were read, whether the controller sleeps, and the first entry.
ROOM, WORDS = 2048, 16
WRITTEN, READ, SLEEPS, FIRST = 0, 16, 32, 48
SIZE = 8 * (FIRST + WORDS * ROOM)
BEGINS, ENDS = 1, 2
WAKE = struct.pack("<Q", 3)
#: Messages that a :class:`Teller` has said when it tells of its first launch.
SAID = 4


class Hears(lt.Tool):
    """Writes down what it hears of."""

    heard: ClassVar[list] = []

    def on_launch(self, launch):
        self.heard.append(launch)

    def on_complete(self, launch):
        self.heard.append((launch.number, launch.start, launch.end))


@pytest.fixture
def controller():
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"
    Hears.heard.clear()
    with Controller(lambda: [Hears()]) as made:
        yield made


class Teller(Agent):
    """Has loaded and launched a kernel, in slot 0, and tells of its launches."""

    def __init__(self, controller):
        super().__init__(controller)
        self.say(HELLO, LEDGER)
        assert b"welcome" in self.socket.recv(1 << 16)
        file = sealed(bytes(SIZE))
        self.memory = mmap.mmap(file, SIZE)
        self.words = memoryview(self.memory).cast("Q")
        socket.send_fds(self.socket, [b'{"message":"ring"}'], [file])
        os.close(file)
        self.say(LOADED, rocm.code_object("vecadd").read_bytes())
        address = lt.CodeObject.open(rocm.code_object("vecadd")).core.symbol("vecadd.kd")["address"]
        self.say({**LAUNCH, "kernel": address})
        assert json.loads(self.socket.recv(1 << 16)) == {"message": "original", "heard": True, "rules": []}

    def write(self, *entry, said=SAID):
        """Writes an entry; whether the controller sleeps."""
        kind, *rest = entry
        words = [kind, said, *rest]
        at = FIRST + WORDS * (self.words[WRITTEN] % ROOM)
        self.words[at : at + WORDS] = memoryview(struct.pack("<16Q", *words, *[0] * (WORDS - len(words)))).cast("Q")
        self.words[WRITTEN] += 1
        return self.words[SLEEPS] == 1

    def wake(self):
        # A controller that is awake may have seen what is wrong, and ended the connection.
        with contextlib.suppress(BrokenPipeError):
            self.socket.send(WAKE)

    def tell(self, *entry, said=SAID):
        """Tells of something as agents do."""
        if self.write(*entry, said=said):
            self.words[SLEEPS] = 0
            self.wake()

    def asleep(self):
        until(lambda: self.words[SLEEPS] == 1)


def until(is_so):
    latest = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < latest
        time.sleep(0.0005)


PACKET = struct.unpack("<8Q", struct.pack("<HH3HH3IIIQQQQ", 0x1502, 3, 64, 2, 1, 0, 640, 4, 1, 16, 32, 7, 8, 0, 9))


def test_what_is_told_of_a_launch_is_what_tools_hear(controller):
    agent = Teller(controller)
    agent.tell(BEGINS, 0, 5, 70, 71, *PACKET)
    agent.tell(ENDS, 0, 5, 100, 1 << 63)
    until(lambda: len(Hears.heard) == 2)
    launch, end = Hears.heard
    assert (launch.kernel, launch.number, launch.gpu, launch.queue, launch.thread) == ("vecadd", 5, 0, 70, 71)
    assert (launch.grid, launch.block, launch.packet, launch.kernarg) == ((640, 4, 1), (64, 2, 1), PACKET, 8)
    assert not launch.is_instrumented() and not launch.can_be_instrumented
    assert end == (5, 100, 1 << 63) and (launch.start, launch.end) == (100, 1 << 63)
    assert launch == launch and "grid=(640, 4, 1)" in repr(launch) and hash(launch.packet)
    with pytest.raises(AttributeError):
        launch.grid = (1, 1, 1)
    with pytest.raises(lt.ToolError, match="decides = True"):
        launch.change(grid=(1, 1, 1))
    assert agent.words[READ] == 2


def test_launches_are_heard_without_a_message_until_the_controller_sleeps(controller):
    agent = Teller(controller)
    agent.asleep()
    assert agent.write(BEGINS, 0, 0)
    time.sleep(0.05)
    assert not Hears.heard  # it was not woken
    agent.wake()
    until(lambda: len(Hears.heard) == 1)
    for number in range(1, 3 * ROOM):
        until(lambda: agent.words[WRITTEN] - agent.words[READ] < ROOM)
        agent.tell(BEGINS, 0, number)
    until(lambda: len(Hears.heard) == 3 * ROOM)
    assert [launch.number for launch in Hears.heard] == list(range(3 * ROOM))


def test_a_launch_waits_for_the_messages_before_it(controller):
    agent = Teller(controller)
    agent.asleep()
    agent.tell(BEGINS, 0, 0)
    agent.tell(BEGINS, 0, 1, said=SAID + 1)
    until(lambda: len(Hears.heard) == 1)
    time.sleep(0.05)
    assert len(Hears.heard) == 1 and not agent.process.ended
    agent.say({"message": "ended"})
    until(lambda: len(Hears.heard) == 2)
    assert agent.process.ended


def test_a_message_waits_for_the_launches_before_it(controller):
    class Slow(Hears):
        ended: ClassVar[list] = []

        def on_launch(self, launch):
            super().on_launch(launch)
            time.sleep(0.001)
            self.ended.append(self.app._process.ended)

    with Controller(lambda: [Slow()]) as slow:
        agent = Teller(slow)
        for number in range(100):
            agent.write(BEGINS, 0, number)
        agent.say({"message": "ended"})  # it wakes, too
        for number in range(100, 200):
            agent.write(BEGINS, 0, number, said=SAID + 1)
        until(lambda: len(Slow.ended) == 200)
    assert Slow.ended == [False] * 100 + [True] * 100


def test_a_controller_does_not_sleep_while_there_is_a_launch_to_be_taken():
    file = sealed(bytes(SIZE))
    memory = memoryview(mmap.mmap(file, SIZE)).cast("Q")
    ring = _core.Ring(file)
    os.close(file)
    assert ring.room == ROOM and ring.take(5, 9) == [] and ring.sleep(5) and memory[SLEEPS] == 1
    ring.wake()
    assert memory[SLEEPS] == 0
    memory[FIRST], memory[FIRST + 1], memory[WRITTEN] = ENDS, 6, 1
    # One behind a message that is still to come.
    assert ring.take(5, 9) == [] and ring.sleep(5) and memory[SLEEPS] == 1
    ring.wake()
    assert not ring.sleep(6) and memory[SLEEPS] == 0
    assert ring.take(6, 0) == [] and memory[READ] == 0
    assert ring.take(6, 9) == [(True, 0, 0, 0, 0, (), (), ())] and memory[READ] == 1
    assert ring.sleep(6) and memory[SLEEPS] == 1


def test_what_was_told_is_heard_when_the_process_has_gone(controller):
    agent = Teller(controller)
    for number in range(ROOM):
        agent.write(BEGINS, 0, number)
    agent.socket.close()
    controller.settle()
    assert len(Hears.heard) == ROOM and agent.process.result()["ended"] == "without notice"


@pytest.mark.parametrize(
    "entries, why",
    [
        ([(7, SAID, 0, 0)], "entry is of no known kind: 7"),
        ([(0, SAID, 0, 0)], "entry is of no known kind: 0"),
        ([(BEGINS, SAID, 0, 0), (BEGINS, SAID - 1, 0, 1)], f"told after {SAID - 1} messages comes after {SAID}"),
        ([(BEGINS, SAID, 9, 0)], "slot 9, which no tool asked for"),
        ([(BEGINS, SAID, 1 << 63, 0)], "which no tool asked for"),
        ([(ENDS, SAID, 0, 3, 1, 2)], "the launch 3 is over, and was not begun"),
        ([(BEGINS, SAID, 0, 3), (ENDS, SAID, 0, 3), (ENDS, SAID, 0, 3)], "the launch 3 is over, and was not begun"),
    ],
)
def test_an_entry_that_no_agent_writes_ends_the_connection_with_a_reason(controller, entries, why):
    agent = Teller(controller)
    for kind, said, *rest in entries:
        agent.write(kind, *rest, said=said)
    agent.wake()
    assert why in agent.trouble()
    until(lambda: agent.words[SLEEPS] == 1)  # with its next launch, an agent would learn of it
    after = Teller(controller)
    after.tell(BEGINS, 0, 77)
    until(lambda: Hears.heard and getattr(Hears.heard[-1], "number", None) == 77)


@pytest.mark.parametrize("written", [ROOM + 1, 1 << 32, (1 << 64) - 1])
def test_more_launches_than_there_is_room_for_end_the_connection(controller, written):
    agent = Teller(controller)
    agent.words[WRITTEN] = written
    agent.wake()
    assert f"there are {written} launches" in agent.trouble()


def test_launches_that_are_taken_back_end_the_connection(controller):
    agent = Teller(controller)
    agent.tell(BEGINS, 0, 0)
    until(lambda: Hears.heard)
    agent.words[WRITTEN] = 0
    agent.wake()
    assert "launches in a memory that has room for" in agent.trouble()


def test_memory_that_is_none_of_launches_is_refused(controller):
    def shared(file):
        agent = Agent(controller)
        agent.say(HELLO, LEDGER)
        agent.socket.recv(1 << 16)
        socket.send_fds(agent.socket, [b'{"message":"ring"}'], [file])
        os.close(file)
        return agent.trouble()

    assert "it has 100 bytes, and launches take" in shared(sealed(bytes(100)))
    assert "it has 0 bytes" in shared(sealed(b""))
    short = os.memfd_create("test")
    os.truncate(short, SIZE)
    assert "not sealed against being cut short" in shared(short)
    assert "no launches can be heard of" in shared(os.open("/dev/null", os.O_RDWR))
    read_only = sealed(bytes(SIZE))
    fcntl.fcntl(read_only, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    assert "no launches can be heard of" in shared(read_only)
    twice = Teller(controller)
    file = sealed(bytes(SIZE))
    socket.send_fds(twice.socket, [b'{"message":"ring"}'], [file])
    os.close(file)
    assert "there is one already" in twice.trouble()


def test_a_process_that_tells_of_launches_for_ever_is_left_alone(controller, monkeypatch):
    monkeypatch.setattr(controllers, "_GRACE", 0)
    agent, stop = Teller(controller), threading.Event()

    def tell():
        number = 0
        while not stop.is_set():
            if agent.words[WRITTEN] - agent.words[READ] < ROOM:
                with contextlib.suppress(ConnectionError):
                    agent.tell(BEGINS, 0, number)
                number += 1

    thread = threading.Thread(target=tell)
    thread.start()
    try:
        until(lambda: len(Hears.heard) > ROOM)
        controller.settle()
        heard = len(Hears.heard)
        assert agent.socket.recv(1 << 16) == b""
        time.sleep(0.05)
        assert len(Hears.heard) == heard
    finally:
        stop.set()
        thread.join()
    assert [process["ended"] for process in controller.result()] == ["not yet"]


def test_random_entries_end_their_connections_and_nothing_else(controller):
    source = random.Random(1)
    few = [0, 1, 2, 3, SAID, SAID + 1, ROOM, (1 << 64) - 1, 1 << 63]
    for _ in range(int(os.environ.get("LUTHIER_AGENT_FUZZ", "200")) // 4):
        agent = Teller(controller)
        for _ in range(source.randrange(1, 20)):
            agent.write(BEGINS, 0, source.randrange(10))
        for _ in range(source.randrange(1, 6)):
            at = source.choice([WRITTEN, READ, SLEEPS, *range(FIRST, FIRST + 64)])
            agent.words[at] = source.choice([source.choice(few), source.getrandbits(64)])
        try:
            agent.wake()
            agent.say(source.choice([{"message": "ended"}, {"message": "ring"}, WAKE]))
        except ConnectionError:
            pass
        agent.socket.close()
    join(controller)
    assert any(process.trouble for process in controller.processes)
    assert all(process.error is None for process in controller.processes)
    after = Teller(controller)
    after.tell(BEGINS, 0, 1 << 40)
    until(lambda: getattr(Hears.heard[-1], "number", None) == 1 << 40)


def test_no_launch_is_left_while_the_controller_goes_to_sleep(controller):
    """One at a time, about as far apart as the controller waits before it sleeps."""
    source, agent = random.Random(2), Teller(controller)
    for number in range(1500):
        agent.tell(BEGINS, 0, number)
        until(lambda number=number: len(Hears.heard) == number + 1)
        pause = time.perf_counter() + source.uniform(0.0005, 0.0013)
        while time.perf_counter() < pause:
            pass
