"""A verdict as JSON; findings.schema.json describes it."""

from __future__ import annotations

import json
from typing import Any

from .policy import Judged, Standing, Verdict

VERSION = 1


def data(verdict: Verdict) -> dict[str, Any]:
    """What the file holds."""
    return {
        "luthier-findings": VERSION,
        "launches": verdict.launches,
        "unwritten": verdict.unwritten,
        "standings": {standing.value: len(verdict.of(standing)) for standing in Standing},
        "kinds": verdict.kinds,
        "findings": [_finding(judged) for judged in verdict.judged],
    }


def _finding(judged: Judged) -> dict[str, Any]:
    rule = judged.rule
    suppressed = None
    if rule is not None:
        until = rule.until.isoformat() if rule.until else None
        suppressed = {"rule": rule.where, "reason": rule.reason, "until": until}
    told = {"id": judged.id, "standing": judged.standing.value, "times": judged.times, "suppressed": suppressed}
    return {**told, **judged.finding, **told}


def render(verdict: Verdict) -> str:
    """The file."""
    return json.dumps(data(verdict), indent=1) + "\n"
