"""value_profile: which values instructions give, load and store: their range, zeros, exponents, and whether lanes differ.

``results=no``, ``loads=no`` and ``stores=no`` leave these out. ``groups=N`` looks at the values of the first N workgroups (in x, y and
z, x fastest) of each launch only: kernels that run for long end in their time. ``repeats=yes`` has each lane remember every value until
it comes to the instruction again, and counts those that are the same then. What is loaded and stored, and integers, are told as words of
32 bits without a sign; floats by the operation's type.
"""

from __future__ import annotations

import struct
from typing import Any

import luthier as lt
from luthier.tools.accesses import value_words
from luthier.tools.extremes import lower_to, raise_to
from luthier.tools.lanes import as_json, incomplete, place_of
from luthier.tools.repeats import Repeats, repeated
from luthier.tools.results import Value, results
from luthier.tools.waves import is_first

#: How hooks are told the kind of a number.
KINDS = {"b32": 0, "f32": 1, "f16": 2, "bf16": 3}
#: Numbers of an instruction: waves, values, zeros, values as the first lane's, waves whose lanes all agree, NaNs, least, greatest, values
#: of lanes that have had one there before, those that are the same as that.
_STATS = 10
#: Bits of a word, exponents of f32, or of f64 by eights, then f64's smallest and its infinities and NaNs.
_BINS = 258


@lt.device
def ordered(bits: lt.u32) -> lt.u32:
    # Floats in the order of unsigned numbers.
    return ~bits if bits >> 31 != 0 else bits | 0x80000000


@lt.device
def note(stats: lt.ptr[lt.u64], lanes: lt.u64, zeros: lt.u32, same: lt.u64, nans: lt.u32):
    if is_first():
        lt.atomic_add(stats, 1)
        lt.atomic_add(stats + 1, lt.u64(lt.popcount(lanes)))
        lt.atomic_add(stats + 2, lt.u64(zeros))
        lt.atomic_add(stats + 3, lt.u64(lt.popcount(same)))
        lt.atomic_add(stats + 4, lt.u64(same == lanes))
        lt.atomic_add(stats + 5, lt.u64(nans))


@lt.device
def look_at(stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], word: lt.u32, kind: lt.u32, shift: lt.u32):
    bits = word >> shift
    if kind == 2:
        bits = lt.bitcast(lt.u32, lt.f32(lt.bitcast(lt.f16, lt.u16(bits))))
    if kind == 3:
        bits = bits << 16
    size = bits if kind == 0 else bits & 0x7FFFFFFF
    is_nan = kind != 0 and size > 0x7F800000
    key = bits if kind == 0 else ordered(bits)
    lanes = lt.exec_mask()
    same = lt.ballot(bits == lt.readfirstlane(bits))
    zeros = lt.popcount(lt.ballot(size == 0))
    nans = lt.popcount(lt.ballot(is_nan))
    note(stats, lanes, zeros, same, nans)
    if not is_nan:
        lower_to(stats + 6, lt.u64(key))
        raise_to(stats + 7, lt.u64(key))
    place = 32 - lt.u32(lt.clz(bits)) if kind == 0 else size >> 23
    lt.atomic_add(bins + place, 1)


@lt.device
def look_at_double(stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], bits: lt.u64):
    size = bits & 0x7FFFFFFFFFFFFFFF
    is_nan = size > 0x7FF0000000000000
    key = ~bits if bits >> 63 != 0 else bits | 0x8000000000000000
    lanes = lt.exec_mask()
    same = lt.ballot(bits == lt.readfirstlane(bits))
    zeros = lt.popcount(lt.ballot(size == 0))
    nans = lt.popcount(lt.ballot(is_nan))
    note(stats, lanes, zeros, same, nans)
    if not is_nan:
        lower_to(stats + 6, key)
        raise_to(stats + 7, key)
    exponent = lt.u32(size >> 52)
    place: lt.u32 = exponent >> 3
    if exponent == 0:
        place = 256
    if exponent == 2047:
        place = 257
    lt.atomic_add(bins + place, 1)


