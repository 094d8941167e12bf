"""One process of the program: what its agent says, and what it is answered."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.failures import told
from ..base.signals import raise_again
from ..errors import ToolError
from ..instrumenting.channels import Reader, sources_of
from ..instrumenting.selection import rules
from ..instrumenting.toolset import Toolset
from ..reports.as_json import plain
from ..reports.report import Report
from .app import App, read_memory
from .functions import count
from .hearing import Entry, Hearing
from .loaded import COUNTERS, FAILED, NO_ROOM, Loaded, Made, Watched
from .shared import Memory, Variables
from .wire import RETURN, VERSION, Gone, Wire, WireError, close, too_many_files
from .wishes import Wishes

if TYPE_CHECKING:
    from .. import _core
    from ..instrumenting.tool import Tool


class Process:
    """What is known of it. :meth:`serve` returns when the process has ended, or when nothing more can be said to it."""

    def __init__(self, wire: Wire, wants: Wishes, welcomed: Callable[[], object]):
        """``welcomed`` is called when the process goes on."""
        self._wire, self._wants, self._welcomed = wire, wants, welcomed
        self._hearing = Hearing(wire, self._tell)
        self.make_tools, self.hears_hip = wants.make_tools, wants.hip
        self.how = wants.how
        self.hears_of_ends, self.hears_launches = wants.complete, wants.every_launch
        self.pid = self.parent = 0
        self.program = ""
        #: It has said that it ends; otherwise it called ``_exit``, or a signal has ended it.
        self.ended = False
        #: It was left alone when the program had ended.
        self.goes_on = False
        #: Why the connection was given up before that.
        self.trouble: str | None = None
        #: What people are told of a tool that has failed.
        self.failure: str | None = None
        self.error: BaseException | None = None
        #: The user has ended the wait for what a tool says at the end.
        self.interrupted: BaseException | None = None
        #: A tool whose code has not come back: nothing is heard of the process any more.
        self.given_up: Tool | None = None
        self._tools = threading.Lock()
        self.ledger: Memory | None = None
        self.app: App | None = None
        self.gpus: list[dict[str, Any]] = []
        self.objects: dict[int, Loaded] = {}
        #: Kernels of whose launches tools hear.
        self.by_slot: dict[int, Watched] = {}
        #: The process waits for an answer, so that more can be asked of it.
        self._waits = False
        self._waiting = _Waiting(self)
        self._starting = False
        self._reports: list[Report] | None = None
        #: Reads tools' channels while kernels run, under the lock.
        self._reader = Reader([], self._in_turn)

    def serve(self, tools: threading.Lock, refused: OSError | None = None) -> None:
        """Answers until the end, or only refuses. Tools' code runs under the lock: they know nothing of threads."""
        self._tools = tools
        try:
            self.pid = self._wire.check_user()
            if refused is not None:
                raise too_many_files()
            self._hello()
            self._welcomed()
            while self.given_up is None and (heard := self._hearing.next()) is not None:
                self._take(*heard)
        except Gone:
            pass  # without notice, as it may at any time
        except WireError as error:
            self.trouble = self.trouble or str(error)
        except BaseException as error:  # a tool may call sys.exit
            self.trouble = self.trouble or FAILED
            self.failed(error)
        finally:
            self._hearing.close()
            self._reader.close()

    def has_ended(self, seconds: float) -> bool:
        """Whether the process has ended, or does within ``seconds``. What it has said may not all be heard then."""
        return self._wire.has_ended(seconds)

    def leave(self) -> None:
        """Hears no more of the process, which goes on."""
        self.goes_on = True
        self._wire.leave()

    def give_up(self, tool: Tool, method: str, place: str) -> None:
        """Waits no longer for a tool's method that does not come back: the process goes on without tools."""
        why = f"the tool {tool.name} did not come back from {method} ({place})"
        self.given_up, self.trouble = tool, why
        if method == "on_exit":
            self._wants.interrupted.add(_kind(tool))
        self.failed(ToolError(why))
        for loaded in list(self.objects.values()):
            for watched in list(loaded.kernels.values()):
                watched.give_up()
        self._wire.leave()
        with contextlib.suppress(RuntimeError):  # it has come back just now
            self._tools.release()  # in the place of the thread that has it

    def failed(self, error: BaseException) -> None:
        """A tool has failed."""
        if self.error is None:
            self.error, self.failure = error, told(error)

    def _in_turn(self, act: Callable[..., object], *arguments: Any) -> None:
        """Calls something that runs tools' code; no other thread does meanwhile."""
        self._tools.acquire()
        try:
            act(*arguments)
        finally:
            if self.given_up is None:  # else it was given back
                self._tools.release()

    def _take(self, said: dict[str, Any], files: list[int]) -> None:
        message = said["message"]
        if message == "loaded" and len(files) == 1:
            self._loaded(said, files[0])
            return
        if message == "ring" and len(files) == 1:
            self._hearing.take_ring(files[0])
            return
        close(files)
        act = getattr(self, f"_hear_{message}", None)
        if act is None:
            raise WireError(f"a message {message} comes when nothing was asked")
        self._in_turn(act, said)

    def _hello(self) -> None:
        said, files = self._expect("hello")
        known = count()
        if said["version"] != VERSION or said["functions"] != known or len(files) != 2:
            close(files)
            raise WireError(
                f"an agent of version {said['version']} with {said['functions']} functions has connected: "
                f"this is version {VERSION} with {known}"
            )
        self.pid, self.parent, self.program = said["pid"], said["parent"], said["program"]
        try:
            self.ledger = Memory(files[0], writable=False)
        except WireError:
            close(files[1:])
            raise
        self.wishes = Memory(files[1])
        if len(self.wishes) < 4 * known:
            raise WireError(f"the memory for wishes has {len(self.wishes)} bytes")
        wrap: list[int] = []
        self._in_turn(self._start, wrap)
        wants = self._wants
        self._wire.say(
            "welcome",
            version=VERSION,
            every_launch=wants.every_launch,
            decide=wants.decide,
            complete=wants.complete,
            hold=wants.hold,
            wait=wants.wait,
            wrap=wrap,
        )

    def _start(self, wrap: list[int]) -> None:
        self._starting = True
        self.app = App(self, self.make_tools())
        wrap += self.app._start()
        self._starting = False

    def _expect(self, *kinds: str) -> tuple[dict[str, Any], list[int]]:
        heard = self._hearing.answer()
        if heard is None:
            raise Gone("the process has ended while something was asked of it")
        if heard[0]["message"] not in kinds:
            close(heard[1])
            raise WireError(f"a message {heard[0]['message']} comes instead of {' or '.join(kinds)}")
        return heard

    def _loaded(self, said: dict[str, Any], file: int) -> None:
        self.ended = False  # if the runtime was shut down, it has been started again
        memory = Memory(file, writable=False)
        number = said["object"]
        if number in self.objects:
            raise WireError(f"the code object {number} is loaded twice")
        loaded = Loaded(
            number, said["executable"], said["number"], said["gpu"]["name"], said["base"], said["start"], said["size"],
            said["uri"], self, memory,
        )  # fmt: skip
        self.objects[number] = loaded
        assert self.app is not None
        self.app._happenings.executable(said["executable"]).objects.append(loaded)

    def reads(self, tools: list[Tool], variables: Variables) -> None:
        """The kernel that these tools watch, whose variables are there, is going to run."""
        self._reader.add(sources_of(tools, variables))

    def read_rest(self, variables: Variables) -> None:
        """The kernel of tools whose variables these are does not run any more, or is not heard of."""
        self._reader.finish(variables)
        if self._reader.error is not None:
            self.failed(self._reader.error)

    def _hear_unloaded(self, said: dict[str, Any]) -> None:
        loaded = self.objects.get(said["object"])
        if loaded is None or not loaded.is_alive:
            raise WireError(f"the code object {said['object']} is unloaded, and was not loaded")
        loaded.unload()
        assert self.app is not None
        if not loaded.kernels:
            del self.objects[loaded.number]
        executables = self.app._happenings.executables
        known = executables.get(loaded.executable)
        if known is not None and not any(one.is_alive for one in known.objects) and not self.app._hears_of_executables:
            del executables[loaded.executable]

    def _hear_runtime(self, said: dict[str, Any]) -> None:
        self.gpus = said["gpus"]

    def _hear_ended(self, _said: dict[str, Any]) -> None:
        self.ended = True

    def watched(self, slot: int) -> Watched:
        """Gives the kernel of a slot of the ledger. A WireError: no tool asked for its launches."""
        watched = self.by_slot.get(slot)
        if watched is None:
            raise WireError(f"a launch of slot {slot}, which no tool asked for")
        return watched

    def _tell(self, entries: list[Entry]) -> None:
        """Tells the tools of launches that the process does not wait for."""
        from .launches import hear_of

        if self.given_up is None:
            self._in_turn(hear_of, self, entries)

    def _hear_deciding(self, said: dict[str, Any]) -> None:
        watched = self.watched(said["slot"])
        with self._waiting:
            answer = watched.decide(said)
        self._wire.say("run", **answer)

    def _hear_begins(self, said: dict[str, Any]) -> None:
        with self._waiting:
            self.watched(said["slot"]).begins(said["number"])
        self._wire.say("heard")

    def _hear_completed(self, said: dict[str, Any]) -> None:
        watched = self.watched(said["slot"])
        with self._waiting:
            watched.completed(said["number"], said["start"], said["end"])
        self._wire.say("heard")

    def _hear_calling(self, said: dict[str, Any]) -> None:
        assert self.app is not None
        with self._waiting:
            answer = self.app._calling(said)
        self._wire.answer(*answer)

    def _hear_called(self, said: dict[str, Any]) -> None:
        assert self.app is not None
        if not said["answer"]:
            self.app._called(said)
            return
        with self._waiting:
            result = self.app._called(said)
        self._wire.answer(RETURN, result)

    def _first_launch(self, said: dict[str, Any]) -> tuple[Loaded, bool]:
        """Of what a kernel is launched for the first time, and whether it has a place of its own in the ledger."""
        loaded = self.objects.get(said["object"])
        room = 8 * COUNTERS * (said["slot"] + 1)
        # The last place is that of launches that belong to no kernel.
        rooms = 0 if self.ledger is None else len(self.ledger) - 8 * COUNTERS
        if loaded is None or not loaded.is_alive or room > rooms:
            raise WireError(f"a launch of a kernel of the code object {said['object']}, which is not loaded")
        if said["kernel"] in loaded.kernels:
            raise WireError(f"a first launch of the kernel at {said['kernel']:#x} comes again")
        if room == rooms:
            loaded.kernels[said["kernel"]] = Watched(f"at {said['kernel']:#x}", said["slot"], loaded, why=NO_ROOM)
            return loaded, False
        return loaded, True

    def _hear_left(self, said: dict[str, Any]) -> None:
        loaded, has_room = self._first_launch(said)
        if has_room:
            loaded.leave(said["kernel"], said["slot"])

    def _hear_launch(self, said: dict[str, Any]) -> None:
        loaded, has_room = self._first_launch(said)
        if not has_room:
            self._wire.say("original", heard=False, rules=[])
            return
        with self._waiting:
            watched, made = loaded.first_launch(said["kernel"], said["slot"], self._allocate)
        if made is None:
            if watched.hears:
                self.by_slot[watched.slot] = watched
            self._wire.say("original", heard=watched.hears, rules=watched.rules)
        elif self._use(watched, made):
            self.by_slot[watched.slot] = watched

    def _use(self, watched: Watched, made: Made) -> bool:
        """Hands an instrumented kernel over; whether it runs."""
        with _file(made.data) as file:
            parts = {
                "descriptor": made.descriptor, "private": made.private, "group": made.group, "most_group": made.most_group,
                "signal": made.signal, "rules": made.rules,
            }  # fmt: skip
            self._wire.say("instrumented", file, **parts)
        said, files = self._expect("done", "failed")
        close(files)
        if said["message"] == "failed":
            watched.why = said["reason"]
        return watched.why is None

    def _allocate(self, size: int) -> tuple[Memory, int]:
        self._wire.say("allocate", size=size)
        return self._allocated()

    def _allocated(self) -> tuple[Memory, int]:
        said, files = self._expect("allocated", "failed")
        if said["message"] == "failed" or len(files) != 1:
            close(files)
            raise ToolError(f"memory of the process: {said.get('reason', 'the agent sends none')}")
        return Memory(files[0]), said["address"]

    def request(self, message: str, file: int | None = None, **parts: Any) -> list[int]:
        """Has the process do something while it waits for an answer; gives the files that come with what it says."""
        if not self._waits:
            raise ToolError(
                f"{message}: the process does not wait; it does in on_hsa, on_hip, on_launch that decides, and on_begin"
            )
        self._wire.say(message, file, **parts)
        said, files = self._expect("done", "contents", "failed")
        if said["message"] == "failed":
            close(files)
            raise ToolError(said["reason"])
        return files

    def place(self, numbers: list[int], on: bool) -> None:
        """Has functions of HSA's wrapped, or not any more. Before the process is welcomed, the welcome does."""
        if numbers and not self._starting:
            self.request("wrap", functions=numbers, on=on)

    def read(self, address: int, size: int) -> bytes:
        """Memory of the process."""
        if size == 0:
            return b""
        if not self._waits:
            return read_memory(self.pid, address, size)
        files = self.request("read", address=address, size=size)
        if len(files) != 1:
            close(files)
            raise WireError("the contents of memory do not come in a file")
        return Memory(files[0], writable=False).map[:size]

    def write(self, address: int, data: bytes) -> None:
        """Changes memory of the process, while it waits."""
        if data:
            with _file(bytes(data)) as file:
                close(self.request("write", file, address=address))

    def keep(self, data: bytes) -> int:
        """Puts bytes into new memory of the process, while it waits; gives the address."""
        with _file(data) as file:
            self._wire.say("keep", file)
            return self._allocated()[1]

    def rules(self, core: _core.CodeObject) -> dict[str, list[dict[str, Any]]]:
        """The kernels of a code object that are to be instrumented, with rules for their launches."""
        return rules(self._wants.select, core, self.pid, self.program)

    @property
    def reports(self) -> list[Report]:
        """Reports of the tools that hear of more than kernels, as of when they are first asked for."""
        if self._reports is None:
            failed = self.trouble == FAILED
            tools = self.app.tools if self.app is not None and not failed else []
            self._reports = self.reports_of(Toolset(tools))
        return self._reports

    def reports_of(self, toolset: Toolset) -> list[Report]:
        """What tools say at the end. One that fails says nothing."""
        return toolset.reports(self._ask)

    def _ask(self, report: Report, tool: Tool) -> bool:
        if tool is self.given_up or _kind(tool) in self._wants.interrupted or id(tool) in self._wants.given:
            return False
        try:
            tool.on_exit(report)
        except BaseException as error:
            if not isinstance(error, (Exception, SystemExit)):
                # The user wants it to end. What the others say is still asked for.
                self.interrupted = error
                self._wants.interrupted.add(_kind(tool))
                raise_again(error)
            self.failed(error)
            return False
        return True

    @property
    def unseen(self) -> int:
        """Launches of kernels whose code objects were not seen when they were loaded."""
        if self.ledger is None:
            return 0
        return int(struct.unpack_from("<Q", self.ledger.map, len(self.ledger) - 8 * COUNTERS)[0])

    def result(self) -> dict[str, Any]:
        """What ``--json`` holds for it: the code objects that something was launched from."""
        ended = "in the usual way" if self.ended else self.trouble or "without notice"
        ended = "not yet" if self.goes_on else ended
        ledger = self.ledger
        objects = [o.result(ledger) for o in self.objects.values() if o.kernels] if ledger is not None else []
        found = {"pid": self.pid, "parent": self.parent, "program": self.program, "ended": ended, "objects": objects}
        if self.unseen:
            found["unseen"] = self.unseen
        if self.reports:
            found["tools"] = {report.tool: plain(report.result) for report in self.reports}
        return found


def _kind(tool: Tool) -> tuple[str, str]:
    """A tool's class. One that comes from a file is made again with each instance."""
    return type(tool).__module__, type(tool).__qualname__


class _Waiting:
    """While this lasts, the process waits for an answer."""

    def __init__(self, process: Process):
        self._process = process

    def __enter__(self) -> None:
        self._process._waits = True

    def __exit__(self, *_: object) -> None:
        self._process._waits = False


class _file:
    """A file without a name that has these bytes, and is never cut short."""

    def __init__(self, data: bytes):
        self._data = data

    def __enter__(self) -> int:
        try:
            self._file = os.memfd_create("luthier", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise too_many_files() from None
        with open(self._file, "wb", closefd=False) as stream:
            stream.write(self._data)
        fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
