"""memory_addresses: how many 64-byte lines of memory each global access of a wave touches, at best and as it is.

    luthier run transpose.hsaco --kernel transpose ... --tool examples/memory_addresses.py

An access of 64 lanes to neighbouring 4-byte words touches four lines; one with a stride touches up to 64.
"""

from __future__ import annotations

import luthier as lt


class MemoryAddresses(lt.Tool):
    """Counts the lines that the lanes of each access begin: ``{"accesses": {address: {"waves": N, "lines": N}}}``."""

    def __init__(self) -> None:
        self.watched: list[tuple[lt.DeviceArray, lt.DeviceArray, list[lt.Instruction]]] = []

    @lt.hook
    def look(waves: lt.ptr[lt.u64], lines: lt.ptr[lt.u64], low: lt.u32):
        lt.wave_atomic_add(waves, 1)
        # A lane begins a line if its neighbour below is in another one, or there is none.
        line = low >> 6
        first = lt.readfirstlane(line)
        n: lt.u32 = 1
        before: lt.u32 = first
        for i in range(64):
            there = lt.readlane(line, lt.u32(i))
            is_on = (lt.exec_mask() >> lt.u64(i)) & 1
            if is_on != 0 and there != before:
                n += 1
                before = there
        lt.wave_atomic_add(lines, lt.u64(lt.readfirstlane(n)))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        instrs = [i for i in kernel.instructions if i.memory_space == "global" and _address(i) is not None]
        if not instrs:
            return
        waves = lt.DeviceArray(lt.u64, len(instrs), name=f"waves.{kernel.name}")
        lines = lt.DeviceArray(lt.u64, len(instrs), name=f"lines.{kernel.name}")
        self.watched.append((waves, lines, instrs))
        for number, instr in enumerate(instrs):
            kernel.insert_before(instr, self.look, waves.at(number), lines.at(number), lt.Reg(f"v{_address(instr)}"))

    def on_exit(self, report: lt.Report) -> None:
        found = [(i, w, n) for waves, lines, instrs in self.watched for i, w, n in zip(instrs, waves, lines) if w]
        report.result = {"accesses": {f"{i.address:#x}": {"waves": w, "lines": n} for i, w, n in found}}
        rows = [(f"{i.address:#x}", i.text, w, f"{n / w:.1f}") for i, w, n in found]
        report.table("lines touched", rows, ("address", "instruction", "waves", "lines of each") if rows else ())


def _address(instr: lt.Instruction) -> int | None:
    """The number of the VGPR with the low half of each lane's address, or its offset from a scalar base."""
    operands = [o.register for o in instr.operands if o.name in ("addr", "vaddr") and o.register is not None]
    return operands[0].index if operands and operands[0].file == "vgpr" else None
