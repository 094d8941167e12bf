"""The controller: starts the program, listens to the agents of its processes, and has their kernels instrumented."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..base.folder import check_folder
from ..errors import ArgumentError, ToolError
from .program_signals import ProgramSignals
from .stuck import Stuck

# The program is started before much is imported, so that it starts meanwhile.
if TYPE_CHECKING:
    from ..instrumenting.options import Instrumenting
    from ..instrumenting.selection import Select
    from ..instrumenting.tool import Tool
    from .process import Process
    from .wishes import Wishes

#: What ROCr loads.
LIBRARY = Path(__file__).resolve().parent.parent / "driver" / "libluthier-agent.so"
#: Bytes of a folder's path: with the file in it, as long as the path of a socket may be.
_LONGEST = 100
#: What ends a path where a program is told of libraries to load.
_ENDS_OF_PATHS = frozenset(" \t\n:;")
#: Seconds in which processes may end that are there when the program has ended.
_GRACE = 5
#: Files that have to be open here at a time, if a program has a few kernels.
_FEWEST_FILES = 20
#: Seconds between two looks at processes that are to end.
_LOOK = 0.1


def _never() -> bool:
    return False


def _always() -> bool:
    return True


class Controller:
    """Listens from when it is entered until it is left."""

    def __init__(
        self,
        make_tools: Callable[[], list[Tool]],
        select: Sequence[Select] = (),
        wait: bool = True,
        at_once: bool = False,
        how: Instrumenting | None = None,
        given: Sequence[Tool] = (),
    ):
        """``at_once``: the tools come with Luthier and hear of no function of HIP's, so that nothing has to be known of them
        before a program starts, and they are imported while it does. ``how`` their hooks are placed; what cannot be placed is told of in the results.
        ``given`` are tools that ``make_tools`` gives each time: they serve all kernels and processes, and their reports are asked
        for by the code that has them."""
        if not LIBRARY.exists():
            raise ArgumentError(f"{LIBRARY} is missing: `make driver` builds it, and wheels have it")
        check_folder()
        if (most := resource.getrlimit(resource.RLIMIT_NOFILE)[1]) < _FEWEST_FILES:
            raise ArgumentError(
                f"luthier may have {most} files open, and needs {_FEWEST_FILES} at least: ulimit -n says how many"
            )
        self._make_tools, self._select, self._wait, self._how = make_tools, tuple(select), wait, how
        self._given = frozenset(map(id, given))
        self._wanting = threading.RLock()
        self._wants: Wishes | None = None
        self._hears_hip = not at_once and self.wants.hip
        self.processes: list[Process] = []
        #: Why no process can be listened to.
        self.trouble: str | None = None
        self._threads: list[threading.Thread] = []
        self._environment: Mapping[str, str] = os.environ
        self._warm = False
        self._tools = threading.Lock()
        self._adding = threading.Lock()
        self._library = LIBRARY
        self._exit = contextlib.ExitStack()
        self._stuck = Stuck(self._served)

    @property
    def wants(self) -> Wishes:
        """What the tools want, worked out by the first thread that asks.

        Python lets two threads that import one package at a time see half of a module: all that serves processes is imported
        here, by one thread, and no other thread imports any of it before.
        """
        with self._wanting:
            if self._wants is None:
                self._wants = self._ask_tools()
            return self._wants

    def _ask_tools(self) -> Wishes:
        from ..instrumenting.tool import check_hooks, check_sizes
        from . import process  # noqa: F401
        from .functions import named
        from .wishes import Wishes

        tools = self._make_tools()
        for tool in tools:
            named(tool.hsa, False)
            named(tool.hip, True)
            if not set(tool.phases) <= {"enter", "exit"}:
                raise ToolError(f"{tool.name}: phases are `enter` and `exit`, not {tool.phases!r}")
            check_hooks(tool)
            check_sizes(tool)
        return Wishes.of(self._make_tools, tools, self._select, self._wait, self._how, self._given)

    def __enter__(self) -> Controller:
        try:
            self._listen()
        except BaseException:  # a signal's may come at any time
            self._exit.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _listen(self) -> None:
        # What connects needs a path, which is this user's alone: that of a file of this process's. The one that the socket
        # is made with is gone at once, so that nothing can be left of it.
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._exit.callback(self._stop)
        self.path = self._named(_bound(self._listener))
        if not _ENDS_OF_PATHS.isdisjoint(str(LIBRARY)):
            self._library = Path(self._named(os.open(LIBRARY, os.O_RDONLY | os.O_CLOEXEC)))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _named(self, file: int) -> str:
        """A path that leads to a file as long as this process has it open: until the controller is left."""
        self._exit.callback(os.close, file)
        return f"/proc/{os.getpid()}/fd/{file}"

    def _accept(self) -> None:
        try:
            self._serve()
        except OSError as error:  # nothing more can be imported
            self.trouble = f"nothing is instrumented: {error}"
            self._stop()

    def _serve(self) -> None:
        # What takes its time to be imported is, while the program starts.
        wants = self.wants
        from .process import Process
        from .wire import Wire

        for connection, full in self._connections():
            process = Process(Wire(connection), wants, self.warm_up)
            thread = threading.Thread(target=process.serve, args=(self._tools, full), daemon=True)
            with self._adding:
                self.processes.append(process)
                thread.start()
                self._threads.append(thread)

    def _connections(self) -> Iterator[tuple[socket.socket, OSError | None]]:
        """Each that is made, and why it can only be refused, if that is so."""
        spare = None
        while True:
            spare = spare or _no_file()
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    return  # it was closed
                if spare is None:
                    time.sleep(0.01)  # until another thread gives one back
                    continue
                # A process that gets no answer would wait for ever.
                spare.close()
                spare = None
                with contextlib.suppress(OSError):
                    connection, _ = self._listener.accept()
                    spare = _no_file()  # there may be room again
                    yield connection, None if spare else error
            else:
                yield connection, None

    def _stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # the thread that accepts hears of that only
        self._listener.close()

    def warm_up(self) -> None:
        """Prepares for the first launch of all, while the first process goes on."""
        if not self._warm:
            self._warm = True
            threading.Thread(target=self._prepare, daemon=True).start()

    def _prepare(self) -> None:
        from .warm import processors, warm_up

        warm_up(self.wants.tools, processors(self._environment))

    def variables(self, environment: dict[str, str]) -> dict[str, str]:
        """The environment in which a program finds the agent and the controller."""
        self._environment = environment
        tools = environment.get("HSA_TOOLS_LIB", "").split()
        if str(self._library) not in tools:  # the user who has put it there has chosen the place
            tools.insert(0, str(self._library))
        made = {**environment, "LUTHIER_AGENT": self.path, "HSA_TOOLS_LIB": " ".join(tools)}
        if self._hears_hip:
            made["LD_PRELOAD"] = ":".join(filter(None, (str(self._library), environment.get("LD_PRELOAD"))))
        return made

    def run(
        self,
        program: str,
        words: Sequence[str],
        environment: dict[str, str],
        follow: bool = True,
        outputs: tuple[IO[bytes] | None, IO[bytes] | None] | None = None,
    ) -> int:
        """Runs a program to its end; gives its status, which is negative for a signal.

        What a terminal sends comes to the program as well, so that it decides; what is sent to this process alone is
        handed on. With ``outputs``, files for the program's standard output and error, or None for this process's own, signals
        are left to the caller: an exception ends the program.
        """
        variables = self.variables(environment)
        if not follow:
            # The shell's own number is the program's: it becomes the program.
            words = ["sh", "-c", 'LUTHIER_AGENT_ONLY=$$ exec "$0" "$@"', program, *words[1:]]
            program = "/bin/sh"
        out, err = outputs or (None, None)
        signals = ProgramSignals() if outputs is None and threading.current_thread() is threading.main_thread() else None
        child, is_to_end = None, _never if signals is None else lambda: signals.is_to_end
        try:
            child = subprocess.Popen(words, executable=program, env=variables, close_fds=False, stdout=out, stderr=err)
            self.allow_files()
            return child.wait() if signals is None else signals.wait(child, self._stuck.look)
        except BaseException:
            is_to_end = _always
            if child is not None:
                child.kill()
                child.wait()
            raise
        finally:
            try:
                self.settle(is_to_end)
            finally:
                if signals is not None:
                    signals.restore()

    def allow_files(self) -> None:
        """Each process and each instrumented kernel has files open here: as many as this process may have are allowed, until
        the controller is left. Programs that were started before have what they had."""
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
            self._exit.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)

    def settle(self, is_to_end: Callable[[], bool] = _never) -> None:
        """Waits for what the processes have said before they ended. Those that the program leaves behind are given some time
        to end, and are left alone then: nothing more is heard of them. Tools' code that does not come back is given up once
        the user wants all to end: ``is_to_end``, or an interrupt."""
        until, interrupt = time.monotonic() + _GRACE, None
        while under_way := self._served():
            try:
                for process, thread in under_way:
                    left = until - time.monotonic()
                    if process.has_ended(min(left, _LOOK)):
                        thread.join(_LOOK)
                    elif left <= 0:
                        process.leave()
                        thread.join(_LOOK)
                if interrupt is not None or is_to_end():
                    self._stuck.look()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _served(self) -> list[tuple[Process, threading.Thread]]:
        with self._adding:
            both = zip(self.processes, self._threads, strict=True)
            return [(p, thread) for p, thread in both if thread.is_alive() and p.given_up is None]

    @property
    def has_given_up(self) -> bool:
        """Some tool's code has not come back, and is still at work."""
        return self._stuck.given_up

    def progress(self) -> tuple[int, int, int, list[Tool]]:
        """Launches, how many of these were instrumented, processes, and all tools."""
        launches = instrumented = 0
        tools: list[Tool] = []
        known = [process for process in list(self.processes) if process.ledger is not None]
        for process in known:
            tools += process.app.tools if process.app is not None else ()
            for loaded in list(process.objects.values()):
                for watched in list(loaded.kernels.values()):
                    # Before that its variables are nowhere.
                    tools += watched.tools if watched.instrumentation is not None else ()
                    original, some = watched.launches()
                    launches, instrumented = launches + original + some, instrumented + some
        return launches, instrumented, len(known), list({id(tool): tool for tool in tools}.values())

    def result(self) -> list[dict[str, Any]]:
        """What ``--json`` holds for each process that has loaded the runtime."""
        with self._tools:
            return [process.result() for process in self.processes if process.ledger is not None or process.trouble]


def _no_file() -> IO[bytes] | None:
    """A file of nothing, if one can be opened."""
    try:
        return open(os.devnull, "rb")
    except OSError:
        return None


def _bound(listener: socket.socket) -> int:
    """Gives a socket a path, opens that, and removes it. The folder is this user's alone, and its name is not to be guessed."""
    folder = os.path.abspath(os.path.join(os.environ.get("TMPDIR") or "/tmp", f"luthier-{os.urandom(8).hex()}"))
    if len(os.fsencode(folder)) > _LONGEST:
        folder = os.path.join("/tmp", os.path.basename(folder))
    path = os.path.join(folder, "agent")
    try:
        os.mkdir(folder, 0o700)
        listener.bind(path)
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    finally:
        _remove(os.unlink, path)
        _remove(os.rmdir, folder)


def _remove(how: Callable[[str | Path], None], path: str | Path) -> None:
    """Removes what may not have been made."""
    with contextlib.suppress(FileNotFoundError):
        how(path)
