"""How commands end: one rule for all of them (docs/cli.md)."""

from __future__ import annotations

#: Strict mode has found something.
FOUND = 1
BAD_INPUT = 2
#: A tool's own code has failed.
TOOL_FAILED = 3


def status_of(program: int, tool_failed: bool, findings: int) -> int:
    """The status of a command: a program's own comes first, negative for a signal, then tools that failed, then findings."""
    if program:
        return program
    return TOOL_FAILED if tool_failed else FOUND if findings else 0


def checked(launches: int, findings: int) -> str:
    """The last line of a command with ``--strict``."""
    if not launches and not findings:
        return "luthier: strict: no launches checked"
    return f"luthier: strict: {_many(launches, 'launch', 'es')} checked, {_many(findings, 'finding', 's')}"


def _many(number: int, what: str, ending: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else ending}"
