"""nan_checker: the instructions of a kernel whose results are not numbers, and in how many lanes.

luthier run softmax.hsaco --kernel softmax ... --tool examples/nan_checker.py
"""

from __future__ import annotations

import luthier as lt


class NanChecker(lt.Tool):
    """Looks at every result of 32-bit float arithmetic: ``{"nans": {address: lanes}}``."""

    def __init__(self) -> None:
        self.checked: list[tuple[lt.DeviceArray, list[lt.Instruction]]] = []

    @lt.hook
    def check(nans: lt.ptr[lt.u64], value: lt.f32):
        lt.wave_atomic_add(nans, lt.popcount(lt.ballot(value != value)))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        instrs = [i for i in kernel.instructions if i.falls_through and _result(i) is not None]
        if not instrs:
            return
        nans = lt.DeviceArray(lt.u64, len(instrs), name=f"nans.{kernel.name}")
        self.checked.append((nans, instrs))
        for number, instr in enumerate(instrs):
            register = _result(instr)
            if register is not None:
                kernel.insert_after(instr, self.check, nans.at(number), lt.Reg(register))

    def on_exit(self, report: lt.Report) -> None:
        found = [(instr, lanes) for nans, instrs in self.checked for instr, lanes in zip(instrs, nans) if lanes]
        report.result = {"nans": {f"{instr.address:#x}": lanes for instr, lanes in found}}
        rows = [(f"{i.address:#x}", i.text, str(i.source[0]) if i.source else "", lanes) for i, lanes in found]
        report.table("results that are not numbers", rows, ("address", "instruction", "source", "lanes") if rows else ())


def _result(instr: lt.Instruction) -> lt.Register | None:
    """The VGPR that has an f32 result, if there is one."""
    written = [o.register for o in instr.operands if o.is_written and o.register is not None]
    is_f32 = instr.is_valu and instr.opcode.endswith("_f32") and not instr.opcode.startswith("v_cmp")
    return written[0] if is_f32 and len(written) == 1 and written[0].file == "vgpr" and written[0].width == 1 else None
