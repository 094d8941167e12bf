"""Which parts a kernel with scalar code has, and what all that it has computed becomes."""

from __future__ import annotations

from .pointers import DATA
from .scalars import ScalarKernel


class ShapedKernel(ScalarKernel):
    def _body(self) -> list[str]:
        of, shape = self.random, self.shape
        if shape != "scc early":
            self._some(6)
        if shape in ("scc", "scc early"):
            self._branch(1, "scc")
        elif shape in ("guard", "again"):
            self._guard(1, restores=shape == "again")
        elif shape == "vccz":
            self._branch(1, "vcc")
        elif shape == "two":
            self._branch(1, "scc")
            self._branch(2, of.choice(("scc", "vcc")))
        elif shape == "loop":
            self._loop()
        if shape != "guard":
            self._some(4)
            self._checked()
        return self.made

    def _next_block(self) -> None:
        self.is_private, self.kept = False, frozenset()

    def _part(self, most: int) -> None:
        """What waves may jump past: addresses found in it are not there behind it."""
        before = list(self.pointers)
        self.is_skipped = True
        self._some(most)
        self.is_skipped = False
        self.pointers = [p for p in before if p in self.pointers]

    def _branch(self, label: int, by: str) -> None:
        """All lanes of a wave go on, or jump past something."""
        of = self.random
        if by == "vcc":
            if of.random() < 0.4:
                self._put(self._mask_of_scalars())
            elif of.random() < 0.8:
                self._put(f"v_cmp_gt_u32_e64 {self.vcc}, {of.choice(['s47', self.number()])}, v3")
            jump = of.choice(("vccz", "vccnz"))
        else:
            compared = f"s_cmp_{of.choice(('lt_u32', 'eq_u32', 'lg_u32', 'ge_i32'))} {self.number()}, {self._source()}"
            self._put(
                *of.choice(
                    [[], [compared], [compared, self._arithmetic()], [f"s_bitcmp1_b32 {self.number()}, {of.randrange(8)}"]]
                )
            )
            jump = of.choice(("scc0", "scc1"))
        self._put(f"s_cbranch_{jump} {label}f")
        self._next_block()
        self._part(6)
        self._put(f"{label}:")

    def _guard(self, label: int, restores: bool) -> None:
        """Lanes that have something to do go on; without ``restores`` to the end."""
        saved = "s[48:49]" if self.lanes == 64 else "s48"
        self._put(f"v_cmp_gt_u32_e64 {self.vcc}, s47, v3", f"s_and_saveexec_b{self.lanes} {saved}, {self.vcc}")
        self._put(f"s_cbranch_execz {label}f")
        self._next_block()
        if restores:
            self._part(6)
            self._put(f"{label}:", f"s_or_b{self.lanes} {self.exec}, {self.exec}, {saved}")
        else:
            self._some(7)
            self._checked()
            self._put(f"{label}:")

    def _loop(self) -> None:
        self._next_block()
        self._put(f"s_mov_b32 s66, {self.random.randrange(1, 5)}", "3:")
        # In its second turn registers hold what its end has left there.
        hidden, self.is_skipped = set(self.hidden), True
        self._salu(self.random.randrange(1, 6))
        self._put(*(self._arithmetic() for _ in range(3)))
        self.is_skipped = False
        assert self.hidden == hidden
        self._put("s_sub_u32 s66, s66, 1", "s_cmp_lg_u32 s66, 0", "s_cbranch_scc1 3b")

    def _checked(self) -> None:
        """What lanes store in the end is made of SCC, and of most that registers hold, or of little."""
        of = self.random
        known = [f"s{n}" for n in DATA if n not in self.hidden and of.random() < 0.5] if of.random() < 0.8 else [self.number()]
        self._put("s_cselect_b32 s61, 33, 5")
        for source in [
            *known,
            "s61",
            *["s55"] * of.randrange(2),
            self._vector(),
            self._vector(),
            *[self.vcc[:3] + "_lo"] * of.randrange(2),
        ]:
            self._put(f"v_lshl_add_u32 v26, v26, 1, {source}")
        self._put("global_store_dword v4, v26, s[42:43]")
