"""A finding as sentences without the name of its place, for views that show the place by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..reports.findings import address, who
from ..reports.frames import chain, relative, shown
from .policy import Judged


def message(judged: Judged) -> str:
    """What happened, in which kernel and lane, at which address of which argument, and how often: one line."""
    finding = judged.finding
    parts = [f"{finding['message']}, in kernel {finding['kernel']}"]
    parts.append(who(finding))
    if finding.get("address") is not None and f"{finding['address']:#x}" not in finding["message"]:
        parts.append(address(finding))
    if finding.get("place"):
        parts.append(str(finding["place"]))
    text = ", ".join(parts)
    if (party := other(finding)) is not None:
        text += f"; {party}"
    if (count := finding.get("count", 1)) > 1:
        text += f"; the first of {count:,} {'lanes' if finding.get('lane') is not None else 'times'}"
    if judged.times > 1:
        text += f"; found {judged.times:,} times"
    return text


def other(finding: Mapping[str, Any]) -> str | None:
    """The other party of a race, a hazard's first instruction, or the read of undefined LDS."""
    party = finding.get("other")
    if party is None:
        return None
    reads = dict.fromkeys(("undefined-lds", "undefined-memory"), f"wave {party['wave']} read it with")
    names = {"hazard": "the first instruction is", "launch-race": "the other is", **reads}
    name = names.get(finding["kind"], f"the other is wave {party['wave']} with")
    frames = chain(party)
    place = f" at {shown(frames[0])}" if frames else f" at pc {party['pc']:#x}"
    return f"{name} {party['text']}{place}"


def calls(party: Mapping[str, Any]) -> list[str]:
    """The chain of inlined calls, the user's innermost first, each as ``FUNCTION at FILE:LINE``."""
    return [f"{frame.get('function') or '??'} at {relative(frame['file'])}:{frame['line']}" for frame in chain(party)]
