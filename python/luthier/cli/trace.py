"""``luthier trace``: a program that uses HIP or HSA, unchanged, on mock GPUs, under tools, or both."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from .argspec import parse_number

_DRIVER = Path(__file__).resolve().parent.parent / "driver"
# Programs that look for the kernel's driver themselves, before they ask the runtime.
_LOOK_FOR_DRIVER = ("rocminfo",)


def main(args: Any) -> int:
    """Becomes the program: its exit status, signals and standard streams are its own. With tools it is a child, and its
    status is ours."""
    if args.functions is not None:
        from .functions import show

        return show(args.functions)
    program = _program(args)
    if args.mock is None and not args.tool:
        raise ArgumentError("give --mock TARGET for mock GPUs, or --tool T to instrument the program, or both")
    if not args.tool and (args.select or args.json or args.no_follow or args.no_wait or args.serve):
        raise ArgumentError("--select, --json, --no-follow, --no-wait and --serve are about tools: give one with --tool")
    if args.mock is not None:
        _check_devices(args.mock)
    library = _DRIVER / "libhsakmt.so.1"
    if not library.exists():
        raise ArgumentError(f"{library} is missing: `make driver` builds it, and wheels have it")
    environment = variables(args, os.environ)
    if args.tool:
        return _with_tools(args, program, environment)
    sys.stdout.flush()
    sys.stderr.flush()
    # What Python ignores the program would ignore too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(program, args.app, environment)


def _program(args: Any) -> str:
    """The path of what is to run; empty if nothing is."""
    if args.serve is not None:
        if args.app or args.no_follow:
            raise ArgumentError("--serve starts no program: leave `-- APP ARGS` and --no-follow out")
        return ""
    if not args.app:
        raise ArgumentError("nothing to run: luthier trace --mock gfx90a -- APP ARGS")
    program = shutil.which(args.app[0])
    if program is None:
        raise ArgumentError(f"{args.app[0]}: there is no such program")
    return program


# What ROCr 5.2.3 and the mock device both know; the driver has the same list.
_TARGETS = (
    "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx90a", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013",
    "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
)  # fmt: skip


def _check_devices(text: str) -> None:
    target, comma, count = text.partition(",")
    if target not in _TARGETS:
        raise ArgumentError(f"--mock {text}: the mock driver cannot be {target}; it can be {', '.join(_TARGETS)}")
    if comma and count not in map(str, range(1, 9)):
        raise ArgumentError(f"--mock {text}: behind the comma is the number of GPUs, from 1 to 8")


def variables(args: Any, inherited: Any) -> dict[str, str]:
    """The environment in which a program finds the mock GPUs."""
    made = dict(inherited)
    if args.mock is None:
        return made
    made["LUTHIER_MOCK"] = args.mock
    _prepend(made, "LD_LIBRARY_PATH", _DRIVER, ":")
    # Newer runtimes have a thunk of their own inside and look for this one only if they are told to.
    made["HSA_ENABLE_DTIF"] = "1"
    if args.kfd or args.app and Path(args.app[0]).name in _LOOK_FOR_DRIVER:
        _prepend(made, "LD_PRELOAD", _DRIVER / "libluthier-kfd.so", ":")
    for option, name in (("memory", "LUTHIER_MOCK_MEMORY"), ("cus", "LUTHIER_MOCK_CUS"), ("threads", "LUTHIER_THREADS")):
        if (value := getattr(args, option)) is not None:
            made[name] = value
    if args.watchdog is not None:
        made["LUTHIER_WATCHDOG"] = str(parse_number("--watchdog", args.watchdog, "instructions"))
    if args.copies is not None:
        if args.copies not in ("driver", "kernels"):
            raise ArgumentError(f"--copies {args.copies}: HIP's copies are done by driver or kernels")
        made["LUTHIER_MOCK_COPIES"] = args.copies
    if args.apu:
        made["LUTHIER_MOCK_APU"] = "1"
    if args.log:
        made["LUTHIER_MOCK_LOG"] = "1"
    if args.strict_kinds is not None:
        from .run import parse_kinds

        parse_kinds(args.strict_kinds)
        made["LUTHIER_STRICT"] = args.strict_kinds
    elif args.strict:
        made["LUTHIER_STRICT"] = "1"
    if "LUTHIER_STRICT" in made:
        # The runtime gives out pieces of larger blocks; without that, every allocation has its own bounds.
        made.setdefault("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1")
    return made


def _prepend(variables: dict[str, str], name: str, value: Path, separator: str) -> None:
    old = variables.get(name)
    variables[name] = f"{value}{separator}{old}" if old else str(value)


def _with_tools(args: Any, program: str, environment: dict[str, str]) -> int:
    """Runs the program under the tools; says what they found, and ends as the program did."""
    from ..agent.controller import Controller
    from ..tools import BUILTIN, load

    select = []
    if args.select:
        from ..agent.selection import parse

        select = [parse(text) for text in args.select]
    with contextlib.ExitStack() as exits:
        outputs = out = None
        if args.json not in (None, "-"):
            from ..outputs import Outputs

            outputs = exits.enter_context(Outputs())
            out = outputs.open(args.json)
        are_ours = all(text in BUILTIN for text in args.tool)
        with Controller(lambda: [load(text) for text in args.tool], select, not args.no_wait, are_ours) as controller:
            if args.serve is None:
                status = controller.run(program, args.app, environment, follow=not args.no_follow)
            else:
                from .serve import serve

                status = 0
                serve(controller, args.serve, environment)
        data = {"program": args.app, "status": status, "processes": controller.result()}
        text = json.dumps(data, indent=1) + "\n"
        if outputs is not None and out is not None:
            out.write(text.encode())
            outputs.commit()
    if args.json == "-":
        print(text, end="")
    with contextlib.redirect_stdout(sys.stderr):
        _say_if_nothing(controller)
        for process in controller.processes:
            _say(process, args.json is None)
    if any(process.failure is not None for process in controller.processes):
        return 3
    if status < 0:
        sys.stdout.flush()
        sys.stderr.flush()
        _die_of(-status)
    if are_ours:
        # Nothing is left that would be done at the end; taking LLVM and all the rest apart takes its time.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def _say_if_nothing(controller: Any) -> None:
    """Why no tool has anything to say of kernels, if that is so and nobody has asked for it."""
    from ..agent.loaded import CALLBACKS, NOT_SELECTED
    from ..agent.wishes import overrides

    if not any(overrides(tool, name) for tool in controller.wants.tools for name in CALLBACKS):
        return
    kernels = [k for process in controller.processes for o in process.objects.values() for k in o.kernels.values()]
    if not controller.processes:
        print("luthier: nothing was instrumented: no process of the program has loaded ROCm's runtime")
    elif not kernels:
        print("luthier: nothing was instrumented: no kernel was launched")
    elif all(kernel.why == NOT_SELECTED for kernel in kernels):
        print("luthier: nothing was instrumented: no kernel that was launched is selected")


def _say(process: Any, tables: bool) -> None:
    from ..text import printable
    from .tables import show

    if process.failure is not None:
        print(process.failure, end="")
    if process.trouble is not None:
        print(printable(f"luthier: process {process.pid}: {process.trouble}"))
    elif process.goes_on:
        print(printable(f"luthier: process {process.pid} ({process.program}) goes on without tools"))
    elif not process.ended:
        print(
            printable(
                f"luthier: process {process.pid} ({process.program}) ended without notice (_exit or a signal): what it had under way is missing"
            )
        )
    for loaded in process.objects.values():
        for watched in loaded.kernels.values():
            _say_of_kernel(watched, f"process {process.pid}, GPU {loaded.gpu}", process.ledger, tables)
    for report in process.reports if tables else ():
        for table in report.tables:
            show(f"{table.title} (process {process.pid})", table.headers, table.rows)


def _say_of_kernel(watched: Any, where: str, ledger: Any, tables: bool) -> None:
    from ..agent.loaded import NOT_FOR_KERNELS, NOT_SELECTED
    from ..text import printable
    from .tables import show

    if watched.why is not None:
        if watched.why not in (NOT_SELECTED, NOT_FOR_KERNELS):
            print(printable(f"luthier: kernel {watched.name} was not instrumented: {watched.why}"))
        return
    if watched.warning is not None:
        print(printable(f"luthier: warning: kernel {watched.name}: {watched.warning}"))
    unfinished = watched.result(ledger).get("unfinished")
    if unfinished:
        launches = "1 launch" if unfinished == 1 else f"{unfinished} launches"
        print(printable(f"luthier: kernel {watched.name}: {launches} had not ended ({where})"))
    for report in watched.reports if tables else ():
        for table in report.tables:
            show(f"{table.title} ({watched.name}, {where})", table.headers, table.rows)


def _die_of(number: int) -> None:
    """Ends this process by the signal that has ended the program. What it dumps would be of no use."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
