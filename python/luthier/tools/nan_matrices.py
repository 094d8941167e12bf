"""``nan_check`` of matrix operations: hooks that find out what an operation makes, and keep what it made the first of.

Before an operation masks say which lanes have elements of A, and of B, that are not finite. An element of the result has its row of A in some
lanes, and its column of B in some (:mod:`luthier.tools.matrix_places`). Of a sparse operation it depends on each row which elements of B are
multiplied: they are looked at one by one, where any of them is not finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import luthier as lt
from luthier.tools.elements import INFINITY, Element
from luthier.tools.first_told import FIRST, tell
from luthier.tools.float_formats import FORMATS, number
from luthier.tools.matrix_causes import Words, causes, products
from luthier.tools.matrix_places import Lines, MatrixPlaces, Side
from luthier.tools.waves import WaveTool

#: Of each kind: the largest number that a sum may have.
_LARGEST = {"f32": 3.4028234663852886e38, "f16": 65504.0, "bf16": 3.3895313892515355e38, "f64": 1.7976931348623157e308}


@dataclass(frozen=True)
class MatrixFirsts:
    """What is kept of a matrix operation."""

    #: The registers that it read when it made the first, then those when it took the first NaN.
    factors: lt.DeviceArray
    #: The words of the first NaN that it took.
    taken: lt.DeviceArray


@lt.device
def of_lines(mask: lt.u64, first: lt.u32, stride: lt.u32, shared: lt.u32) -> lt.u32:
    """1 if one of the lanes of a mask is one of those that begin with ``first``, else 0."""
    found = mask >> lt.u64(first)
    for n in range(1, 4):
        if lt.u32(n) < shared:
            found |= mask >> lt.u64((first + stride * lt.u32(n)) & 63)
    return lt.u32(found) & 1


@lt.device
def row_of(first: lt.u32, group: lt.u32, steps: lt.u32) -> lt.u32:
    """A row of a lane's result. ``group``: how far a lane's number is shifted to be its group's; ``steps``: two steps, of a byte each."""
    behind: lt.u32 = lt.lane_id() >> group
    return first + (steps & 255) * (behind & 1) + (steps >> 8 & 255) * (behind >> 1)


@lt.device
def bad_of(bad_a: lt.u64, bad_b: lt.u64, of_a: lt.u32, of_b: lt.u32, group: lt.u32, steps: lt.u32, shared: lt.u32) -> lt.u32:
    """Of this lane's element, whether its row of A or its column of B is one of a mask. ``of_a`` and ``of_b``: the bytes of ``Lines``;
    ``shared``: how many lanes have the same row, and from the second byte on how far apart they are."""
    lane = lt.lane_id()
    row = row_of((of_a & 255) + (lane & (of_a >> 8 & 255)), group, steps)
    column = ((of_b & 255) + (lane & (of_b >> 8 & 255))) & (of_b >> 16 & 255) | of_b >> 24
    many: lt.u32 = shared & 255
    stride: lt.u32 = shared >> 8
    return of_lines(bad_a, row, stride, many) | of_lines(bad_b, column, stride, many)


