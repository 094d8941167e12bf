"""nan_check: which float instructions give NaNs and infinities, which make them out of numbers, and what these were.

Packed types are looked at element by element, matrix operations too, with the row and the column that an element is made of. What there is
no rule for is listed as not seen.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any

import luthier as lt
from luthier.tools.elements import INFINITY, Element, elements
from luthier.tools.lanes import as_json, incomplete, line_of, place_of, wave_size
from luthier.tools.matrix_places import MatrixPlaces, matrix_places
from luthier.tools.waves import WaveTool

FLOATS = re.compile(r"v_(?!cmp).*(?:f32|f64|f16|bf16|fp8|bf8)")
INTEGERS = re.compile(r"v_(?:cvt_(?:\w+_)?[iu]\d+_|frexp_exp_|cvt_pk_[iu])")

#: Numbers of an instruction: NaNs, infinities, those that it makes, denormal results.
_COUNTS = 4
#: Words of an instruction's first: whether it is there, its place in the order, workgroup, wave and lane and element, value, operands.
_FIRST = 8
#: Tables show this many elements of a row or a column.
_SHOWN = 4
#: How numbers of each kind are read. Those of ``bf16`` are the upper half of an ``f32``.
_READ = {"f64": ("<Q", "<d"), "f32": ("<I", "<f"), "f16": ("<H", "<e")}


@dataclass
class _Watched:
    """An instruction that is looked at."""

    instr: lt.Instruction
    counts: lt.DeviceArray
    firsts: lt.DeviceArray
    index: int
    elements: list[Element]
    places: MatrixPlaces | None
    #: The lanes' words of A, then those of B, of a matrix operation that has made one.
    factors: lt.DeviceArray | None = None

    @property
    def tells(self) -> bool:
        """Whether it can be told what it makes and of what."""
        return self.places is not None or all(e.sources is not None for e in self.elements)


@lt.device
def tell(
    firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], x: lt.u32, yz: lt.u32, wave: lt.u32, element: lt.u32, value: lt.u64, a: lt.u64, b: lt.u64,
    c: lt.u64,
) -> lt.u32:  # fmt: skip
    # The first of all tells.
    if lt.atomic_cas(firsts, lt.u64(0), lt.u64(1)) != 0:
        return 0
    firsts[1] = lt.atomic_add(order, 1)
    firsts[2] = lt.u64(x) | lt.u64(yz) << 32
    firsts[3] = lt.u64(wave | lt.lane_id()) | lt.u64(element) << 32
    firsts[4] = value
    firsts[5] = a
    firsts[6] = b
    firsts[7] = c
    return 1


@lt.device
def count(counts: lt.ptr[lt.u64], is_nan: lt.bool_, is_infinite: lt.bool_, is_denormal: lt.bool_):
    lt.wave_atomic_add(counts, lt.popcount(lt.ballot(is_nan)))
    lt.wave_atomic_add(counts + 1, lt.popcount(lt.ballot(is_infinite)))
    lt.wave_atomic_add(counts + 3, lt.popcount(lt.ballot(is_denormal)))


@lt.device
def is_normal(signless: lt.u32, infinity: lt.u32) -> lt.bool_:
    return signless == 0 or (signless & infinity) != 0 and signless < infinity


@lt.device
def is_normal_double(signless: lt.u64) -> lt.bool_:
    infinity: lt.u64 = 0x7FF0000000000000
    return signless == 0 or (signless & infinity) != 0 and signless < infinity


@lt.device
def lines(mask: lt.u64, block: lt.u32, size: lt.u32, groups: lt.u32, is_low: lt.bool_) -> lt.u32:
    """Which rows, or columns, of a block a mask of lanes is about: bits from 0, those of all groups of lanes that share them."""
    if not is_low:
        return lt.u32(mask >> 32)
    found = lt.u32(mask >> block)
    for group in range(1, 4):
        if lt.u32(group) < groups:
            found |= lt.u32(mask >> lt.u64(block + size * lt.u32(group)))
    return found


class NanCheck(WaveTool):
    """``{"found": {address: {"nan", "infinite", "made", "denormal"}}, "not seen": [address]}``: in how many results, one of each active
    lane (of packed and matrix results of each element). ``made`` counts NaNs whose sources were no NaNs, and infinities whose sources
    were all finite (of a matrix operation the row of A, the column of B and the element of C), where that can be told: where sources are
    of one kind, and of dense matrix operations; it is null elsewhere. With ``denormals=yes`` it also counts denormal results of
    arithmetic whose sources were normal or zero. Addresses with nothing are left out. ``"made": [{"address", "text", "line",
    "workgroup", "wave", "lane", "element", "value", "operands"}]`` has of each such instruction the first time that it made one, in the
    order in which waves came to it (of waves side by side, in the order in which they told); ``first`` is the address of the first of
    all. ``element`` is null, the number of a packed type's half or of a dual instruction's part, or row and column of a matrix;
    ``operands`` of a matrix are the row of A, the column of B (both in the order of the sum) and the element of C."""

    #: How many instructions have told where they made one.
    order = lt.DeviceArray(lt.u64, 1)
    #: The lanes that have elements of A, and of B, that are not finite in front of a matrix operation; those that have NaNs.
    bad = lt.WaveState(lt.u64, 4)
    #: The wave tells of the matrix operation that it is at.
    is_telling = lt.WaveState(lt.u32)

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

    @lt.hook
    def factors_begin(bad: lt.inout[lt.u64, 4], is_telling: lt.inout[lt.u32], wave: lt.u32):
        # Lanes that are off are not looked at, though they take part: then nothing is told.
        all_lanes = lt.u64(0) if lt.active_lanes() == wave else ~lt.u64(0)
        bad[0] = all_lanes
        bad[1] = lt.u64(0)
        bad[2] = all_lanes
        bad[3] = lt.u64(0)
        is_telling = lt.u32(0)  # noqa: F841

    @lt.hook
    def factors(bad: lt.inout[lt.u64, 4], a: lt.u32, b: lt.u32, infinity: lt.u32, is_half: lt.u32):
        signless: lt.u32 = 0x7FFFFFFF
        if is_half != 0:
            signless = lt.u32(0x7FFF)
        most_a = a & signless
        most_b = b & signless
        if is_half != 0:
            most_a = lt.max(most_a, (a >> 16) & 0x7FFF)
            most_b = lt.max(most_b, (b >> 16) & 0x7FFF)
        bad[0] = bad[0] | lt.u64(lt.ballot(most_a >= infinity))
        bad[1] = bad[1] | lt.u64(lt.ballot(most_b >= infinity))
        bad[2] = bad[2] | lt.u64(lt.ballot(most_a > infinity))
        bad[3] = bad[3] | lt.u64(lt.ballot(most_b > infinity))

    @lt.hook
    def made_of_factors(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3], bad: lt.inout[lt.u64, 4],
        is_telling: lt.inout[lt.u32], element: lt.u32, value: lt.u32, c: lt.u32, at: lt.u32, infinity: lt.u32,
        bits: lt.u32, row: lt.u32, block: lt.u32, size: lt.u32, step: lt.u32, step_of_two: lt.u32, is_by_lane: lt.u32, groups: lt.u32,
    ):  # fmt: skip
        low = (value >> at) & (bits >> 1)
        if lt.ballot(low >= infinity) != 0:
            lane = lt.lane_id()
            group = lane // size
            line: lt.u32 = row + step * (group & 1) + step_of_two * (group >> 1)
            if is_by_lane != 0:
                line = row + (lane & 28)
            column = lane & 31 if is_by_lane != 0 else lane % size
            added = (c >> at) & (bits >> 1)
            is_low: lt.bool_ = is_by_lane == 0 or lane < 32
            finite = (
                lines(bad[0], block, size, groups, is_low) >> line | lines(bad[1], block, size, groups, is_low) >> column
            ) & 1
            numbers = (
                lines(bad[2], block, size, groups, is_low) >> line | lines(bad[3], block, size, groups, is_low) >> column
            ) & 1
            is_finite: lt.bool_ = finite == 0 and added < infinity
            is_number: lt.bool_ = numbers == 0 and added <= infinity
            makes = low > infinity and is_number or low == infinity and is_finite
            mask = lt.ballot(makes)
            lt.wave_atomic_add(counts + 2, lt.popcount(mask))
            told: lt.u32 = 0
            if makes and lane == lt.u32(lt.ctz(mask)):
                told = tell(
                    firsts, order, here[0], here[1], here[2], element, lt.u64(value >> at & bits), lt.u64(0), lt.u64(0),
                    lt.u64(c >> at & bits),
                )  # fmt: skip
            is_telling |= lt.u32(lt.ballot(told != 0) != 0)

    @lt.hook
    def keep_factor(is_telling: lt.inout[lt.u32], kept: lt.ptr[lt.u32], factor: lt.u32):
        if is_telling != 0:
            kept[lt.lane_id()] = factor

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
        counts = lt.DeviceArray(lt.u64, _COUNTS * len(looked_at), name=f"nans.{kernel.name}")
        firsts = lt.DeviceArray(lt.u64, _FIRST * len(looked_at), name=f"firsts.{kernel.name}")
        for n, (instr, found) in enumerate(looked_at):
            places = matrix_places(instr, processor, wave, len(found)) if instr.is_matrix else None
            one = _Watched(instr, counts, firsts, n, found, places)
            self.watched.append(one)
            if places is not None:
                self.watch_matrix(kernel, one, places, wave)
            for element in found:
                self.watch(kernel, one, element)

    def watch(self, kernel: lt.Kernel, one: _Watched, element: Element) -> None:
        """Counts an element's NaNs and infinities, and those that it makes, if its sources are known."""
        counts = one.counts.at(_COUNTS * one.index)
        infinity, bits = INFINITY[element.kind], 0xFFFF if element.kind in ("f16", "bf16") else 0xFFFFFFFF
        if not one.tells or element.sources is None:
            if element.kind == "f64":
                kernel.insert_after(one.instr, self.given_double, counts, element.register)
            else:
                kernel.insert_after(one.instr, self.given, counts, element.register, element.shift, infinity, bits)
            return
        told = (counts, one.firsts.at(_FIRST * one.index), self.order, self.here)
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

    def watch_matrix(self, kernel: lt.Kernel, one: _Watched, places: MatrixPlaces, wave: int) -> None:
        """Tells what a matrix operation makes, and the row and the column that it makes it of."""
        instr, infinity = one.instr, INFINITY[places.kind]
        states = (self.bad, self.is_telling)
        points = [kernel.insert_before(instr, self.factors_begin, *states, wave)]
        factors = list(zip(_words(places.a), _words(places.b)))
        for a, b in factors:
            points.append(kernel.insert_before(instr, self.factors, self.bad, a, b, infinity, int(places.kind != "f32")))
        told = (one.counts.at(_COUNTS * one.index), one.firsts.at(_FIRST * one.index), self.order, self.here, *states)
        accumulators = _words(places.c) if places.c.register is not None else []
        for n, (element, place) in enumerate(zip(one.elements, places.places)):
            kind = element.kind
            before = lt.Old(accumulators[n // 2 if kind != "f32" else n]) if accumulators else places.c.bits or 0
            bits = 0xFFFFFFFF if kind == "f32" else 0xFFFF
            about = (place.row, place.block, places.size, *places.steps, int(places.is_by_lane), places.shared)
            of = (element.register, before, element.shift, INFINITY[kind], bits)
            points.append(kernel.insert_after(instr, self.made_of_factors, *told, n, *of, *about))
        one.factors = lt.DeviceArray(lt.u32, wave * 2 * len(factors), name=f"factors.{instr.address:x}")
        for n, word in enumerate(word for side in zip(*factors) for word in side):
            points.append(kernel.insert_after(instr, self.keep_factor, self.is_telling, one.factors.at(wave * n), lt.Old(word)))
        self.telling.update(dict.fromkeys(points, instr))

    def on_exit(self, report: lt.Report) -> None:
        # Where registers have no room for what a matrix operation is made of, it is counted all the same.
        silent = {self.telling[one["point"]] for one in self.rejected if one["point"] in self.telling}
        if incomplete(self, report, besides=self.telling):
            return
        found: dict[lt.Instruction, dict[str, int | None]] = {}
        tells = {one.instr: one.tells and one.instr not in silent for one in self.watched}
        for one in self.watched:
            nans, infinite, made, denormal = map(int, one.counts[_COUNTS * one.index : _COUNTS * (one.index + 1)])
            if nans or infinite or denormal:
                made_here = made if tells[one.instr] else None
                found[one.instr] = {"nan": nans, "infinite": infinite, "made": made_here, "denormal": denormal}
        firsts = [told for one in self.watched if tells[one.instr] and (told := self.first_of(one)) is not None]
        made_first = [told for _, told in sorted(firsts, key=lambda pair: pair[0])]
        report.result = {
            "found": as_json({i.address: told for i, told in found.items()}),
            "first": made_first[0]["address"] if made_first else None,
            "made": made_first,
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
        report.table(
            "NaNs and infinities",
            rows,
            ("address", "instruction", "line", "NaN", "infinite", "made here", "denormal") if rows else (),
        )
        if made_first:
            told_first = [
                (m["address"], m["text"], m["line"], ", ".join(map(str, m["workgroup"])), m["wave"], m["lane"], _element(m), m["value"], _operands(m))
                for m in made_first
            ]  # fmt: skip
            headers = ("address", "instruction", "line", "workgroup", "wave", "lane", "element", "value", "of")
            report.table("made first", told_first, headers)
        if self.unseen:
            others = [(f"{i.address:#x}", i.text, ":".join(map(str, line_of(i) or ()))) for i in self.unseen]
            report.table("float results that were not looked at", others, ("address", "instruction", "line"))
        report.column(
            "NaN", {i.address: v["nan"] or 0 for i, v in found.items()}, unit="results", about="results that are no numbers"
        )

    def first_of(self, one: _Watched) -> tuple[int, dict[str, Any]] | None:
        """When an instruction made its first NaN or infinity, and where and of what."""
        words = map(int, one.firsts[_FIRST * one.index : _FIRST * (one.index + 1)])
        is_there, order, place, wave, value, *others = words
        if not is_there:
            return None
        number, lane = wave >> 32, wave & 63
        at = number if one.places is not None else [e.number for e in one.elements].index(number)
        element = one.elements[at]
        told: dict[str, Any] = {
            "address": f"{one.instr.address:#x}", "text": one.instr.text, "line": place_of(one.instr),
            "workgroup": [place & 0xFFFFFFFF, place >> 32 & 0xFFFF, place >> 48], "wave": (wave & 0xFFFFFFFF) >> 6, "lane": lane,
            "element": number if len(one.elements) > 1 else None, "value": _number(element.kind, value),
        }  # fmt: skip
        if one.places is None:
            sources = element.sources or ()
            taken = [
                _number(element.source_kind, bits) for bits, source in zip(others, sources) if not isinstance(source.of, int)
            ]
            return order, {**told, "operands": taken}
        row, column = _factors(one, one.places, lane, number)
        told["element"] = list(one.places.element(lane, number))
        return order, {**told, "operands": [row, column, _number(element.kind, others[2])]}


def _words(operand: lt.Operand) -> list[lt.Reg]:
    register = operand.register
    assert register is not None
    return [lt.Reg(f"{register.file[0]}{(register.index or 0) + n}") for n in range(register.width)]


def _factors(one: _Watched, places: MatrixPlaces, lane: int, element: int) -> tuple[list[str], list[str]]:
    """The row of A and the column of B that an element of a lane was made of."""
    assert one.factors is not None
    kept = one.factors.read().reshape(2, places.words, -1)
    shifts = (0,) if places.kind == "f32" else (0, 16)
    lanes = places.factors(lane, element)
    row, column = (
        [_number(places.kind, int(word) >> shift & (0xFFFF if len(shifts) > 1 else 0xFFFFFFFF)) for at in side for word in of[:, at] for shift in shifts]
        for side, of in zip(lanes, kept)
    )  # fmt: skip
    return row, column


def _number(kind: str, bits: int) -> str:
    """A number by its bits."""
    code, float_code = _READ.get(kind, _READ["f32"])
    bits = bits << 16 if kind == "bf16" else bits
    return f"{struct.unpack(float_code, struct.pack(code, bits))[0]:g}"


def _element(told: dict[str, Any]) -> str:
    element = told["element"]
    return "" if element is None else ", ".join(map(str, element)) if isinstance(element, list) else str(element)


def _operands(told: dict[str, Any]) -> str:
    """For people: of a row and a column the first few."""
    if not isinstance(told["operands"][:1] and told["operands"][0], list):
        return ", ".join(told["operands"])
    row, column, c = told["operands"]
    short = [", ".join(side[:_SHOWN]) + (", ..." if len(side) > _SHOWN else "") for side in (row, column)]
    return f"row {short[0]}; column {short[1]}; and {c}"
