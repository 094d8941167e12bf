"""A verdict for people, on a terminal."""

from __future__ import annotations

import textwrap

from ..base.text import printable
from ..reports.findings import finding_text
from .policy import Judged, Standing, Verdict


def render(verdict: Verdict, width: int | None = None) -> str:
    """A line for each finding that counts or is told; then what was left out, and why. Lines are whole, as files and other
    programs want them, or wrapped at ``width`` columns."""
    lines = [_line(judged) for judged in verdict.of(Standing.FAILS, Standing.TOLD)]
    return _wrapped([*lines, *_notes(verdict)], width)


def notes(verdict: Verdict, width: int | None = None) -> str:
    """What a user has to hear of suppressions and baseline."""
    return _wrapped(_notes(verdict), width)


def _line(judged: Judged) -> str:
    times = f"; found {judged.times:,} times" if judged.times > 1 else ""
    return f"strict: {finding_text(judged.finding)}{times}"


def _notes(verdict: Verdict) -> list[str]:
    lines = []
    for standing, what in ((Standing.SUPPRESSED, "suppressed"), (Standing.KNOWN, "in the baseline")):
        if found := verdict.of(standing):
            rules = sorted({str(judged.rule) for judged in found if judged.rule is not None})
            lines.append(f"strict: {_many(len(found))} {what}{': ' if rules else ''}{'; '.join(rules)}")
    if told := verdict.of(Standing.TOLD):
        kinds = ", ".join(sorted({judged.finding["kind"] for judged in told}))
        lines.append(f"strict: {_many(len(told))} told, and no failure by --fail-on: {kinds}")
    lines += [f"warning: {rule} has expired: it suppresses nothing any more" for rule in verdict.expired]
    lines += [f"strict: {rule} fitted no finding" for rule in verdict.unused]
    if verdict.unwritten:
        lines.append(f"strict: {verdict.unwritten:,} more findings were counted and not written down")
    return lines


def _wrapped(lines: list[str], width: int | None) -> str:
    whole = [printable(f"luthier: {line}") for line in lines]
    if width is not None:
        whole = [textwrap.fill(line, max(width, 40), subsequent_indent="    ", break_on_hyphens=False) for line in whole]
    return "".join(f"{line}\n" for line in whole)


def _many(number: int) -> str:
    return f"{number:,} finding{'' if number == 1 else 's'}"
