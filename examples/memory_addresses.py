"""memory_addresses: how many 64-byte lines of memory each access of a wave touches, at best and as it is.

    luthier run transpose.hsaco --kernel transpose ... --tool examples/memory_addresses.py

An access of 64 lanes to neighbouring 4-byte words touches four lines; one with a stride touches up to 64. All memory is
looked at that lanes have addresses in: global, flat, buffers (lanes outside of theirs touch nothing), LDS and scratch.
"""

from __future__ import annotations

import luthier as lt


class MemoryAddresses(lt.Tool):
    """Counts the lines that the lanes of each access begin.

    ``{"accesses": {address: {"waves": N, "lines": N}}, "not seen": [address]}``: of accesses to two places at once the lines
    are those of both. Not seen are accesses to which no hook could be put.
    """

    def __init__(self) -> None:
        self.watched: list[tuple[lt.DeviceArray, lt.DeviceArray, list[lt.Instruction]]] = []
        self.unseen: list[lt.Instruction] = []

    @lt.hook
    def look(waves: lt.ptr[lt.u64], lines: lt.ptr[lt.u64], again: lt.u64, address: lt.u64):
        lt.wave_atomic_add(waves, again)
        line = lt.u32(address >> 6)
        # Lanes that are off, or outside of their buffer, touch nothing.
        touching = lt.ballot(lt.access_in_range())
        n: lt.u32 = 0
        before: lt.u32 = 0
        for i in range(64):
            if (touching >> lt.u64(i)) & 1 != 0:
                there = lt.readlane(line, lt.u32(i))
                # A lane begins a line if the one below is in another, or there is none.
                if n == 0 or there != before:
                    n += 1
                before = there
        lt.wave_atomic_add(lines, lt.u64(n))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        instrs = [i for i in kernel.instructions if i.memory_space is not None and "smem" not in i.flags]
        seen = [i for i in instrs if i.access_count is not None and (i.memory_space != "buffer" or i.memory_width is not None)]
        self.unseen += [i for i in instrs if i not in seen]
        if not seen:
            return
        waves = lt.DeviceArray(lt.u64, len(seen), name=f"waves.{kernel.name}")
        lines = lt.DeviceArray(lt.u64, len(seen), name=f"lines.{kernel.name}")
        self.watched.append((waves, lines, seen))
        for number, instr in enumerate(seen):
            for place in range(instr.access_count or 0):
                arguments = (waves.at(number), lines.at(number), int(place == 0), lt.Address(place))
                kernel.insert_before(instr, self.look, *arguments)

    def on_exit(self, report: lt.Report) -> None:
        found = [(i, w, n) for waves, lines, instrs in self.watched for i, w, n in zip(instrs, waves, lines) if w]
        report.result = {
            "accesses": {f"{i.address:#x}": {"waves": w, "lines": n} for i, w, n in found},
            "not seen": [f"{i.address:#x}" for i in self.unseen],
        }
        rows = [(f"{i.address:#x}", i.text, w, f"{n / w:.1f}") for i, w, n in found]
        report.table("lines touched", rows, ("address", "instruction", "waves", "lines of each") if rows else ())
        if self.unseen:
            others = [(f"{i.address:#x}", i.text) for i in self.unseen]
            report.table("accesses that were not looked at", others, ("address", "instruction"))
