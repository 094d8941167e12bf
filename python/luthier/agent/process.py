"""One process of the program: what its agent says, and what it is answered."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ToolError
from ..tool import Tool
from .loaded import Loaded, Made, Watched
from .shared import Memory
from .wire import VERSION, Gone, Wire, WireError, close


class Process:
    """What is known of it. :meth:`serve` returns when the process has ended, or when nothing more can be said to it."""

    def __init__(self, wire: Wire, make_tools: Callable[[], list[Tool]], select: Sequence[str]):
        self._wire = wire
        self._make_tools, self._select = make_tools, select
        self.pid = self.parent = 0
        self.program = ""
        #: It has said that it ends; otherwise it called ``_exit``, or a signal has ended it.
        self.ended = False
        #: Why the connection was given up before that.
        self.trouble: str | None = None
        #: The traceback of a tool's own code that has failed.
        self.failure: str | None = None
        self.ledger: Memory | None = None
        self.objects: dict[int, Loaded] = {}
        self._by_slot: dict[int, Watched] = {}

    def serve(self, tools: threading.Lock, every_launch: bool) -> None:
        """Answers until the end. Tools' code runs under the lock: they know nothing of threads."""
        try:
            self._wire.check_user()
            self._hello(every_launch)
            while (heard := self._wire.hear()) is not None:
                said, files = heard
                if said["message"] == "loaded" and len(files) == 1:
                    self._loaded(said, files[0])
                    continue
                close(files)
                if said["message"] == "launch":
                    with tools:
                        self._launch(said)
                elif said["message"] == "launched":
                    watched = self._by_slot.get(said["slot"])
                    if watched is None:
                        raise WireError(f"a launch of slot {said['slot']}, where nothing was instrumented")
                    with tools:
                        watched.tell(said["grid"], said["block"])
                elif said["message"] == "ended":
                    self.ended = True
                elif said["message"] != "unloaded":
                    raise WireError(f"a message {said['message']} comes when nothing was asked")
        except Gone:
            pass  # without notice, as it may at any time
        except WireError as error:
            self.trouble = str(error)
        except Exception:
            self.trouble = "a tool has failed"
            self.failure = traceback.format_exc()
        finally:
            self._wire.close()

    def _hello(self, every_launch: bool) -> None:
        said, files = self._expect("hello")
        if said["version"] != VERSION or len(files) != 1:
            close(files)
            raise WireError(f"an agent of version {said['version']} has connected: this is version {VERSION}")
        self.ledger = Memory(files[0], writable=False)
        self.pid, self.parent, self.program = said["pid"], said["parent"], said["program"]
        self._wire.say("welcome", version=VERSION, every_launch=every_launch)

    def _expect(self, *kinds: str) -> tuple[dict[str, Any], list[int]]:
        heard = self._wire.hear()
        if heard is None:
            raise Gone("the process has ended while something was asked of it")
        if heard[0]["message"] not in kinds:
            close(heard[1])
            raise WireError(f"a message {heard[0]['message']} comes instead of {' or '.join(kinds)}")
        return heard

    def _loaded(self, said: dict[str, Any], file: int) -> None:
        memory = Memory(file, writable=False)
        number = said["object"]
        if number in self.objects:
            raise WireError(f"the code object {number} is loaded twice")
        self.objects[number] = Loaded(
            number, said["number"], said["gpu"]["name"], said["base"], said["uri"], memory, self._make_tools, self._select
        )

    def _launch(self, said: dict[str, Any]) -> None:
        loaded = self.objects.get(said["object"])
        if loaded is None or self.ledger is None or 16 * said["slot"] + 16 > len(self.ledger):
            raise WireError(f"a launch of a kernel of the code object {said['object']}, which is not loaded")
        if said["kernel"] in loaded.kernels:
            raise WireError(f"a first launch of the kernel at {said['kernel']:#x} comes again")
        watched, made = loaded.first_launch(said["kernel"], said["slot"], self._allocate)
        if made is None:
            self._wire.say("original")
        elif self._use(watched, made):
            self._by_slot[watched.slot] = watched
            watched.tell(said["grid"], said["block"])

    def _use(self, watched: Watched, made: Made) -> bool:
        """Hands an instrumented kernel over; whether it runs."""
        file = os.memfd_create("luthier", os.MFD_CLOEXEC)
        try:
            with open(file, "wb", closefd=False) as stream:
                stream.write(made.data)
            self._wire.say("instrumented", file, descriptor=made.descriptor, private=made.private, group=0)
        finally:
            os.close(file)
        said, files = self._expect("done", "failed")
        close(files)
        if said["message"] == "failed":
            watched.why = said["reason"]
        return watched.why is None

    def _allocate(self, size: int) -> tuple[Memory, int]:
        self._wire.say("allocate", size=size)
        said, files = self._expect("allocated", "failed")
        if said["message"] == "failed" or len(files) != 1:
            close(files)
            raise ToolError(f"the tools' variables: {said.get('reason', 'the agent sends no memory')}")
        return Memory(files[0]), said["address"]

    def result(self) -> dict[str, Any]:
        """What ``--json`` holds for it: the code objects of which something was launched."""
        ended = "in the usual way" if self.ended else self.trouble or "without notice"
        ledger = self.ledger
        objects = [o.result(ledger) for o in self.objects.values() if o.kernels] if ledger is not None else []
        return {"pid": self.pid, "parent": self.parent, "program": self.program, "ended": ended, "objects": objects}
