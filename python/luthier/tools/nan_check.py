"""nan_check: which float instructions give NaNs and infinities, which make them out of numbers, and what these were.

Packed types are looked at element by element, matrix operations too (:mod:`luthier.tools.nan_matrices`). What there is no rule for is
listed as not seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import luthier as lt
from luthier.tools.elements import INFINITY, Element, elements
from luthier.tools.first_told import COUNTS, FIRST, count, tell
from luthier.tools.float_formats import number
from luthier.tools.lanes import as_json, incomplete, line_of, place_of, wave_size
from luthier.tools.matrix_places import MatrixPlaces, matrix_places
from luthier.tools.nan_matrices import MatrixFirsts, MatrixHooks, shown_reason, told_of_matrix

FLOATS = re.compile(r"v_(?!cmp).*(?:f32|f64|f16|bf16|fp8|bf8)")
INTEGERS = re.compile(r"v_(?:cvt_(?:\w+_)?[iu]\d+_|frexp_exp_|cvt_pk_[iu])")

#: Tables show this many products of a matrix operation's element.
_SHOWN = 3


@dataclass
class _Watched:
    """An instruction that is looked at."""

    instr: lt.Instruction
    counts: lt.DeviceArray
    firsts: lt.DeviceArray
    index: int
    elements: list[Element]
    places: MatrixPlaces | None
    #: What is kept of a matrix operation.
    kept: MatrixFirsts | None = None

    @property
    def tells(self) -> bool:
        """Whether it can be told what it makes and of what."""
        return self.places is not None or all(e.sources is not None for e in self.elements)


@lt.device
def is_normal(signless: lt.u32, infinity: lt.u32) -> lt.bool_:
    return signless == 0 or (signless & infinity) != 0 and signless < infinity


@lt.device
def is_normal_double(signless: lt.u64) -> lt.bool_:
    infinity: lt.u64 = 0x7FF0000000000000
    return signless == 0 or (signless & infinity) != 0 and signless < infinity


class NanCheck(MatrixHooks):
    """``{"found": {address: {"nan", "infinite", "made", "denormal"}}, "first", "made", "taken", "not seen": [address]}``.

    ``found`` has in how many results, one of each active lane (of packed and matrix results of each element), there was one. ``made`` counts
    NaNs whose sources were no NaNs, and infinities whose sources were all finite (of a matrix operation the row of A, the elements of B's
    column that it meets and the element of C; a NaN that a scale makes of numbers counts), where that can be told: where sources are of one
    kind, and of matrix operations; it is null elsewhere. With ``denormals=yes`` it also counts denormal results of arithmetic whose sources
    were normal or zero. Addresses with nothing are left out.

    ``"made": [{"address", "text", "line", "workgroup", "wave", "lane", "element", "value", "operands"}]`` has of each such instruction the
    first time that it made one, in the order in which waves came to it (of waves side by side, in the order in which they told); ``first``
    is the address of the first of all. ``element`` is null, the number of a packed type's half or of a dual instruction's part. Of a matrix
    operation it is row and column (and block) of the result, ``operands`` are the row of A, the column of B (both in the order of the sum)
    and the element of C, and ``"of": {"products": [{"k", "a", "b"}], "accumulator"}`` are those of them that are the reason, with
    ``scale_a`` and ``scale_b`` where there are scales. ``taken`` has the same of the first NaN that a matrix operation gave as it took one."""

    def __init__(self, denormals: bool = False) -> None:
        super().__init__()
        self.denormals = denormals
        self.seen: set[int] = set()
        self.watched: list[_Watched] = []
        self.unseen: list[lt.Instruction] = []
        #: Which instruction a point is about without which it can be counted, but not told what it makes.
        self.telling: dict[int, lt.Instruction] = {}

    @lt.hook
    def made(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3], element: lt.u32,
        value: lt.u32, at: lt.u32, a: lt.u32, at_a: lt.u32, b: lt.u32, at_b: lt.u32, c: lt.u32, at_c: lt.u32, infinity: lt.u32,
        bits: lt.u32, infinity_taken: lt.u32, bits_taken: lt.u32, denormals: lt.u32,
    ):  # fmt: skip
        # `at`: where in its register a value begins; `bits` are all of a value's.
        low = (value >> at) & (bits >> 1)
        is_denormal = low != 0 and (low & infinity) == 0
        if lt.ballot(low >= infinity or is_denormal) != 0:
            own = a >> at_a & bits_taken
            other = b >> at_b & bits_taken
            third = c >> at_c & bits_taken
            signless: lt.u32 = bits_taken >> 1
            most = lt.max(own & signless, lt.max(other & signless, third & signless))
            makes = low > infinity and most <= infinity_taken or low == infinity and most < infinity_taken
            if denormals != 0:
                makes = makes or (
                    is_denormal
                    and is_normal(own & signless, infinity_taken)
                    and is_normal(other & signless, infinity_taken)
                    and is_normal(third & signless, infinity_taken)
                )
            count(counts, low > infinity, low == infinity, is_denormal)
            mask = lt.ballot(makes)
            lt.wave_atomic_add(counts + 2, lt.popcount(mask))
            if makes and lt.lane_id() == lt.u32(lt.ctz(mask)):
                tell(
                    firsts, order, here[0], here[1], here[2], element, lt.u64(value >> at & bits), lt.u64(own), lt.u64(other), lt.u64(third)
                )  # fmt: skip

    @lt.hook
    def made_double(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3], value: lt.u64, a: lt.u64,
        b: lt.u64, c: lt.u64, denormals: lt.u32,
    ):  # fmt: skip
        infinity: lt.u64 = 0x7FF0000000000000
        signless: lt.u64 = 0x7FFFFFFFFFFFFFFF
        low = value & signless
        is_denormal = low != 0 and (low & infinity) == 0
        if lt.ballot(low >= infinity or is_denormal) != 0:
            most = lt.max(a & signless, lt.max(b & signless, c & signless))
            makes = low > infinity and most <= infinity or low == infinity and most < infinity
            if denormals != 0:
                normal = is_normal_double(a & signless) and is_normal_double(b & signless) and is_normal_double(c & signless)
                makes = makes or (is_denormal and normal)
            count(counts, low > infinity, low == infinity, is_denormal)
            mask = lt.ballot(makes)
            lt.wave_atomic_add(counts + 2, lt.popcount(mask))
            if makes and lt.lane_id() == lt.u32(lt.ctz(mask)):
                tell(firsts, order, here[0], here[1], here[2], 0, value, a, b, c)

    @lt.hook
    def given(counts: lt.ptr[lt.u64], value: lt.u32, at: lt.u32, infinity: lt.u32, bits: lt.u32):
        low = (value >> at) & (bits >> 1)
        is_denormal = low != 0 and (low & infinity) == 0
        if lt.ballot(low >= infinity or is_denormal) != 0:
            count(counts, low > infinity, low == infinity, is_denormal)

    @lt.hook
    def given_double(counts: lt.ptr[lt.u64], value: lt.u64):
        infinity: lt.u64 = 0x7FF0000000000000
        low = value & 0x7FFFFFFFFFFFFFFF
        is_denormal = low != 0 and (low & infinity) == 0
        if lt.ballot(low >= infinity or is_denormal) != 0:
            count(counts, low > infinity, low == infinity, is_denormal)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        floats = [i for f in functions for i in f.instructions if i.is_valu and FLOATS.match(i.opcode)]
        processor, wave = kernel.code_object.processor, wave_size(kernel)
        looked_at: list[tuple[lt.Instruction, list[Element]]] = []
        for instr in floats:
            found = None if INTEGERS.match(instr.opcode) else elements(instr, processor)
            if found:
                looked_at.append((instr, found))
            elif not INTEGERS.match(instr.opcode):
                self.unseen.append(instr)
        if not looked_at:
            return
        self.begin_waves(kernel)
        counts = lt.DeviceArray(lt.u64, COUNTS * len(looked_at), name=f"nans.{kernel.name}")
        firsts = lt.DeviceArray(lt.u64, FIRST * len(looked_at), name=f"firsts.{kernel.name}")
        for n, (instr, found) in enumerate(looked_at):
            places = matrix_places(instr, processor, wave, len(found)) if instr.is_matrix else None
            one = _Watched(instr, counts, firsts, n, found, places)
            self.watched.append(one)
            if places is not None:
                told = (counts.at(COUNTS * n), firsts.at(FIRST * n))
                points, one.kept = self.watch_matrix(kernel, instr, found, places, wave, *told)
                self.telling.update(dict.fromkeys(points, instr))
            for element in found:
                self.watch(kernel, one, element)

    def watch(self, kernel: lt.Kernel, one: _Watched, element: Element) -> None:
        """Counts an element's NaNs and infinities, and those that it makes, if its sources are known."""
        counts = one.counts.at(COUNTS * one.index)
        infinity, bits = INFINITY[element.kind], 0xFFFF if element.kind in ("f16", "bf16") else 0xFFFFFFFF
        if not one.tells or element.sources is None:
            if element.kind == "f64":
                kernel.insert_after(one.instr, self.given_double, counts, element.register)
            else:
                kernel.insert_after(one.instr, self.given, counts, element.register, element.shift, infinity, bits)
            return
        told = (counts, one.firsts.at(FIRST * one.index), self.order, self.here)
        sources = [(source.of, source.shift) for source in element.sources]
        sources += [(0, 0)] * (3 - len(sources))
        if element.kind == "f64":
            kernel.insert_after(
                one.instr, self.made_double, *told, element.register, *(of for of, _ in sources), int(self.denormals)
            )
        else:
            given = (element.number, element.register, element.shift, *(part for source in sources for part in source))
            taken = element.source_kind
            of = (INFINITY[taken], 0xFFFF if taken in ("f16", "bf16") else 0xFFFFFFFF)
            kernel.insert_after(one.instr, self.made, *told, *given, infinity, bits, *of, int(self.denormals))

    def on_exit(self, report: lt.Report) -> None:
        # Where registers have no room for what a matrix operation is made of, it is counted all the same.
        silent = {self.telling[one["point"]] for one in self.rejected if one["point"] in self.telling}
        if incomplete(self, report, besides=self.telling):
            return
        found: dict[lt.Instruction, dict[str, int | None]] = {}
        tells = {one.instr: one.tells and one.instr not in silent for one in self.watched}
        for one in self.watched:
            nans, infinite, made, denormal = map(int, one.counts[COUNTS * one.index : COUNTS * (one.index + 1)])
            if nans or infinite or denormal:
                made_here = made if tells[one.instr] else None
                found[one.instr] = {"nan": nans, "infinite": infinite, "made": made_here, "denormal": denormal}
        telling = [one for one in self.watched if tells[one.instr]]
        made_first = _in_order([self.first_of(one, one.firsts, FIRST * one.index) for one in telling])
        taken_first = _in_order([self.first_of(one, one.kept.taken, 0, is_taken=True) for one in telling if one.kept is not None])
        report.result = {
            "found": as_json({i.address: told for i, told in found.items()}),
            "first": made_first[0]["address"] if made_first else None,
            "made": made_first,
            "taken": taken_first,
            "not seen": [f"{i.address:#x}" for i in self.unseen],
        }
        rows = [
            (
                f"{i.address:#x}",
                i.text,
                place_of(i),
                v["nan"],
                v["infinite"],
                "" if v["made"] is None else v["made"],
                v["denormal"],
            )
            for i, v in found.items()
        ]
        if rows:
            report.table(
                "NaNs and infinities", rows, ("address", "instruction", "line", "NaN", "infinite", "made here", "denormal")
            )
        else:
            report.table("NaNs and infinities", [("none", f"float instructions looked at: {len(self.watched)}")])
        headers = ("address", "instruction", "line", "workgroup", "wave", "lane", "element", "value", "of")
        for title, firsts in (("made first", made_first), ("NaNs that matrix operations took first", taken_first)):
            if firsts:
                told_first = [
                    (m["address"], m["text"], m["line"], ", ".join(map(str, m["workgroup"])), m["wave"], m["lane"], _element(m), m["value"], _operands(m))
                    for m in firsts
                ]  # fmt: skip
                report.table(title, told_first, headers)
        if self.unseen:
            others = [(f"{i.address:#x}", i.text, ":".join(map(str, line_of(i) or ()))) for i in self.unseen]
            report.table("float results that were not looked at", others, ("address", "instruction", "line"))
        report.column(
            "NaN", {i.address: v["nan"] or 0 for i, v in found.items()}, unit="results", about="results that are no numbers"
        )

    def first_of(
        self, one: _Watched, firsts: lt.DeviceArray, at: int, is_taken: bool = False
    ) -> tuple[int, dict[str, Any]] | None:
        """When an instruction made its first NaN or infinity, or took its first NaN, and where and of what. ``at``: where its words begin."""
        words = map(int, firsts[at : at + FIRST])
        is_there, order, place, wave, value, *others = words
        if not is_there:
            return None
        number_of_it, lane = wave >> 32, wave & 63
        element = one.elements[number_of_it if one.places is not None else [e.number for e in one.elements].index(number_of_it)]
        told: dict[str, Any] = {
            "address": f"{one.instr.address:#x}", "text": one.instr.text, "line": place_of(one.instr),
            "workgroup": [place & 0xFFFFFFFF, place >> 32 & 0xFFFF, place >> 48], "wave": (wave & 0xFFFFFFFF) >> 6, "lane": lane,
            "element": number_of_it if len(one.elements) > 1 else None, "value": _number(element.kind, value),
        }  # fmt: skip
        if one.places is None:
            sources = element.sources or ()
            taken = [
                _number(element.source_kind, bits) for bits, source in zip(others, sources) if not isinstance(source.of, int)
            ]
            return order, {**told, "operands": taken}
        assert one.kept is not None
        about = (one.places, element.kind, one.kept, is_taken)
        return order, {**told, **told_of_matrix(*about, lane, number_of_it, value, others[2])}


def _in_order(found: list[tuple[int, dict[str, Any]] | None]) -> list[dict[str, Any]]:
    """What was told, in the order in which waves told it."""
    return [told for _, told in sorted((one for one in found if one is not None), key=lambda pair: pair[0])]


def _number(kind: str, bits: int) -> str:
    """A number by its bits."""
    return f"{number(kind, bits):g}"


def _element(told: dict[str, Any]) -> str:
    """For people."""
    element = told["element"]
    if isinstance(element, list):
        return ", ".join(f"{name} {n}" for name, n in zip(("row", "column", "block"), element))
    return "" if element is None else str(element)


def _operands(told: dict[str, Any]) -> str:
    """For people: of a matrix operation what of the operands is the reason."""
    return shown_reason(told["of"], _SHOWN) if "of" in told else ", ".join(told["operands"])
