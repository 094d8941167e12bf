"""lds_conflicts: cycles that accesses of LDS take, and how many of them bank conflicts cost.

The model: LDS has 32 banks of 4 bytes (64 on gfx950); each serves one dword in a cycle. Lanes are served in groups of
as many as fill the banks: 32 lanes of 4 bytes, 16 of 8 bytes, 8 of 12 or 16 bytes. A group takes as many cycles as the bank
with the most different dwords has; lanes with the same dword are served together. The two places of ``ds_read2`` and its kin
are two accesses. Which lanes real hardware takes together for wide accesses, AMD does not say for every generation.
"""

from __future__ import annotations

import luthier as lt
from luthier.tools.lanes import as_json, incomplete, place_of, wave_size
from luthier.tools.waves import is_first


class LdsConflicts(lt.Tool):
    """``{"banks": N, "accesses": {address: {"executed", "cycles", "conflicts"}}, "not seen": [address]}``: ``conflicts`` are
    cycles beyond the one of each group that has active lanes."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    def __init__(self) -> None:
        self.banks = 32
        self.seen: set[int] = set()
        self.watched: list[tuple[lt.Instruction, lt.DeviceArray, int]] = []
        self.unseen: list[int] = []

    @lt.hook
    def group(counts: lt.ptr[lt.u64], address: lt.u64, start: lt.u32, size: lt.u32, banks: lt.u32):
        word = lt.u32(address) >> 2
        mine = lt.lane_id() >= start and lt.lane_id() < start + size
        some = lt.ballot(mine) != 0
        pending = mine
        same: lt.u32 = 0
        # Each round takes one dword. The lanes of a bank's last one have seen all of the bank.
        while lt.ballot(pending) != 0:
            if pending:
                leader = lt.readfirstlane(word)
                if (word & (banks - 1)) == (leader & (banks - 1)):
                    same += 1
                if word == leader:
                    pending = False
        worst: lt.u32 = 0
        while lt.ballot(mine and same > worst) != 0:
            worst += 1
        # The first lane adds: a wave without lanes has no conflicts.
        if is_first():
            lt.atomic_add(counts + 1, lt.u64(worst))
            lt.atomic_add(counts + 2, lt.u64(worst - lt.u32(some)))

    @lt.hook
    def executed(counts: lt.ptr[lt.u64]):
        lt.wave_atomic_add(counts, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.banks = 64 if kernel.code_object.processor == "gfx950" else 32
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        found = [i for f in functions for i in f.instructions if i.memory_space == "lds" and i.category == "lds"]
        self.unseen += [i.address for i in found if not i.access_count or not i.memory_width]
        found = [i for i in found if i.access_count and i.memory_width]
        if not found:
            return
        counts = lt.DeviceArray(lt.u64, 3 * len(found), name=f"conflicts.{kernel.name}")
        for n, instr in enumerate(found):
            places = instr.access_count or 1
            bytes_each = (instr.memory_width or 4) // places
            dwords = 4 if bytes_each > 8 else max(bytes_each // 4, 1)
            kernel.insert_before(instr, self.executed, counts.at(3 * n))
            for place in range(places):
                address = lt.Address() if places == 1 else lt.Address(place)
                size = self.banks // dwords
                for start in range(0, wave_size(kernel), size):
                    kernel.insert_before(instr, self.group, counts.at(3 * n), address, start, size, self.banks)
            self.watched.append((instr, counts, 3 * n))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        found = {}
        for instr, counts, n in self.watched:
            executed, cycles, conflicts = map(int, counts[n : n + 3])
            found[instr] = {"executed": executed, "cycles": cycles, "conflicts": conflicts}
        report.result = {
            "banks": self.banks,
            "accesses": as_json({i.address: told for i, told in found.items()}),
            "not seen": [f"{address:#x}" for address in self.unseen],
        }
        worst = sorted(found.items(), key=lambda item: -item[1]["conflicts"])
        rows = [(f"{i.address:#x}", i.text, place_of(i), v["executed"], v["cycles"], v["conflicts"]) for i, v in worst]
        report.table("lds_conflicts", rows, ("address", "instruction", "line", "executed", "cycles", "conflicts"))
        report.column(
            "conflicts", {i.address: v["conflicts"] for i, v in found.items()}, unit="cycles", about="cycles lost in LDS"
        )
