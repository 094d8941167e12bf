"""What stands at an address of the device's, in words: for faults and findings."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from ..errors import DeviceError
from ..reports.findings import in_lds
from .arguments import Place

#: An address so far behind a buffer is still said to be past its end.
_NEAR = 1 << 16
_NULL = 1 << 12


def place_of(address: int, places: Sequence[Place]) -> str | None:
    """Which argument's array an address is in or near to; None for no argument's."""
    if address < _NULL:
        return "a null pointer" if address == 0 else f"{address:,} bytes from a null pointer"
    inside = [p for p in places if p.address <= address < p.address + p.size]
    if inside:
        return f"{inside[0]}, {address - inside[0].address:,} bytes from its start"
    behind = [p for p in places if 0 <= address - p.address - p.size < _NEAR]
    before = [p for p in places if 0 < p.address - address < _NEAR]
    if behind:
        nearest = min(behind, key=lambda p: address - p.address - p.size)
        return f"{address - nearest.address - nearest.size:,} bytes past the end of {nearest}"
    if before:
        nearest = min(before, key=lambda p: p.address - address)
        return f"{nearest.address - address:,} bytes before {nearest}"
    return None


def farthest(finding: dict[str, Any], places: Sequence[Place]) -> dict[str, Any] | None:
    """Of the lanes that a finding is about, the one whose address is farthest from all arrays; None for a finding of one
    lane, or without addresses."""
    ends = [end for end in (finding["lowest"], finding["highest"]) if end is not None]
    if finding["count"] < 2 or not ends:
        return None
    end = max(ends, key=lambda end: _distance(end["address"], places))
    return {**end, "place": None if in_lds(finding) else place_of(end["address"], places)}


def _distance(address: int, places: Sequence[Place]) -> int:
    """Bytes from an address to the nearest array."""
    gaps = [max(p.address - address, address - (p.address + p.size - 1), 0) for p in places]
    return min(gaps, default=address)


def source_text(frames: Sequence[dict[str, Any]]) -> str | None:
    """The text of the source line that an instruction comes from, where the file is there."""
    if not frames or not frames[0]["file"] or not frames[0]["line"]:
        return None
    return linecache.getline(frames[0]["file"], frames[0]["line"]).strip() or None


def explained(error: DeviceError, places: Sequence[Place]) -> DeviceError:
    """The same error, with what is at its address and the text of its source line."""
    text = str(error)
    if error.address is not None and (place := place_of(error.address, places)) is not None:
        text += f"; address {error.address:#x} is {place}"
    if (line := source_text(error.source)) is not None:
        text += f"; source: {line}"
    made = DeviceError(text)
    made.__dict__.update(error.__dict__)
    return made
