"""Scalar loads, and what they load through: addresses that were loaded, computed, chosen, or put together from two halves.

Of the buffers, ``s[40:41]`` leads to numbers and ``s[44:45]`` to the table: ``TABLE`` addresses of numbers, then numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from .entry import Entry
from .generate import ARGUMENTS as ARGUMENT_SIZES
from .generate import Kernel

#: Scalar registers that hold data, those that waves begin with included.
DATA = range(36)
#: Addresses in the table. All buffers are in one piece of 4 GB: any address's upper half is that of all.
TABLE = 16
ARGUMENTS, PACKET, NUMBERS, ADDRESSES = "s[50:51]", "s[52:53]", "s[40:41]", "s[44:45]"
#: Words that a load gets, and what its first register is a multiple of.
SIZES = {1: ("", 1), 2: ("x2", 2), 4: ("x4", 4), 8: ("x8", 4)}


class Pointers(Kernel):
    """The part of a kernel that loads scalars."""

    entry: Entry
    #: Lines so far.
    made: list[str]
    #: Data registers that hold (a part of) an address that is another one in the next process: no result may depend on them.
    hidden: set[int]
    #: First registers of pairs that lead to numbers.
    pointers: list[int]
    #: Data registers in the order in which they were written.
    late: list[int]
    #: What is made now may be jumped past.
    is_skipped: bool
    #: What is made now is a part of the first block, which loads nothing but arguments and the packet, and is to leave these registers.
    is_private: bool
    kept: frozenset[int]
    #: Lanes' values may get to scalar registers.
    reads_lanes: bool
    number: Callable[[], str]

    def _put(self, *lines: str) -> None:
        self.made += lines

    def _wrote(self, first: int, count: int = 1, *, hides: bool = False) -> None:
        written = set(range(first, first + count))
        self.pointers = [p for p in self.pointers if not {p, p + 1} & written]
        self.late += written
        if hides:
            self.hidden |= written
        elif not self.is_skipped:
            self.hidden -= written

    def _pair(self) -> int:
        return self.random.choice(DATA[::2])

    def _pointer(self) -> None:
        """Has a pair of registers lead to numbers."""
        of, p = self.random, self._pair()
        entry, other = 8 * of.randrange(TABLE), 8 * of.randrange(TABLE)
        low, high, both = f"s{p}", f"s{p + 1}", f"s[{p}:{p + 1}]"
        few = [f"s_and_b32 {low}, {self.number()}, 0xffc", f"s_add_u32 {low}, s40, {low}", f"s_addc_u32 {high}, s41, 0"]
        signed = [
            f"s_and_b32 {low}, {self.number()}, 0x1ff", f"s_sub_u32 {low}, {low}, 0x40", f"s_ashr_i32 {high}, {low}, 31",
            f"s_lshl_b64 {both}, {both}, 2", f"s_add_u32 {low}, {low}, s40", f"s_addc_u32 {high}, {high}, s41",
        ]  # fmt: skip
        upper = of.choice([f"s_load_dword {high}, {ADDRESSES}, 0x{other + 4:x}", f"s_load_dword {high}, {ARGUMENTS}, 0xc"])
        halves = [f"s_load_dword {low}, {ADDRESSES}, 0x{entry:x}", upper, self.wait]
        of_arguments = [f"s_load_dword {low}, {ARGUMENTS}, 0x0", self.wait, f"s_mov_b32 {high}, s{of.choice((41, 43, 45))}"]
        chosen = [f"s_load_dwordx2 {both}, {ADDRESSES}, 0x{entry:x}", self.wait]
        chosen += [f"s_cmp_lt_u32 {self.number()}, {self.number()}"] if of.random() < 0.7 else []
        chosen += [f"s_cselect_b64 {both}, {both}, {NUMBERS}"]
        loaded = [f"s_load_dwordx2 {both}, {ADDRESSES}, 0x{entry:x}", self.wait]
        product = [
            f"s_and_b32 {low}, {self.number()}, 0xff", f"s_mul_hi_u32 {high}, {low}, 12", f"s_mul_i32 {low}, {low}, 12",
            f"s_add_u32 {low}, {low}, s40", f"s_addc_u32 {high}, {high}, s41",
        ]  # fmt: skip
        # Of the table, which one the wave's numbers say.
        number = of.choice([self.number(), "s54", "s55", "s55"])
        by_number = [f"s_and_b32 {low}, {number}, 15", f"s_lshl_b32 {low}, {low}, 3"]
        by_number += [f"s_load_dwordx2 {both}, {ADDRESSES}, {low}", self.wait]
        ways = [by_number, by_number, by_number, few, few, signed, halves, of_arguments, chosen, loaded, loaded, loaded, product]
        if self.reads_lanes:
            by_lane = [f"v_mov_b32 v27, 0x{entry:x}", f"global_load_dwordx2 v[28:29], v27, {ADDRESSES}", self.wait]
            ways += [[*by_lane, f"v_readfirstlane_b32 {low}, v28", f"v_readfirstlane_b32 {high}, v29"]] * 3
        self._put(*of.choice(ways))
        self._wrote(p, 2)
        self.pointers.append(p)

    def _walk(self) -> None:
        """Loads through a pair that each of them, or something in between, has lead elsewhere."""
        of, p = self.random, self._pair()
        low, high, both = f"s{p}", f"s{p + 1}", f"s[{p}:{p + 1}]"
        first, second, third = of.sample([n for n in DATA if n not in (p, p + 1)], 3)
        self._put(f"s_add_u32 {low}, s44, {8 * of.randrange(TABLE)}", f"s_addc_u32 {high}, s45, 0")
        self._put(f"s_load_dword s{first}, {both}, 0x{of.choice((0, 0x80)):x}", f"s_load_dwordx2 {both}, {both}, 0x0", self.wait)
        self._put(f"s_load_dword s{second}, {both}, 0x{of.choice((0, 4)):x}")
        if of.random() < 0.5:
            # What is behind the pointer does not end here.
            self._put(f"s_add_u32 {low}, {low}, {of.choice((4, 64))}", f"s_addc_u32 {high}, {high}, 0")
        self._put(f"s_load_dword s{third}, {both}, 0x4", self.wait)
        self._wrote(p, 2)
        self.pointers.append(p)
        for d in (first, second, third):
            self._wrote(d)

    def _hidden_load(self) -> None:
        """A load through an address that is another one in each process."""
        of, p = self.random, self._pair()
        both, d = f"s[{p}:{p + 1}]", of.choice([n for n in DATA if n not in (p, p + 1)])
        if of.random() < 0.3:
            self._put(f"s_getpc_b64 {both}", f"s_load_dword s{d}, {both}, 0x{of.choice((0, 4)):x}", self.wait)
        else:
            self._put(f"s_add_u32 s{p}, s50, 0x{of.choice((8, 16)):x}", f"s_addc_u32 s{p + 1}, s51, 0")
            self._put(f"s_load_dword s{d}, {both}, 0x{of.choice((0, 4, 8, 12)):x}", self.wait)
        self._wrote(p, 2, hides=True)
        self._wrote(d)

    def _bases(self) -> list[tuple[str, int, list[int]]]:
        """What loads may load through: the pair, as a text and a number, and where words are behind it."""
        if self.is_private:
            pairs = [(self.entry.at["kernarg_segment_ptr"], [0, 8, 0x18, 0x1C, 0x20, 0x24, 0x2C])]
            pairs += [(at, [4, 8, 12, 16, 20, 28]) for name, at in self.entry.at.items() if name == "dispatch_ptr"]
            return [(f"s[{at}:{at + 1}]", at, places) for at, places in pairs]
        found = [(ARGUMENTS, 50, [0, 8, 0x18, 0x1C, 0x20, 0x24, 0x2C]), (NUMBERS, 40, [0, 4, 16, 0x40, 0x100])] * 2
        found += [(ADDRESSES, 44, [8, 0x40, 0x80, 0x84, 0x100])]
        if "dispatch_ptr" in self.entry.at:
            found += [(PACKET, 52, [4, 8, 12, 16, 20, 28])] * 2
        return found + [(f"s[{p}:{p + 1}]", p, [0, 4, 8, 0x20, 0x7C]) for p in self.pointers] * 3

    def _loads(self) -> None:
        """One to four loads, and a wait."""
        of, taken, loads, new = self.random, set[int](), list[str](), list[tuple[int, int]]()
        bases = [of.choice(self._bases()) for _ in range(of.choice((1, 1, 2, 3, 4)))]
        if of.random() < 0.4:  # of one base
            bases = bases[:1] * len(bases)
        through = {number for _, base, _ in bases for number in (base, base + 1)}
        for number, (text, base, places) in enumerate(bases):
            words, place = of.choice((1, 1, 1, 2, 2, 4, 4, 8)), of.choice(places)
            if 28 in places:  # the packet's words have addresses between them
                words = 1
            elif 0x2C in places:
                words = next(fewer for fewer in (8, 4, 2, 1) if fewer <= words and place + 4 * fewer <= sum(ARGUMENT_SIZES))
            suffix, multiple = SIZES[words]
            # The last one may write what it loads through.
            kept = self.kept | (through if number < len(bases) - 1 else set())
            free = [n for n in DATA[::multiple] if n + words <= len(DATA) and not set(range(n, n + words)) & (taken | kept)]
            if not free:
                continue
            d, where = of.choice(free), f"0x{place:x}"
            taken |= set(range(d, d + words))
            if base in (40, *self.pointers) and of.random() < 0.2:
                offset = of.choice([n for n in DATA if n not in taken | through | self.kept])
                self._put(f"s_and_b32 s{offset}, {self.number()}, 0xff")
                self._wrote(offset)
                taken.add(offset)
                where = f"s{offset}" if of.random() < 0.5 else f"s{offset} offset:0x10"
            to = f"s{d}" if words == 1 else f"s[{d}:{d + words - 1}]"
            loads.append(f"s_load_dword{suffix} {to}, {text}, {where}")
            new.append((d, words))
        self._put(*loads, self.wait)
        for d, words in new:
            self._wrote(d, words)
