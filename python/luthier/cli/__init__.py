"""The command line.

Every bad input ends in one line on standard error and exit status 2. :mod:`.ending` has the other statuses. What a command
needs is imported when it runs, so that starting is quick.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from ..base.signals import Terminated, end, raise_on_termination
from ..base.text import printable
from ..errors import LuthierError
from . import case_parsers, debug_parsers
from .perfetto import add_perfetto

_STRICT_KINDS = "--strict-kinds"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and what may have been meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            what = action.metavar or action.dest
            raise _Usage(f"{what} {value}: invalid choice{_meant(str(value), names)} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As of argparse, but that the parser of a command says itself what it does not know."""
        self._words = list(args or ())
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return known, unknown

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        meant = _meant(unknown[0].partition("=")[0], self._options())
        raise _Usage(f"unrecognized arguments: {' '.join(unknown)}{meant} (see {self.prog} --help)")

    def _options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]

    def error(self, message: str) -> NoReturn:
        # An argument that is missing may be there under a name that is not quite right.
        unknown = [word for word in self._words if word.startswith("--") and word.partition("=")[0] not in self._options()]
        if "required" in message and unknown and unknown[0] != "--":
            self._refuse(unknown)
        raise _Usage(f"{message} (see {self.prog} --help)")


class _Usage(Exception):
    pass


def _meant(word: str, names: Sequence[str]) -> str:
    """``: did you mean NAME?``, or all names where none is near."""
    close = difflib.get_close_matches(word, names, 1, 0.6)
    if close:
        return f": did you mean {close[0]}?"
    return "" if word.startswith("-") or not names else f": choose from {', '.join(names)}"