class ValueProfile(lt.Tool):
    """``{"instructions": {address: {"kind", "waves", "values", "zeros", "same", "uniform", "nan", "least", "greatest", "constant",
    "exponents"}}, "not seen": [address]}``. ``values`` counts the active lanes' numbers (of several registers each); ``same``
    those that the wave's first active lane has, too; ``uniform`` the waves in which all lanes agree. ``least`` and ``greatest``
    leave NaNs out. ``constant``: all values ever seen are one. ``exponents`` counts floats by their exponent of two (of f64 by
    eights; zeros and what is smaller than normal numbers are under ``"zero"``, infinities and NaNs under ``"special"``), words
    by how many bits they take. With ``repeats=yes`` also ``again``, the values of lanes that have been at the instruction before,
    and ``repeats``, those of them that are what the lane had then; both are None where registers and scratch have no room for what
    lanes had."""

    one_code_object = True  # what it knows of a kernel goes by addresses

    #: Whether the wave is one to look at.
    looks = lt.WaveState(lt.u32)

    def __init__(
        self, results: bool = True, loads: bool = True, stores: bool = True, groups: int = 0, repeats: bool = False
    ) -> None:
        if groups < 0:
            raise lt.ToolError(f"value_profile: groups={groups}: a number of workgroups, or 0 for all")
        self.results, self.loads, self.stores, self.groups = results, loads, stores, groups
        self.repeats = Repeats(self.looks) if repeats else None
        self.seen: set[int] = set()  # addresses of functions: kernels may share them
        self.watched: list[tuple[lt.Instruction, str, lt.DeviceArray, lt.DeviceArray, int]] = []
        self.unseen: list[int] = []

    @lt.hook
    def begins(looks: lt.inout[lt.u32], groups: lt.u32):
        row = lt.workgroup_id_y() + lt.num_workgroups_y() * lt.workgroup_id_z()
        number = lt.workgroup_id_x() + lt.num_workgroups_x() * row
        looks += lt.u32(groups == 0 or number < groups)

    @lt.hook
    def look_at_some(
        stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], looks: lt.inout[lt.u32], word: lt.u32, kind: lt.u32, shift: lt.u32
    ):  # fmt: skip
        if looks != 0:
            look_at(stats, bins, word, kind, shift)

    @lt.hook
    def look_at_some_doubles(stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], looks: lt.inout[lt.u32], bits: lt.u64):
        if looks != 0:
            look_at_double(stats, bins, bits)

    @lt.hook
    def look(stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], word: lt.u32, kind: lt.u32, shift: lt.u32):
        look_at(stats, bins, word, kind, shift)

    @lt.hook
    def look_double(stats: lt.ptr[lt.u64], bins: lt.ptr[lt.u64], bits: lt.u64):
        look_at_double(stats, bins, bits)

    def on_kernel(self, kernel: lt.Kernel) -> None:
        if self.groups or self.repeats is not None:
            kernel.insert_at_entry(self.begins, self.looks, self.groups)
        functions = [f for f in kernel.functions if f.address not in self.seen]
        self.seen.update(f.address for f in functions)
        comes_again = {a for f in functions for a in repeated(kernel, f)} if self.repeats is not None else set()
        looked_at: list[tuple[lt.Instruction, list[Value], bool]] = []
        for instr in (i for f in functions for i in f.instructions if i.works_for == "lane" or i.is_matrix):
            if instr.is_store and not instr.is_atomic:
                found, is_behind = stored(instr) if self.stores else [], False
            elif instr.is_load and not instr.is_atomic:
                found, is_behind = results(instr) if self.loads else [], True
            else:
                found, is_behind = results(instr) if self.results and instr.is_valu else [], True
            if found is None:
                self.unseen.append(instr.address)
            elif found:
                looked_at.append((instr, found, is_behind))
        if not looked_at:
            return
        beginning = [0, 0, 0, 0, 0, 0, (1 << 64) - 1, 0, 0, 0] * len(looked_at)
        stats = lt.DeviceArray(lt.u64, _STATS * len(looked_at), init=beginning, name=f"stats.{kernel.name}")
        bins = lt.DeviceArray(lt.u64, _BINS * len(looked_at), name=f"bins.{kernel.name}")
        some = (self.looks,) if self.groups else ()
        word, double = (self.look_at_some, self.look_at_some_doubles) if self.groups else (self.look, self.look_double)
        for n, (instr, values, is_behind) in enumerate(looked_at):
            insert = kernel.insert_after if is_behind else kernel.insert_before
            for value in values:
                places = (stats.at(_STATS * n), bins.at(_BINS * n), *some, value.register)
                if value.kind == "f64":
                    insert(instr, double, *places)
                else:
                    insert(instr, word, *places, KINDS[value.kind], value.shift)
            if self.repeats is not None and instr.block.address in comes_again:
                self.repeats.watch(kernel, instr, values, is_behind, stats, _STATS * n + 8)
            self.watched.append((instr, values[0].kind, stats, bins, n))

    def on_exit(self, report: lt.Report) -> None:
        # What lanes have no room to remember is told of each instruction; all else has to be there.
        forgotten = self.repeats.rejected(self.rejected) if self.repeats is not None else {}
        if incomplete(self, report, besides=forgotten):
            return
        found: dict[lt.Instruction, dict[str, Any]] = {}
        for instr, kind, stats, bins, n in self.watched:
            waves, values, zeros, same, uniform, nans, least, greatest, again, repeats = map(
                int, stats[_STATS * n : _STATS * n + _STATS]
            )
            if not waves:
                continue
            some = values > nans
            counted = bins[_BINS * n : _BINS * n + _BINS]
            found[instr] = {
                "kind": kind, "waves": waves, "values": values, "zeros": zeros, "same": same, "uniform": uniform, "nan": nans,
                "least": _number(kind, least) if some else None, "greatest": _number(kind, greatest) if some else None,
                "constant": least == greatest and not nans,
                "exponents": {_exponent(kind, int(b)): int(counted[b]) for b in counted.nonzero()[0]},
            }  # fmt: skip
            if self.repeats is not None:
                is_told = instr not in forgotten.values()
                found[instr] |= {"again": again if is_told else None, "repeats": repeats if is_told else None}
        report.result = {
            "instructions": as_json({i.address: told for i, told in found.items()}),
            "not seen": [f"{address:#x}" for address in self.unseen],
        }
        rows = [
            (f"{i.address:#x}", i.text, place_of(i), t["kind"], t["values"], t["zeros"], t["uniform"], t["waves"], t["nan"],
             "" if t["least"] is None else f"{t['least']:g}", "" if t["greatest"] is None else f"{t['greatest']:g}", *_of_repeats(t))
            for i, t in found.items()
        ]  # fmt: skip
        headers = ("address", "instruction", "line", "kind", "values", "zeros", "uniform", "waves", "NaN", "least", "greatest")
        report.table("value_profile", rows, (*headers, "again", "repeats") if self.repeats is not None else headers)
        for title, name, about in (
            ("zeros", "zeros", "values that are zero"),
            ("as first", "same", "values as the first lane's"),
        ):
            shares = {i.address: round(100 * t[name] / t["values"], 1) if t["values"] else 0 for i, t in found.items()}
            report.column(title, shares, unit="%", combine="max", about=about)
        if self.repeats is not None:
            shares = {i.address: round(100 * t["repeats"] / t["again"], 1) for i, t in found.items() if t["again"]}
            about = "values as the lane had them the time before, of those of lanes that had been there"
            report.column("repeats", shares, unit="%", combine="max", about=about)


