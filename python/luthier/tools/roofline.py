"""roofline: floating-point operations by type, bytes by memory, and what a card could do at that intensity.

``card=NAME`` chooses the peaks, of AMD's data sheets; without it, those of a card with the processor.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import luthier as lt
from luthier.tools.lanes import LaneTool, incomplete, line_of

#: Name: processor, bytes a second from memory, and operations a second by type, by vector and by matrix operations (the
#: greater one), dense. One die where a card has several that programs see as devices.
CARDS: dict[str, tuple[str, float, dict[str, float]]] = {
    "MI100": ("gfx908", 1.229e12, {"f64": 11.5e12, "f32": 46.1e12, "f16": 184.6e12, "bf16": 92.3e12}),
    "MI210": ("gfx90a", 1.638e12, {"f64": 45.3e12, "f32": 45.3e12, "f16": 181e12, "bf16": 181e12}),
    "MI300X": ("gfx942", 5.3e12, {"f64": 163.4e12, "f32": 163.4e12, "f16": 1307e12, "bf16": 1307e12, "fp8": 2615e12, "xf32": 654e12}),
    "RX 6900 XT": ("gfx1030", 0.512e12, {"f64": 1.44e12, "f32": 23.04e12, "f16": 46.08e12}),
    "RX 7900 XTX": ("gfx1100", 0.96e12, {"f64": 1.92e12, "f32": 61.4e12, "f16": 122.8e12, "bf16": 122.8e12}),
    "RX 9070 XT": ("gfx1201", 0.64e12, {"f64": 0.76e12, "f32": 48.7e12, "f16": 195e12, "bf16": 195e12, "fp8": 389e12}),
}  # fmt: skip


class Roofline(LaneTool):
    """``{"flops": {type: N}, "bytes": {memory: N}, "intensity": flops a byte of device memory, "lines": {"file:line": {"flops",
    "bytes"}}, "unknown": accesses of unknown width}``, and with a known card ``"card"``, ``"bound"`` (``memory`` or
    ``compute``) and ``"ridge"``. Device memory is what the kernel asks for; caches may serve some of it. Lanes of buffer
    accesses that are out of range access nothing, and do not count."""

    def __init__(self, card: str = "") -> None:
        super().__init__()
        if card and card not in CARDS:
            raise lt.ToolError(f"roofline: card={card}: {', '.join(CARDS)}")
        self.card = card
        self.processor = ""
        self.buffers: dict[lt.Instruction, tuple[lt.DeviceArray, int]] = {}

    @lt.hook
    def made(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, lt.popcount(lt.ballot(lt.access_in_range())))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.processor = kernel.code_object.processor
        functions = self.count_lanes(kernel)
        found = [
            i
            for f in functions
            for i in f.instructions
            if i.memory_space == "buffer" and i.works_for == "lane" and i.memory_width and i.access_count == 1
        ]
        if found:
            counts = lt.DeviceArray(lt.u64, len(found), name=f"made.{kernel.name}")
            for n, instr in enumerate(found):
                kernel.insert_before(instr, self.made, counts.at(n))
                self.buffers[instr] = counts, n

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        flops: Counter[str] = Counter()
        moved: Counter[str] = Counter()
        lines: dict[tuple[str, int], list[int]] = {}
        unknown = 0
        columns: dict[str, dict[int, float]] = {"flops": {}, "bytes": {}}
        for instr, (waves, lanes) in self.by_instruction().items():
            times = waves if instr.works_for == "wave" else lanes
            work = {kind: n * times for kind, n in instr.flops.items()}
            flops.update(work)
            width = instr.bytes
            if instr in self.buffers:
                counts, n = self.buffers[instr]
                times = int(counts[n])
            if width is None:
                unknown += waves
            traffic = (width or 0) * times
            if width:
                moved["device" if instr.is_global else str(instr.memory_space)] += traffic
            at = line_of(instr)
            if at is not None and (work or traffic):
                of = lines.setdefault(at, [0, 0])
                of[0] += sum(work.values())
                of[1] += traffic if instr.is_global else 0
            if work:
                columns["flops"][instr.address] = sum(work.values())
            if traffic:
                columns["bytes"][instr.address] = traffic
        total, memory = sum(flops.values()), moved["device"]
        result: dict[str, Any] = {
            "flops": dict(flops),
            "bytes": {name: n for name, n in moved.items() if n},
            "intensity": total / memory if memory else None,
            "lines": {f"{file}:{line}": {"flops": f, "bytes": b} for (file, line), (f, b) in lines.items()},
            "unknown": unknown,
        }
        card = self.card or next((name for name, (processor, _, _) in CARDS.items() if processor == self.processor), "")
        kind = max(flops, key=lambda name: flops[name]) if total else ""
        if card and kind in CARDS[card][2] and memory:
            bandwidth, peak = CARDS[card][1], CARDS[card][2][kind]
            result |= {
                "card": card,
                "ridge": peak / bandwidth,
                "bound": "compute" if total / memory > peak / bandwidth else "memory",
            }
            report.plot(f"roofline of {card}, {kind}", _plot(peak, bandwidth, total / memory))
        report.result = result
        report.table("flops", sorted(flops.items(), key=lambda item: -item[1]), ("type", "operations"))
        report.table("bytes", sorted(result["bytes"].items(), key=lambda item: -item[1]), ("memory", "bytes"))
        rows = [
            (f"{file.rpartition('/')[2]}:{line}", f, b, round(f / b, 3) if b else "") for (file, line), (f, b) in lines.items()
        ]
        rows.sort(key=lambda row: -max(row[1], row[2]))
        report.table("by line", rows, ("line", "flops", "bytes of device memory", "intensity"))
        report.column("flops", columns["flops"], about="floating-point operations")
        report.column("bytes", columns["bytes"], unit="bytes", about="bytes that the instruction asks for")


def _plot(peak: float, bandwidth: float, intensity: float) -> dict[str, Any]:
    ridge = peak / bandwidth
    at = [ridge / 256, ridge, max(ridge * 64, intensity * 4)]
    at = sorted({*at, min(at[0], intensity / 4)})
    roof = [{"x": x, "y": min(peak, x * bandwidth) / 1e12, "what": "roof"} for x in at]
    kernel = [{"x": intensity, "y": min(peak, intensity * bandwidth) / 1e12, "what": "kernel, at most"}]
    axes = {
        "x": {"field": "x", "type": "quantitative", "scale": {"type": "log"}, "title": "flops a byte of device memory"},
        "y": {"field": "y", "type": "quantitative", "scale": {"type": "log"}, "title": "Tflop/s"},
        "color": {"field": "what", "type": "nominal", "title": None},
    }
    return {
        "layer": [
            {"data": {"values": roof}, "mark": "line", "encoding": axes},
            {"data": {"values": kernel}, "mark": {"type": "point", "filled": True, "size": 120}, "encoding": axes},
        ]
    }
