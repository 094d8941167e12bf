"""nan_check: which float instructions give NaNs and infinities, and which make them out of numbers.

Matrix operations and packed types are looked at register by register. What there is no rule for is listed as not seen.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import luthier as lt
from luthier.tools.lanes import as_json, incomplete, line_of, place_of
from luthier.tools.results import MATRIX, RESULT_LAST, float_kind
from luthier.tools.waves import WaveTool

FLOATS = re.compile(r"v_(?!cmp).*(?:f32|f64|f16|bf16|fp8|bf8)")
INTEGERS = re.compile(r"v_(?:cvt_(?:\w+_)?[iu]\d+_|frexp_exp_|cvt_pk_[iu])")


#: Words of an instruction's first: whether it is there, its place in the order, workgroup, wave and lane, value and operands.
_FIRST = 6


class NanCheck(WaveTool):
    """``{"found": {address: {"nan", "infinite", "made"}}, "not seen": [address]}``: in how many results, one of each active lane
    (of packed and matrix results in each value of a register). ``made`` counts NaNs and infinities whose sources were all
    finite, where that can be told (results and sources of 32 bits, no matrix operation), and is null elsewhere. Addresses
    with nothing are left out. ``"made": [{"address", "text", "line", "workgroup", "wave", "lane", "value", "operands"}]`` has of each
    such instruction the first time that it made one, in the order in which waves came to it (of waves side by side, in the order in
    which they told); ``first`` is the address of the first of all."""

    #: How many instructions have told where they made one.
    order = lt.DeviceArray(lt.u64, 1)

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()
        self.watched: list[tuple[lt.Instruction, lt.DeviceArray, int, bool]] = []
        #: Of each instruction that can tell what it makes: where and of what it made the first.
        self.firsts: dict[lt.Instruction, tuple[lt.DeviceArray, int]] = {}
        self.unseen: list[lt.Instruction] = []

    @lt.hook
    def made(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3],
        value: lt.u32, a: lt.u32, b: lt.u32, c: lt.u32,
    ):  # fmt: skip
        low = value & 0x7FFFFFFF
        finite = (a & 0x7F800000) != 0x7F800000 and (b & 0x7F800000) != 0x7F800000 and (c & 0x7F800000) != 0x7F800000
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot(low > 0x7F800000)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(low == 0x7F800000)))
        makes = low >= 0x7F800000 and finite
        mask = lt.ballot(makes)
        lt.wave_atomic_add(counts + 2, lt.popcount(mask))
        # The first lane of the wave that comes first tells.
        if makes and lt.lane_id() == lt.u32(lt.ctz(mask)):
            if lt.atomic_cas(firsts, lt.u64(0), lt.u64(1)) == 0:
                firsts[1] = lt.atomic_add(order, 1)
                firsts[2] = lt.u64(here[0]) | lt.u64(here[1]) << 32
                firsts[3] = lt.u64(here[2] | lt.lane_id())
                firsts[4] = lt.u64(value) | lt.u64(a) << 32
                firsts[5] = lt.u64(b) | lt.u64(c) << 32

    @lt.hook
    def single(counts: lt.ptr[lt.u64], value: lt.u32):
        low = value & 0x7FFFFFFF
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot(low > 0x7F800000)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(low == 0x7F800000)))

    @lt.hook
    def double(counts: lt.ptr[lt.u64], value: lt.u64):
        low = value & 0x7FFFFFFFFFFFFFFF
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot(low > 0x7FF0000000000000)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(low == 0x7FF0000000000000)))

    @lt.hook
    def half(counts: lt.ptr[lt.u64], bits: lt.u32, infinity: lt.u32):
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot((bits & 0x7FFF) > infinity)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot((bits & 0x7FFF) == infinity)))

    @lt.hook
    def half_register(counts: lt.ptr[lt.u64], bits: lt.u16, infinity: lt.u16):
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot((bits & 0x7FFF) > infinity)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot((bits & 0x7FFF) == infinity)))

    @lt.hook
    def halves(counts: lt.ptr[lt.u64], bits: lt.u32, infinity: lt.u32):
        low = bits & 0x7FFF
        high = (bits >> 16) & 0x7FFF
        lt.wave_atomic_add(counts, lt.popcount(lt.ballot(low > infinity)) + lt.popcount(lt.ballot(high > infinity)))
        lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(low == infinity)) + lt.popcount(lt.ballot(high == infinity)))

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        floats = [i for f in functions for i in f.instructions if i.is_valu and FLOATS.match(i.opcode)]
        floats = [i for i in floats if not INTEGERS.match(i.opcode)]
        looked_at = {i: checks for i in floats if (checks := self.checks(i, kernel.target))}
        self.unseen += [i for i in floats if i not in looked_at]
        if not looked_at:
            return
        self.begin_waves(kernel)
        counts = lt.DeviceArray(lt.u64, 3 * len(looked_at), name=f"nans.{kernel.name}")
        firsts = lt.DeviceArray(lt.u64, _FIRST * len(looked_at), name=f"firsts.{kernel.name}")
        for n, (instr, checks) in enumerate(looked_at.items()):
            tells = checks[0][0] is self.made
            self.watched.append((instr, counts, 3 * n, tells))
            if tells:
                self.firsts[instr] = firsts, _FIRST * n
            for hook, *arguments in checks:
                told = (firsts.at(_FIRST * n), self.order, self.here) if tells else ()
                kernel.insert_after(instr, hook, counts.at(3 * n), *told, *arguments)

    def checks(self, instr: lt.Instruction, target: str) -> list[tuple[Any, ...]]:
        """The hooks that look at an instruction's result, with their arguments; none if it is no float of a known format."""
        kind = float_kind(instr.opcode)
        vectors = [(o, o.register) for o in instr.operands if o.is_written and o.register and o.register.file in ("vgpr", "agpr")]
        if kind is None or len(vectors) != 1 or "mixhi" in instr.opcode or "sdwa" in instr.flags or " :: " in instr.opcode:
            return []
        result, register = vectors[0]
        file, first, width = register.file[0], register.index or 0, register.width
        if kind == "f64":
            return [(self.double, lt.Reg(f"{file}[{n}:{n + 1}]")) for n in range(first, first + width, 2)]
        words = [lt.Reg(f"{file}{n}") for n in range(first, first + width)]
        if kind == "f32":
            sources = self.sources(instr)
            if len(words) == 1 and sources is not None:
                return [(self.made, words[0], *sources)]
            return [(self.single, word) for word in words]
        infinity = 0x7C00 if kind == "f16" else 0x7F80
        is_matrix = MATRIX.match(instr.opcode) is not None
        if is_matrix and target.startswith("gfx11"):
            return []  # One half of each register is a result, the other stays.
        if is_matrix or instr.opcode.startswith("v_pk_"):
            return [(self.halves, word, infinity) for word in words]
        if result.place and result.place[2]:  # one half of a register
            return [(self.half_register, result, infinity)]
        return [(self.half, result, infinity)]

    def sources(self, instr: lt.Instruction) -> tuple[Any, ...] | None:
        """Three sources of an operation on f32, numbers where it has fewer; None where they are of other kinds."""
        if not RESULT_LAST.fullmatch(instr.opcode) or "mix" in instr.opcode or "ldexp" in instr.opcode or "dpp" in instr.flags:
            return None
        read = [
            o for o in instr.operands if o.is_read and o.kind != "special" and not (o.register and o.register.file == "special")
        ]
        if len(read) > 3 or any(o.units > 1 for o in read):
            return None
        given: list[Any] = [lt.Old(o) if o.register is not None else o for o in read]
        return (*given, *[0] * (3 - len(given)))

    def on_exit(self, report: lt.Report) -> None:
        if incomplete(self, report):
            return
        found: dict[lt.Instruction, dict[str, int | None]] = {}
        for instr, counts, n, tells in self.watched:
            nans, infinite, made = map(int, counts[n : n + 3])
            if nans or infinite:
                found[instr] = {"nan": nans, "infinite": infinite, "made": made if tells else None}
        made_first = self.made_first()
        report.result = {
            "found": as_json({i.address: told for i, told in found.items()}),
            "first": made_first[0]["address"] if made_first else None,
            "made": made_first,
            "not seen": [f"{i.address:#x}" for i in self.unseen],
        }
        rows = [
            (f"{i.address:#x}", i.text, place_of(i), v["nan"], v["infinite"], "" if v["made"] is None else v["made"])
            for i, v in found.items()
        ]
        report.table(
            "NaNs and infinities", rows, ("address", "instruction", "line", "NaN", "infinite", "made here") if rows else ()
        )
        if made_first:
            told_first = [
                (m["address"], m["text"], m["line"], ", ".join(map(str, m["workgroup"])), m["wave"], m["lane"], m["value"], ", ".join(m["operands"]))
                for m in made_first
            ]  # fmt: skip
            headers = ("address", "instruction", "line", "workgroup", "wave", "lane", "value", "of")
            report.table("made first", told_first, headers)
        if self.unseen:
            others = [(f"{i.address:#x}", i.text, ":".join(map(str, line_of(i) or ()))) for i in self.unseen]
            report.table("float results that were not looked at", others, ("address", "instruction", "line"))
        report.column(
            "NaN", {i.address: v["nan"] or 0 for i, v in found.items()}, unit="results", about="results that are no numbers"
        )

    def made_first(self) -> list[dict[str, Any]]:
        """Where each instruction made its first NaN or infinity, in the order in which they did."""
        found: list[tuple[int, dict[str, Any]]] = []
        for instr, (firsts, n) in self.firsts.items():
            is_there, order, place, wave, value, others = map(int, firsts[n : n + _FIRST])
            if not is_there:
                continue
            bits = (value & 0xFFFFFFFF, value >> 32, others & 0xFFFFFFFF, others >> 32)
            numbers = [f"{struct.unpack('<f', struct.pack('<I', word))[0]:g}" for word in bits]
            sources = self.sources(instr) or ()
            told = {
                "address": f"{instr.address:#x}", "text": instr.text, "line": place_of(instr),
                "workgroup": [place & 0xFFFFFFFF, place >> 32 & 0xFFFF, place >> 48], "wave": wave >> 6, "lane": wave & 63,
                "value": numbers[0], "operands": [numbers[k + 1] for k in range(sum(not isinstance(s, int) for s in sources))],
            }  # fmt: skip
            found.append((order, told))
        return [told for _, told in sorted(found, key=lambda pair: pair[0])]
