"""When two findings are the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..reports.frames import chain, line_text, relative


def exact(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for the same mistake of the same build: found again by another launch, process or run."""
    other = finding.get("other") or {}
    frames = tuple((frame["file"], frame["line"], frame["column"]) for frame in finding.get("source") or ())
    return finding["kind"], finding["kernel"], finding["pc"], finding["text"], frames, other.get("pc")


def stable(finding: Mapping[str, Any]) -> str:
    """The same after lines were added elsewhere in the file: from the kind, the kernel, and the text of the source lines of
    both parties. Without line numbers in the object, of the instructions' text. 16 hexadecimal digits.

    Two lines with the same text have the same identity; a baseline therefore counts how often it has one.
    """
    parties = [_party(finding)]
    if finding.get("other"):
        parties.append(_party(finding["other"]))
    text = "\0".join([finding["kind"], finding["kernel"], *parties])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _party(party: Mapping[str, Any]) -> str:
    frames = chain(party)
    if not frames:
        return party["text"]
    return f"{relative(frames[0]['file'])}\0{line_text(frames[0]) or frames[0]['line']}"
