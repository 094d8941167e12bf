"""What strict mode finds, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .frames import chain


class Finding(dict[str, Any]):
    """One finding: a dict with the keys of docs/report.md, which prints itself as a sentence."""

    def __str__(self) -> str:
        return finding_text(self)

    def __repr__(self) -> str:
        return f"<Finding {finding_text(self)}>"

    def _repr_html_(self) -> str:
        """For notebooks: its keys and values."""
        from .as_html import html_table

        facts = [(key, hex(value) if key in ("pc", "address", "original_pc") else value) for key, value in self.items() if value]
        return html_table(self["kind"], (), facts)


def finding_text(finding: Mapping[str, Any]) -> str:
    """A strict-mode finding in one line."""
    where = f"{finding['kernel']}+pc {finding['pc']:#x} ({finding['text']}){_line(finding)}"
    who = f"workgroup {tuple(finding['workgroup'])} wave {finding['wave']}"
    if finding["lane"] is not None:
        who += f" lane {finding['lane']}"
    at = f", address {finding['address']:#x}" if finding["address"] is not None else ""
    other = finding["other"]
    if other is not None:
        reads = dict.fromkeys(("undefined-lds", "undefined-memory"), f"it was read by wave {other['wave']}")
        names = {"hazard": "the first one is", **reads}
        which = names.get(finding["kind"], f"the other is wave {other['wave']}")
        at += f"; {which} at pc {other['pc']:#x} ({other['text']}){_line(other)}"
    if finding.get("place"):
        at += f", {finding['place']}" if finding["address"] is not None else ""
    if finding.get("source_text"):
        at += f"; source: {finding['source_text']}"
    text = f"{finding['kind']}: {finding['message']}: {where}, {who}{at}"
    others = times(finding)
    return f"{text.removesuffix(';')}; {others}" if others else text


def times(finding: Mapping[str, Any]) -> str:
    """Of a finding that was made several times: how often, and the worst; "" of one that was made once."""
    count, worst = finding.get("count", 1), finding.get("worst")
    if count < 2:
        return ""
    text = f"the first of {count:,} {'lanes' if finding['lane'] is not None else 'times'}"
    if worst is not None and worst["address"] != finding["address"]:
        lane = f" lane {worst['lane']}" if worst["lane"] is not None else ""
        place = f", {worst['place']}" if worst["place"] else ""
        who = f"workgroup {tuple(worst['workgroup'])} wave {worst['wave']}{lane}"
        text += f", the worst is {who}, address {worst['address']:#x}{place}"
    return text


def _line(place: Mapping[str, Any]) -> str:
    """Where the source of a finding's instruction is, and through which inlined calls, as `` at FILE:LINE:COLUMN``; the user's
    line first, where a library's code was inlined into it."""
    frames = chain(place) or place.get("source")
    if not frames:
        return ""
    places = [f"{frame['file'] or '??'}:{frame['line']}" + (f":{frame['column']}" if frame["column"] else "") for frame in frames]
    return f" at {places[0]}" + "".join(f", inlined at {place}" for place in places[1:])
