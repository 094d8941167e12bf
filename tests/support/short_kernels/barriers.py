"""Kernels whose waves share LDS, with barriers between what they do: adjacent ones, signals and waits with work in between, barriers
in loops, behind branches, and waves that end before them.

Registers besides those of the plain kernels: ``v5`` is where the work-item's own word is in LDS, ``v8`` where another one's is,
``s[64:65]`` EXEC before a branch, ``s66`` the turns of a loop that are left, ``s67`` what is counted in SCC.
"""

from __future__ import annotations

from .generate import KINDS, Kernel

#: All kinds of waves.
BARRIER_KINDS = [*KINDS, ("gfx1030", 32), ("gfx1030", 64), ("gfx1201", 64)]
#: Bytes of LDS: a word for each work-item that a workgroup can have.
LDS = 4096


class BarrierKernel(Kernel):
    lds = LDS

    def __init__(self, processor: str, lanes: int, seed: str):
        self.has_named = processor == "gfx1250"
        rdna3 = processor[:5] in ("gfx11", "gfx12")
        self.write, self.read = ("ds_store_b32", "ds_load_b32") if rdna3 else ("ds_write_b32", "ds_read_b32")
        super().__init__(processor, lanes, seed)

    @property
    def settings(self) -> list[str]:
        return [f"group_segment_fixed_size {LDS}", *(["named_barrier_count 4"] if self.has_named else [])]

    def _lds_wait(self) -> str:
        return "s_wait_dscnt 0x0" if self.has_counters else "s_waitcnt lgkmcnt(0)"

    def _own(self) -> list[str]:
        """Where the work-item's own word is."""
        return [
            "v_mul_lo_u32 v5, v2, s57", f"{self.add}_e64 v5, v5, v1", "v_mul_lo_u32 v5, v5, s56", f"{self.add}_e64 v5, v5, v0",
            "v_lshlrev_b32 v5, 2, v5",
        ]  # fmt: skip

    def _share(self) -> list[str]:
        """An access to the own word, or to another one of the same workgroup."""
        of = self.random
        other = [f"v_xor_b32 v8, {of.choice((4, 64, 128, 256, 1024))}, v5"]
        offset = of.choice(["", "", " offset:4", " offset:256"])
        return of.choice(
            [
                [f"{self.write} v5, {self._vector()}"], [f"{self.write} v5, {self._vector()}"],
                [*other, f"{self.read} {self._vector()}, v8", self._lds_wait()],
                [*other, f"{self.read} {self._vector()}, v8", self._lds_wait()],
                [f"{self.read} {self._vector()}, v5{offset}", self._lds_wait()],
            ]
        )  # fmt: skip

    def _work(self, most: int) -> list[str]:
        lines = []
        for _ in range(self.random.randrange(most + 1)):
            kinds = [self._arithmetic] * 5 + [self._scalars] * 2 + [self._load, self._store]
            lines += self._share() if self.random.random() < 0.4 else [self.random.choice(kinds)()]
        return lines

    def _barrier(self) -> list[str]:
        of = self.random
        before = [self._lds_wait()] if of.random() < 0.8 else []
        if not self.has_counters:
            return [*before, "s_barrier"]
        computed = [of.choice([self._arithmetic, self._scalars])() for _ in range(of.randrange(1, 4))]
        state = ["s_get_barrier_state s20, -1", "s_wait_kmcnt 0x0"]
        signal, wait = "s_barrier_signal -1", "s_barrier_wait -1"
        first = ["s_barrier_signal_isfirst -1", "s_cselect_b32 s67, 1, 0", "s_add_u32 s21, s21, s67"]
        named = ["s_mov_b32 m0, 0x10000", "s_barrier_init 1", "s_barrier_join 1", "s_barrier_signal 1"]
        kinds = [
            [signal, wait], [signal, wait], [signal, *computed, wait], [signal, *computed, wait], [signal, *self._work(2), wait],
            [*first, *computed, wait], [signal, *state, wait], [*state, signal, *computed, wait],
        ]  # fmt: skip
        if self.has_named:
            kinds.append([*named, *computed, "s_barrier_wait 1", signal, wait])
        return [*before, *of.choice(kinds)]

    def _stage(self, number: int) -> list[str]:
        of, exec, saved = self.random, self.exec, "s[64:65]" if self.lanes == 64 else "s64"
        shape = of.choice(["plain", "plain", "plain", "some lanes", "loop"])
        if shape == "some lanes":
            guard = [f"v_cmp_gt_u32 {self.vcc}, s47, v3", f"s_and_saveexec_b{self.lanes} {saved}, {self.vcc}"]
            lines = [*guard, f"s_cbranch_execz {number}f", *self._work(3), f"{number}:"]
            return [*lines, f"s_or_b{self.lanes} {exec}, {exec}, {saved}", *self._barrier(), *self._work(2)]
        if shape == "loop":
            lines = [f"s_mov_b32 s66, {of.randrange(1, 5)}", f"{number}:", *self._work(2), *self._barrier(), *self._work(2)]
            lines += self._barrier() if of.random() < 0.5 else []
            return [*lines, "s_sub_u32 s66, s66, 1", "s_cmp_lg_u32 s66, 0", f"s_cbranch_scc1 {number}b"]
        return [*self._work(3), *self._barrier(), *self._work(3)]

    def _body(self) -> list[str]:
        of = self.random
        lines = [*self._own(), *(f"{self.write} v5, {self._vector()}" for _ in range(of.randrange(2)))]
        stages, ending = of.randrange(1, 5), of.choice((None, None, 0, 1))
        for number in range(1, stages + 1):
            if ending == number - 1:
                # Waves without work end here, and the others do not wait for them.
                lines += [f"v_cmp_gt_u32 {self.vcc}, s47, v3", "s_cbranch_vccz 9f"]
            lines += self._stage(number)
        return [*lines, f"global_store_dword v4, {self._vector()}, s[42:43]", "9:"]
