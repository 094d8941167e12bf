"""coalescing: how many cache lines each access of device memory touches, against the least possible.

``line=BYTES`` is the size of a line; without it 64 bytes on GCN5 and CDNA 1 and 2, 128 on CDNA 3 and RDNA.
"""

from __future__ import annotations

from typing import Any

import luthier as lt
from luthier.tools.lanes import as_json, incomplete, place_of

#: Numbers of an instruction: waves, lanes, lines, least, waves with one stride, the least and the greatest of these.
_COUNTS = 7


class Coalescing(lt.Tool):
    """``{"line": bytes, "accesses": {address: {"executed", "lanes", "lines", "least", "asked", "moved",
    "strided", "stride"}}, "not seen": [address]}``.

    ``lines`` adds up, over all waves, the different lines that a wave's lanes touch; ``least`` those that as many bytes in a
    row would; ``asked`` and ``moved`` are bytes: what lanes access, and whole lines. Lanes of buffers that are out of range
    access nothing. ``strided`` counts waves of two lanes or more whose addresses go on by the same step from lane to lane, ``stride`` is
    the step in bytes where it is one for all of these (in which two neighbouring lanes access), else None. Not seen are images, typed buffers and transfers to LDS."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self, line: int = 0) -> None:
        if line and (line & (line - 1) or not 16 <= line <= 4096):
            raise lt.ToolError(f"coalescing: line={line}: a power of 2 from 16 to 4096")
        self.line = line
        self.seen: set[int] = set()
        self.watched: list[tuple[lt.Instruction, lt.DeviceArray, int]] = []
        self.unseen: list[int] = []

    @lt.hook
    def access(counts: lt.ptr[lt.u64], address: lt.u64, width: lt.u32, shift: lt.u32):
        made = lt.access_in_range()
        mask = lt.ballot(made)
        first = address >> lt.u64(shift)
        last = (address + lt.u64(width - 1)) >> lt.u64(shift)
        lines: lt.u32 = 0
        left = mask
        while left != 0:
            leader = lt.readlane(first, lt.ctz(left))
            left = left & ~lt.ballot(made and first == leader)
            lines += 1
        # Accesses that go on in the next line, if no lane begins there.
        left = lt.ballot(made and last != first)
        while left != 0:
            leader = lt.readlane(last, lt.ctz(left))
            left = left & ~lt.ballot(made and last == leader)
            if lt.ballot(made and first == leader) == 0:
                lines += 1
        lanes = lt.u32(lt.popcount(mask))
        least = (lanes * width + (1 << shift) - 1) >> shift
        lt.wave_atomic_add(counts, 1)
        lt.wave_atomic_add(counts + 1, lanes)
        lt.wave_atomic_add(counts + 2, lines)
        lt.wave_atomic_add(counts + 3, lt.min(least, lines))
        # Whether addresses go on by the same step from lane to lane, and by which.
        others = mask & (mask - lt.u64(1))
        if others != 0:
            one = lt.u32(lt.ctz(mask))
            two = lt.u32(lt.ctz(others))
            base = lt.readlane(address, one)
            step = lt.readlane(address, two) - base
            gap = lt.u64(two - one)
            away = lt.u64(lt.lane_id()) - lt.u64(one)
            if lt.ballot(made and (address - base) * gap != step * away) == 0:
                lt.wave_atomic_add(counts + 4, 1)
                if gap == 1:
                    # In the order of unsigned numbers.
                    place = step ^ lt.u64(1 << 63)
                    if made and lt.lane_id() == one:
                        lt.atomic_min(counts + 5, place)
                        lt.atomic_max(counts + 6, place)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        if not self.line:
            processor = kernel.code_object.processor
            self.line = 64 if processor.startswith("gfx9") and processor not in ("gfx942", "gfx950", "gfx9-4-generic") else 128
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        found = [i for f in functions for i in f.instructions if i.is_global and i.works_for == "lane"]
        self.unseen += [i.address for i in found if i.access_count != 1 or not i.memory_width]
        found = [i for i in found if i.access_count == 1 and i.memory_width]
        if not found:
            return
        beginning = [0, 0, 0, 0, 0, (1 << 64) - 1, 0] * len(found)
        counts = lt.DeviceArray(lt.u64, _COUNTS * len(found), init=beginning, name=f"lines.{kernel.name}")
        shift = self.line.bit_length() - 1
        for n, instr in enumerate(found):
            kernel.insert_before(instr, self.access, counts.at(_COUNTS * n), lt.Address(), lt.AccessWidth(), shift)
            self.watched.append((instr, counts, _COUNTS * n))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        found: dict[lt.Instruction, dict[str, Any]] = {}
        for instr, counts, n in self.watched:
            executed, lanes, lines, least, strided, low, high = map(int, counts[n : n + _COUNTS])
            asked = lanes * (instr.memory_width or 0)
            found[instr] = {"executed": executed, "lanes": lanes, "lines": lines, "least": least, "asked": asked, "moved": lines * self.line, "strided": strided, "stride": low - (1 << 63) if low == high else None}  # fmt: skip
        report.result = {
            "line": self.line,
            "accesses": as_json({i.address: told for i, told in found.items()}),
            "not seen": [f"{address:#x}" for address in self.unseen],
        }
        worst = sorted(found.items(), key=lambda item: item[1]["least"] - item[1]["lines"])
        rows = [
            (f"{i.address:#x}", i.text, place_of(i), v["lines"], v["least"], v["asked"], v["moved"], _stride(v)) for i, v in worst
        ]
        headers = ("address", "instruction", "line", "lines", "least", "bytes asked", "bytes moved", "stride")
        report.table("coalescing", rows, headers)
        report.column("lines", {i.address: v["lines"] for i, v in found.items()}, unit="lines", about="cache lines touched")
        extra = {i.address: v["lines"] - v["least"] for i, v in found.items()}
        report.column("extra lines", extra, unit="lines", about="cache lines beyond the least possible")


def _stride(told: dict[str, Any]) -> str:
    """For people."""
    if not told["strided"]:
        return "none"
    return "several" if told["stride"] is None else str(told["stride"])
