"""Kernels with much scalar code at their head: chains of it, addresses made of halves, loads through addresses that were loaded,
uniform branches, and registers that are one thing first and another one later.

A wave stores nothing but its own words, and loads nothing that another one stores: so it makes no difference which wave runs first.

Registers besides those of the plain kernels: ``s0`` to ``s35`` are data, ``s[52:53]`` is the dispatch packet, ``s[48:49]`` a mask that
is kept, ``s54`` and ``s55`` are numbers of the workgroup and of the wave, ``s66`` the turns of a loop that are left, ``v26`` what is made of all that a kernel has computed, ``v[27:29]`` an address.
``s[40:41]`` leads to numbers, ``s[44:45]`` to the table, ``s[42:43]`` is stored to.
"""

from __future__ import annotations

import re

from .entry import SCRATCH, random_entry
from .generate import KINDS
from .pointers import ARGUMENTS, DATA, PACKET, Pointers
from .salu import FOREIGN, forms

#: Waves that have them.
SCALAR_KINDS = [*KINDS, ("gfx1201", 64), ("gfx1030", 32)]
SPECIAL = ["vcc_lo", "exec_lo", "s46", "s47", "s56", "s62", "s40", "s45", "src_scc", "s36", "s38", "s48"]
CONSTANTS = ["0", "1", "-1", "3", "64", "0xffff", "0x12345678", "0x80000000", "1.0"]
#: Where there are branches, most frequent first.
SHAPES = ["plain"] * 6 + ["scc"] * 3 + ["guard"] * 3 + ["scc early", "again", "vccz", "vccz", "two", "loop"]
#: Instructions that keep a part of their destination.
KEEPS = re.compile(r"s_(bitset|cmov|mulk|addk)")


