"""What the controller makes of messages that no agent sends: it ends the connection with a reason, and nothing else."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import time

import pytest
import rocm

import luthier as lt
from luthier.agent.controller import LIBRARY, Controller

HELLO = {"message": "hello", "version": 1, "pid": 1, "parent": 1, "program": "test"}
LOADED = {"message": "loaded", "object": 1, "gpu": {"agent": 1, "name": "gfx90a"}, "number": 0, "base": 0, "uri": "x"}
LAUNCH = {"message": "launch", "object": 1, "kernel": 0, "slot": 0, "grid": [1, 1, 1], "block": [1, 1, 1]}


class Quiet(lt.Tool):
    """Counts waves, and hears of no launches."""

    count = lt.DeviceArray(lt.u64, 1)

    @lt.hook
    def bump(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.count)


@pytest.fixture
def controller():
    assert LIBRARY.exists(), "`make driver` builds the agent, and so does `make setup`"
    with Controller(lambda: [Quiet()]) as made:
        yield made


class Agent:
    """Says what it is told to."""

    def __init__(self, controller):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        known = len(controller.processes)
        self.socket.connect(controller.path)
        while len(controller.processes) == known:
            time.sleep(0.001)
        self.process = controller.processes[known]

    def say(self, what, contents=None):
        data = what if isinstance(what, bytes) else json.dumps(what).encode()
        file = None
        if contents is not None:
            file = os.memfd_create("test")
            os.write(file, contents)
        try:
            socket.send_fds(self.socket, [data], [] if file is None else [file])
        finally:
            if file is not None:
                os.close(file)

    def trouble(self) -> str:
        """Why the connection was ended."""
        while self.socket.recv(1 << 16):
            pass
        return self.process.trouble


def test_the_socket_is_this_users_alone(controller):
    assert stat.S_IMODE(os.stat(os.path.dirname(controller.path)).st_mode) == 0o700


@pytest.mark.parametrize(
    "messages, why",
    [
        ([(b"nonsense", None)], "no JSON"),
        ([(b"[" * 50000, None)], "no JSON"),
        ([(b"x" * 65537, None)], "too long"),
        ([({"message": "launch"}, None)], "has the parts"),
        ([({"message": "unheard"}, None)], "of no known kind"),
        ([({**HELLO, "version": 99}, bytes(16))], "version 99"),
        ([(HELLO, None)], "version 1"),
        ([(HELLO, b"")], "cannot be mapped"),
        ([({**HELLO, "pid": -1}, bytes(16))], "pid=-1"),
        ([({**HELLO, "pid": True}, bytes(16))], "pid=True"),
        ([(LAUNCH, None)], "instead of hello"),
        ([(HELLO, bytes(16)), (LAUNCH, None)], "which is not loaded"),
        ([(HELLO, bytes(16)), (LOADED, b"x"), (LOADED, b"x")], "loaded twice"),
        ([(HELLO, bytes(16)), (LOADED, b"x"), ({**LAUNCH, "slot": 1}, None)], "which is not loaded"),
        ([(HELLO, bytes(16)), ({**LAUNCH, "grid": [1, 2]}, None)], "grid="),
        ([(HELLO, bytes(16)), ({"message": "launched", "slot": 0, "grid": [1, 1, 1], "block": [1, 1, 1]}, None)], "slot 0"),
        ([(HELLO, bytes(16)), (LOADED, b"x"), (LAUNCH, None), (LAUNCH, None)], "comes again"),
        ([(HELLO, bytes(16)), ({"message": "done"}, None)], "when nothing was asked"),
        ([(HELLO, bytes(16)), ({**LOADED, "gpu": {}}, b"x")], "no known GPU"),
    ],
)
def test_a_message_that_no_agent_sends_ends_the_connection_with_a_reason(controller, messages, why):
    agent = Agent(controller)
    for message, contents in messages:
        agent.say(message, contents)
    assert why in agent.trouble()
    after = Agent(controller)
    after.say(HELLO, bytes(16))
    assert json.loads(after.socket.recv(1 << 16)) == {"message": "welcome", "version": 1, "every_launch": False}


def test_a_code_object_that_is_none_is_not_instrumented_and_says_why(controller):
    agent = Agent(controller)
    agent.say(HELLO, bytes(16))
    agent.socket.recv(1 << 16)
    agent.say(LOADED, b"no ELF file")
    agent.say(LAUNCH)
    assert json.loads(agent.socket.recv(1 << 16)) == {"message": "original"}
    [kernel] = agent.process.objects[1].kernels.values()
    assert kernel.why and not kernel.reports


def test_a_process_that_ends_while_it_is_asked_has_ended_without_notice(controller):
    agent = Agent(controller)
    agent.say(HELLO, bytes(16))
    agent.socket.recv(1 << 16)
    agent.say(LOADED, rocm.code_object("vecadd").read_bytes())
    agent.say({**LAUNCH, "kernel": lt.CodeObject.open(rocm.code_object("vecadd")).core.symbol("vecadd.kd")["address"]})
    assert json.loads(agent.socket.recv(1 << 16))["message"] == "allocate"
    agent.socket.close()
    for thread in controller._threads:
        thread.join(20)
    assert agent.process.trouble is None and agent.process.result()["ended"] == "without notice"


def test_random_messages_end_their_connections_and_nothing_else(controller):
    source = random.Random(1)
    parts = [HELLO, LOADED, LAUNCH, {"message": "ended"}, {"message": "allocated", "address": 1}]
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        agent = Agent(controller)
        try:
            agent.say(HELLO, bytes(64))
            for _ in range(source.randrange(1, 6)):
                data = bytearray(json.dumps(source.choice(parts)).encode())
                for _ in range(source.randrange(3)):
                    data[source.randrange(len(data))] = source.randrange(256)
                agent.say(bytes(data), source.choice([None, b"\x7fELF" + source.randbytes(60)]))
        except ConnectionError:
            pass
        agent.socket.close()
    for thread in controller._threads:
        thread.join(20)
        assert not thread.is_alive()
    del agent
    assert len(os.listdir("/proc/self/fd")) <= files + 2 * sum(len(p.objects) + 1 for p in controller.processes)
    after = Agent(controller)
    after.say(HELLO, bytes(16))
    assert b"welcome" in after.socket.recv(1 << 16)
