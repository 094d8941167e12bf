"""timeline: when each wave began and ended, came to each block, and how long it waited at barriers, by its own clock.

luthier run app.hsaco --kernel scale ... --tool timeline:perfetto=waves.json

``perfetto=FILE`` writes what https://ui.perfetto.dev opens: a process for each workgroup, a thread for each of its waves.
``blocks=no`` leaves blocks out, and costs less. ``most=N`` keeps the first N events and counts the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.base.outputs import Outputs
from luthier.tools.accesses import is_passed
from luthier.tools.lanes import as_json, incomplete, place_of
from luthier.tools.waves import WaveTool, is_first

if TYPE_CHECKING:
    import numpy as np

BEGIN, BLOCK, WAIT, PASSED, END = range(5)
KINDS = ("begin", "block", "wait", "passed", "end")


@dataclass(frozen=True)
class Point:
    """Where an event comes from: the kernel's entry, a block's start, before or behind a barrier, an end of the program."""

    kind: int
    kernel: str
    instr: lt.Instruction


class Timeline(WaveTool):
    """``{"waves": N, "events": N, "kept": N, "without lanes": N, "blocks": {address: {"entered", "time"}}, "barriers": {address: {"waits", "time",
    "longest"}}}``. Times are cycles of :func:`luthier.lang.clock`, on the mock device nanoseconds of the host. A block's time is
    that from its start to the next block's or to the wave's end; it holds the wait at its barriers, and what the tool itself
    takes. Blocks that a wave comes to without an active lane are counted as ``without lanes``, and have no time of their own.
    The records ``waves`` (launch, workgroup, wave, kernel, begin, end, waiting, and the compute unit as ``unit``, "" where the processor
    does not say) and ``events`` (launch, workgroup, wave,
    time, kind, pc) have what the report's tables add up."""

    def __init__(self, perfetto: str = "", blocks: bool = True, most: int = 1_000_000) -> None:
        super().__init__()
        if most < 1:
            raise lt.ToolError(f"timeline: most={most}: a number of events from 1")
        self.perfetto, self.blocks, self.most = perfetto, blocks, most
        self.points: list[Point] = []
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.launch = -1
        self.kept: list[tuple[int, np.ndarray]] = []
        self.held = self.counted = 0
        self.events = lt.Channel(1 << 16, name="events", time=lt.u64, x=lt.u32, yz=lt.u32, place=lt.u32)
        #: Which compute unit each wave runs on, where the processor says that.
        self.homes = lt.Channel(1 << 12, name="homes", unit=lt.u32, x=lt.u32, yz=lt.u32, wave=lt.u32)
        #: By launch, workgroup and wave: die, shader engine, shader array and compute unit.
        self.units: dict[tuple[int, int, int, int, int], tuple[int, int, int, int]] = {}

    @lt.hook
    def event(events: lt.channel, here: lt.inout[lt.u32, 3], point: lt.u32):
        now = lt.clock()
        if is_first():
            lt.record(events, now, here[0], here[1], point << 11 | here[2])

    @lt.hook
    def event_of_wave(events: lt.channel, here: lt.inout[lt.u32, 3], point: lt.u32):
        lt.record(events, lt.clock(), here[0], here[1], point << 11 | here[2], per_wave=True)

    @lt.hook
    def at_home(homes: lt.channel, here: lt.inout[lt.u32, 3]):
        unit = lt.hw_shader_engine() << 16 | lt.hw_shader_array() << 8 | lt.hw_compute_unit()
        lt.record(homes, unit, here[0], here[1], here[2], per_wave=True)

    @lt.hook
    def at_home_of_die(homes: lt.channel, here: lt.inout[lt.u32, 3]):
        unit = lt.hw_xcc() << 24 | lt.hw_shader_engine() << 16 | lt.hw_shader_array() << 8 | lt.hw_compute_unit()
        lt.record(homes, unit, here[0], here[1], here[2], per_wave=True)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.begin_waves(kernel)
        processor = kernel.code_object.processor
        if not processor.startswith("gfx125"):
            has_dies = processor in ("gfx942", "gfx950", "gfx9-4-generic")
            kernel.insert_at_entry(self.at_home_of_die if has_dies else self.at_home, self.homes, self.here)
        first = kernel.functions[0].instructions[0]
        kernel.insert_at_entry(self.event_of_wave, self.events, self.here, self._point(BEGIN, kernel, first))
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        for block in (b for f in functions for b in f.blocks):
            if self.blocks:
                number = self._point(BLOCK, kernel, block.instructions[0])
                kernel.insert_at_block(block, self.event, self.events, self.here, number)
                kernel.insert_at_block(block, self.idle, self.without_lanes)
            for instr in (i for i in block.instructions if i.is_barrier and is_passed(i)):
                kernel.insert_before(instr, self.idle, self.without_lanes)
                kernel.insert_before(instr, self.event, self.events, self.here, self._point(WAIT, kernel, instr))
                kernel.insert_after(instr, self.event, self.events, self.here, self._point(PASSED, kernel, instr))
            if block.terminator == "end":
                last = block.instructions[-1]
                kernel.insert_before(last, self.event_of_wave, self.events, self.here, self._point(END, kernel, last))

    def _point(self, kind: int, kernel: lt.Kernel, instr: lt.Instruction) -> int:
        if len(self.points) >= 1 << 21:
            raise lt.ToolError("timeline: more than 2,097,152 places: choose fewer kernels")
        self.points.append(Point(kind, kernel.name, instr))
        return len(self.points) - 1

    def on_launch(self, launch: lt.Launch) -> None:
        super().on_launch(launch)
        self.launch += 1

    def on_records(self, channel: lt.Channel, records: np.ndarray) -> None:
        if channel is self.homes:
            for unit, x, yz, wave in records[["unit", "x", "yz", "wave"]].tolist():
                if len(self.units) < self.most:
                    at = (max(self.launch, 0), x, yz & 0xFFFF, yz >> 16, wave >> 6)
                    self.units[at] = unit >> 24, unit >> 16 & 0xFF, unit >> 8 & 0xFF, unit & 0xFF
            return
        self.counted += len(records)
        if self.held < self.most:
            part = records[: self.most - self.held]
            self.kept.append((max(self.launch, 0), part))
            self.held += len(part)

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        import numpy as np

        events = self._events()
        wave, time, kind, point = (events[name] for name in ("number", "time", "kind", "point"))
        # Of each block's start the next block's, or the wave's end.
        marks = np.flatnonzero((kind != WAIT) & (kind != PASSED))
        starts, following = marks[:-1], marks[1:]
        whole = (kind[starts] == BLOCK) & (wave[starts] == wave[following])
        blocks = self._sums(point[starts[whole]], time[following[whole]] - time[starts[whole]])
        waits = np.flatnonzero((kind[:-1] == WAIT) & (kind[1:] == PASSED) & (wave[:-1] == wave[1:]))
        waited = time[waits + 1] - time[waits]
        barriers = self._sums(point[waits], waited)
        waves = self._waves(events, np.bincount(wave[waits], weights=waited, minlength=int(wave[-1]) + 1 if len(wave) else 0))
        report.result = {
            "waves": len(waves["wave"]), "events": self.counted, "kept": self.held, "without lanes": int(self.without_lanes[0]),
            "blocks": as_json({a: {"entered": n, "time": t} for a, (n, t, _) in blocks.items()}),
            "barriers": as_json({a: {"waits": n, "time": t, "longest": most} for a, (n, t, most) in barriers.items()}),
        }  # fmt: skip
        instrs = {p.instr.address: p.instr for p in self.points}
        rows = [(f"{a:#x}", instrs[a].function.name, place_of(instrs[a]), n, t, most) for a, (n, t, most) in blocks.items()]
        headers = ("block", "function", "line", "entered", "cycles", "longest")
        report.table("blocks", sorted(rows, key=lambda row: -row[4]), headers)
        told = [(f"{a:#x}", place_of(instrs[a]), n, t, most) for a, (n, t, most) in barriers.items()]
        report.table("barriers", told, ("barrier", "line", "waits", "cycles", "longest"))
        report.records("waves", waves)
        busy: dict[str, list[int]] = {}
        for unit, length in zip(waves["unit"], (waves["end"] - waves["begin"]).tolist()):
            if unit:
                busy.setdefault(unit, []).append(length)
        if busy:
            units = [(unit, len(times), sum(times), max(times)) for unit, times in sorted(busy.items())]
            report.table("compute units", units, ("unit", "waves", "cycles", "longest"))
        names = ("launch", "workgroup_x", "workgroup_y", "workgroup_z", "wave", "time")
        words = [KINDS[n] for n in kind.tolist()]
        report.records("events", {**{name: events[name] for name in names}, "kind": words, "pc": events["pc"]})
        report.column("cycles", {a: t for a, (_, t, _) in blocks.items()}, unit="cycles", about="cycles until the next block")
        if self.perfetto:
            self._write(events, waves)

    def _events(self) -> dict[str, Any]:
        """What is kept, wave after wave, each in its own order; ``number`` tells waves apart."""
        import numpy as np

        launch = np.concatenate([np.full(len(part), n, "u4") for n, part in self.kept] or [np.zeros(0, "u4")])
        raw = np.concatenate([part for _, part in self.kept] or [np.zeros(0, self.events.shape.dtype)])
        order = np.lexsort((raw["place"] >> 6 & 31, raw["x"], raw["yz"], launch))  # which is stable
        launch, raw = launch[order], raw[order]
        point = raw["place"] >> 11
        kind = np.array([p.kind for p in self.points], "u1")[point]
        keys = np.stack([launch, raw["x"], raw["yz"], raw["place"] >> 6 & 31])
        starts = kind == BEGIN
        starts[1:] |= (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        return {
            "launch": launch, "workgroup_x": raw["x"], "workgroup_y": raw["yz"].astype("u2"),
            "workgroup_z": (raw["yz"] >> 16).astype("u2"), "wave": keys[3].astype("u1"), "time": raw["time"].astype("i8"),
            "point": point, "kind": kind, "pc": np.array([p.instr.address for p in self.points], "u8")[point],
            "number": np.cumsum(starts) - 1,
        }  # fmt: skip

    def _sums(self, points: np.ndarray, times: np.ndarray) -> dict[int, tuple[int, int, int]]:
        """By address: how often, how long in all, and the longest."""
        import numpy as np

        found: dict[int, tuple[int, int, int]] = {}
        for n in np.unique(points).tolist():
            own = times[points == n]
            count, total, most = found.get(self.points[n].instr.address, (0, 0, 0))
            added = (count + len(own), total + int(own.sum()), max(most, int(own.max())))
            found[self.points[n].instr.address] = added
        return found

    def _waves(self, events: dict[str, Any], waiting: np.ndarray) -> dict[str, Any]:
        """A row for each wave. What was not kept of it has no end."""
        import numpy as np

        first = np.flatnonzero(np.diff(events["number"], prepend=-1))
        last = np.append(first[1:], len(events["number"])) - 1
        names = ("launch", "workgroup_x", "workgroup_y", "workgroup_z", "wave")
        kernels = [self.points[n].kernel for n in events["point"][first].tolist()]
        times = {"begin": events["time"][first], "end": events["time"][last], "waiting": waiting.astype("i8")}
        found = {name: events[name][first] for name in names}
        units = [self.units.get(at) for at in zip(*(values.tolist() for values in found.values()))]
        return {**found, "kernel": kernels, **times, "unit": ["" if unit is None else _unit(unit) for unit in units]}

    def _write(self, events: dict[str, Any], waves: dict[str, Any]) -> None:
        from luthier.views.perfetto import Timeline as Tracks

        tracks = Tracks()
        zero = int(waves["begin"].min()) if len(waves["begin"]) else 0
        names = list(zip(*(waves[name].tolist() for name in ("launch", "workgroup_x", "workgroup_y", "workgroup_z", "wave"))))

        def place(number: int) -> tuple[str, str]:
            launch, *workgroup, wave = names[number]
            return f"launch {launch}, workgroup {tuple(workgroup)}", f"wave {wave}"

        for n, (kernel, begin, end) in enumerate(zip(waves["kernel"], waves["begin"].tolist(), waves["end"].tolist())):
            tracks.slice(*place(n), kernel, begin - zero, end - zero)
            if waves["unit"][n]:
                workgroup = ", ".join(map(str, names[n][1:4]))
                tracks.slice(
                    "compute units", waves["unit"][n], f"workgroup {workgroup}, wave {names[n][4]}", begin - zero, end - zero
                )
        columns = [events[name].tolist() for name in ("number", "time", "kind", "point")]
        rows = list(zip(*columns))
        since: tuple[int, int, int] | None = None  # wave, time and point of the block that is under way
        for at, (number, time, kind, point) in enumerate(rows):
            if kind in (BLOCK, END, BEGIN) and since is not None:
                if since[0] == number:
                    instr = self.points[since[2]].instr
                    tracks.slice(*place(number), f"block {instr.address:#x}", since[1] - zero, time - zero, line=place_of(instr))
                since = None
            if kind == BLOCK:
                since = number, time, point
            if kind == WAIT and at + 1 < len(rows) and rows[at + 1][0] == number:
                tracks.slice(*place(number), "barrier", time - zero, rows[at + 1][1] - zero)
        with Outputs() as outputs:
            outputs.open(self.perfetto).write(tracks.to_json().encode())
            outputs.commit()


def _unit(unit: tuple[int, int, int, int]) -> str:
    """For people and tracks: the die where there are several, shader engine, shader array, compute unit."""
    die, engine, array, number = unit
    return f"XCC {die}, SE {engine}, SA {array}, CU {number}" if die else f"SE {engine}, SA {array}, CU {number}"
