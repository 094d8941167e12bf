"""``lt.trace``: a program under tools, from Python."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

from .agent.account import Account
from .agent.controller import Controller
from .device.launching import Strict
from .errors import ArgumentError, ToolError
from .instrumenting.options import Bodies, Instrumenting
from .instrumenting.selection import Select, listed
from .instrumenting.tool import AnyTool, Tool, maker
from .instrumenting.toolset import Toolset
from .reports.findings import Finding
from .reports.report import Report

#: Seconds between two looks at how far a program is.
_INTERVAL = 0.5


@dataclass(frozen=True)
class TraceProgress:
    """How far a program is."""

    #: Since it was started.
    seconds: float
    #: Processes that have loaded the runtime.
    processes: int
    launches: int
    #: How many of these ran instrumented.
    instrumented: int
    #: All instances of the tools, whose variables can be read while the program runs.
    tools: list[Tool] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s: {self.launches} launches, {self.instrumented} instrumented, {self.processes} processes"


@dataclass(frozen=True)
class TracedProgram:
    """What became of a program."""

    command: list[str]
    #: Negative for a signal.
    status: int
    #: For each process that loaded the runtime, what ``luthier trace --json`` has.
    processes: list[dict[str, Any]]
    #: Its output, if that was captured.
    stdout: str | None = None
    stderr: str | None = None
    #: What strict mode found, as of :attr:`luthier.device.results.RunResult.findings`; ``line`` says it as standard error does. Of each
    #: process the first 10,000.
    findings: list[Finding] = field(default_factory=list)
    #: Launches that strict mode has looked at, and how much it has found in all.
    checked: int = 0
    found: int = 0
    #: Of each tool that was given as an instance: what it says of the whole program.
    reports: list[Report] = field(default_factory=list)

    @property
    def tools(self) -> dict[str, Any]:
        """What the tools say that were given as instances, by name, of the whole program."""
        return {report.tool: report.result for report in self.reports}

    @property
    def exit_status(self) -> int:
        """The status with which ``luthier trace`` ends: the program's own, as a shell tells it, else 1 if anything was found."""
        from .cli.ending import status_of

        status = status_of(self.status, False, self.found)
        return status if status >= 0 else 128 - status

    def results(self, tool: str) -> list[Any]:
        """What the instances of a tool say: of each process as a whole, and of each kernel, or of the whole program if the
        instance was given."""
        entries = [e for p in self.processes for e in (p, *(k for o in p["objects"] for k in o["kernels"]))]
        told = [entry["tools"][tool] for entry in entries if tool in entry.get("tools", {})]
        return [*told, *(report.result for report in self.reports if report.tool == tool)]


def trace(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    tools: Sequence[AnyTool] = (),
    *,
    mock: str | None = None,
    rocm: str | os.PathLike[str] | None = None,
    strict: Strict = False,
    select: Sequence[str | Select] = (),
    wait: bool = True,
    follow: bool = True,
    check: bool | None = None,
    bodies: Bodies = Instrumenting.bodies,
    env: Mapping[str, str] | None = None,
    preload: Sequence[str | os.PathLike[str]] = (),
    capture: bool = False,
    progress: bool | Callable[[TraceProgress], object] = False,
) -> TracedProgram:
    """Runs a HIP or HSA program, unchanged, under tools or in strict mode, to its end.

        An exception in a tool, or in ``progress``, is raised when the program has ended; what a tool cannot do otherwise is in the results.

    :param command: the program and its arguments; a string is a program without arguments, as for :mod:`subprocess`.
    :param tools: names as for ``--tool``, or classes or other things to call that make a tool: each kernel has instances of its own. An
        instance serves all kernels of all processes: its variables tell of all of them, while the program runs and afterwards, and
        what it says at the end is in the result's ``tools``.
    :param mock: ``"gfx90a"`` or ``"gfx90a,2"`` for mock GPUs; None for those of the machine.
    :param rocm: a folder with a ROCm to run on, or ``"7"``, as for ``--rocm``.
    :param strict: looks for mistakes on mock GPUs: True, or kinds of findings (:func:`luthier.finding_kinds`).
    :param select: the launches that the tools are about, as for ``--select``.
    :param wait: as ``luthier trace`` has it; False is ``--no-wait``.
    :param follow: as ``luthier trace`` has it; False is ``--no-follow``.
    :param check: that of :func:`luthier.instrument`.
    :param bodies: that of :func:`luthier.instrument`.
    :param env: the program's environment in the place of this one.
    :param preload: libraries that are loaded before its own, HIP tool modules for example.
    :param capture: has its output be in the result.
    :param progress: True for a line on standard error that tells how far it is, or what is called with a :class:`TraceProgress` twice a
        second, from another thread.
    :returns: what became of the program: its status, its output, findings, and for each process what the tools say.
    :raises ArgumentError: for a program that is not there, and options that do not go together.
    :raises ToolError: for a tool that cannot be loaded, or that ends the process, and for an instance of one that serves one
        code object only.
    """
    from .cli.mock_gpus import MockGpus, Program

    given = [command] if isinstance(command, (str, os.PathLike)) else command
    words = [os.fspath(word) for word in given]
    if not words:
        raise ArgumentError("the command is empty")
    makers = [maker(tool) for tool in _listed(tools)]
    instances = _given(tools)
    how = Instrumenting(check, "report", bodies=bodies)
    kinds = _kinds(strict)
    if not makers and kinds is None:
        raise ArgumentError("tools=[]: expected a tool at least, or strict=True")
    if kinds is not None and mock is None:
        raise ArgumentError("strict= is about mock GPUs: say which with mock=")
    with contextlib.ExitStack() as exits:
        strict_kinds = None if kinds in (None, "1") else kinds
        gpus = MockGpus(mock, strict=kinds == "1", strict_kinds=strict_kinds)
        inherited = dict(os.environ if env is None else env)
        account = None
        if gpus:
            account = exits.enter_context(Account())
            inherited = account.variables(inherited)
        try:
            libraries = [os.fspath(library) for library in preload]
            place = None if rocm is None else os.fspath(rocm)
            program = Program.on(gpus, words, inherited, rocm=place, preload=libraries)
        except ArgumentError as error:
            if isinstance(command, str) and len(command.split()) > 1:
                raise ArgumentError(f"{error}: arguments are given in a list") from None
            raise
        out, err = exits.enter_context(_Output(capture)), exits.enter_context(_Output(capture))
        files, processes, reports = (out.file, err.file), list[dict[str, Any]](), list[Report]()
        if not makers:
            status = _run(program.path, program.words, program.environment, files)
        else:
            with Controller(
                lambda: [make() for make in makers],
                listed(select),
                wait,
                how=how,
                given=instances.tools,
            ) as controller:
                with _Watch(controller, progress):
                    status = controller.run(program.path, program.words, program.environment, follow, files)
                processes = controller.result()
                _raise(controller)
                reports = instances.reports()
        said: dict[str, Any] = {}
        if account is not None and kinds is not None:
            account.wait(0 if makers else 5)
            said = account.result()
        made = TracedProgram(words, status, processes, out.text(), err.text(), reports=reports)
        return replace(made, findings=said["findings"], checked=said["launches"], found=said["found"]) if said else made