class ScalarKernel(Pointers):
    def __init__(self, processor: str, lanes: int, seed: str):
        self.processor, self.forms = processor, forms(processor)
        self.made, self.pointers, self.late, self.kept = [], [], [], frozenset()
        self.is_skipped = self.is_private = False
        super().__init__(processor, lanes, seed)

    def number(self) -> str:
        """A data register that holds a number, the same in each process: mostly one that was written lately."""
        known = [n for n in DATA if n not in self.hidden] or [46]
        late = [n for n in self.late[-12:] if n not in self.hidden]
        return f"s{self.random.choice(late if late and self.random.random() < 0.7 else known)}"

    _scalar = number

    def _source(self) -> str:
        of = self.random
        special = SPECIAL + ["ttmp9", "ttmp8", "ttmp7"] * 2 * self.has_counters
        kinds = [self.number()] * 24 + ["s54", "s55", "s55"] + [of.choice(special)] * 5 + [of.choice(CONSTANTS)] * 5
        return of.choice(kinds)

    def _wide(self) -> str:
        pairs = [f"s[{n}:{n + 1}]" for n in DATA[::2] if not {n, n + 1} & self.hidden]
        late = [f"s[{n & ~1}:{n | 1}]" for n in self.late[-8:]]
        pairs += [pair for pair in late if pair in pairs]
        masks = ["vcc", "exec", "s[36:37]"] if self.lanes == 64 else []
        return self.random.choice([*pairs * 2, *masks, "s[40:41]", "s[42:43]", "s[46:47]", "-1", "0"])

    def _salu(self, count: int) -> None:
        """So many scalar instructions."""
        of, saved = self.random, self.kept
        for _ in range(count):
            name, _, operands = of.choice(self.forms).partition(" ")
            d = of.choice([n for n in DATA if n not in saved])
            wide = of.choice([n for n in DATA[::2] if not {n, n + 1} & saved])
            written = {wide, wide + 1} if "D" in operands else {d}
            if KEEPS.match(name) and written & self.hidden:
                continue
            words = []
            for word in operands.split(", "):
                new = {"d": f"s{d}", "D": f"s[{wide}:{wide + 1}]"}.get(word, word)
                if word in "ABab":
                    new = self._wide() if word in "AB" else self.number() if "cmpk" in name else self._source()
                # An instruction has one literal constant.
                words.append("7" if new.startswith("0x") and any(other.startswith("0x") for other in words) else new)
            self._put(f"{name} {', '.join(words)}")
            if "d" in operands.lower().split(", "):
                self._wrote(min(written), len(written))

    def _beginning(self) -> list[str]:
        of = self.random
        self.reads_lanes = of.random() < 0.1
        self.forms = self.forms + FOREIGN * (of.random() < 0.1)
        self.shape = of.choice(SHAPES)
        # Of a kernel with a branch, native code does all of a wave only if its first block is such.
        self.is_private = self.shape != "plain" and of.random() < 0.75
        entry = self.entry = random_entry(of, self.processor)
        self.entry_settings, self.scratch, self.hidden = entry.settings, entry.scratch, set(entry.addresses)
        # A wave that began at the symbol would end at once.
        self.before = ["s_endpgm", ".p2align 8"] if entry.begins_behind else []
        at = entry.at["kernarg_segment_ptr"]
        if of.random() < 0.2:
            # SCC, as waves begin with it.
            self._put(f"s_cselect_b32 s{of.choice(DATA[28:])}, 21, 9")
        self._put(f"s_mov_b64 {ARGUMENTS}, s[{at}:{at + 1}]")
        if (packet := entry.at.get("dispatch_ptr")) is not None:
            self._put(f"s_mov_b64 {PACKET}, s[{packet}:{packet + 1}]")
        few, some = ["x2 s[56:57], {}, 0x20", " s58, {}, 0x28"], ["x2 s[62:63], {}, 0x2c"]
        ways = [["x8 s[40:47], {}, 0x0", *few], ["x4 s[40:43], {}, 0x0", "x4 s[44:47], {}, 0x10", *few]]
        ways.append([*few, "x2 s[44:45], {}, 0x10", "x4 s[40:43], {}, 0x0", "x2 s[46:47], {}, 0x18"])
        base = of.choice([ARGUMENTS, f"s[{at}:{at + 1}]"][self.is_private :])
        loads = [f"s_load_dword{load.format(base)}" for load in of.choice(ways) + some]
        self._put(*loads, self.wait)
        if of.random() < 0.3:
            self._put("s_getreg_b32 s60, hwreg(1, 24, 3)", "s_setreg_imm32_b32 hwreg(1, 24, 2), 3")
        if self.has_packed_ids:
            self._put("v_bfe_u32 v2, v0, 20, 10", "v_bfe_u32 v1, v0, 10, 10", "v_and_b32 v0, 0x3ff, v0")
        # What is computed before the workgroup's numbers are needed leaves them, and what is to be loaded through.
        pairs = [entry.at[name] for name in ("kernarg_segment_ptr", "dispatch_ptr") if name in entry.at and self.is_private]
        through = frozenset(number for pair in pairs for number in (pair, pair + 1))
        self.kept = through | {number for name, number in entry.at.items() if name in "xyz"}
        self._salu(of.choice((0, 0, 3)))
        self._in_grid()
        self._wave_number()
        self.kept = through
        # Numbers to begin with.
        self._put(f"s_load_dwordx8 s[20:27], {f's[{at}:{at + 1}], 0x4' if self.is_private else 's[40:41], 0x40'}", self.wait)
        self._wrote(20, 8)
        self._head(of.choice((0, 2, 4, 8)))
        self._put("v_lshlrev_b32 v4, 2, v3", f"v_mov_b32 v9, {4 * of.randrange(32)}", "v_mov_b32 v26, 0")
        some = [n for n in range(10, 26) if of.random() < 0.4]
        self._put(*(f"v_mov_b32 v{n}, {of.choice(['v3', 'v4', 's47', '1.0', self.number()])}" for n in some))
        return []

    def _in_grid(self) -> None:
        """The work-item's number in the grid: z * height + y, times the width, + x."""
        ids = ["ttmp9", "s59", "s59"] if self.has_counters else [f"s{self.entry.at[axis]}" for axis in "xyz"]
        unpack = [[], ["s_and_b32 s59, ttmp7, 0xffff"], ["s_lshr_b32 s59, ttmp7, 16"]] if self.has_counters else [[]] * 3
        self._put("v_mov_b32 v3, 0")
        for axis in reversed(range(self.dimensions)):
            self._put(*unpack[axis], f"s_mul_i32 s59, {ids[axis]}, s{56 + axis}")
            self._put(*[f"v_mul_lo_u32 v3, v3, s{62 + axis}"] * (axis < 2))
            self._put(f"{self.add}_e64 v3, v3, s59", f"{self.add}_e64 v3, v3, v{axis}")

    def _wave_number(self) -> None:
        """``s54`` and ``s55``: what is another one in each workgroup, and in the waves of one."""
        at, ids = self.entry.at, "ttmp9" if self.has_counters else f"s{self.entry.at['x']}"
        # Where its scratch is, or whether it is the first one.
        known = [f"s{at[name]}, {shift}" for name, shift in (("scratch_offset", 10), ("workgroup_info", 31)) if name in at]
        self._put(f"s_mov_b32 s54, {ids}")
        self._put("s_bfe_u32 s55, ttmp8, 0x50019" if self.has_counters else f"s_lshr_b32 s55, {[*known, 's47, 1'][0]}")

    def _load(self) -> str:
        """By lanes: numbers, through what scalar code has found as well, the table, or their own words."""
        of, d = self.random, self._vector()
        offset = of.choice(["", "", " offset:4", " offset:-4", " offset:128", " offset:-256"])
        loads = [f"global_load_dword {d}, {of.choice(['v4', 'v9'])}, s[40:41]{offset}", f"global_load_dword {d}, v9, s[44:45]"]
        loads += [f"{self._address(40)}global_load_dword {d}, v[6:7], off{offset}", f"global_load_dword {d}, v4, s[42:43]"]
        loads += [f"global_load_dword {d}, {of.choice(['v4', 'v9'])}, s[{p}:{p + 1}]" for p in self.pointers] * 2
        return f"{of.choice(loads)}\n{self.wait}"

    def _store(self) -> str:
        near = f"global_store_dword v4, {self._vector()}, s[42:43]"
        return self.random.choice([near, f"{self._address(42)}global_store_dword v[6:7], {self._vector()}, off"])

    def _crossing(self) -> str:
        """From lanes to scalars: by masks, or by a lane's value."""
        of = self.random
        d = of.choice([n for n in DATA if n not in self.kept])
        self._wrote(d)
        if self.reads_lanes:
            return of.choice(
                [f"v_readfirstlane_b32 s{d}, {self._vector()}", f"v_readlane_b32 s{d}, {self._vector()}, {of.randrange(32)}"]
            )
        compared = f"v_cmp_{of.choice(['lt_u32', 'gt_i32', 'eq_u32'])}_e64 {self._mask()}, {self.number()}, {self._vector()}"
        return f"{compared}\ns_bcnt1_i32_b{self.lanes} s{d}, {self._mask()}"

    def _mask_of_scalars(self) -> str:
        """From scalars to masks."""
        of, mask, lanes = self.random, self._mask(), self.lanes
        source = self._wide() if lanes == 64 else self.number()
        ways = [f"s_mov_b{lanes} {mask}, {source}", f"s_and_b{lanes} {mask}, {self.exec}, {source}"]
        ways += [
            f"s_andn2_b{lanes} {mask}, {self.exec}, {mask}",
            f"s_cselect_b{lanes} {mask}, -1, 0",
            f"s_xor_b{lanes} {mask}, {mask}, {source}",
        ]
        return of.choice(ways)

    def _scratch_word(self) -> str:
        """To and from scratch memory, which processors find that set its base."""
        at = f"off offset:{4 * self.random.randrange(SCRATCH // 4)}"
        return f"scratch_store_dword off, {self._vector()}, {at}\nscratch_load_dword {self._vector()}, off, {at}\n{self.wait}"

    def _head(self, rounds: int) -> None:
        """Nothing but scalar code."""
        kinds = [lambda: self._salu(self.random.randrange(1, 6)), self._loads, self._pointer, self._walk]
        kinds = kinds[:2] if self.is_private else kinds
        for _ in range(rounds):
            self.random.choice([kinds[0], *kinds])()

    def _some(self, most: int) -> list[str]:
        of = self.random
        lanes = (
            [self._arithmetic] * 8
            + ([self._load] * 3 + [self._store]) * (not self.is_private)
            + [self._crossing, self._mask_of_scalars]
        )
        lanes += [self._scratch_word] * (self.scratch > 0 and not self.is_private and self.processor not in ("gfx90a", "gfx1030"))
        for _ in range(of.randrange(1, most)):
            kind = of.choice(["chain", "chain", "pointer", "walk", "loads", "loads", "hidden"] + ["lanes"] * 6)
            if self.is_private and kind in ("pointer", "walk", "hidden"):
                kind = "loads"
            if kind == "chain":
                self._salu(of.randrange(1, 7))
            elif kind == "lanes":
                self._put(*(of.choice(lanes)() for _ in range(of.randrange(1, 4))))
            else:
                {"pointer": self._pointer, "walk": self._walk, "loads": self._loads, "hidden": self._hidden_load}[kind]()
        return []