@lt.device
def tell_of(
    counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], taken: lt.ptr[lt.u64], order: lt.ptr[lt.u64], x: lt.u32, yz: lt.u32, wave: lt.u32,
    is_telling: lt.u32, element: lt.u32, value: lt.u64, c: lt.u64, low: lt.u64, infinity: lt.u64, added: lt.u64, infinity_c: lt.u64,
    is_bad: lt.u32, has_nan: lt.u32,
) -> lt.u32:  # fmt: skip
    """Counts what an operation makes, and tells of the first that it makes and of the first NaN that it takes: gives what the wave tells.
    ``low`` and ``added`` are ``value`` and ``c`` without their signs; ``is_bad`` and ``has_nan`` are 0 where all factors are finite, and
    where none is a NaN."""
    is_finite: lt.bool_ = is_bad == 0 and added < infinity_c
    is_number: lt.bool_ = has_nan == 0 and added <= infinity_c
    is_made: lt.bool_ = low > infinity and is_number or low == infinity and is_finite
    makes: lt.bool_ = is_made and (is_telling & 4) == 0
    mask = lt.ballot(makes)
    lt.wave_atomic_add(counts + 2, lt.popcount(mask))
    told: lt.u32 = 0
    if makes and lt.lane_id() == lt.u32(lt.ctz(mask)):
        told = tell(firsts, order, x, yz, wave, element, value, lt.u64(0), lt.u64(0), c)
    takes: lt.bool_ = low > infinity and not is_number and (is_telling & 4) == 0
    mask = lt.ballot(takes)
    if takes and lt.lane_id() == lt.u32(lt.ctz(mask)):
        told = told | tell(taken, order, x, yz, wave, element, value, lt.u64(0), lt.u64(0), c) << 1
    return lt.u32(lt.ballot((told & 1) != 0) != 0) | lt.u32(lt.ballot((told & 2) != 0) != 0) << 1


@lt.device
def is_special(code: lt.u32, flip: lt.u32, mask: lt.u32, limit: lt.u32) -> lt.bool_:
    return ((code ^ flip) & mask) >= limit


