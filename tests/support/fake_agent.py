"""An agent that says what it is told to, true or not."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time

from luthier.agent.functions import functions
from luthier.agent.wire import VERSION

FUNCTIONS = len(functions())
HELLO = {"message": "hello", "version": VERSION, "functions": FUNCTIONS, "pid": 1, "parent": 1, "program": "test"}
GPU = {"agent": 1, "name": "gfx90a"}
LOADED = {
    "message": "loaded", "object": 1, "executable": 1, "gpu": GPU, "number": 0, "base": 0, "start": 0, "size": 0, "uri": "x",
}  # fmt: skip
LAUNCH = {"message": "launch", "object": 1, "kernel": 0, "slot": 0}
#: Two kernels' places, and that of launches of kernels that were not seen.
LEDGER = bytes(96)


def sealed(contents):
    """A file as agents make them."""
    file = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(file, contents)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return file


def join(controller):
    """Waits until the controller has done with all processes that have connected."""
    for thread in controller._threads:
        thread.join(20)
        assert not thread.is_alive()


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
        pieces = [] if contents is None else [contents]
        if pieces and isinstance(what, dict) and what["message"] == "hello":
            pieces.append(bytes(4 * FUNCTIONS))  # a word for each function
        files = [sealed(piece) for piece in pieces]
        try:
            socket.send_fds(self.socket, [data], files)
        finally:
            for file in files:
                os.close(file)

    def trouble(self) -> str:
        """Why the connection was ended."""
        with contextlib.suppress(ConnectionResetError):  # if something that was said was not heard
            while self.socket.recv(1 << 16):
                pass
        return self.process.trouble
