"""launches: a timeline of a program: its launches on GPUs by stream, its copies, and its calls of HIP. Nothing is inserted.

luthier trace --mock gfx90a --tool launches:perfetto=timeline.json -- ./app

``perfetto=FILE`` writes what https://ui.perfetto.dev opens, of each process to a file with its number: ``timeline.4711.json``.
``calls=PATTERN`` names the functions of HIP to hear of (``hip*``; ``calls=`` for none): each costs two messages. Streams and copies are
known from calls.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.base.outputs import Outputs
from luthier.tools.streams import Streams, copied, is_creation

if TYPE_CHECKING:
    from luthier.agent.app import App
    from luthier.agent.calls import Call
    from luthier.agent.launches import AppLaunch


#: More launches or calls than these are told in sums.
_FEW = 50


class Launches(lt.Tool):
    """Of each kernel ``{"launches": [{"number", "kernel", "gpu", "grid", "block", "queue", "stream", "start", "end"}]}``, times in nanoseconds of the
    runtime's clock, null where they are not known; of each process of a program that, for all its kernels, ``"calls":
    [{"name", "thread", "start", "end", "result"}]``, in nanoseconds of the machine's monotonic clock as Luthier hears of
    them, and ``"copies": [{"function", "direction", "bytes", "stream", "thread", "start", "end"}]``, of the calls that copy and fill,
    with the calls' times: of an asynchronous one these are those of handing it over. ``queue`` is the hardware's, by number; ``stream``
    is HIP's, null where the thread that put the launch into the queue was in no call that has one. On the mock device alone launches
    have no times."""

    def __init__(self, perfetto: str = "", calls: str = "hip*") -> None:
        self.perfetto = perfetto
        self.hip = [calls] if calls else []
        self.launches: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.copies: list[dict[str, Any]] = []
        self.streams = Streams()
        #: The streams of the calls that a thread is in, the innermost last; None of those without one.
        self.inside: dict[int, list[str | None]] = {}
        #: The numbers of queues by their addresses, and the streams of launches by their numbers.
        self.queues: dict[int, int] = {}
        self.launched_in: dict[int, str | None] = {}
        #: Kernels' names as the source has them.
        self.names: dict[str, str] = {}
        self.under_way: dict[int, int] = {}
        self.is_process = False

    def on_start(self, app: App) -> None:
        self.is_process = True

    def on_launch(self, launch: lt.Launch) -> None:
        if self.app is None:
            self.launches.append(_told(launch, len(self.launches)))
            return
        thread, number = getattr(launch, "thread", 0), getattr(launch, "number", 0)
        for tool in self._of_processes():
            streams = [stream for stream in tool.inside.get(thread, ()) if stream is not None]
            tool.launched_in[number] = streams[-1] if streams else None

    def _of_processes(self) -> list[Launches]:
        return [tool for tool in (self.app.tools if self.app is not None else ()) if isinstance(tool, Launches)]

    def on_complete(self, launch: AppLaunch) -> None:
        told = {**_told(launch, launch.number), "gpu": launch.gpu, "start": launch.start, "end": launch.end}
        for tool in self._of_processes():
            told["queue"] = tool.queues.setdefault(launch.queue, len(tool.queues) + 1)
            told["stream"] = tool.launched_in.pop(launch.number, None)
        self.launches.append(told)
        name = launch.object.demangled(launch.kernel) if launch.object is not None else launch.kernel
        for tool in self._of_processes():
            tool.launches.append(told)
            tool.names[launch.kernel] = name

    def on_hip(self, call: Call) -> None:
        now = time.monotonic_ns()
        if call.phase == "enter":
            self.under_way[call.number] = now
            self.inside.setdefault(call.thread, []).append(None if is_creation(call.name) else self.streams.of(call))
        else:
            start = self.under_way.pop(call.number, now)
            result = call.result
            inside = self.inside.get(call.thread)
            stream = inside.pop() if inside else None
            if is_creation(call.name) and result == 0:
                self.streams.made(call)
            if (what := copied(call)) is not None:
                told = {"function": call.name, **what, "stream": stream or "default stream", "thread": call.thread}
                self.copies.append({**told, "start": start, "end": now})
            self.calls.append({"name": call.name, "thread": call.thread, "start": start, "end": now, "result": result})

    def on_exit(self, report: lt.Report) -> None:
        self.launches.sort(key=lambda told: told["number"])
        of_process = {"calls": self.calls, "copies": self.copies} if self.is_process else {}
        report.result = {"launches": self.launches, **of_process}
        if self.is_process or self.app is None:  # of a program's kernels the process has it all
            self._tables(report)
        if self.perfetto and self.is_process and self.app is not None:
            self._write(self.app.pid)

    def _tables(self, report: lt.Report) -> None:
        """What people look at: sums by kernel and function, and each launch and call where there are few; files have them all.
        Times begin with the first launch or call."""
        starts = [told["start"] for told in [*self.launches, *self.calls] if told["start"] is not None]
        first = min(starts, default=0)
        for title, headers, rows, sums in (
            (
                "launches",
                ("number", "kernel", "GPU", "queue", "grid", "start (ns)", "took (ns)"),
                self._launch_rows(first),
                "kernel",
            ),
            (
                "copies",
                ("direction", "bytes", "queue", "function", "start (ns)", "took (ns)"),
                self._copy_rows(first),
                "direction",
            ),
            ("calls", ("function", "thread", "start (ns)", "took (ns)", "result"), self._call_rows(first), "function"),
        ):
            if len(rows) > _FEW:
                report.table(f"{title} by {sums}", *_sums(rows, headers.index(sums), headers.index("took (ns)"), sums))
                report.records(title, {header: [row[n] for row in rows] for n, header in enumerate(headers)})
            elif rows or title == "launches":
                report.table(title, rows, headers)

    def _launch_rows(self, first: int) -> list[tuple[Any, ...]]:
        return [
            (
                told["number"],
                self.names.get(told["kernel"], told["kernel"]),
                told["gpu"],
                _queue(told),
                "x".join(map(str, told["grid"])),
                None if told["start"] is None else told["start"] - first,
                _length(told),
            )
            for told in self.launches
        ]

    def _copy_rows(self, first: int) -> list[tuple[Any, ...]]:
        return [
            (
                copy["direction"],
                copy["bytes"],
                copy["stream"],
                copy["function"],
                copy["start"] - first,
                copy["end"] - copy["start"],
            )
            for copy in self.copies
        ]

    def _call_rows(self, first: int) -> list[tuple[Any, ...]]:
        return [
            (call["name"], call["thread"], call["start"] - first, call["end"] - call["start"], call["result"])
            for call in self.calls
        ]

    def _write(self, pid: int) -> None:
        from luthier.views.perfetto import Timeline

        timeline = Timeline()
        for call in self.calls:
            result = {} if call["result"] is None else {"result": call["result"]}
            timeline.slice(f"process {pid}", f"thread {call['thread']}", call["name"], call["start"], call["end"], **result)
        for copy in self.copies:
            what = {"bytes": copy["bytes"], "direction": copy["direction"], "function": copy["function"]}
            name = copy["direction"] if copy["bytes"] is None else f"{copy['direction']}, {copy['bytes']:,} bytes"
            timeline.slice(f"process {pid}", f"copies, {copy['stream']}", name, copy["start"], copy["end"], **what)
        times: list[tuple[int, int]] = []
        for told in self.launches:
            if told["start"] is not None:
                sizes = {"grid": "x".join(map(str, told["grid"])), "workgroup": "x".join(map(str, told["block"]))}
                what = {"number": told["number"], **sizes}
                timeline.slice(
                    f"GPU {told['gpu']}", f"launches, {_queue(told)}", told["kernel"], told["start"], told["end"], **what
                )
                times += [(told["start"], 1), (told["end"], -1)]
        under_way = 0
        for at, change in sorted(times):
            under_way += change
            timeline.counter(f"process {pid}", "launches under way", at, under_way)
        base, end = os.path.splitext(self.perfetto)
        with Outputs() as outputs:
            outputs.open(f"{base}.{pid}{end}").write(timeline.to_json().encode())
            outputs.commit()


def _sums(rows: list[tuple[Any, ...]], name: int, took: int, what: str) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """Rows by what they are about, the longest in all first, and their headers."""
    times: dict[str, list[int]] = {}
    for row in rows:
        times.setdefault(row[name], []).append(row[took] or 0)
    ordered = sorted(times.items(), key=lambda item: -sum(item[1]))
    made = [(key, len(each), sum(each), min(each), sum(each) // len(each), max(each)) for key, each in ordered]
    return made, (what, "times", "ns in all", "least", "mean", "most")


def _told(launch: lt.Launch, number: int) -> dict[str, Any]:
    grid, block = list(launch.grid), list(launch.block)
    told = {"number": number, "kernel": launch.kernel, "gpu": 0, "grid": grid, "block": block}
    return {**told, "queue": None, "stream": None, "start": None, "end": None}


def _queue(told: dict[str, Any]) -> str:
    """For people: HIP's name of a launch's queue, else its number."""
    return told.get("stream") or (f"queue {told['queue']}" if told.get("queue") else "")


def _length(told: dict[str, Any]) -> int | None:
    return None if told["start"] is None else told["end"] - told["start"]
