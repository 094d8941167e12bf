"""divergence: how many lanes are active in each block, and where waves split."""

from __future__ import annotations

import luthier as lt
from luthier.tools.lanes import LaneTool, as_json, incomplete, place_of, wave_size, writes_exec


class Divergence(LaneTool):
    """``{"blocks": {address: {"executed", "lanes", "idle"}}, "splits": {address: {"all", "some", "none"}}, "branches":
    {address: {"taken", "not taken"}}}``.

    ``idle`` are lanes of the wave that were not active when the block was entered. A split is at an instruction that writes
    EXEC: in how many waves all, some or none of the lanes that were active stayed so. A branch is the wave's."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 64
        self.splits: list[tuple[lt.Instruction, lt.DeviceArray, int]] = []
        self.branches: list[tuple[lt.Instruction, lt.DeviceArray, int]] = []

    @lt.hook
    def split(counts: lt.ptr[lt.u64], old: lt.u64):
        kept = lt.exec_mask() & old
        stays = kept == old and old != 0
        none = kept == 0 and old != 0
        lt.wave_atomic_add(counts, lt.u32(stays))
        lt.wave_atomic_add(counts + 1, lt.u32(not stays and not none and old != 0))
        lt.wave_atomic_add(counts + 2, lt.u32(none))

    @lt.hook
    def split_32(counts: lt.ptr[lt.u64], old: lt.u32):
        now = lt.u32(lt.exec_mask())
        kept = now & old
        stays = kept == old and old != 0
        none = kept == 0 and old != 0
        lt.wave_atomic_add(counts, lt.u32(stays))
        lt.wave_atomic_add(counts + 1, lt.u32(not stays and not none and old != 0))
        lt.wave_atomic_add(counts + 2, lt.u32(none))

    @lt.hook
    def went(count: lt.ptr[lt.u64]):
        lt.wave_atomic_add(count, 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        self.size = wave_size(kernel)
        hook = self.split if self.size == 64 else self.split_32
        functions = self.count_lanes(kernel)
        blocks = [block for f in functions for block in f.blocks]
        splits = [i for b in blocks for i in b.instructions if writes_exec(i) and i.falls_through]
        ways = [b for b in blocks if b.terminator == "cond_branch" and len({s.address for s in b.successors}) == 2]
        if splits:
            counts = lt.DeviceArray(lt.u64, 3 * len(splits), name=f"splits.{kernel.name}")
            for n, instr in enumerate(splits):
                kernel.insert_after(instr, hook, counts.at(3 * n), lt.Old(lt.Reg("exec")))
                self.splits.append((instr, counts, 3 * n))
        if ways:
            counts = lt.DeviceArray(lt.u64, 2 * len(ways), name=f"branches.{kernel.name}")
            for n, block in enumerate(ways):
                last = block.instructions[-1]
                for successor in block.successors:
                    taken = successor.address == last.branch_target
                    kernel.insert_on_edge(block, successor, self.went, counts.at(2 * n + (0 if taken else 1)))
                self.branches.append((last, counts, 2 * n))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        blocks: dict[int, dict[str, int]] = {}
        for s in self.stretches:
            waves, lanes = s.waves, s.lanes
            blocks.setdefault(s.block.address, {"executed": waves, "lanes": lanes, "idle": waves * self.size - lanes})
        splits = {i.address: dict(zip(("all", "some", "none"), map(int, c[n : n + 3]))) for i, c, n in self.splits}
        branches = {i.address: {"taken": int(c[n]), "not taken": int(c[n + 1])} for i, c, n in self.branches}
        report.result = {"blocks": as_json(blocks), "splits": as_json(splits), "branches": as_json(branches)}
        rows = [(f"{a:#x}", v["executed"], v["lanes"], v["idle"]) for a, v in blocks.items()]
        report.table("blocks", sorted(rows, key=lambda row: -row[3]), ("block", "executed", "lanes", "idle lanes"))
        told = [(f"{i.address:#x}", i.text, place_of(i), *splits[i.address].values()) for i, _, _ in self.splits]
        report.table("splits", told, ("address", "instruction", "line", "all", "some", "none"))
        told = [(f"{i.address:#x}", i.text, place_of(i), *branches[i.address].values()) for i, _, _ in self.branches]
        report.table("branches", told, ("address", "branch", "line", "taken", "not taken"))
        self.lane_columns(report)
        report.column("split", {a: v["some"] for a, v in splits.items()}, unit="waves", about="waves some of whose lanes went on")
