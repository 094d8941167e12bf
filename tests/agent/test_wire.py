"""What the controller makes of messages that no agent sends: it ends the connection with a reason, and nothing else."""

from __future__ import annotations

import json
import os
import random
import resource
import socket
import stat
import struct
import time

import pytest
import rocm
from fake_agent import FUNCTIONS, HELLO, LAUNCH, LEDGER, LOADED, Agent, join, sealed

import luthier as lt
from luthier.agent import controller as controllers
from luthier.agent.controller import LIBRARY, Controller
from luthier.agent.shared import Memory, Variables
from luthier.agent.wire import VERSION

LEFT = {**LAUNCH, "message": "left"}
DECIDING = {
    "message": "deciding", "slot": 0, "number": 0, "packet": [0] * 8, "queue": 1, "thread": 1, "instrumented": True,
}  # fmt: skip
COMPLETED = {"message": "completed", "slot": 0, "number": 0, "start": 0, "end": 0}
#: Not a message, but what has the controller look for launches.
WAKE = struct.pack("<Q", 3)
#: Call, function, thread, and the arguments' words; with the result, whether an answer is wanted, and how many words there are.
CALLING = struct.pack("<13Q", 1, 0, 7, 1, 8, *[0] * 8)
CALLED = struct.pack("<16Q", 2, 0, 7, 1, 0, 0, 8, 0, *[0] * 8)


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


def test_the_socket_is_this_users_alone_and_in_no_folder(controller):
    folder = os.path.dirname(controller.path)
    assert folder == f"/proc/{os.getpid()}/fd" and not stat.S_IMODE(os.stat(folder).st_mode) & 0o077
    assert stat.S_ISSOCK(os.stat(controller.path).st_mode) and os.stat(controller.path).st_nlink == 0


@pytest.mark.parametrize(
    "messages, why",
    [
        ([(b"nonsense", None)], "no JSON"),
        ([(b"[" * 50000, None)], "no JSON"),
        ([(b"x" * 65537, None)], "too long"),
        ([({"message": "launch"}, None)], "has the parts"),
        ([(HELLO, LEDGER), (LEFT, None)], "which is not loaded"),
        ([(HELLO, LEDGER), (LOADED, b"x"), (LEFT, None), (LEFT, None)], "comes again"),
        ([({"message": "unheard"}, None)], "of no known kind"),
        ([({**HELLO, "version": 99}, LEDGER)], "version 99"),
        ([({**HELLO, "functions": 1}, LEDGER)], "with 1 functions"),
        ([(HELLO, None)], f"this is version {VERSION}"),
        ([(HELLO, b"")], "cannot be mapped"),
        ([({**HELLO, "pid": -1}, LEDGER)], "pid=-1"),
        ([({**HELLO, "pid": True}, LEDGER)], "pid=True"),
        ([(LAUNCH, None)], "instead of hello"),
        ([(HELLO, LEDGER), (LAUNCH, None)], "which is not loaded"),
        ([(HELLO, LEDGER), (LOADED, b"x"), (LOADED, b"x")], "loaded twice"),
        ([(HELLO, LEDGER), (LOADED, b"x"), ({**LAUNCH, "slot": 99}, None)], "which is not loaded"),
        ([(HELLO, LEDGER), (LOADED, b"x"), ({**LAUNCH, "slot": 2}, None)], "which is not loaded"),
        ([(HELLO, LEDGER), ({**DECIDING, "packet": [1, 2]}, None)], "a packet of 2 words"),
        ([(HELLO, LEDGER), ({**DECIDING, "packet": [1, -2]}, None)], "packet="),
        ([(HELLO, LEDGER), (DECIDING, None)], "slot 0"),
        ([(HELLO, LEDGER), (COMPLETED, None)], "slot 0"),
        ([(HELLO, LEDGER), ({**COMPLETED, "answer": False}, None)], "has the parts"),
        ([(HELLO, LEDGER), ({"message": "ring"}, None)], "when nothing was asked"),
        ([(HELLO, LEDGER), (WAKE[:-1], None)], "no JSON"),
        ([(WAKE, None)], "instead of hello"),
        ([(HELLO, LEDGER), (CALLING, None)], "which no tool asked for"),
        ([(HELLO, LEDGER), (CALLED, None)], "which no tool asked for"),
        ([(HELLO, LEDGER), (CALLING[:-1], None)], "no words of one: 103 bytes"),
        ([(HELLO, LEDGER), (CALLING[:24], None)], "no words of one: 24 bytes"),
        ([(HELLO, LEDGER), (b"\1\1" + CALLING[2:], None)], "no words of one"),
        ([(HELLO, LEDGER), (CALLING[:32] + struct.pack("<Q", 9) + CALLING[40:], None)], "no words of one"),
        ([(HELLO, LEDGER), (CALLED[:-8], None)], "no words of one"),
        ([(HELLO, LEDGER), (CALLED[:56] + struct.pack("<Q", 1) + CALLED[64:], None)], "no words of one"),
        ([(HELLO, LEDGER), (CALLED[:40] + struct.pack("<Q", 2) + CALLED[48:], None)], "no words of one"),
        ([(CALLING, None)], "instead of hello"),
        ([(HELLO, LEDGER), ({"message": "unloaded", "object": 3}, None)], "was not loaded"),
        ([(HELLO, LEDGER), ({"message": "runtime", "gpus": [{}]}, None)], "as no agent does"),
        ([(HELLO, LEDGER), (LOADED, b"x"), (LAUNCH, None), (LAUNCH, None)], "comes again"),
        ([(HELLO, LEDGER), ({"message": "done"}, None)], "when nothing was asked"),
        ([(HELLO, LEDGER), ({**LOADED, "gpu": {}}, b"x")], "as no agent does"),
    ],
)
def test_a_message_that_no_agent_sends_ends_the_connection_with_a_reason(controller, messages, why):
    agent = Agent(controller)
    for message, contents in messages:
        agent.say(message, contents)
    assert why in agent.trouble()
    after = Agent(controller)
    after.say(HELLO, LEDGER)
    assert json.loads(after.socket.recv(1 << 16)) == {
        "message": "welcome", "version": VERSION, "every_launch": False, "decide": False, "complete": False, "hold": False, "wait": True, "wrap": [],
    }  # fmt: skip


