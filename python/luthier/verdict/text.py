"""A verdict for people, on a terminal."""

from __future__ import annotations

import textwrap

from ..base.text import printable
from ..reports.findings import address, finding_text, times, who
from ..reports.frames import chain, line_text, shown
from .policy import Judged, Standing, Verdict
from .sentence import other

#: Of a finding's kind: red where it makes the command fail, yellow where it is told only.
_COLORS = {Standing.FAILS: "\x1b[1;31m", Standing.TOLD: "\x1b[1;33m"}
_PLAIN = "\x1b[0m"


def render(verdict: Verdict, width: int | None = None, color: bool = False) -> str:
    """Each finding that counts or is told; then what was left out, and why. A finding is a line, as files and other programs
    want it; with ``width``, the columns of a terminal, it is a paragraph with a line for each fact."""
    found = verdict.of(Standing.FAILS, Standing.TOLD)
    if width is None:
        return _wrapped([*map(_line, found), *_notes(verdict)], None)
    return "".join(_paragraph(judged, width, color) for judged in found) + _wrapped(_notes(verdict), width)


def notes(verdict: Verdict, width: int | None = None) -> str:
    """What a user has to hear of suppressions and baseline."""
    return _wrapped(_notes(verdict), width)


def _line(judged: Judged) -> str:
    times = f"; found {judged.times:,} times" if judged.times > 1 else ""
    return f"strict: {finding_text(judged.finding)}{times}"


def _paragraph(judged: Judged, width: int, color: bool) -> str:
    """The kind and what it means; below, the source line, the instruction, the lane, the other party, and how often."""
    finding = judged.finding
    frames = chain(finding)
    facts = []
    for number, frame in enumerate(frames):
        text = (finding.get("source_text") if number == 0 else None) or line_text(frame)
        facts.append(f"{'' if number == 0 else 'inlined at '}{shown(frame)}{f':  {text}' if text else ''}")
    facts.append(f"{finding['text']}  (kernel {finding['kernel']}, pc {finding['pc']:#x})")
    lane = who(finding)
    if finding.get("address") is not None:
        lane += f", {address(finding)}"
        lane += f", {finding['place']}" if finding.get("place") else ""
    facts.append(lane)
    facts += filter(None, (other(finding), times(finding)))
    if judged.times > 1:
        facts.append(f"found {judged.times:,} times")
    head = _filled(f"luthier: strict: {finding['kind']}: {finding['message']}", width, "", "    ")
    if color:
        head = head.replace(finding["kind"], f"{_COLORS[judged.standing]}{finding['kind']}{_PLAIN}", 1)
    return "\n".join([head, *(_filled(fact, width, "    ", "        ") for fact in facts)]) + "\n"


def _filled(text: str, width: int, indent: str, more: str) -> str:
    return textwrap.fill(printable(text), max(width, 40), initial_indent=indent, subsequent_indent=more, break_on_hyphens=False)


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
        whole = [_filled(line, width, "", "    ") for line in whole]
    return "".join(f"{line}\n" for line in whole)


def _many(number: int) -> str:
    return f"{number:,} finding{'' if number == 1 else 's'}"
