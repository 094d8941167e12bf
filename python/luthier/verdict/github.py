"""A verdict as GitHub Actions' workflow commands, which appear at the source lines of a pull request."""

from __future__ import annotations

from ..reports.frames import chain, relative
from .kinds import kind
from .policy import Judged, Standing, Verdict
from .sentence import calls, message


def render(verdict: Verdict) -> str:
    """An error for each finding that counts, a warning for what is told only, and a notice with the sums."""
    lines = [_annotation("error", judged) for judged in verdict.of(Standing.FAILS)]
    lines += [_annotation("warning", judged) for judged in verdict.of(Standing.TOLD)]
    lines += [_command("warning", {"title": "luthier: suppression expired"}, str(rule)) for rule in verdict.expired]
    counts = {standing: len(verdict.of(standing)) for standing in _WORDS}
    sums = ", ".join(f"{n} {_WORDS[standing].removesuffix('s' if n == 1 else '')}" for standing, n in counts.items() if n)
    if not verdict.launches and not verdict.judged:
        lines.append(_command("warning", {"title": "luthier"}, "strict mode has looked at no launch"))
    else:
        checked = f"{verdict.launches} launch{'' if verdict.launches == 1 else 'es'} checked"
        lines.append(_command("notice", {"title": "luthier"}, f"{checked}: {sums or 'no findings'}"))
    return "".join(f"{line}\n" for line in lines)


_WORDS = {
    Standing.FAILS: "findings",
    Standing.TOLD: "told only",
    Standing.KNOWN: "in the baseline",
    Standing.SUPPRESSED: "suppressed",
}


def _annotation(level: str, judged: Judged) -> str:
    frames = chain(judged.finding)
    properties: dict[str, object] = {}
    if frames:
        properties |= {"file": relative(frames[0]["file"]), "line": frames[0]["line"]}
        if frames[0].get("column"):
            properties["col"] = frames[0]["column"]
    properties["title"] = f"{kind(judged.finding['kind']).title} ({judged.finding['kind']})"
    text = "\n".join([message(judged), *(f"inlined from {call}" for call in calls(judged.finding)[1:])])
    return _command(level, properties, text)


def _command(level: str, properties: dict[str, object], text: str) -> str:
    told = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items())
    return f"::{level} {told}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
