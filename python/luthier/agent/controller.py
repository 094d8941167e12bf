"""The controller: starts the program, listens to the agents of its processes, and has their kernels instrumented."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, ToolError
from ..tool import Tool
from .functions import named
from .process import Process, Wishes
from .selection import Selection
from .wire import Wire

#: What ROCr loads.
LIBRARY = Path(__file__).resolve().parent.parent / "driver" / "libluthier-agent.so"


class Controller:
    """Listens from when it is entered until it is left."""

    def __init__(self, make_tools: Callable[[], list[Tool]], select: Sequence[Selection] = (), wait: bool = True):
        if not LIBRARY.exists():
            raise ArgumentError(f"{LIBRARY} is missing: `make driver` builds it, and wheels have it")
        tools = make_tools()
        for tool in tools:
            named(tool.hsa, False)
            named(tool.hip, True)
            if not set(tool.phases) <= {"enter", "exit"}:
                raise ToolError(f"{tool.name}: phases are `enter` and `exit`, not {tool.phases!r}")
        self.wants = Wishes.of(make_tools, tuple(select), wait and all(tool.waits for tool in tools))
        self.processes: list[Process] = []
        self._threads: list[threading.Thread] = []
        self._tools = threading.Lock()
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> Controller:
        # The directory is this user's alone, and its name is not to be guessed.
        folder = self._exit.enter_context(tempfile.TemporaryDirectory(prefix="luthier-"))
        self.path = os.path.join(folder, "agent")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._exit.callback(self._listener.close)
        self._listener.bind(self.path)
        self._listener.listen(64)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # it was closed
                return
            process = Process(Wire(connection), self.wants)
            thread = threading.Thread(target=process.serve, args=(self._tools,), daemon=True)
            self.processes.append(process)
            thread.start()
            self._threads.append(thread)

    def variables(self, environment: dict[str, str]) -> dict[str, str]:
        """The environment in which a program finds the agent and the controller."""
        tools = environment.get("HSA_TOOLS_LIB", "").split()
        if str(LIBRARY) not in tools:  # whoever has put it there has chosen the place
            tools.insert(0, str(LIBRARY))
        made = {**environment, "LUTHIER_AGENT": self.path, "HSA_TOOLS_LIB": " ".join(tools)}
        if self.wants.hip:
            made["LD_PRELOAD"] = ":".join(filter(None, (str(LIBRARY), environment.get("LD_PRELOAD"))))
        return made

    def run(self, program: str, words: Sequence[str], environment: dict[str, str], follow: bool = True) -> int:
        """Runs a program to its end; gives its status, which is negative for a signal.

        What a terminal sends comes to the program as well, so that it decides; what is sent to this process alone is
        handed on.
        """
        variables = self.variables(environment)
        if not follow:
            # The shell's own number is the program's: it becomes the program.
            words = ["sh", "-c", 'LUTHIER_AGENT_ONLY=$$ exec "$0" "$@"', program, *words[1:]]
            program = "/bin/sh"
        child = subprocess.Popen(words, executable=program, env=variables, close_fds=False, restore_signals=True)
        before = {}

        def hand_on(number: int, _frame: Any) -> None:
            child.send_signal(number)

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                before[number] = signal.signal(number, hand_on)
            before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return child.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._settle()

    def _settle(self) -> None:
        """Waits for what the processes have said before they ended. Daemons that the program leaves are not waited for."""
        for thread in list(self._threads):
            thread.join(5)

    def result(self) -> list[dict[str, Any]]:
        """What ``--json`` holds for each process that has loaded the runtime."""
        with self._tools:
            return [process.result() for process in self.processes if process.ledger is not None or process.trouble]