def test_files_that_cannot_be_opened_are_told_as_such(controller):
    agent = Agent(controller)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = [sealed(LEDGER), sealed(bytes(4 * FUNCTIONS))]
    free = os.dup(0)
    os.close(free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        socket.send_fds(agent.socket, [json.dumps(HELLO).encode()], files)
        while agent.process.trouble is None:
            time.sleep(0.001)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert "open (ulimit -n)" in agent.trouble()
    for file in files:
        os.close(file)


def test_more_files_than_a_message_has_are_told_as_such(controller):
    agent = Agent(controller)
    files = [sealed(LEDGER) for _ in range(3)]
    socket.send_fds(agent.socket, [json.dumps(HELLO).encode()], files)
    assert "more than 2 files" in agent.trouble()
    for file in files:
        os.close(file)


def test_a_file_that_may_be_cut_short_is_refused(controller):
    agent = Agent(controller)
    files = [os.memfd_create("test"), sealed(bytes(4 * FUNCTIONS))]
    os.write(files[0], LEDGER)
    socket.send_fds(agent.socket, [json.dumps(HELLO).encode()], files)
    os.truncate(files[0], 0)
    assert "cannot be mapped: it is not sealed" in agent.trouble()
    for file in files:
        os.close(file)


def test_a_code_object_that_is_none_is_not_instrumented_and_says_why(controller):
    agent = Agent(controller)
    agent.say(HELLO, LEDGER)
    agent.socket.recv(1 << 16)
    agent.say(LOADED, b"no ELF file")
    agent.say(LAUNCH)
    assert json.loads(agent.socket.recv(1 << 16)) == {"message": "original", "heard": False, "rules": []}
    [kernel] = agent.process.objects[1].kernels.values()
    assert kernel.why and not kernel.reports


def test_a_kernel_without_a_place_of_its_own_is_left_alone_and_says_so(controller):
    agent = Agent(controller)
    agent.say(HELLO, LEDGER)
    agent.socket.recv(1 << 16)
    agent.say(LOADED, b"x")
    agent.say({**LAUNCH, "slot": len(LEDGER) // 32 - 2})
    assert json.loads(agent.socket.recv(1 << 16)) == {"message": "original", "heard": False, "rules": []}
    [kernel] = agent.process.objects[1].kernels.values()
    assert "more kernels than are counted" in kernel.why and kernel.result(agent.process.ledger)["launches"] is None


def test_a_process_that_ends_while_it_is_asked_has_ended_without_notice(controller):
    agent = Agent(controller)
    agent.say(HELLO, LEDGER)
    agent.socket.recv(1 << 16)
    agent.say(LOADED, rocm.code_object("vecadd").read_bytes())
    agent.say({**LAUNCH, "kernel": lt.CodeObject.open(rocm.code_object("vecadd")).core.symbol("vecadd.kd")["address"]})
    assert json.loads(agent.socket.recv(1 << 16))["message"] == "allocate"
    agent.socket.close()
    join(controller)
    assert agent.process.trouble is None and agent.process.result()["ended"] == "without notice"


def test_a_process_that_goes_on_when_the_program_has_ended_is_left_alone(controller, monkeypatch):
    monkeypatch.setattr(controllers, "_GRACE", 0)
    agent, ended = Agent(controller), Agent(controller)
    for one in (agent, ended):
        one.say(HELLO, LEDGER)
        one.socket.recv(1 << 16)
    ended.say({"message": "ended"})
    ended.socket.close()
    controller.settle()
    assert not any(thread.is_alive() for thread in controller._threads)
    assert [process["ended"] for process in controller.result()] == ["not yet", "in the usual way"]
    assert agent.socket.recv(1 << 16) == b""


def test_tools_with_one_name_are_told_apart():
    def made(answer):
        class Same(lt.Tool):
            def on_start(self, app):
                self.answer = answer

            def on_exit(self, report):
                report.result = self.answer

        return Same()

    with Controller(lambda: [made(1), made(2)]) as controller:
        agent = Agent(controller)
        agent.say(HELLO, LEDGER)
        agent.socket.recv(1 << 16)
        agent.socket.close()
        controller.settle()
        assert [process["tools"] for process in controller.result()] == [{"same": 1, "same_2": 2}]


def test_variables_are_read_while_their_memory_is_given_back():
    count = Quiet().count
    variables = Variables({"count": count})
    variables.place(Memory(sealed(bytes(variables.size))))
    count.live_in(variables, "count")
    count.write([7])
    mapped = variables._contents  # as a thread has it that is in the middle of reading
    variables.keep()
    assert mapped[:1] == b"\x07" and count.read().tolist() == [7]
    with pytest.raises(lt.ToolError, match="cannot be changed any more"):
        count.write([8])


def test_random_messages_end_their_connections_and_nothing_else(controller):
    source = random.Random(1)
    parts = [
        HELLO,
        LOADED,
        LAUNCH,
        LEFT,
        DECIDING,
        COMPLETED,
        CALLING,
        CALLED,
        WAKE,
        {"message": "ring"},
        {"message": "ended"},
        {"message": "allocated", "address": 1},
    ]
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(int(os.environ.get("LUTHIER_AGENT_FUZZ", "200"))):
        agent = Agent(controller)
        try:
            agent.say(HELLO, LEDGER)
            for _ in range(source.randrange(1, 6)):
                part = source.choice(parts)
                data = bytearray(part if isinstance(part, bytes) else json.dumps(part).encode())
                for _ in range(source.randrange(3)):
                    data[source.randrange(len(data))] = source.randrange(256)
                agent.say(bytes(data), source.choice([None, b"\x7fELF" + source.randbytes(60)]))
        except ConnectionError:
            pass
        agent.socket.close()
    join(controller)
    del agent
    assert len(os.listdir("/proc/self/fd")) <= files + 2 * sum(len(p.objects) + 2 for p in controller.processes)
    after = Agent(controller)
    after.say(HELLO, LEDGER)
    assert b"welcome" in after.socket.recv(1 << 16)
