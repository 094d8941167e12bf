"""Messages between the agent and the controller: JSON, one a datagram, with open files beside it for what is large."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from typing import Any

from ..errors import LuthierError

#: Both sides have to be of one version.
VERSION = 4
_LONGEST = 64 << 10
_MOST_FILES = 2

#: What the agent may say, with the types of its parts. Numbers have 64 bits, lists are of them.
_SAID: dict[str, dict[str, type]] = {
    "hello": {"version": int, "functions": int, "pid": int, "parent": int, "program": str},
    "runtime": {"gpus": list},
    "loaded": {
        "object": int, "executable": int, "gpu": dict, "number": int, "base": int, "start": int, "size": int, "uri": str,
    },
    "unloaded": {"object": int},
    "launch": {"object": int, "kernel": int, "slot": int},
    "launched": {"slot": int, "number": int, "packet": list},
    "deciding": {"slot": int, "number": int, "packet": list, "instrumented": bool},
    "completed": {"slot": int, "number": int, "start": int, "end": int},
    "calling": {"call": int, "function": int, "thread": int, "words": list},
    "called": {
        "call": int, "function": int, "thread": int, "words": list, "result": int, "pointees": list, "answer": bool,
    },
    "contents": {},
    "allocated": {"address": int},
    "failed": {"reason": str},
    "done": {},
    "ended": {},
}  # fmt: skip


class WireError(LuthierError):
    """The other side says something that it should not: the connection ends."""


class Gone(WireError):
    """The other side has ended while something was asked of it."""


class Wire:
    """One connection to an agent."""

    def __init__(self, connection: socket.socket):
        self._socket = connection

    def check_user(self) -> None:
        """Complains of a process of another user's."""
        raw = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", raw)
        if uid != os.geteuid():
            raise WireError(f"a process of user {uid} has connected: this is user {os.geteuid()}")

    def say(self, message: str, file: int | None = None, **parts: Any) -> None:
        """Says something, with a file. That nobody listens any more is noticed when an answer is waited for."""
        data = json.dumps({"message": message, **parts}).encode()
        with contextlib.suppress(ConnectionError):
            if file is None:
                self._socket.send(data)
            else:
                socket.send_fds(self._socket, [data], [file])

    def hear(self) -> tuple[dict[str, Any], list[int]] | None:
        """What is said, and the files that come with it, which are the caller's to close; None at the end."""
        try:
            data, files, flags, _ = socket.recv_fds(self._socket, _LONGEST + 1, _MOST_FILES)
        except ConnectionError:
            return None
        try:
            if not data:
                return None
            if len(data) > _LONGEST or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise WireError("a message is too long")
            taken, files = files, []
            try:
                return _checked(data), taken
            except BaseException:
                files = taken
                raise
        finally:
            close(files)

    def close(self) -> None:
        self._socket.close()


def close(files: list[int]) -> None:
    """Closes files that nobody wants."""
    for file in files:
        os.close(file)


def _checked(data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message is no JSON: {error}") from None
    if not isinstance(said, dict) or not isinstance(said.get("message"), str) or said["message"] not in _SAID:
        raise WireError("a message is of no known kind")
    parts = _SAID[said["message"]]
    if said.keys() != {"message", *parts}:
        raise WireError(f"the message {said['message']} has the parts {', '.join(sorted(map(repr, said.keys())))}")
    for name, kind in parts.items():
        value = said[name]
        if type(value) is not kind or isinstance(value, int) and kind is int and not 0 <= value < 1 << 64:
            raise WireError(f"the message {said['message']} has {name}={value!r:.40}")
        if isinstance(value, list) and name != "gpus" and not all(type(n) is int and 0 <= n < 1 << 64 for n in value):
            raise WireError(f"the message {said['message']} has {name}={value!r:.80}")
    if "packet" in parts and len(said["packet"]) != 8:
        raise WireError(f"a launch has a packet of {len(said['packet'])} words")
    for gpu in [said["gpu"]] if "gpu" in parts else said.get("gpus", ()):
        if not isinstance(gpu, dict) or gpu.keys() != {"agent", "name"} or not isinstance(gpu["name"], str):
            raise WireError("a GPU is described as no agent does")
    return said
