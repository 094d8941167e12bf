"""Timelines as Perfetto opens them (https://ui.perfetto.dev): trace events of Chrome's JSON format."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Timeline:
    """Slices and counters on named tracks. Times are nanoseconds of one clock."""

    events: list[dict[str, Any]] = field(default_factory=list)
    _tracks: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def slice(self, process: str, track: str, name: str, start: int, end: int, **args: Any) -> None:
        """Something that took a while, with whatever is to be shown of it."""
        pid, tid = self._track(process, track)
        length = max(end - start, 0) / 1000
        self.events.append({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start / 1000, "dur": length, "args": args})

    def counter(self, process: str, name: str, time: int, value: float) -> None:
        """A number from this time on."""
        pid, _ = self._track(process, "")
        self.events.append({"ph": "C", "name": name, "pid": pid, "ts": time / 1000, "args": {"value": value}})

    def _track(self, process: str, track: str) -> tuple[int, int]:
        if (process, track) not in self._tracks:
            pids = {name: pid for (name, _), (pid, _) in self._tracks.items()}
            pid = pids.get(process)
            if pid is None:
                pid = len(pids) + 1
                self.events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}})
            tid = len(self._tracks) + 1
            self._tracks[process, track] = pid, tid
            if track:
                self.events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": track}})
        return self._tracks[process, track]

    def to_json(self) -> str:
        """The file's contents."""
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": self.events})
