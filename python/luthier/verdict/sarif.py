"""A verdict as SARIF 2.1.0 (OASIS), as code scanning services read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..reports.frames import Frame, chain, line_text, relative
from .kinds import kind
from .policy import Judged, Standing, Verdict
from .sentence import message, other

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Standing.FAILS: "error", Standing.TOLD: "warning", Standing.KNOWN: "note", Standing.SUPPRESSED: "note"}


def render(verdict: Verdict) -> str:
    """The file."""
    return json.dumps(data(verdict), indent=1) + "\n"


def data(verdict: Verdict) -> dict[str, Any]:
    """What the file holds: one run, with a rule for each kind that was found."""
    from .. import __version__

    rules = list(verdict.kinds)
    driver = {
        "name": "Luthier",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(name) for name in rules],
    }
    invocation: dict[str, Any] = {"executionSuccessful": True}
    notes = [_notification(f"{rule} has expired", "warning") for rule in verdict.expired]
    if not verdict.launches and not verdict.judged:
        notes.append(_notification("strict mode has looked at no launch", "warning"))
    if verdict.unwritten:
        notes.append(_notification(f"{verdict.unwritten} findings were counted and not written down", "error"))
    if notes:
        invocation["toolExecutionNotifications"] = notes
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "properties": {"launches": verdict.launches},
        "results": [_result(judged, rules) for judged in verdict.judged],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str) -> dict[str, Any]:
    means = kind(name)
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": means.title},
        "fullDescription": {"text": means.means},
        "help": {"text": f"{means.means} {means.cure}", "markdown": f"{means.means}\n\n**What to do:** {means.cure}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["gpu", "correctness"]},
    }


def _result(judged: Judged, rules: list[str]) -> dict[str, Any]:
    finding = judged.finding
    frames = chain(finding)
    made: dict[str, Any] = {
        "ruleId": finding["kind"],
        "ruleIndex": rules.index(finding["kind"]),
        "level": _LEVEL[judged.standing],
        "kind": "fail",
        "message": {"text": message(judged)},
        "locations": [_location(frames[0] if frames else None, finding)],
        "partialFingerprints": {"luthierFinding/v1": judged.id},
        "occurrenceCount": judged.times,
        "baselineState": "unchanged" if judged.standing is Standing.KNOWN else "new",
        "properties": {"standing": judged.standing.value, "finding": dict(finding)},
    }
    if frames:
        made["stacks"] = [{"message": {"text": "calls, inlined"}, "frames": [_frame(frame, finding) for frame in frames]}]
    if finding.get("other"):
        frames = chain(finding["other"])
        location = _location(frames[0] if frames else None, {**finding["other"], "kernel": finding["kernel"]})
        made["relatedLocations"] = [{"id": 1, **location, "message": {"text": other(finding)}}]
    if judged.rule is not None:
        suppression: dict[str, Any] = {"kind": "external", "status": "accepted", "justification": judged.rule.reason}
        made["suppressions"] = [suppression]
    return made


def _location(frame: Frame | None, party: Any) -> dict[str, Any]:
    """Where a party is: its source line, or for code without line numbers only the kernel and the address."""
    kernel = {"name": party["kernel"], "fullyQualifiedName": party["kernel"], "kind": "function"}
    address = {"absoluteAddress": party["pc"], "kind": "instruction"}
    if frame is None:
        return {"logicalLocations": [kernel], "physicalLocation": {"address": address}}
    region: dict[str, Any] = {"startLine": frame["line"]}
    if frame.get("column"):
        region["startColumn"] = frame["column"]
    if (text := line_text(frame)) is not None:
        region["snippet"] = {"text": text}
    physical = {"artifactLocation": _artifact(frame["file"]), "region": region, "address": address}
    return {"physicalLocation": physical, "logicalLocations": [kernel]}


def _artifact(file: str) -> dict[str, str]:
    name = relative(file)
    if name.startswith("/"):
        return {"uri": Path(name).as_uri()}
    import urllib.parse

    return {"uri": urllib.parse.quote(name), "uriBaseId": "SRCROOT"}


def _frame(frame: Frame, party: Any) -> dict[str, Any]:
    location = _location(frame, party)
    location["logicalLocations"] = [{"name": frame.get("function") or "??", "kind": "function"}]
    return {"location": location}


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}
