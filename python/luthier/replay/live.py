"""Launches of a program that runs: each waits while it is debugged, and goes on by itself then.

The launch is recorded before its first instruction, and the record is what is debugged, in this process. So it can be gone back
in, and the program's memory is not touched.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..agent.controller import Controller
from ..errors import CaseError
from ..instrumenting.selection import parse
from .case import LIMIT, Case
from .program import Capture, Wanted

if TYPE_CHECKING:
    from ..agent.launches import AppLaunch
    from ..device.launching import Launch

#: Seconds between two looks at a program that may have ended.
_LOOK = 0.1


@dataclass(frozen=True)
class _Ended:
    """The program has ended, with a status that is negative for a signal."""

    status: int


@dataclass
class Program:
    """A program whose launches of a kernel wait, from the ``number``-th on: ``path``, ``words`` and ``environment`` are as for
    :meth:`Controller.run`. Its standard input is empty, and what a terminal sends does not come to it."""

    path: str
    words: Sequence[str]
    environment: dict[str, str]
    #: A name or a pattern.
    kernel: str
    number: int = 1
    limit: int = LIMIT
    #: The status of the program, once it has ended.
    status: int | None = None
    #: The process whose launch waited has ended meanwhile.
    is_gone: bool = False
    _wanted: Wanted = field(init=False)
    _met: queue.SimpleQueue[Case | CaseError | _Ended] = field(default_factory=queue.SimpleQueue, repr=False)
    _may_go_on: threading.Event = field(default_factory=threading.Event, repr=False)
    #: From which launch on they wait; None: no more do.
    _first: int | None = field(init=False)
    #: Of launches that have not begun, which one each is.
    numbers: dict[int, int] = field(default_factory=dict, repr=False)
    #: A launch was given out, and waits until the next one is asked for.
    _is_held: bool = field(default=False, repr=False)
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._wanted = Wanted([self.words[0]], self.kernel, self.number, self.limit)
        self._first = self.number

    def start(self) -> None:
        """Starts it. OSError where that cannot be."""
        started: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(started.put,), daemon=True)
        self._thread.start()
        if (error := started.get()) is not None:
            raise error

    def _run(self, started: Callable[[BaseException | None], None]) -> None:
        status = -1
        try:
            with Controller(lambda: [Held(self, self._wanted)], [parse(self.kernel)]) as controller:
                self._child = subprocess.Popen(
                    self.words, executable=self.path, env=controller.variables(self.environment), close_fds=False,
                    stdin=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
                started(None)
                controller.allow_files()
                status = self._child.wait()
                controller.settle()
        except BaseException as error:
            if self._child is None:
                started(error)
        self.status = status
        self._met.put(_Ended(status))

    def meet(self, launch: AppLaunch, number: int, case: Case | None, ended: Callable[[], bool]) -> None:
        """A launch of the program waits until it may go on, or ``ended`` says that its process is no more."""
        self._may_go_on.clear()
        if case is None:
            self._met.put(CaseError(self._wanted.trouble or f"kernel {launch.kernel}: the launch cannot be recorded"))
        else:
            self._met.put(case)
        while not self._may_go_on.wait(_LOOK) and self._first is not None and not ended():
            pass
        self.is_gone = self.is_gone or ended()
        if self._first is not None:
            self._first = number + 1

    def is_awaited(self, number: int) -> bool:
        """Whether the launch of that number is to wait."""
        return self._first is not None and number >= self._first

    def next(self) -> Case | None:
        """Lets the launch that waits go on, and gives the next one, before its first instruction; None where the program has ended
        without one. CaseError for one that cannot be recorded."""
        if self.status is not None:
            return None
        if self._is_held:
            self._may_go_on.set()
        while True:
            with contextlib.suppress(queue.Empty):  # so that an interrupt is heard
                met = self._met.get(timeout=_LOOK)
                break
        self._is_held = not isinstance(met, _Ended)
        if isinstance(met, CaseError):
            raise met
        return None if isinstance(met, _Ended) else met

    def let_go(self) -> int:
        """All goes on, and nothing waits any more; gives the program's status at its end. An interrupt ends the program."""
        self._first = None
        self._may_go_on.set()
        try:
            while self._thread.is_alive():
                self._thread.join(_LOOK)
        except BaseException:
            self.kill()
            raise
        return -1 if self.status is None else self.status

    def kill(self) -> None:
        """Ends it."""
        self._first = None
        self._may_go_on.set()
        if self._child is not None:
            self._child.kill()
            self._thread.join(1)

    @property
    def missing(self) -> CaseError:
        """Why there was no launch: the kernel was not launched, or not so often."""
        try:
            self._wanted.recorded()
        except CaseError as error:
            return error
        return CaseError(f"{self.words[0]}: no further launch of {self.kernel}")


class Held(Capture):
    """Has launches wait."""

    def __init__(self, program: Program, wanted: Wanted):
        super().__init__(wanted)
        self._program = program

    def on_launch(self, launch: Launch) -> None:
        self._wanted.heard += 1
        self._program.numbers[id(launch)] = self._wanted.heard

    def on_begin(self, launch: AppLaunch) -> None:
        number = self._program.numbers.pop(id(launch), 0)
        if not self._program.is_awaited(number) or launch.object is None:
            return
        wanted, process = self._wanted, launch.object.process
        wanted.number, wanted.case = number, None
        try:
            wanted.case = self._record(launch)[1]
        except CaseError as error:
            wanted.trouble = str(error)
        self._program.meet(launch, number, wanted.case, lambda: process.has_ended(0))

    def on_complete(self, launch: AppLaunch) -> None:
        pass  # what it leaves is not looked at
