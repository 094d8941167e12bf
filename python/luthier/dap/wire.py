"""Messages of the Debug Adapter Protocol on a pair of streams."""

from __future__ import annotations

import json
import queue
import threading
from typing import IO, Any

from ..errors import ArgumentError

#: Bytes of one message, and of its headers, at most.
_MOST = 16 << 20
_MOST_HEADERS = 8 << 10


class Wire:
    """What a client says, which a thread reads, and what it is told."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]):
        self._writer, self._lock, self._seq = writer, threading.Lock(), 0
        self._heard: queue.Queue[dict[str, Any] | ArgumentError | None] = queue.Queue()
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    def _read(self, reader: IO[bytes]) -> None:
        try:
            while (message := read(reader)) is not None:
                self._heard.put(message)
        except ArgumentError as error:
            self._heard.put(error)
        except (OSError, ValueError):  # closed
            pass
        self._heard.put(None)

    def hear(self, wait: bool = True) -> dict[str, Any] | None:
        """The next request; None when the client is gone, or, without waiting, when there is none yet.
        ArgumentError for what is no message: nothing that follows it can be understood."""
        try:
            heard = self._heard.get(wait)
        except queue.Empty:
            return None
        if isinstance(heard, ArgumentError):
            raise heard
        if heard is None:
            self._heard.put(None)  # for who asks again
            return {"type": "request", "command": "disconnect", "seq": 0, "arguments": {}} if not wait else None
        return heard

    def say(self, message: dict[str, Any]) -> None:
        """Sends a message, with the next number."""
        with self._lock:
            self._seq += 1
            body = json.dumps({"seq": self._seq, **message}).encode()
            self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._writer.flush()

    def event(self, name: str, **body: Any) -> None:
        """Sends an event."""
        self.say({"type": "event", "event": name, "body": body})


def read(reader: IO[bytes]) -> dict[str, Any] | None:
    """One message; None at the end.
    ArgumentError for anything else."""
    length, size = None, 0
    while True:
        line = reader.readline(_MOST_HEADERS)
        if not line:
            return None
        size += len(line)
        if size > _MOST_HEADERS:
            raise ArgumentError("dap: the headers of a message have no end")
        text = line.strip()
        if not text:
            break
        name, colon, value = text.partition(b":")
        if not colon:
            raise ArgumentError(f"dap: {text[:40]!r} is no header of a message")
        if name.lower() == b"content-length":
            if not value.strip().isdigit() or int(value) > _MOST:
                raise ArgumentError(f"dap: a message of {value.strip()[:20]!r} bytes: expected up to {_MOST}")
            length = int(value)
    if length is None:
        raise ArgumentError("dap: a message without Content-Length")
    data = reader.read(length)
    if len(data) < length:
        return None
    try:
        message = json.loads(data)
    except ValueError:
        raise ArgumentError(f"dap: {data[:40]!r} is no JSON") from None
    if not isinstance(message, dict):
        raise ArgumentError(f"dap: {data[:40]!r} is no message")
    return message