def _run(program: str, words: list[str], environment: dict[str, str], files: tuple[IO[bytes] | None, IO[bytes] | None]) -> int:
    with subprocess.Popen(words, executable=program, env=environment, stdout=files[0], stderr=files[1]) as child:
        try:
            return child.wait()
        except BaseException:
            child.kill()
            raise


def _raise(controller: Controller) -> None:
    """What a tool has raised."""
    for process in controller.processes:
        if process.interrupted is not None:
            raise process.interrupted
    for process in controller.processes:
        if isinstance(process.error, SystemExit):
            raise ToolError((process.failure or "").removeprefix("luthier: error: ").strip()) from process.error
        if process.error is not None:
            raise process.error


def _listed(tools: Any) -> list[Any]:
    if isinstance(tools, (str, type, Tool)):
        raise ToolError(f"tools={tools!r}: expected a list of tools")
    return list(tools)


def _kinds(strict: Strict) -> str | None:
    """What strict mode is to look for, as its variable has it; None for nothing."""
    if isinstance(strict, bool):
        return "1" if strict else None
    if isinstance(strict, str):
        raise ArgumentError(f"strict={strict!r}: expected True, False or a list of kinds")
    from .cli.run import parse_kinds

    text = ",".join(strict)
    parse_kinds(text)
    return text


def _given(tools: Sequence[AnyTool]) -> Toolset:
    """The instances among the tools, which serve all kernels."""
    given = [tool for tool in tools if isinstance(tool, Tool)]
    for tool in given:
        if tool.one_code_object:
            raise ToolError(
                f"{tool.name}: an instance serves one code object only, and a program may load several: give its class, or its name"
            )
    return Toolset(given)


class _Output:
    """Where an output of the program goes, if it is captured."""

    def __init__(self, capture: bool):
        self.file: IO[bytes] | None = tempfile.TemporaryFile() if capture else None

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def text(self) -> str | None:
        if self.file is None:
            return None
        self.file.seek(0)
        return self.file.read().decode(errors="replace")


class _Watch:
    """Tells how far the program is while this lasts."""

    def __init__(self, controller: Controller, progress: bool | Callable[[TraceProgress], object]):
        self._controller = controller
        self._tell = _line if progress is True else progress
        self._ends = threading.Event()
        self._error: Exception | None = None
        self._start = time.monotonic()

    def __enter__(self) -> None:
        if self._tell:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def __exit__(self, kind: object, *_: object) -> None:
        if self._tell:
            self._ends.set()
            self._thread.join()
            if self._tell is _line:
                print(file=sys.stderr)
            if self._error is not None and kind is None:
                raise self._error

    def _run(self) -> None:
        try:
            self._look()
        except Exception as error:
            self._error = error

    def _look(self) -> None:
        while True:
            last = self._ends.wait(_INTERVAL)
            launches, instrumented, processes, tools = self._controller.progress()
            progress = TraceProgress(time.monotonic() - self._start, processes, launches, instrumented, tools)
            assert callable(self._tell)
            self._tell(progress)
            if last:
                return


def _line(progress: TraceProgress) -> None:
    print(f"\r{progress}", end="", file=sys.stderr, flush=True)
