"""value_profile: which values a kernel stores, by their magnitude (the place of their highest bit).

luthier run vecadd.hsaco --kernel vecadd ... --tool examples/value_profile.py
"""

from __future__ import annotations

import luthier as lt


class ValueProfile(lt.Tool):
    """A histogram of the 32-bit words that are stored: ``{"bits": {n: times}}``, for values below 2 to the power of n."""

    bits = lt.DeviceArray(lt.u64, 33)

    @lt.hook
    def look(bits: lt.ptr[lt.u64], value: lt.u32):
        lt.atomic_add(bits + (32 - lt.clz(value)), 1)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        for instr in kernel.instructions:
            data = [o.register for o in instr.operands if o.name == "vdata" or o.name == "data" if o.register is not None]
            if instr.is_store and not instr.is_load and instr.memory_width == 4 and data and data[0].width == 1:
                kernel.insert_before(instr, self.look, self.bits, lt.Reg(data[0]))

    def on_exit(self, report: lt.Report) -> None:
        report.result = {"bits": self.bits.nonzero()}
        report.table("values stored", self.bits.nonzero(), ("below 2 to the power of", "times"))
