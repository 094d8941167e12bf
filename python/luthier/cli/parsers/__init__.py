"""The commands, and the parser of the command line.

A command line has one command, whose options are all that is made of the two hundred.

| module | whose options |
|---|---|
| `objects` | commands that read a code object, and `instrument`, which writes one |
| `running` | commands that run kernels on the mock device |
| `programs` | commands that run programs |
| `cases` | commands about recorded launches, and the debugger |
| `others` | commands about results and about Luthier itself |
| `options` | several commands' |
"""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple

from .refusing import Parser, Usage

__all__ = ["Usage", "build_parser"]


class _Command(NamedTuple):
    help: str
    #: The module with `add_COMMAND`, which gives a parser the command's options.
    options: str | None = None
    #: Where it says more than the line of help.
    description: str | None = None
    usage: str | None = None


_COMMANDS = {
    "inspect": _Command("Show target, kernels, descriptors, metadata, symbols and sections.", "objects"),
    "kernels": _Command(
        "List kernels, with demangled names, registers, LDS, scratch and arguments.",
        "objects",
    ),
    "disasm": _Command("Show assembly with basic blocks and branch targets.", "objects"),
    "annotate": _Command(
        "Show source beside assembly, with columns of tools: as text, HTML or JSON.",
        "objects",
    ),
    "report": _Command(
        "Make one page of HTML of tools' results, with tables and plots.",
        "others",
        "Make one page of HTML of what luthier run --json has written, with the tools' tables and plots.",
    ),
    "lift": _Command("Show functions, blocks and edges for other programs.", "objects"),
    "run": _Command("Run a kernel on the mock device.", "running"),
    "device": _Command("What the mock device can be.", "running"),
    "batch": _Command(
        "Count, lift, instrument, check or run all code objects of folders, wheels and archives.",
        "running",
        "Count, lift, instrument, check or run all code objects of folders, wheels and archives, on all cores or a cluster. A run "
        "that was stopped is completed by the same command.",
    ),
    "judge": _Command(
        "Judge a kernel against a reference in NumPy or torch.",
        "running",
        "Judge a kernel against a reference in NumPy or torch, over sizes, types, targets and schedules.",
    ),
    "mcp": _Command("Serve coding assistants by the Model Context Protocol, on standard input and output."),
    "doctor": _Command("Show what is installed, what each part is for, and what would bring the rest.", "others"),
    "examples": _Command("Copy the examples into a folder.", "others"),
    "completion": _Command(
        "Print what a shell sources to complete commands and options.",
        "others",
        'Print what a shell sources to complete commands and options: eval "$(luthier completion bash)"',
    ),
    "trace": _Command(
        "Run a HIP or HSA program, unchanged, on mock GPUs.",
        "programs",
        usage="luthier trace --mock TARGET[,N] [options] -- APP ARGS",
    ),
    "check": _Command(
        "Run any command, such as pytest or ctest, and judge all launches on mock devices in it.",
        "programs",
        "Run any command, such as pytest or ctest, and judge all launches on mock devices in it, in all its processes.",
        "luthier check [--mock TARGET[,N]] [--triton TARGET] [options] -- COMMAND",
    ),
    "instrument": _Command(
        "Write an instrumented copy of a code object, or of a host binary or bundle with all of them in it.",
        "objects",
    ),
    "capture": _Command(
        "Record a launch of a running program, with all memory that it can reach, as a case file.",
        "cases",
        usage="luthier capture --kernel K [--launch N] [--mock TARGET] -o CASE -- APP ARGS",
    ),
    "replay": _Command("Run a recorded launch again, and compare what it leaves.", "cases"),
    "explore": _Command("Run a recorded launch under many schedules, and say which outcomes there are.", "cases"),
    "reduce": _Command("Make a recorded launch smaller as long as its finding, or its fault, stays.", "cases"),
    "debug": _Command(
        "Debug a kernel on the mock device: stop anywhere, go back, ask where a value comes from.",
        "cases",
        usage="luthier debug FILE --kernel K --block X --blocks X [--arg ARG ...] | CASE | --kernel K [--launch N] -- APP ARGS",
    ),
    "dap": _Command("Serve an editor the debugger, by the Debug Adapter Protocol on standard input and output."),
}


def build_parser(first: str | None = None) -> argparse.ArgumentParser:
    """The parser of all command lines, or of those whose first word is ``first``."""
    from ... import __version__

    parser = Parser(prog="luthier", description="Instrument AMD GPU code, and run it with no GPU.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"luthier {__version__}")
    commands = parser.add_subparsers(
        prog="luthier",
        dest="command",
        metavar="COMMAND",
        required=True,
        parser_class=Parser,
        help="luthier COMMAND --help has its options",
    )
    for name, command in _COMMANDS.items():
        if first in _COMMANDS and name != first:
            continue
        of_command = commands.add_parser(
            name, help=command.help, description=command.description or command.help, usage=command.usage, allow_abbrev=False
        )
        if command.options is not None and first in (name, None):
            getattr(importlib.import_module(f".{command.options}", __name__), f"add_{name}")(of_command)
    return parser
