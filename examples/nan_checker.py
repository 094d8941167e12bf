"""nan_checker: the instructions of a kernel whose results are not numbers, and in how many lanes.

luthier run softmax.hsaco --kernel softmax ... --tool examples/nan_checker.py
"""

from __future__ import annotations

import re

import luthier as lt

#: Operations whose names say what they give in front of what they take.
RESULT_FIRST = re.compile(r"v_(?:mfma|smfmac|wmma|swmmac|cvt|dot\w*?|s?dot\d\w*?)_(?:scale_)?(f64|f32|f16|bf16)_")
#: The others: what they take is what they give.
RESULT_LAST = re.compile(r"v_(?!cmp|cvt|frexp_exp|mfma|smfmac|wmma|swmmac|dot)\w*_(f64|f32|f16|bf16)")
#: Floats of other formats, which are not looked at.
OTHERS = re.compile(r"v_(?!cmp).*(?:f32|f64|f16|bf16|fp8|bf8)")


class NanChecker(lt.Tool):
    """Looks at every result of float arithmetic, matrix operations included, and at what they are made of in each register.

    ``{"nans": {address: lanes}, "not seen": [address]}``: of results that span registers, or halves of one, each counts. Not
    seen are float operations whose results the tool has no rule for.
    """

    def __init__(self) -> None:
        self.checked: list[tuple[lt.DeviceArray, list[lt.Instruction]]] = []
        self.unseen: list[lt.Instruction] = []

    @lt.hook
    def single(nans: lt.ptr[lt.u64], value: lt.f32):
        lt.wave_atomic_add(nans, lt.popcount(lt.ballot(value != value)))

    @lt.hook
    def double(nans: lt.ptr[lt.u64], value: lt.f64):
        lt.wave_atomic_add(nans, lt.popcount(lt.ballot(value != value)))

    @lt.hook
    def half(nans: lt.ptr[lt.u64], bits: lt.u32, infinity: lt.u32):
        lt.wave_atomic_add(nans, lt.popcount(lt.ballot(bits & 0x7FFF > infinity)))

    @lt.hook
    def halves(nans: lt.ptr[lt.u64], bits: lt.u32, infinity: lt.u32):
        low = lt.popcount(lt.ballot(bits & 0x7FFF > infinity))
        lt.wave_atomic_add(nans, low + lt.popcount(lt.ballot((bits >> 16) & 0x7FFF > infinity)))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        looked_at = {i: checks for i in kernel.instructions if i.is_valu and (checks := self.checks(i, kernel.target))}
        floats = [i for i in kernel.instructions if i.is_valu and OTHERS.match(i.opcode) and i not in looked_at]
        self.unseen += [i for i in floats if not _gives_an_integer(i)]
        if not looked_at:
            return
        nans = lt.DeviceArray(lt.u64, len(looked_at), name=f"nans.{kernel.name}")
        self.checked.append((nans, list(looked_at)))
        for number, (instr, checks) in enumerate(looked_at.items()):
            for hook, *arguments in checks:
                kernel.insert_after(instr, hook, nans.at(number), *arguments)

    def checks(self, instr: lt.Instruction, target: str) -> list[tuple[object, ...]]:
        """The hooks that look at an instruction's result, with their arguments; none if it is no float of a known format."""
        named = RESULT_FIRST.match(instr.opcode) or RESULT_LAST.fullmatch(instr.opcode)
        vectors = [(o, o.register) for o in instr.operands if o.is_written and o.register and o.register.file in ("vgpr", "agpr")]
        if not named or len(vectors) != 1 or "mixhi" in instr.opcode:
            return []
        kind, (result, register) = named[1], vectors[0]
        file, first, width = register.file[0], register.index or 0, register.width
        if kind == "f64":
            return [(self.double, lt.Reg(f"{file}[{n}:{n + 1}]")) for n in range(first, first + width, 2)]
        words = [lt.Reg(f"{file}{n}") for n in range(first, first + width)]
        if kind == "f32":
            return [(self.single, word) for word in words]
        infinity = 0x7C00 if kind == "f16" else 0x7F80
        is_matrix = re.match(r"v_\w*(mfma|smfmac|wmma|swmmac)", instr.opcode) is not None
        if is_matrix and target.startswith("gfx11"):
            return []  # One half of each register is a result, the other stays.
        if is_matrix or instr.opcode.startswith("v_pk_"):
            return [(self.halves, word, infinity) for word in words]
        return [(self.half, result, infinity)] if result.place and not result.place[2] else []

    def on_exit(self, report: lt.Report) -> None:
        found = [(instr, lanes) for nans, instrs in self.checked for instr, lanes in zip(instrs, nans) if lanes]
        report.result = {
            "nans": {f"{instr.address:#x}": lanes for instr, lanes in found},
            "not seen": [f"{instr.address:#x}" for instr in self.unseen],
        }
        rows = [(f"{i.address:#x}", i.text, str(i.source[0]) if i.source else "", lanes) for i, lanes in found]
        report.table("results that are not numbers", rows, ("address", "instruction", "source", "lanes") if rows else ())
        if self.unseen:
            others = [(f"{i.address:#x}", i.text) for i in self.unseen]
            report.table("float results that were not looked at", others, ("address", "instruction"))


def _gives_an_integer(instr: lt.Instruction) -> bool:
    return re.match(r"v_(?:cvt_(?:\w+_)?[iu]\d+_|frexp_exp_)", instr.opcode) is not None