def stored(instr: lt.Instruction) -> list[Value] | None:
    """The words that a store takes, of sub-words the register."""
    words = [value_words(instr, n) for n in range(instr.access_count or 0)]
    if not words or any(w is None for w in words):
        return None
    return [Value("b32", word) for of_place in words for word in of_place or () if isinstance(word, lt.Reg)]


def _of_repeats(told: dict[str, Any]) -> tuple[Any, ...]:
    if "again" not in told:
        return ()
    return ("no room", "") if told["again"] is None else (told["again"], told["repeats"] if told["again"] else "")


def _number(kind: str, key: int) -> float | int:
    """The value whose place in the order of its kind this is."""
    if kind == "b32":
        return key
    size, code = (64, "<d") if kind == "f64" else (32, "<f")
    is_negative = not key >> (size - 1)
    bits = ~key & ((1 << size) - 1) if is_negative else key ^ (1 << (size - 1))
    return float(struct.unpack(code, bits.to_bytes(size // 8, "little"))[0])


def _exponent(kind: str, place: int) -> str:
    if kind == "b32":
        return str(place)
    if place == (256 if kind == "f64" else 0):
        return "zero"
    if place == (257 if kind == "f64" else 255):
        return "special"
    return str(8 * place - 1023 if kind == "f64" else place - 127)
