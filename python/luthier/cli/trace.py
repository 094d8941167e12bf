"""``luthier trace``: a program that uses HIP or HSA, unchanged, on mock GPUs, under tools, or both."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any

from ..agent.program_signals import run
from ..errors import ArgumentError
from .ending import checked, status_of
from .finding_options import FindingOutputs, refuse
from .mock_gpus import MockGpus, Program
from .placing import placed_as

if TYPE_CHECKING:
    from ..agent.account import Row
    from ..agent.controller import Controller


def main(args: Any) -> int:
    """Becomes the program: its exit status, signals and standard streams are its own. With tools, or in strict mode, it is a
    child, and its status is ours unless there is more to say."""
    if args.functions is not None:
        from .functions import show

        return show(args.functions)
    if args.serve is not None:
        if args.app or args.no_follow:
            raise ArgumentError("--serve starts no program: leave `-- APP ARGS` and --no-follow out")
    elif not args.app:
        raise ArgumentError("nothing to run: luthier trace --mock gfx90a -- APP ARGS")
    gpus = MockGpus.of(args)
    if not gpus and not args.tool:
        raise ArgumentError("give --mock TARGET for mock GPUs, or --tool T to instrument the program, or both")
    if gpus.is_strict and not gpus:
        raise ArgumentError("--strict is about mock GPUs: give --mock TARGET")
    placing = args.check is not None or args.bodies is not None
    if not args.tool and (args.select or args.no_follow or args.no_wait or args.serve or placing):
        raise ArgumentError(
            "--select, --no-follow, --no-wait, --check, --no-check, --bodies and --serve are about tools: give one with --tool"
        )
    if args.json and not args.tool and not gpus.is_strict:
        raise ArgumentError("--json is about tools and findings: give a tool with --tool, or --strict")
    by_hand = args.serve is not None
    started = Program.on(gpus, args.app, os.environ, rocm=args.rocm, preload=args.preload, by_hand=by_hand)
    program, words, environment = started.path, started.words, started.environment
    is_strict = bool(gpus) and environment.get("LUTHIER_STRICT", "0") not in ("", "0")  # it may be inherited
    if not is_strict:
        refuse(args)
    if args.tool or is_strict:
        return _watched(args, program, words, environment, is_strict)
    sys.stdout.flush()
    sys.stderr.flush()
    # What Python ignores the program would ignore too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(program, words, environment)


def _watched(args: Any, program: str, words: list[str], environment: dict[str, str], is_strict: bool) -> int:
    """Runs the program under the tools, or in strict mode, or both; says what was found, and ends as the program did unless
    that was well and something else was not."""
    from ..agent.account import Account
    from ..tools import BUILTIN, HEAR_HIP

    select = []
    if args.select:
        from ..instrumenting.selection import parse

        select = [parse(text) for text in args.select]
    are_ours = all(text in BUILTIN for text in args.tool)
    at_once = are_ours and not any(text in HEAR_HIP for text in args.tool)
    controller = None
    with contextlib.ExitStack() as exits:
        from ..base.outputs import Outputs

        account = None
        outputs = exits.enter_context(Outputs())
        out = outputs.open(args.json) if args.json not in (None, "-") else None
        told = FindingOutputs(args, outputs)
        if MockGpus.of(args):
            account = exits.enter_context(Account())
            environment = account.variables(environment)
        if args.tool:
            controller, status = _under_tools(args, program, words, environment, select, at_once)
        else:
            status = run(program, words, environment)
        data: dict[str, Any] = {"program": args.app, "status": status}
        if controller is not None:
            data["processes"] = controller.result()
        left = account.wait(0 if controller is not None else 5) if account is not None and is_strict else None
        verdict = told.policy.judge((), 0)
        if account is not None and is_strict:
            strict = data["strict"] = account.result()
            verdict = told.policy.judge(strict["findings"], strict["launches"], strict["found"])
        told.write(verdict)
        rows = account.rows if account is not None else []
        text = json.dumps(data, indent=1) + "\n"
        if out is not None:
            out.write(text.encode())
        outputs.commit()
    if args.json == "-":
        print(text, end="")
    failed = False
    if controller is not None:
        from ..base.text import printable

        with contextlib.redirect_stdout(sys.stderr):  # the program's own output is the only one
            _say_if_nothing(controller, [] if args.no_follow else rows)
            for process in controller.processes:
                _say(process, args.json is None)
            if controller.trouble is not None:
                print(printable(f"luthier: {controller.trouble}"))
            missing = _not_placed(controller)
            if missing:
                some = "the tools" if len(missing) > 1 else "the tool"
                print(
                    printable(
                        f"luthier: nothing of {some} {', '.join(missing)} was inserted in any kernel, and nothing is counted"
                    )
                )
        lost = [process.trouble for process in controller.processes if process.failure is not None or process.trouble is not None]
        failed = bool(lost) or bool(missing) or controller.trouble is not None
    found = data["strict"]["found"] if is_strict else 0
    if is_strict:
        if left is not None:
            print(f"luthier: strict: process {left} goes on: what is found in it from now on is not said", file=sys.stderr)
        told.show(verdict, is_said=True)
        print(checked(data["strict"]["launches"], found), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    for process in () if controller is None else controller.processes:
        if process.interrupted is not None:
            raise process.interrupted
    ends = status_of(status, failed, verdict.failures)
    if ends < 0:
        die_of(-ends)
    if are_ours or controller is not None and controller.has_given_up:
        # Nothing is left that would be done at the end; taking LLVM and all the rest apart takes its time, and a tool's code
        # that does not come back may hold it up.
        os._exit(ends)
    return ends


def _under_tools(
    args: Any, program: str, words: list[str], environment: dict[str, str], select: list[Any], at_once: bool
) -> tuple[Controller, int]:
    from ..agent.controller import Controller
    from ..tools import load

    how = placed_as(args, "report")
    with Controller(lambda: [load(text) for text in args.tool], select, not args.no_wait, at_once, how) as controller:
        if args.serve is None:
            return controller, controller.run(program, words, environment, follow=not args.no_follow)
        from .serve import serve

        serve(controller, args.serve, environment)
        return controller, 0


def _say_if_nothing(controller: Controller, rows: list[Row]) -> None:
    """Why tools have nothing to say of kernels that ran, if that is so and the user has not asked for it. ``rows`` are the
    processes that the mock driver knows."""
    wants = controller.wants  # imports what follows, which another thread may be about to
    from ..agent.loaded import CALLBACKS, NOT_SELECTED
    from ..agent.wishes import overrides

    if not any(overrides(tool, name) for tool in wants.tools for name in CALLBACKS):
        return
    known = {process.pid for process in controller.processes}
    missed = [row for row in rows if row.pid not in known and row.launches]
    for row in missed:
        print(
            f"luthier: process {row.pid}: no tool has heard of {_launches(row.launches)} (HIP's own for copies and fills among "
            f"them): the agent was not loaded there"
        )
    unseen = sum(process.unseen for process in controller.processes)
    if unseen:
        print(
            f"luthier: no tool has heard of {_launches(unseen)}: their code objects were not seen when they were loaded, by a "
            f"function that the agent does not know"
        )
    kernels = [k for process in controller.processes for o in process.objects.values() for k in o.kernels.values()]
    if missed or unseen or controller.trouble or any(process.trouble for process in controller.processes):
        return  # that says why
    if not controller.processes:
        print("luthier: nothing was instrumented: no process of the program has loaded ROCm's runtime")
    elif not kernels:
        print("luthier: nothing was instrumented: no kernel was launched")
    elif all(kernel.why == NOT_SELECTED for kernel in kernels):
        print("luthier: nothing was instrumented: no kernel that was launched is selected")


def _not_placed(controller: Controller) -> list[str]:
    """The tools that asked for insertions and got none, in no kernel of any process, by name."""
    placed, refused = set(), set()
    for process in controller.processes:
        for loaded in process.objects.values():
            for watched in loaded.kernels.values():
                for name, did in (watched.instrumentation or {}).get("tools", {}).items():
                    if did["points"]:
                        placed.add(name)
                    elif did["rejected"]:
                        refused.add(name)
    return sorted(refused - placed)


def _launches(number: int) -> str:
    return f"{number:,} launch{'' if number == 1 else 'es'}"


def _say(process: Any, tables: bool) -> None:
    from ..base.text import printable
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
    from ..agent.loaded import INSERT_NOTHING, NOT_FOR_KERNELS, NOT_SELECTED
    from ..base.text import printable
    from .tables import show

    if watched.why is not None:
        wanted = {NOT_SELECTED, NOT_FOR_KERNELS} | ({INSERT_NOTHING} if watched.hears else set())
        if watched.why not in wanted:
            print(printable(f"luthier: kernel {watched.name} was not instrumented: {watched.why}"))
        if not watched.hears:
            return
    if watched.warning is not None:
        print(printable(f"luthier: warning: kernel {watched.name}: {watched.warning}"))
    unfinished = watched.result(ledger).get("unfinished")
    if unfinished:
        print(printable(f"luthier: kernel {watched.name}: {_launches(unfinished)} had not ended ({where})"))
    for report in watched.reports if tables else ():
        for table in report.tables:
            show(f"{table.title} ({watched.object.demangled(watched.name)}, {where})", table.headers, table.rows)


def die_of(number: int) -> None:
    """Ends this process by the signal that has ended the program. What it dumps would be of no use."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
