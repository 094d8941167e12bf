"""A tool with an array, a file of its own for ``--tool``."""

from __future__ import annotations

import luthier as lt


class Accesses(lt.Tool):
    """Loads and stores, and the launches."""

    counts = lt.DeviceArray(lt.u64, 2)

    def __init__(self):
        self.launches = []

    @lt.hook
    def bump(counts: lt.ptr[lt.u64], kind: lt.u32):
        lt.wave_atomic_add(counts + kind, 1)

    def on_kernel(self, kernel):
        for instr in kernel.instructions:
            if instr.is_load or instr.is_store:
                kernel.insert_before(instr, self.bump, self.counts, 1 if instr.is_store else 0)

    def on_launch(self, launch):
        self.launches.append([launch.kernel, *launch.grid])

    def on_exit(self, report):
        report.result = {"counts": self.counts.read().tolist(), "launches": self.launches}
