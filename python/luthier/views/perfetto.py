"""Timelines as Perfetto opens them (https://ui.perfetto.dev): trace events of Chrome's JSON format.

Perfetto's importer drops a slice that begins within another one of its track and ends behind it. Such slices get a track of their
own beside: ``launches``, ``launches (2)``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class _Slice:
    name: str
    start: int
    end: int
    args: dict[str, Any]


@dataclass
class Timeline:
    """Slices and counters on named tracks. Times are nanoseconds of one clock."""

    #: By process and track.
    _slices: dict[tuple[str, str], list[_Slice]] = field(default_factory=dict)
    _counters: list[tuple[str, str, int, float]] = field(default_factory=list)

    def slice(self, process: str, track: str, name: str, start: int, end: int, **args: Any) -> None:
        """Something that took a while, with whatever is to be shown of it."""
        self._slices.setdefault((process, track), []).append(_Slice(name, start, max(end, start), args))

    def counter(self, process: str, name: str, time: int, value: float) -> None:
        """A number from this time on."""
        self._counters.append((process, name, time, value))

    def to_json(self) -> str:
        """The file's contents."""
        pids: dict[str, int] = {}
        for process in [*(process for process, _ in self._slices), *(process for process, *_ in self._counters)]:
            pids.setdefault(process, len(pids) + 1)
        events = [_named("process_name", pid, name) for name, pid in pids.items()]
        tid = 0
        for (process, track), slices in self._slices.items():
            pid = pids[process]
            for number, own in enumerate(nested(slices), 1):
                tid += 1
                events.append(_named("thread_name", pid, track if number == 1 else f"{track} ({number})", tid))
                for one in own:
                    times = {"ts": one.start / 1000, "dur": (one.end - one.start) / 1000}
                    events.append({"ph": "X", "name": one.name, "pid": pid, "tid": tid, **times, "args": one.args})
        for process, name, time, value in self._counters:
            events.append({"ph": "C", "name": name, "pid": pids[process], "ts": time / 1000, "args": {"value": value}})
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


def nested(slices: list[_Slice]) -> list[list[_Slice]]:
    """The slices, earliest first, on as few tracks as it takes for those of a track to lie in one another or apart."""
    tracks: list[list[_Slice]] = []
    #: Of each track, the ends of the slices that are still open.
    ends: list[list[int]] = []
    for one in sorted(slices, key=lambda s: (s.start, -s.end)):
        for own, still in zip(tracks, ends):
            while still and still[-1] <= one.start:
                still.pop()
            if not still or one.end <= still[-1]:
                own.append(one)
                still.append(one.end)
                break
        else:
            tracks.append([one])
            ends.append([one.end])
    return tracks


def _named(what: str, pid: int, name: str, tid: int | None = None) -> dict[str, Any]:
    where = {"pid": pid} if tid is None else {"pid": pid, "tid": tid}
    return {"ph": "M", "name": what, **where, "args": {"name": name}}
