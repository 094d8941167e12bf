"""Messages between the agent and the controller: JSON, one a datagram, with open files beside it for what is large; and words
of 64 bits for calls of functions, since a program waits for each."""

from __future__ import annotations

import array
import contextlib
import json
import os
import resource
import select
import socket
import struct
from typing import Any

from ..errors import LuthierError

#: Both sides have to be of one version.
VERSION = 12
_LONGEST = 64 << 10
_MOST_FILES = 2
_BESIDE = socket.CMSG_SPACE(_MOST_FILES * struct.calcsize("i"))
#: Plain numbers: what stands here is done at each call that a tool hears of.
_CUT_OFF, _FILES_CUT_OFF = int(socket.MSG_TRUNC), int(socket.MSG_CTRUNC)
#: All messages are written by one.
_ENCODER = json.JSONEncoder(separators=(",", ":"))

#: What the agent may say, with the types of its parts. Numbers have 64 bits, lists are of them.
_SAID: dict[str, dict[str, type]] = {
    "hello": {"version": int, "functions": int, "pid": int, "parent": int, "program": str},
    "ring": {},
    "runtime": {"gpus": list},
    "loaded": {
        "object": int, "executable": int, "gpu": dict, "number": int, "base": int, "start": int, "size": int, "uri": str,
    },
    "unloaded": {"object": int},
    "launch": {"object": int, "kernel": int, "slot": int},
    "left": {"object": int, "kernel": int, "slot": int},
    "deciding": {"slot": int, "number": int, "packet": list, "queue": int, "thread": int, "instrumented": bool},
    "begins": {"slot": int, "number": int},
    "completed": {"slot": int, "number": int, "start": int, "end": int},
    "contents": {},
    "allocated": {"address": int},
    "failed": {"reason": str},
    "done": {},
    "ended": {},
}  # fmt: skip

#: First words of what is said of calls (crates/agent/src/message.rs); no JSON begins with their first bytes.
_CALLING, _CALLED = 1, 2
#: All of a message that only wakes.
_WAKE = struct.pack("<Q", 3)
GO, SKIP, RETURN = 1, 2, 3


class WireError(LuthierError):
    """The other side says something that it should not: the connection ends."""


class Gone(WireError):
    """The other side has ended while something was asked of it."""


def too_many_files() -> WireError:
    """A file that is needed cannot be opened."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return WireError(f"no file can be opened for it: luthier may have {most} open (ulimit -n)")


class Wire:
    """One connection to an agent."""

    def __init__(self, connection: socket.socket):
        self._socket = connection
        self._room = bytearray(_LONGEST + 1)

    def check_user(self) -> int:
        """Complains of a process of another user's; gives its number."""
        raw = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, uid, _ = struct.unpack("3i", raw)
        if uid != os.geteuid():
            raise WireError(f"a process of user {uid} has connected: this is user {os.geteuid()}")
        return int(pid)

    def say(self, message: str, file: int | None = None, **parts: Any) -> None:
        """Says something, with a file. That the other side listens no more is noticed when an answer is waited for."""
        data = _ENCODER.encode({"message": message, **parts}).encode()
        try:
            if file is None:
                self._socket.send(data)
            else:
                socket.send_fds(self._socket, [data], [file])
        except ConnectionError:
            pass

    def answer(self, *words: int) -> None:
        """Answers what was said of a call: :data:`GO` with the arguments' words if they are changed, :data:`SKIP` or
        :data:`RETURN` with a result."""
        try:
            self._socket.send(struct.pack(f"<{len(words)}Q", *words))
        except ConnectionError:
            pass

    def hear(self) -> tuple[dict[str, Any], list[int]] | None:
        """What is said, and the files that come with it, which are the caller's to close; None at the end."""
        try:
            size, beside, flags, _ = self._socket.recvmsg_into([self._room], _BESIDE)
        except ConnectionError:
            return None
        files = _files(beside) if beside else []
        try:
            if not size:
                return None
            if size > _LONGEST or flags & _CUT_OFF:
                raise WireError("a message is too long")
            if flags & _FILES_CUT_OFF:
                if len(files) == _MOST_FILES:
                    raise WireError(f"more than {_MOST_FILES} files come with a message")
                raise too_many_files()
            taken, files = files, []
            try:
                data = self._room[:size]
                if data == _WAKE:
                    return {"message": "wake"}, taken
                return (_of_a_call if data[0] in (_CALLING, _CALLED) else _checked)(data), taken
            except BaseException:
                files = taken
                raise
        finally:
            close(files)

    def has_ended(self, seconds: float) -> bool:
        """Whether the other side has ended, or does within ``seconds``. What it has said may not all be heard then."""
        return self._polled(0, seconds)

    def speaks(self, seconds: float) -> bool:
        """Whether there is something to be heard, or is within ``seconds``: a message, or the end."""
        return self._polled(select.POLLIN, seconds)

    def _polled(self, events: int, seconds: float) -> bool:
        file = self._socket.fileno()
        if file < 0:
            return True
        poll = select.poll()
        poll.register(file, events)  # and for the end
        return bool(poll.poll(max(seconds, 0) * 1000))

    def leave(self) -> None:
        """Has both sides hear that the other one has ended."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()


def close(files: list[int]) -> None:
    """Closes files that are not wanted."""
    for file in files:
        os.close(file)


def _files(beside: list[tuple[int, int, bytes]]) -> list[int]:
    """The files that came with a message."""
    found = array.array("i")
    for level, kind, data in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) // found.itemsize * found.itemsize])
    return found.tolist()


def _of_a_call(data: bytearray) -> dict[str, Any]:
    count, rest = divmod(len(data), 8)
    words = [0] if rest else list(struct.unpack(f"<{count}Q", data))
    if words[0] == _CALLING and count >= 5 and words[4] <= count - 5:
        _, call, function, thread, size = words[:5]
        return {
            "message": "calling", "call": call, "function": function, "thread": thread, "words": words[5 : 5 + size],
            "stack": words[5 + size :],
        }  # fmt: skip
    if words[0] == _CALLED and count >= 8 and words[5] < 2 and words[6] + words[7] <= count - 8:
        _, call, function, thread, result, answer, size, marked = words[:8]
        return {
            "message": "called", "call": call, "function": function, "thread": thread, "words": words[8 : 8 + size],
            "result": result, "pointees": words[8 + size : 8 + size + marked], "stack": words[8 + size + marked :],
            "answer": answer == 1,
        }  # fmt: skip
    raise WireError(f"what is said of a call is no words of one: {len(data)} bytes")


def _checked(data: bytearray) -> dict[str, Any]:
    try:
        said = json.loads(data.decode())
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
