"""What strict mode finds, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .frames import Frame, split


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


#: LDS is smaller, and device memory begins above.
_LOWEST = 1 << 20
_IN_LDS = ("lds-race", "lds-bounds", "undefined-lds", "undefined-lds-read")


def finding_text(finding: Mapping[str, Any]) -> str:
    """A strict-mode finding in one line. The driver of programs makes the same of the same finding (crates/driver/src/report.rs)."""
    where = f"{finding['kernel']}+pc {finding['pc']:#x} ({finding['text']}){_line(finding)}"
    at = f", {address(finding)}" if finding["address"] is not None else ""
    at += f", {finding['place']}" if at and finding.get("place") else ""
    other = finding["other"]
    if other is not None:
        reads = dict.fromkeys(("undefined-lds", "undefined-memory"), f"it was read by wave {other['wave']}")
        names = {"hazard": "the first one is", "launch-race": "the other is", **reads}
        which = names.get(finding["kind"], f"the other is wave {other['wave']}")
        at += f"; {which} at pc {other['pc']:#x} ({other['text']}){_line(other)}"
    if finding.get("source_text"):
        at += f"; source: {finding['source_text']}"
    text = f"{finding['kind']}: {finding['message']}: {where}, {who(finding)}{at}"
    others = times(finding)
    return f"{text.removesuffix(';')}; {others}" if others else text


def who(finding: Mapping[str, Any]) -> str:
    """Which lane it was."""
    lane = f" lane {finding['lane']}" if finding.get("lane") is not None else ""
    return f"workgroup ({', '.join(map(str, finding['workgroup']))}) wave {finding['wave']}{lane}"


def in_lds(finding: Mapping[str, Any]) -> bool:
    """Whether a finding's addresses are offsets in LDS. Of a missing wait they may be either; memory is not that low."""
    at = finding["address"]
    return finding["kind"] in _IN_LDS or finding["kind"] == "missing-wait" and at is not None and at < _LOWEST


def address(finding: Mapping[str, Any]) -> str:
    """``address 0x...``, or an offset in LDS."""
    return f"{'LDS offset' if in_lds(finding) else 'address'} {finding['address']:#x}"


def times(finding: Mapping[str, Any]) -> str:
    """Of a finding that was made several times: how often, and the worst, or where it is not known from where to where; "" of one that
    was made once."""
    count, worst = finding.get("count", 1), finding.get("worst")
    if count < 2:
        return ""
    text = f"the first of {count:,} {'lanes' if finding['lane'] is not None else 'times'}"
    if worst is not None and worst["address"] != finding["address"]:
        place = f", {worst['place']}" if worst["place"] else ""
        text += f", the worst is {who(worst)}, {address({**finding, 'address': worst['address']})}{place}"
    low, high = finding.get("lowest"), finding.get("highest")
    if "worst" not in finding and low and high and low["address"] != high["address"]:
        text += f", from {low['address']:#x} to {high['address']:#x}"
    return text


def _line(place: Mapping[str, Any]) -> str:
    """Where the source of a finding's instruction is, as `` at FILE:LINE:COLUMN``: the user's line, what of a library was inlined
    there, and through which calls it was inlined itself."""
    own, called = split(place)
    if not own:
        return ""
    first, *around = map(_shown, own)
    return f" at {first}" + "".join([f", in {_shown(frame)}" for frame in called] + [f", inlined at {at}" for at in around])


def _shown(frame: Frame) -> str:
    return f"{frame['file']}:{frame['line']}" + (f":{frame['column']}" if frame["column"] else "")