def build_parser() -> argparse.ArgumentParser:
    from .. import __version__
    from . import annotate_options, finding_options

    parser = _Parser(prog="luthier", description="Instrument AMD GPU code, and run it with no GPU.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"luthier {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=_Parser, help="luthier COMMAND --help has its options"
    )

    def command(name: str, help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
        made.add_argument("file", metavar="FILE", help="code object, host binary with HIP code, or offload bundle")
        made.add_argument("--target", metavar="T", help="which code object of a file that has several (gfx90a, gfx90a:xnack-)")
        if name != "instrument":  # which takes several
            made.add_argument("--entry", metavar="N", help="which entry of a file that has several (luthier inspect --list)")
        return made

    def checking(parser: argparse.ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group()
        every = "prove every placement with the splice checker (default: all of a small plan, of others a sample)"
        which.add_argument("--check", action="store_true", default=None, help=every)
        which.add_argument("--no-check", action="store_false", dest="check", help="prove none")
        parser.add_argument(
            "--bodies",
            choices=("in-place", "called", "choose"),
            help="where hooks' code stands: at each place, once in each function and called, or called where that is smaller at "
            "little cost (the default)",
        )

    def placing(parser: argparse.ArgumentParser) -> None:
        checking(parser)
        parser.add_argument(
            "--calling-convention",
            action="store_true",
            help="place hooks as calls by the C calling convention, registers spilled: dearer, for comparison",
        )
        parser.add_argument(
            "--on-rejected",
            choices=("raise", "warn", "report"),
            default="warn",
            help="what to do if something cannot be inserted: stop, leave it out and say so in a line (the default), or in "
            "the JSON only",
        )

    inspect = command("inspect", "Show target, kernels, descriptors, metadata, symbols and sections.")
    inspect.add_argument("--json", action="store_true", help="everything, as JSON")
    inspect.add_argument("--list", action="store_true", help="only the entries of the file")

    kernels = command("kernels", "List kernels, with demangled names, registers, LDS, scratch and arguments.")
    kernels.add_argument("glob", metavar="GLOB", nargs="?", help="only those whose name, mangled or not, is of this pattern")
    kernels.add_argument("--json", action="store_true", help="the list as JSON")

    disasm = command("disasm", "Show assembly with basic blocks and branch targets.")
    disasm.add_argument("--kernel", metavar="K", help="this kernel and the functions it reaches (default: everything); a pattern")

    annotate_options.add(command("annotate", "Show source beside assembly, with columns of tools: as text, HTML or JSON."))

    report = commands.add_parser(
        "report",
        help="Make one page of HTML of tools' results, with tables and plots.",
        description="Make one page of HTML of what luthier run --json has written, with the tools' tables and plots.",
        allow_abbrev=False,
    )
    report.add_argument("results", metavar="RESULT.json", nargs="+", help="what luthier run --json wrote")
    report.add_argument("-o", "--output", metavar="OUT.html", required=True, help="the page")

    lift = command("lift", "Show functions, blocks and edges for other programs.")
    lift.add_argument(
        "--emit",
        choices=("text", "json", "dot", "mir"),
        default="text",
        help="text (the default), JSON, a graph for Graphviz, or LLVM MIR",
    )
    lift.add_argument("--kernel", metavar="K", help="this kernel and the functions it reaches (default: everything)")

    run = command("run", "Run a kernel on the mock device.")
    run.add_argument("--kernel", metavar="K", required=True, help="its name, or a pattern that fits no other")
    size = run.add_mutually_exclusive_group(required=True)
    size.add_argument("--grid", metavar="X[,Y,Z]", help="work-items in all")
    size.add_argument("--blocks", metavar="X[,Y,Z]", help="workgroups in all")
    run.add_argument("--block", metavar="X[,Y,Z]", required=True, help="work-items of a workgroup")
    run.add_argument(
        "--arg",
        metavar="ARG",
        action="append",
        default=[],
        help="one for each argument of the kernel: buf:TYPE[N]=INIT (zeros, ones, arange, random:SEED, FILE.npy), TYPE=VALUE, null",
    )
    run.add_argument(
        "--cooperative", action="store_true", help="all workgroups are under way together, and may wait for one another"
    )
    run.add_argument("--cluster", metavar="X[,Y,Z]", help="workgroups of a cluster (gfx1250)")
    run.add_argument(
        "--schedule", metavar="S", help="how waves take turns: fair (the default), alternate, random:SEED, pct:SEED, ..."
    )
    run.add_argument("--watchdog", metavar="N", help="give up when one workgroup has run N instructions")
    run.add_argument("--timeout", metavar="SECONDS", help="give up when the launch has taken so long")
    run.add_argument("--lds", metavar="BYTES", default="0", help="dynamic LDS, added to what the kernel declares")
    run.add_argument(
        "--tool", metavar="TOOL", action="append", default=[], help="NAME[:option=value,...] or FILE.py[:CLASS][:...]"
    )
    add_perfetto(run, "timeline", "the kernel's waves")
    run.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="K[,grid=X[xYxZ]]",
        help="the tools are about launches of this kernel, and this size; another launch runs the original (repeatable)",
    )
    placing(run)
    run.add_argument("--strict", action="store_true", help="look for mistakes that hardware would hide; exit status 1 if any")
    # `--strict=KIND,...`, under another name for argparse, which would take a word behind a plain `--strict` for kinds.
    run.add_argument(_STRICT_KINDS, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")
    finding_options.add(run)
    run.add_argument(
        "--faults", metavar="N[:SEED]", help="run N times with a bit flipped, chosen by the seed, and say what became of the runs"
    )
    run.add_argument(
        "--annotate", metavar="FILE", help="write the kernel's source beside its assembly, with counts (.html, .json or .txt)"
    )
    run.add_argument("--out", metavar="DIR", help="write each table of the tools to a file of its own in DIR")
    run.add_argument("--out-format", choices=("parquet", "csv", "json"), default="parquet", help="of these files (parquet)")
    run.add_argument("--json", metavar="FILE", help="write what happened as JSON (- for standard output, with no tables)")
    run.add_argument(
        "--dump", metavar="I=FILE.npy", action="append", default=[], help="write argument I's contents after the run"
    )
    run.add_argument("--symbol", metavar="NAME[:TYPE]", action="append", default=[], help="print a global variable after the run")

    device = commands.add_parser("device", help="What the mock device can be.", description="What the mock device can be.")
    device.add_argument(
        "--coverage", metavar="TARGET", nargs="?", const="", help="the operations that it refuses, of a processor or of all"
    )

    batch = commands.add_parser(
        "batch",
        help="Count, lift, instrument, check or run all code objects of folders, wheels and archives.",
        description="Count, lift, instrument, check or run all code objects of folders, wheels and archives, on all cores or a "
        "cluster. A run that was stopped is completed by the same command.",
        allow_abbrev=False,
    )
    batch.add_argument("action", metavar="ACTION", choices=("count", "lift", "instrument", "check", "run"), help="what to do")
    batch.add_argument("paths", metavar="PATH", nargs="+", help="files, folders, wheels, zip and tar archives")
    batch.add_argument("--out", metavar="DIR", required=True, help="Parquet data sets go there: objects and kernels")
    batch.add_argument(
        "--tool", metavar="TOOL", action="append", default=[], help="as for luthier run; check takes instr_count without one"
    )
    batch.add_argument("--target", metavar="PATTERN", help="only code for processors of this pattern (gfx90a, gfx11*)")
    batch.add_argument("--kernel", metavar="PATTERN", help="only kernels whose name, mangled or not, is of this pattern")
    batch.add_argument("--write", action="store_true", help="keep instrumented code objects, in DIR/instrumented")
    batch.add_argument(
        "--launches", metavar="FILE.py", help="of run: its function launch(kernel) gives a launch's keywords, or None"
    )
    batch.add_argument("--workers", metavar="N", help="processes (one for each core)")
    batch.add_argument("--scheduler", metavar="ADDRESS", help="do it on a Dask cluster (tcp://host:8786)")
    batch.add_argument("--timeout", metavar="SECONDS", default="300", help="give a code object up after so long (300)")
    batch.add_argument("--memory", metavar="MEGABYTES", help="the most memory of a process")
    batch.add_argument(
        "--retries", metavar="N", default="1", help="how often a code object is tried again whose process was lost (1)"
    )
    batch.add_argument("--limit", metavar="N", help="only the first N code objects")
    batch.add_argument("--sample", metavar="N[:SEED]", help="only N code objects, chosen by the seed")
    batch.add_argument("--part", metavar="N", default="500", help="write results down for every N code objects (500)")
    batch.add_argument("--redo-errors", action="store_true", help="do code objects again whose rows are errors")

    judge = commands.add_parser(
        "judge",
        help="Judge a kernel against a reference in NumPy or torch.",
        description="Judge a kernel against a reference in NumPy or torch, over sizes, types, targets and schedules.",
        allow_abbrev=False,
    )
    judge.add_argument("file", metavar="FILE.py", help="defines kernel, reference and case (docs/judge.md)")
    judge.add_argument(
        "--target", metavar="T", dest="targets", action="append", default=[], help="instead of the file's (repeatable)"
    )
    judge.add_argument("--json", metavar="FILE", help="write the judgement as JSON (- for standard output)")

    commands.add_parser(
        "mcp",
        help="Serve coding assistants by the Model Context Protocol, on standard input and output.",
        description="Serve coding assistants by the Model Context Protocol, on standard input and output.",
    )

    doctor = commands.add_parser(
        "doctor",
        help="Show what is installed, what each part is for, and what would bring the rest.",
        description="Show what is installed, what each part is for, and what would bring the rest.",
    )
    doctor.add_argument("--json", action="store_true", help="as JSON")

    examples = commands.add_parser(
        "examples", help="Copy the examples into a folder.", description="Copy the examples into a folder."
    )
    examples.add_argument(
        "folder", metavar="FOLDER", nargs="?", default="luthier-examples", help="a new folder (luthier-examples)"
    )

    completion = commands.add_parser(
        "completion",
        help="Print what a shell sources to complete commands and options.",
        description='Print what a shell sources to complete commands and options: eval "$(luthier completion bash)"',
    )
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")

    trace = commands.add_parser(
        "trace",
        help="Run a HIP or HSA program, unchanged, on mock GPUs.",
        description="Run a HIP or HSA program, unchanged, on mock GPUs.",
        usage="luthier trace --mock TARGET[,N] [options] -- APP ARGS",
        allow_abbrev=False,
    )
    trace.add_argument("--mock", metavar="TARGET[,N]", help="the processor of the mock GPUs, and how many")
    trace.add_argument(
        "--as",
        metavar="CARD",
        dest="card",
        help="mock GPUs as large as a card: MI300X, 'RX 7900 XTX'; MI300X:CPX is one of each die",
    )
    trace.add_argument("--rocm", metavar="PATH|7", help="run on the ROCm in a folder; 7: the one of `make setup-rocm7`")
    trace.add_argument(
        "--preload",
        action="append",
        default=[],
        metavar="LIB",
        help="a library that is loaded into the program before its own, a HIP tool module for example (repeatable)",
    )
    trace.add_argument(
        "--tool", action="append", default=[], metavar="T", help="a tool, or FILE.py[:CLASS], for kernels as they are launched"
    )
    add_perfetto(trace, "launches", "launches, copies and calls")
    trace.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="K[,grid=X[xYxZ]][,first=N][,every=N][,process=P]",
        help="only kernels of this name or pattern, and of their launches those of a size, the first, or every Nth (repeatable)",
    )
    checking(trace)
    trace.add_argument("--no-wait", action="store_true", help="launches run as they are until their kernel is instrumented")
    trace.add_argument("--json", metavar="F", help="what the tools say, and what --strict finds, goes there as JSON")
    trace.add_argument(
        "--serve",
        metavar="F",
        help="start nothing: write what a shell is to set for programs to F (- for standard output), and wait",
    )
    trace.add_argument("--no-follow", action="store_true", help="leave the program's children alone")
    trace.add_argument(
        "--functions",
        metavar="PATTERN",
        nargs="?",
        const="*",
        help="only list the functions of HSA and HIP that tools can hear of",
    )
    trace.add_argument("--memory", metavar="SIZE", help="memory of each GPU (16G)")
    trace.add_argument("--cus", metavar="N", help="compute units of each GPU (8)")
    trace.add_argument("--threads", metavar="N", help="workers of a launch (one for each core)")
    trace.add_argument(
        "--schedule",
        metavar="S",
        help="how the waves of a launch take turns: fair (the default), alternate, random:SEED; only the first uses several workers",
    )
    trace.add_argument(
        "--copies",
        metavar="WHO",
        help="driver: HIP's copies and fills are done natively (the default); kernels: by HIP's kernels",
    )
    trace.add_argument("--apu", action="store_true", help="one device that shares the host's memory, without checks of addresses")
    trace.add_argument("--strict", action="store_true", help="look for mistakes that hardware would hide; exit status 1 if any")
    trace.add_argument(_STRICT_KINDS, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")
    finding_options.add(trace)
    trace.add_argument("--watchdog", metavar="N", help="give a kernel up when one workgroup has run N instructions")
    trace.add_argument("--kfd", action="store_true", help="the program looks for the kernel's driver itself, as rocminfo does")
    trace.add_argument("--log", action="store_true", help="say what is asked of the driver, and each packet")
    trace.add_argument("app", metavar="APP ARGS", nargs=argparse.REMAINDER, help="the program and its arguments")

    check = commands.add_parser(
        "check",
        help="Run any command, such as pytest or ctest, and judge all launches on mock devices in it.",
        description="Run any command, such as pytest or ctest, and judge all launches on mock devices in it, in all its processes.",
        usage="luthier check [--mock TARGET[,N]] [--triton TARGET] [options] -- COMMAND",
        allow_abbrev=False,
    )
    check.add_argument("--mock", metavar="TARGET[,N]", help="HIP and HSA programs run on mock GPUs, as with luthier trace")
    check.add_argument("--triton", metavar="TARGET", help="Triton's kernels run on this mock device")
    check.add_argument("--strict", action="store_true", help="as without it")
    check.add_argument(_STRICT_KINDS, metavar="KIND,...", dest="strict_kinds", help="as --strict=KIND,...: these kinds only")
    check.add_argument(
        "--report", metavar="FILE.json", dest="reports", action="append", default=[],
        help="what --format json=FILE of an earlier run wrote is judged too (repeatable)",
    )  # fmt: skip
    finding_options.add(check)
    check.add_argument("app", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")
    check.set_defaults(strict=True)

    instrument = command(
        "instrument", "Write an instrumented copy of a code object, or of a host binary or bundle with all of them in it."
    )
    instrument.add_argument("--tool", metavar="TOOL", action="append", required=True, help="as for run")
    instrument.add_argument(
        "--entry", metavar="N", type=int, action="append", help="only this entry of a file that has several (may be repeated)"
    )
    instrument.add_argument(
        "--kernel",
        metavar="K",
        action="append",
        help="only this kernel, or of a code object those of this pattern (may be repeated)",
    )
    placing(instrument)
    instrument.add_argument("--json", metavar="FILE", help="write what was done as JSON")
    instrument.add_argument("-o", "--output", metavar="OUT", required=True, help="where it goes")

    case_parsers.add(commands, _STRICT_KINDS)
    debug_parsers.add(commands, _STRICT_KINDS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; gives the exit status."""
    if sys.stderr is None:  # closed: `print` would take standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        if sys.stdout is None:
            raise _Usage("standard output is closed")
        if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be text
            sys.stdout.reconfigure(errors="backslashreplace")
        words = sys.argv[1:] if argv is None else list(argv)
        prefix = "--strict="
        if not words:
            build_parser().print_help()
            return 0
        # What comes behind `--` is another program's; so is what comes behind the first word that is no option.
        own = words.index("--") if words[:1] in (["trace"], ["check"], ["capture"], ["debug"]) and "--" in words else len(words)
        args = build_parser().parse_args(
            [w.replace(prefix, f"{_STRICT_KINDS}=", 1) if w.startswith(prefix) else w for w in words[:own]]
        )
        if args.command in ("trace", "check", "capture", "debug"):
            args.app = [*args.app, *words[own if args.app else own + 1 :]]
        _check_names(args)
        raise_on_termination()
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                status = _command(args)
            except SystemExit as error:  # a tool's: commands have no other
                return _tool_failed(error)
        sys.stdout.flush()
        return status
    except _Usage as error:
        return _fail(str(error))
    except LuthierError as error:
        return _fail(str(error), lines=type(error).__name__ == "HookError")
    except BrokenPipeError:
        # The reader of our output has seen enough; nothing more is to be flushed at exit.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("luthier: interrupted", file=sys.stderr)
        work = sys.modules.get(f"{__name__}.work")
        if work is not None:
            work.exit_now(130)
        return 130
    except Terminated as error:
        end(error.number)
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}")
    except MemoryError:
        return _fail("out of memory")
    except Exception as error:
        # A mistake in a tool's Python code, or in ours: who wrote it needs the traceback.
        return _tool_failed(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # pyo3's, which is no Exception
            raise
        return _fail(f"internal error, please report it: {error}")


def _tool_failed(error: BaseException) -> int:
    from ..base.failures import told
    from .ending import TOOL_FAILED

    print(told(error), end="", file=sys.stderr)
    return TOOL_FAILED


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    print(printable(f"luthier: warning: {' '.join(str(message).split())}"), file=sys.stderr)


def _command(args: Any) -> int:
    import importlib

    module = {"disasm": "code", "lift": "code"}.get(args.command, args.command)
    status: int = importlib.import_module(f".{module}", __name__).main(args)
    return status


def _check_names(args: Any) -> None:
    """What is no path has to be text."""
    for option in ("kernel", "target", "symbol"):
        given = getattr(args, option, None) or ()
        for name in [given] if isinstance(given, str) else given:
            if any("\ud800" <= character <= "\udfff" for character in name):
                raise _Usage(f"--{option} {name}: these bytes are no UTF-8")


def _fail(message: str, lines: bool = False) -> int:
    """One line, whatever is in the message; a hook's error keeps its source excerpt."""
    print(printable(message if lines else f"luthier: error: {' '.join(message.split())}"), file=sys.stderr)
    return 2