class MatrixHooks(WaveTool):
    """The hooks, and where they are inserted."""

    #: How many instructions have told where they made one.
    order = lt.DeviceArray(lt.u64, 1)
    #: The lanes that have elements of A, and of B, that are not finite in front of a matrix operation; those that have NaNs.
    bad_a = lt.WaveState(lt.u64, 2)
    bad_b = lt.WaveState(lt.u64, 2)
    #: By element of a lane's result: whether a sparse A met an element of B that is not finite, or a NaN.
    met = lt.LaneState(lt.u32, 2)
    #: What the wave tells of the matrix operation that it is at: 1 of what that makes, 2 of a NaN that it takes; 4: nothing, as lanes that
    #: are off take part in it and are not looked at.
    is_telling = lt.WaveState(lt.u32)

    @lt.hook
    def factors_begin(bad_a: lt.inout[lt.u64, 2], bad_b: lt.inout[lt.u64, 2], is_telling: lt.inout[lt.u32], wave: lt.u32):
        bad_a[0] = lt.u64(0)
        bad_a[1] = lt.u64(0)
        bad_b[0] = lt.u64(0)
        bad_b[1] = lt.u64(0)
        is_telling = lt.u32(0) if lt.active_lanes() == wave else lt.u32(4)  # noqa: F841

    @lt.hook
    def met_begin(met: lt.inout[lt.u32, 2]):
        met[0] = lt.u32(0)
        met[1] = lt.u32(0)

    @lt.hook
    def factor(bad: lt.inout[lt.u64, 2], word: lt.u32):
        signless: lt.u32 = word & 0x7FFFFFFF
        bad[0] = bad[0] | lt.u64(lt.ballot(signless >= 0x7F800000))
        bad[1] = bad[1] | lt.u64(lt.ballot(signless > 0x7F800000))

    @lt.hook
    def factor_double(bad: lt.inout[lt.u64, 2], value: lt.u64):
        signless = value & 0x7FFFFFFFFFFFFFFF
        bad[0] = bad[0] | lt.u64(lt.ballot(signless >= 0x7FF0000000000000))
        bad[1] = bad[1] | lt.u64(lt.ballot(signless > 0x7FF0000000000000))

    @lt.hook
    def factor_halves(bad: lt.inout[lt.u64, 2], word: lt.u32, infinity: lt.u32):
        most: lt.u32 = lt.max(word & 0x7FFF, word >> 16 & 0x7FFF)
        bad[0] = bad[0] | lt.u64(lt.ballot(most >= infinity))
        bad[1] = bad[1] | lt.u64(lt.ballot(most > infinity))

    @lt.hook
    def factor_bytes(bad: lt.inout[lt.u64, 2], word: lt.u32, flip: lt.u32, mask: lt.u32, infinite_from: lt.u32, nan_from: lt.u32):
        flipped: lt.u32 = word ^ flip * 0x01010101
        most: lt.u32 = lt.max(
            lt.max(flipped & mask, flipped >> 8 & mask), lt.max(flipped >> 16 & mask, flipped >> 24 & mask)
        )  # fmt: skip
        bad[0] = bad[0] | lt.u64(lt.ballot(most >= infinite_from))
        bad[1] = bad[1] | lt.u64(lt.ballot(most >= nan_from))

    @lt.hook
    def meet(
        met: lt.inout[lt.u32, 2], word: lt.u32, width: lt.u32, flip: lt.u32, mask: lt.u32, infinite_from: lt.u32, nan_from: lt.u32,
        first_index: lt.u32, second_index: lt.u32, at: lt.u32, at_second: lt.u32, at_third: lt.u32, at_fourth: lt.u32, size: lt.u32,
        group: lt.u32, steps: lt.u32, four: lt.u32, results: lt.u32,
    ):  # fmt: skip
        """``at``, of each group of ``size`` lanes: the lane that has the first row's index, from the second byte on the index's first bit,
        from the third on which of its four the word's first element is. ``four``: how many rows four elements of a result take."""
        all_of_it: lt.u32 = ~lt.u32(0) if size == 32 else lt.u32(0xFFFF)
        for n in range(4):
            if lt.u32(n) * width < 32:
                code: lt.u32 = word >> (lt.u32(n) * width)
                infinite = lt.u64(lt.ballot(is_special(code, flip, mask, infinite_from)))
                nans = lt.u64(lt.ballot(is_special(code, flip, mask, nan_from)))
                if infinite != 0:
                    for behind in range(4):
                        columns: lt.u32 = lt.u32(infinite >> lt.u64(size * lt.u32(behind))) & all_of_it
                        nan_columns: lt.u32 = lt.u32(nans >> lt.u64(size * lt.u32(behind))) & all_of_it
                        if columns != 0:
                            where = at
                            if behind == 1:
                                where = at_second
                            if behind == 2:
                                where = at_third
                            if behind == 3:
                                where = at_fourth
                            bit: lt.u32 = where >> 8 & 255
                            index = second_index if bit >= 32 else first_index
                            index = index >> (bit & 31)
                            place: lt.u32 = (where >> 16) + lt.u32(n)
                            takes: lt.bool_ = (index & 3) == place or (index >> 2 & 3) == place
                            rows: lt.u32 = lt.u32(lt.u64(lt.ballot(takes)) >> lt.u64(where & 255)) & all_of_it
                            column: lt.u32 = lt.lane_id() & (size - 1)
                            for element in range(16):
                                if lt.u32(element) < results:
                                    first: lt.u32 = (lt.u32(element) >> 2) * four + (lt.u32(element) & 3)
                                    row = row_of(first, group, steps)
                                    taken: lt.u32 = rows >> row & 1
                                    met[0] = met[0] | (taken & (columns >> column)) << lt.u32(element)
                                    met[1] = met[1] | (taken & (nan_columns >> column)) << lt.u32(element)

    @lt.hook
    def made_of_factors(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], taken: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3],
        bad_a: lt.inout[lt.u64, 2],
        bad_b: lt.inout[lt.u64, 2], is_telling: lt.inout[lt.u32], element: lt.u32, value: lt.u32, at: lt.u32, infinity: lt.u32,
        bits: lt.u32, c: lt.u32, at_c: lt.u32, infinity_c: lt.u32, bits_c: lt.u32, of_a: lt.u32, of_b: lt.u32, group: lt.u32,
        steps: lt.u32, shared: lt.u32,
    ):  # fmt: skip
        low = (value >> at) & (bits >> 1)
        if lt.ballot(low >= infinity) != 0:
            added = (c >> at_c) & (bits_c >> 1)
            is_telling |= tell_of(
                counts, firsts, taken, order, here[0], here[1], here[2], is_telling, element, lt.u64(value >> at & bits),
                lt.u64(c >> at_c & bits_c), lt.u64(low), lt.u64(infinity), lt.u64(added), lt.u64(infinity_c),
                bad_of(bad_a[0], bad_b[0], of_a, of_b, group, steps, shared), bad_of(bad_a[1], bad_b[1], of_a, of_b, group, steps, shared),
            )  # fmt: skip

    @lt.hook
    def made_of_met(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], taken: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3],
        bad_a: lt.inout[lt.u64, 2],
        met: lt.inout[lt.u32, 2], is_telling: lt.inout[lt.u32], element: lt.u32, value: lt.u32, at: lt.u32, infinity: lt.u32,
        bits: lt.u32, c: lt.u32, at_c: lt.u32, infinity_c: lt.u32, bits_c: lt.u32, of_a: lt.u32, of_b: lt.u32, group: lt.u32,
        steps: lt.u32, shared: lt.u32,
    ):  # fmt: skip
        low = (value >> at) & (bits >> 1)
        if lt.ballot(low >= infinity) != 0:
            added = (c >> at_c) & (bits_c >> 1)
            none = lt.u64(0)
            is_bad: lt.u32 = bad_of(bad_a[0], none, of_a, of_b, group, steps, shared) | (met[0] >> element & 1)
            has_nan: lt.u32 = bad_of(bad_a[1], none, of_a, of_b, group, steps, shared) | (met[1] >> element & 1)
            is_telling |= tell_of(
                counts, firsts, taken, order, here[0], here[1], here[2], is_telling, element, lt.u64(value >> at & bits),
                lt.u64(c >> at_c & bits_c), lt.u64(low), lt.u64(infinity), lt.u64(added), lt.u64(infinity_c), is_bad, has_nan,
            )  # fmt: skip

    @lt.hook
    def made_of_doubles(
        counts: lt.ptr[lt.u64], firsts: lt.ptr[lt.u64], taken: lt.ptr[lt.u64], order: lt.ptr[lt.u64], here: lt.inout[lt.u32, 3],
        bad_a: lt.inout[lt.u64, 2],
        bad_b: lt.inout[lt.u64, 2], is_telling: lt.inout[lt.u32], element: lt.u32, value: lt.u64, c: lt.u64, of_a: lt.u32, of_b: lt.u32,
        group: lt.u32, steps: lt.u32, shared: lt.u32,
    ):  # fmt: skip
        infinity: lt.u64 = 0x7FF0000000000000
        signless: lt.u64 = 0x7FFFFFFFFFFFFFFF
        low = value & signless
        if lt.ballot(low >= infinity) != 0:
            is_telling |= tell_of(
                counts, firsts, taken, order, here[0], here[1], here[2], is_telling, element, value, c, low, infinity, c & signless, infinity,
                bad_of(bad_a[0], bad_b[0], of_a, of_b, group, steps, shared), bad_of(bad_a[1], bad_b[1], of_a, of_b, group, steps, shared),
            )  # fmt: skip

    @lt.hook
    def keep_factor(is_telling: lt.inout[lt.u32], kept: lt.ptr[lt.u32], behind: lt.u32, factor: lt.u32):
        if (is_telling & 1) != 0:
            kept[lt.lane_id()] = factor
        if (is_telling & 2) != 0:
            kept[behind + lt.lane_id()] = factor

    def watch_matrix(
        self,
        kernel: lt.Kernel,
        instr: lt.Instruction,
        found: list[Element],
        places: MatrixPlaces,
        wave: int,
        counts: Any,
        firsts: Any,
    ) -> tuple[list[int], MatrixFirsts]:
        """Tells what a matrix operation makes, and keeps the registers that it makes the first of: gives the points, and what is kept."""
        words = [word for side in read_registers(places) for word in side]
        kept = lt.DeviceArray(lt.u32, 2 * wave * len(words), name=f"factors.{instr.address:x}")
        taken = lt.DeviceArray(lt.u64, FIRST, name=f"taken.{instr.address:x}")
        points = [kernel.insert_before(instr, self.factors_begin, self.bad_a, self.bad_b, self.is_telling, wave)]
        points += self._look_at(kernel, instr, places.a, self.bad_a)
        if places.index is None:
            points += self._look_at(kernel, instr, places.b, self.bad_b)
        else:
            points += self._meet(kernel, instr, places, wave, len(found))
        other = self.met if places.index is not None else self.bad_b
        told = (counts, firsts, taken, self.order, self.here, self.bad_a, other, self.is_telling)
        group, steps = places.group.bit_length() - 1, places.steps[0] | places.steps[1] << 8
        for n, (element, place) in enumerate(zip(found, places.places)):
            about = (_packed(place.of_a), _packed(place.of_b), group, steps, places.shared | places.stride << 8)
            before, at_c = addend(places, element, n)
            if element.kind == "f64":
                points.append(kernel.insert_after(instr, self.made_of_doubles, *told, n, element.register, before, *about))
                continue
            of = (element.register, element.shift, INFINITY[element.kind], _all_bits(element.kind))
            added = (before, at_c, INFINITY[places.kind], _all_bits(places.kind))
            hook = self.made_of_factors if places.index is None else self.made_of_met
            points.append(kernel.insert_after(instr, hook, *told, n, *of, *added, *about))
        for n, word in enumerate(words):
            before = word if isinstance(word, int) else lt.Old(word)
            at = (kept.at(wave * n), wave * len(words))
            points.append(kernel.insert_after(instr, self.keep_factor, self.is_telling, *at, before))
        return points, MatrixFirsts(kept, taken)

    def _look_at(self, kernel: lt.Kernel, instr: lt.Instruction, side: Side, bad: lt.WaveState) -> list[int]:
        """Which lanes have elements that are not finite."""
        special, words = FORMATS[side.kind].special, register_words(side.operand)
        bits = FORMATS[side.kind].bits
        if special is None:
            return []
        if bits == 64:
            return [kernel.insert_before(instr, self.factor_double, bad, pair) for pair in _pairs(side.operand)]
        if bits == 32:
            return [kernel.insert_before(instr, self.factor, bad, word) for word in words]
        if bits == 16:
            return [kernel.insert_before(instr, self.factor_halves, bad, word, special.infinite_from) for word in words]
        limits = (special.flip, special.mask, special.infinite_from, special.nan_from)
        return [kernel.insert_before(instr, self.factor_bytes, bad, word, *limits) for word in words]

    def _meet(self, kernel: lt.Kernel, instr: lt.Instruction, places: MatrixPlaces, wave: int, results: int) -> list[int]:
        """Which elements of B that are not finite each row of a sparse A meets."""
        index, side, size = places.index, places.b, places.columns
        special = FORMATS[side.kind].special
        assert index is not None and special is not None
        points = [kernel.insert_before(instr, self.met_begin, self.met)]
        indices = register_words(index.operand)
        #: Of the first element of each word of each group of lanes: its place along K.
        first = {side.at(0, 0, k): k for k in range(2 * places.depth)}
        limits = (FORMATS[side.kind].bits, special.flip, special.mask, special.infinite_from, special.nan_from)
        four = places.places[4].row if len(places.places) > 4 else 0
        rows = (size, places.group.bit_length() - 1, places.steps[0] | places.steps[1] << 8, four, results)
        for n, word in enumerate(register_words(side.operand)):
            groups = []
            for lane in range(0, wave, size):
                k = first[lane, 32 * n]
                at, bit = index.at(0, k // 4)
                groups.append(at | bit << 8 | k % 4 << 16)
            groups += [0] * (4 - len(groups))
            points.append(
                kernel.insert_before(instr, self.meet, self.met, word, *limits, indices[0], indices[-1], *groups, *rows)
            )
        return points


def _packed(lines: Lines) -> int:
    return lines.first | lines.keep << 8 | lines.wrap << 16 | lines.fixed << 24


def _all_bits(kind: str) -> int:
    return (1 << FORMATS[kind].bits) - 1


def register_words(operand: lt.Operand) -> list[lt.Reg]:
    register = operand.register
    assert register is not None
    return [lt.Reg(f"{register.file[0]}{(register.index or 0) + n}") for n in range(register.width)]


def _pairs(operand: lt.Operand) -> list[lt.Reg]:
    register = operand.register
    assert register is not None
    first = register.index or 0
    return [lt.Reg(f"{register.file[0]}[{n}:{n + 1}]") for n in range(first, first + register.width, 2)]


def addend(places: MatrixPlaces, element: Element, number: int) -> tuple[Any, int]:
    """The value of C that an element is added to, and where in its register it begins."""
    if places.c.register is None:
        return places.c.bits or 0, 0
    if places.kind == "f64":
        return lt.Old(_pairs(places.c)[number]), 0
    words = register_words(places.c)
    if places.kind == "f32":
        return lt.Old(words[number]), 0
    # Two to a register, or one half of each.
    return lt.Old(words[number // 2 if len(words) < len(places.places) else number]), element.shift


def read_registers(places: MatrixPlaces) -> Iterator[list[lt.Reg | int]]:
    """The registers that an operation reads, or the bits of constants: A's, B's, the index's, and the scales of A and of B."""
    yield list(register_words(places.a.operand))
    yield list(register_words(places.b.operand))
    yield [] if places.index is None else list(register_words(places.index.operand))
    for side in (places.a, places.b):
        if side.scales is None:
            yield []
        elif side.scales.operand.register is None:
            bits = side.scales.operand.bits or 0
            yield [bits >> 32 * n & 0xFFFFFFFF for n in range(side.scales.operand.units)]
        else:
            yield list(register_words(side.scales.operand))


def told_of_matrix(
    places: MatrixPlaces, kind: str, kept: MatrixFirsts, is_taken: bool, lane: int, element: int, value: int, c: int
) -> dict[str, Any]:
    """What is told of an element that an operation made, or of a NaN that it took: where it is, of what, and what of that is the reason.
    ``value`` and ``c`` are bits."""
    counts = [len(side) for side in read_registers(places)]
    rows = kept.factors.read().reshape(2, sum(counts), -1)[int(is_taken)].tolist()
    sides = []
    for size in counts:
        sides.append(rows[:size])
        rows = rows[size:]
    a, b, index, scale_a, scale_b = sides
    at = places.element(lane, element)
    of = products(places, Words(a, b, index, (scale_a, scale_b)), at)
    added = number(places.kind, c)
    turned, dropped = places.sign
    signed = abs(added) if dropped else added
    made = number(kind, value)
    room = _LARGEST["f64" if kind == "f64" else "f32"]
    chosen, is_of_c = causes(made, of, -signed if turned else signed, _LARGEST[kind], room)
    return {
        "element": list(at) if places.blocks > 1 else list(at[:2]),
        "value": f"{made:g}",
        "operands": [[f"{p.a:g}" for p in of], [f"{p.b:g}" for p in of], f"{added:g}"],
        "of": {"products": [p.shown() for p in chosen], "accumulator": f"{added:g}" if is_of_c else None},
    }


def shown_reason(of: dict[str, Any], most: int) -> str:
    """For people: the first products that are the reason, and the element of C."""
    parts = []
    for product in of["products"][:most]:
        scales = "".join(f" * {name.replace('_', ' ')} {product[name]}" for name in ("scale_a", "scale_b") if name in product)
        parts.append(f"k {product['k']}: {product['a']} * {product['b']}{scales}")
    if len(of["products"]) > most:
        parts.append("...")
    return "; ".join([*parts, *([f"C {of['accumulator']}"] if of["accumulator"] is not None else [])])
