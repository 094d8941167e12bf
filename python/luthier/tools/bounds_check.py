"""bounds_check: accesses outside of the arrays that a kernel was given, found by hooks: for real cards, too.

Each launch hands hooks a table of what there is: on the mock device and under Triton the arrays of its arguments, in programs
(``luthier trace``) all memory that the process has allocated on GPUs, and always the code object's own variables. An address
that lies elsewhere is outside. So a pointer that a kernel finds in memory leads outside on the mock device, unless the array
that it leads into is an argument as well. ``most=N`` keeps the first N findings; all are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import luthier as lt
from luthier.tools.lanes import as_json, incomplete, place_of
from luthier.tools.waves import WaveTool

if TYPE_CHECKING:
    import numpy as np

    from luthier.agent.events import Allocation

#: Ranges of a table: 13 steps of a search find one of these.
_MOST = 8191


@dataclass(frozen=True)
class Range:
    """Memory that may be accessed."""

    start: int
    end: int
    what: str


class BoundsCheck(WaveTool):
    """``{"outside": N, "accesses": {address: N}, "first": [{"pc", "text", "line", "workgroup", "wave", "lane", "address", "size",
    "place"}], "not seen": [address]}``: in how many lanes accesses of device memory lay outside, in whole or in part, and which.
    ``place`` says what is nearest. Not seen are flat accesses, scratch, images, typed buffers and transfers to LDS, and buffers
    in kernels that reach scratch through one."""

    #: In programs launches wait for the table.
    decides = True

    def __init__(self, most: int = 1000) -> None:
        super().__init__()
        if not 1 <= most <= 1 << 20:
            raise lt.ToolError(f"bounds_check: most={most}: from 1 to 1,048,576")
        self.most = most
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.watched: list[lt.Instruction] = []
        self.counts: list[tuple[lt.DeviceArray, int]] = []
        self.unseen: list[int] = []
        #: How many ranges there are, then start and end of each, by address.
        self.table = lt.DeviceArray(lt.u64, 1 + 2 * _MOST, name="table")
        self.outside = lt.Channel(1 << 12, when_full="drop", name="outside", address=lt.u64, x=lt.u32, yz=lt.u32, place=lt.u32, point=lt.u32)  # fmt: skip
        self.memory: dict[int, int] = {}
        self.ranges: list[Range] = []
        self.first: list[dict[str, Any]] = []
        self.is_process = False

    @lt.hook
    def check(
        table: lt.ptr[lt.u64], count: lt.ptr[lt.u64], outside: lt.channel, here: lt.inout[lt.u32, 3], address: lt.u64,
        size: lt.u32, point: lt.u32,
    ):  # fmt: skip
        if lt.access_in_range():
            # The last range that begins at or below the address.
            ranges = table[0]
            at: lt.u64 = 0
            for step in range(13):
                further = at + (lt.u64(4096) >> lt.u64(step))
                if further <= ranges and table[2 * further - 1] <= address:
                    at = further
            if at == 0 or address + lt.u64(size) > table[2 * at]:
                lt.atomic_add(count, 1)
                lt.record(outside, address, here[0], here[1], here[2] | lt.lane_id(), point)

    def on_start(self, app: Any) -> None:
        self.is_process = True

    def on_allocation(self, allocation: Allocation) -> None:
        if allocation.event in ("allocated", "locked"):
            self.memory[allocation.address] = allocation.size
        else:
            self.memory.pop(allocation.address, None)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        fields = kernel.code_object.descriptor(kernel.name).fields
        has_scratch = bool(kernel.facts["private_segment"] and fields.get("enable_sgpr_private_segment_buffer"))
        spaces = {"global"} if has_scratch else {"global", "buffer"}
        found = []
        for instr in (i for f in functions for i in f.instructions if i.works_for == "lane" and i.memory_space):
            if instr.memory_space in spaces and instr.access_count == 1 and instr.memory_width:
                found.append(instr)
            elif instr.memory_space not in ("lds", "gds", "scratch"):
                self.unseen.append(instr.address)
        if not found:
            return
        self.begin_waves(kernel)
        counts = lt.DeviceArray(lt.u64, len(found), name=f"outside.{kernel.name}")
        for n, instr in enumerate(found):
            places = (self.table, counts.at(n), self.outside, self.here)
            kernel.insert_before(instr, self.check, *places, lt.Address(), lt.AccessWidth(), len(self.watched))
            self.watched.append(instr)
            self.counts.append((counts, n))

    def on_launch(self, launch: lt.Launch) -> None:
        super().on_launch(launch)
        self.ranges = sorted(self._ranges(launch), key=lambda r: r.start)
        if len(self.ranges) > _MOST:
            raise lt.ToolError(
                f"bounds_check: there are {len(self.ranges):,} allocations, and {_MOST:,} at most can be looked at"
            )
        told = [len(self.ranges), *(n for r in self.ranges for n in (r.start, r.end))]
        self.table.write(told + [0] * (1 + 2 * _MOST - len(told)))

    def _ranges(self, launch: Any) -> list[Range]:
        if self.app is None:
            module: Any = self.table.places[0][1]
            base, code = module.base, module.code_object
            found = [Range(p.address, p.address + p.size, p.what) for p in launch.places()]
        else:
            base, code = launch.object.base, launch.object.code_object
            memory = next(tool.memory for tool in self.app.tools if isinstance(tool, BoundsCheck))
            found = [Range(at, at + size, f"the allocation at {at:#x}") for at, size in memory.items()]
        segments = [s for s in code.inspect()["segments"] if s["kind"] == "LOAD"]
        return found + [Range(base + s["address"], base + s["address"] + s["memory_size"], "the code object") for s in segments]

    def on_records(self, channel: lt.Channel, records: np.ndarray) -> None:
        for row in records[: self.most - len(self.first)].tolist():
            address, x, yz, place, point = row
            instr = self.watched[point]
            self.first.append({
                "pc": f"{instr.address:#x}", "text": instr.text, "line": place_of(instr),
                "workgroup": [x, yz & 0xFFFF, yz >> 16], "wave": place >> 6, "lane": place & 63,
                "address": f"{address:#x}", "size": instr.memory_width, "place": self._place(address),
            })  # fmt: skip

    def _place(self, address: int) -> str:
        """What is nearest."""
        if not self.ranges:
            return "there is no memory"
        near = min(self.ranges, key=lambda r: max(r.start - address, address - r.end, 0))
        if address < near.start:
            return f"{near.start - address:,} bytes in front of {near.what}"
        if address < near.end:
            return f"{near.end - address:,} bytes in front of the end of {near.what}"
        return f"{address - near.end:,} bytes past the end of {near.what}"

    def on_exit(self, report: lt.Report) -> None:
        if self.is_process or incomplete(self, report):
            return
        found = {i: int(counts[n]) for i, (counts, n) in zip(self.watched, self.counts)}
        report.result = {
            "outside": sum(found.values()),
            "accesses": as_json({i.address: n for i, n in found.items() if n}),
            "first": self.first,
            "not seen": [f"{address:#x}" for address in self.unseen],
        }
        rows = [(f"{i.address:#x}", i.text, place_of(i), n) for i, n in found.items() if n]
        report.table(
            "accesses outside of all arrays",
            rows or [("none found",)],
            ("address", "instruction", "line", "lanes") if rows else (),
        )
        told = [
            (t["pc"], t["line"], str(tuple(t["workgroup"])), t["wave"], t["lane"], t["address"], t["place"]) for t in self.first
        ]
        if told:
            report.table("first", told, ("address", "line", "workgroup", "wave", "lane", "accessed", "place"))
        report.column("outside", {i.address: n for i, n in found.items()}, unit="lanes", about="accesses outside of all arrays")
