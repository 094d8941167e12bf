"""access_trace: which instruction accesses which addresses, one record for each lane, while the kernel runs.

luthier run saxpy.hsaco --kernel saxpy ... --tool examples/access_trace.py:out=accesses.npy
"""

from __future__ import annotations

from typing import Any

import luthier as lt


class AccessTrace(lt.Tool):
    """Traces the accesses of vector instructions to global memory: ``{"records": N, "instructions": {address: {"accesses": N, "lines": N}}}``.

    ``out`` is a NumPy file for all records: the instruction's address (``pc``), the address that it accesses (``address``) and the
    lane. Lines have 64 bytes.
    """

    #: A wave that finds no room waits for the host, so that no record is lost.
    accesses = lt.Channel(1 << 16, when_full="wait", address=lt.u64, pc=lt.u64, lane=lt.u32)

    def __init__(self, out: str = "") -> None:
        self.out = out
        self.kept: list[Any] = []
        self.records = 0
        self.lanes: dict[int, int] = {}
        self.lines: dict[int, set[int]] = {}

    @lt.hook
    def access(accesses: lt.channel, address: lt.u64, pc: lt.u64):
        if lt.access_in_range():
            lt.record(accesses, address, pc, lt.lane_id())

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for instr in kernel.instructions:
            if instr.is_global and instr.works_for == "lane" and instr.access_count == 1:
                kernel.insert_before(instr, self.access, self.accesses, lt.Address(), lt.Pc())

    def on_records(self, channel: lt.Channel, records: Any) -> None:
        import numpy

        self.records += len(records)
        if self.out:
            self.kept.append(records)
        for pc in numpy.unique(records["pc"]).tolist():
            addresses = records["address"][records["pc"] == pc]
            self.lanes[pc] = self.lanes.get(pc, 0) + len(addresses)
            self.lines.setdefault(pc, set()).update((addresses // 64).tolist())

    def on_exit(self, report: lt.Report) -> None:
        if self.out:
            import numpy

            numpy.save(self.out, numpy.concatenate(self.kept) if self.kept else numpy.zeros(0))
        found = {f"{pc:#x}": {"accesses": n, "lines": len(self.lines[pc])} for pc, n in sorted(self.lanes.items())}
        report.result = {"records": self.records, "instructions": found}
        report.table(
            "accesses", [(pc, one["accesses"], one["lines"]) for pc, one in found.items()], ("instruction", "accesses", "lines")
        )
