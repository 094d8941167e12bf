"""The command line.

Every bad input ends in one line on standard error and exit status 2. :mod:`.ending` has the other statuses. What a command
needs is imported when it runs, so that starting is quick.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..base.signals import Terminated, end, raise_on_termination
from ..base.text import printable
from ..errors import LuthierError
from .parsers import Usage, build_parser
from .parsers.options import STRICT_KINDS


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; gives the exit status."""
    if sys.stderr is None:  # closed: `print` would take standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        if sys.stdout is None:
            raise Usage("standard output is closed")
        if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be text
            sys.stdout.reconfigure(errors="backslashreplace")
        words = sys.argv[1:] if argv is None else list(argv)
        prefix = "--strict="
        if not words:
            build_parser().print_help()
            return 0
        # What comes behind `--` is another program's; so is what comes behind the first word that is no option.
        own = words.index("--") if words[:1] in (["trace"], ["check"], ["capture"], ["debug"]) and "--" in words else len(words)
        args = build_parser(words[0]).parse_args(
            [w.replace(prefix, f"{STRICT_KINDS}=", 1) if w.startswith(prefix) else w for w in words[:own]]
        )
        if args.command in ("trace", "check", "capture", "debug"):
            args.app = [*args.app, *words[own if args.app else own + 1 :]]
        # Whether nothing comes behind this command in this process.
        args.ends_process = argv is None
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
    except Usage as error:
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
                raise Usage(f"--{option} {name}: these bytes are no UTF-8")


def _fail(message: str, lines: bool = False) -> int:
    """One line, whatever is in the message; a hook's error keeps its source excerpt."""
    print(printable(message if lines else f"luthier: error: {' '.join(message.split())}"), file=sys.stderr)
    return 2
