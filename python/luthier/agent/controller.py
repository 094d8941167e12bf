"""The controller: starts the program, listens to the agents of its processes, and has their kernels instrumented."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import ArgumentError, ToolError

# The program is started before much is imported, so that it starts meanwhile.
if TYPE_CHECKING:
    from ..tool import Tool
    from .process import Process
    from .selection import Selection
    from .wishes import Wishes

#: What ROCr loads.
LIBRARY = Path(__file__).resolve().parent.parent / "driver" / "libluthier-agent.so"
#: Bytes of the folder's path: with the file in it, as long as the path of a socket may be.
_LONGEST = 100


class Controller:
    """Listens from when it is entered until it is left."""

    def __init__(
        self,
        make_tools: Callable[[], list[Tool]],
        select: Sequence[Selection] = (),
        wait: bool = True,
        are_ours: bool = False,
    ):
        """``are_ours``: the tools come with Luthier, so that nothing has to be found wrong with them before a program starts,
        and they are imported while it does."""
        if not LIBRARY.exists():
            raise ArgumentError(f"{LIBRARY} is missing: `make driver` builds it, and wheels have it")
        self._make_tools, self._select, self._wait = make_tools, tuple(select), wait
        self._hears_hip = not are_ours and self.wants.hip
        self.processes: list[Process] = []
        self._threads: list[threading.Thread] = []
        self._environment: Mapping[str, str] = os.environ
        self._warm = False
        self._tools = threading.Lock()
        self._exit = contextlib.ExitStack()

    @cached_property
    def wants(self) -> Wishes:
        """What the tools want."""
        from .functions import named
        from .wishes import Wishes

        tools = self._make_tools()
        for tool in tools:
            named(tool.hsa, False)
            named(tool.hip, True)
            if not set(tool.phases) <= {"enter", "exit"}:
                raise ToolError(f"{tool.name}: phases are `enter` and `exit`, not {tool.phases!r}")
        return Wishes.of(self._make_tools, tools, self._select, self._wait)

    def __enter__(self) -> Controller:
        # The directory is this user's alone, and its name is not to be guessed.
        folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"luthier-{os.urandom(8).hex()}")
        if len(os.fsencode(folder)) > _LONGEST:
            folder = os.path.join("/tmp", os.path.basename(folder))
        os.mkdir(folder, 0o700)
        self._exit.callback(os.rmdir, folder)
        self.path = os.path.join(folder, "agent")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._exit.callback(self._listener.close)
        self._listener.bind(self.path)
        self._exit.callback(os.unlink, self.path)
        self._listener.listen(64)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _accept(self) -> None:
        # What takes its time to be imported is, while the program starts.
        from .process import Process
        from .wire import Wire

        wants = self.wants
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # it was closed
                return
            process = Process(Wire(connection), wants, self.warm_up)
            thread = threading.Thread(target=process.serve, args=(self._tools,), daemon=True)
            self.processes.append(process)
            thread.start()
            self._threads.append(thread)

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
        if str(LIBRARY) not in tools:  # whoever has put it there has chosen the place
            tools.insert(0, str(LIBRARY))
        made = {**environment, "LUTHIER_AGENT": self.path, "HSA_TOOLS_LIB": " ".join(tools)}
        if self._hears_hip:
            made["LD_PRELOAD"] = ":".join(filter(None, (str(LIBRARY), environment.get("LD_PRELOAD"))))
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
        child = subprocess.Popen(words, executable=program, env=variables, close_fds=False, stdout=out, stderr=err)
        before = {}

        def hand_on(number: int, _frame: Any) -> None:
            child.send_signal(number)

        if outputs is None and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                before[number] = signal.signal(number, hand_on)
            before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.settle()

    def settle(self) -> None:
        """Waits for what the processes have said before they ended. Daemons that the program leaves are not waited for."""
        for thread in list(self._threads):
            thread.join(5)

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
        return launches, instrumented, len(known), tools

    def result(self) -> list[dict[str, Any]]:
        """What ``--json`` holds for each process that has loaded the runtime."""
        with self._tools:
            return [process.result() for process in self.processes if process.ledger is not None or process.trouble]
