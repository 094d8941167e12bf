"""Kernels that end in loads, arithmetic and a store: what native code does as one pass over the vectors, if it may.

Registers besides those of the plain kernels: ``v30`` is what lanes add to a buffer's address, ``v[32:33]`` to ``v[38:39]`` such sums,
``v31`` the upper half of what is added, ``v28`` where a lane's words are if it has several.
"""

from __future__ import annotations

from .generate import Kernel

#: What no lane reads of another one, and no mask comes of.
ARITHMETIC = [
    "v_xor_b32_e64 {d}, {a}, {b}", "v_add3_u32 {d}, {a}, {b}, {a}", "v_mul_lo_u32 {d}, {a}, {b}", "v_add_f32_e64 {d}, {a}, {b}",
    "v_mul_f32_e64 {d}, {a}, {b}", "v_alignbit_b32 {d}, {a}, {b}, 7", "v_lshl_add_u32 {d}, {a}, 3, {b}", "v_fma_f32 {d}, {a}, {b}, {a}",
    "v_mov_b32 {d}, {a}", "v_add_f32_e64 {d}, {a}, {b}", "v_cvt_f32_u32 {d}, {a}",
]  # fmt: skip
OFFSETS = ["", "", "", " offset:4", " offset:-4", " offset:64", " offset:128", " offset:-256", " offset:252", " offset:-60"]
#: How names of loads and stores end, by the words that a lane accesses.
NAMES = {1: "dword", 2: "dwordx2", 4: "dwordx4"}


class StreamKernel(Kernel):
    #: Of a lane, in each access.
    words = 1

    def _sum(self, base: int, at: int) -> str:
        """An address of 64 bits: a buffer's, and what lanes add to it."""
        vcc, high, upper = self.vcc, f"v{at + 1}", self.random.choice(["0", "v31", "v31"])
        add = f"v_mov_b32 {high}, s{base + 1}\nv_add_co_u32 v{at}, {vcc}, s{base}, v30\n"
        first, second = (high, upper) if upper == "v31" else (upper, high)
        return add + f"{self.carry} {high}, {vcc}, {first}, {second}, {vcc}"

    def _access(self, base: int, at: int, is_near: bool) -> tuple[list[str], str, str]:
        """What finds the address, the address, and what else the instruction has for it."""
        if is_near:
            return [], self.random.choice(["v30", "v30", "v30", self._place()]), f"s[{base}:{base + 1}]"
        return [self._sum(base, at)], f"v[{at}:{at + 1}]", "off"

    def _place(self) -> str:
        """What holds where a lane's words are, if lanes follow one another."""
        return "v4" if self.words == 1 else "v28"

    def _lanes_places(self) -> list[str]:
        """Mostly neighbouring words, in the order of the lanes."""
        of, v = self.random, self._place()
        places = {
            f"v_mov_b32 v30, {v}": 12, f"v_xor_b32 v30, 4, {v}": 1, f"v_xor_b32 v30, 64, {v}": 1, f"v_lshlrev_b32 v30, 1, {v}": 1,
            f"v_and_b32 v30, -64, {v}": 1, f"{self.add}_e64 v30, {v}, s46": 2, f"v_xor_b32 v30, 60, {v}": 1, "v_mov_b32 v30, v9": 1,
        }  # fmt: skip
        lines = []
        if self.words > 1:
            # Where the wave's first word is, and what the lanes before have. What a wave has overlaps what the next one has.
            lines = ["v_mbcnt_lo_u32_b32 v29, -1, 0", *["v_mbcnt_hi_u32_b32 v29, -1, v29"] * (self.lanes == 64)]
            lines += [f"v_mul_u32_u24_e32 v29, {4 * self.words - 4}, v29", f"{self.add}_e32 v28, v4, v29"]
        last = of.choice(["v_mov_b32 v31, 0", "v_ashrrev_i32 v31, 31, v30"])
        return [*lines, of.choices(list(places), list(places.values()))[0], last]

    def _data(self, first: int) -> str:
        return f"v{first}" if self.words == 1 else f"v[{first}:{first + self.words - 1}]"

    def _arithmetic_on(self, known: list[int]) -> tuple[list[str], int]:
        """An operation on each of a lane's words, mostly the same, and where the first result is."""
        of, words = self.random, self.words
        some = of.randrange(10, 26, words)
        d, a, b = of.choice([*known, some]), of.choice(known), of.choice([*known, *known, of.randrange(10, 26, words)])
        what, by = of.choice(ARITHMETIC), of.choice((0,) * 9 + (1,))
        lines = [what.format(d=f"v{d + n}", a=f"v{a + n}", b=f"v{b + (n + by) % words}") for n in range(words)]
        if of.random() < 0.04:
            lines[-1] = of.choice(ARITHMETIC).format(d=f"v{d + words - 1}", a=f"v{a}", b=f"v{b}")
        return lines, d

    def _pass(self) -> list[str]:
        """Loads, arithmetic and a store."""
        of, loads, finds = self.random, list[str](), list[str]()
        is_near, name = of.random() < 0.5, NAMES[self.words]
        loaded = of.sample(range(10, 26, self.words), of.randrange(1, 5))
        for number, d in enumerate(loaded):
            is_like = is_near if of.random() < 0.8 else not is_near
            found, address, more = self._access(of.choice((40, 40, 44, 42)), 32 + 2 * (number % 3), is_like)
            lines = [f"global_load_{name} {self._data(d)}, {address}, {more}{of.choice(OFFSETS)}"]
            if number > 2 or of.random() < 0.3:
                loads += [*found, *lines]
            else:
                finds, loads = [*finds, *found], [*loads, *lines]
        found, address, more = self._access(of.choice((42, 42, 42, 44)), 38, is_near)
        if of.random() < 0.5:
            finds, found = [*finds, *found], []
        lines, known = [*finds, *loads, self.wait], [*loaded]
        for _ in range(of.randrange(6)):
            computed, d = self._arithmetic_on(known)
            lines, known = [*lines, *computed], [*known, d]
        return [*lines, *found, f"global_store_{name} {address}, {self._data(known[-1])}, {more}{of.choice(OFFSETS)}"]

    def _body(self) -> list[str]:
        of, saved = self.random, "s[48:49]" if self.lanes == 64 else "s48"
        self.words = of.choice((1, 1, 2, 4))
        lines = self._lanes_places()
        if of.random() < 0.3:
            # Before a branch: no wave may have stored by then what another one has not loaded.
            lines += [f"global_load_dword {self._vector()}, {of.choice(['v9', 'v30'])}, s[42:43]{of.choice(OFFSETS)}", self.wait]
        if of.random() < 0.7:
            lines += [f"v_cmp_gt_u32_e64 {self.vcc}, s47, v3", f"s_and_saveexec_b{self.lanes} {saved}, {self.vcc}"]
            lines += ["s_cbranch_execz 1f"]
        lines += self._pass() if of.random() < 0.3 else self._some(3) if of.random() < 0.3 else []
        return [*lines, *self._pass(), "1:"]
