"""Kernels of some ten to forty instructions: ids, a few operations, loads and stores, perhaps a branch past some of them.

Registers: ``v3`` is the work-item's number in the grid, ``v4`` that in bytes, ``v[6:7]`` addresses, ``v9`` the same offset in
all lanes, ``v10`` to ``v25`` data; ``v40`` and above are never written. ``s[40:45]`` are three buffers, ``s46`` an offset, ``s47``
how many work-items there is something to do for, ``s[50:51]`` the arguments, ``s20`` to ``s35`` data.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import kept_builds

#: Processors and lanes of a wave.
KINDS = [("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1201", 32), ("gfx1250", 32)]
#: Bytes of arguments: three buffers, an offset, a number of work-items, a workgroup's sizes, the grid's first two.
ARGUMENTS = (8, 8, 8, 4, 4, 4, 4, 4, 4, 4)

BINARY = "and_b32 or_b32 xor_b32 lshlrev_b32 lshrrev_b32 ashrrev_i32 min_u32 max_i32 mul_u32_u24".split()
TERNARY = "add3_u32 lshl_add_u32 and_or_b32 bfe_u32 bfi_b32 mad_u32_u24 alignbit_b32 med3_i32".split()
FLOAT = (
    "v_add_f32_e64 {d}, {a}, {b}|v_mul_f32_e64 {d}, -{a}, {b} clamp|v_fma_f32 {d}, {a}, |{b}|, {a} mul:2|v_rcp_f32_e64 {d}, {a}"
)
SCALAR = "s_add_u32 s_addc_u32 s_sub_u32 s_and_b32 s_xor_b32 s_lshl_b32 s_mul_i32 s_min_i32 s_cselect_b32".split()
CROSSINGS = ("quad_perm:[1,0,3,2]", "row_shr:1", "row_shl:7", "row_ror:3", "row_mirror")


class Kernel:
    """One of a processor, the same for the same seed."""

    #: Bytes of LDS, of a work-item's scratch, and more lines of its descriptor.
    lds = 0
    scratch = 0
    settings: list[str] = []
    #: What its waves begin with.
    entry_settings = ["user_sgpr_kernarg_segment_ptr 1", *(f"system_sgpr_workgroup_id_{axis} 1" for axis in "xyz")]
    #: Lines before the place at which waves begin.
    before: list[str] = []

    def __init__(self, processor: str, lanes: int, seed: str):
        self.random = random.Random(f"{processor} {lanes} {seed}")
        self.lanes = lanes
        self.is_cdna, self.has_counters = processor.startswith("gfx9"), processor in ("gfx1201", "gfx1250")
        self.has_packed_ids = not processor.startswith("gfx10")
        self.dimensions = self.random.choice((1, 1, 2, 3))
        self.vcc, self.exec = ("vcc", "exec") if lanes == 64 else ("vcc_lo", "exec_lo")
        self.add = "v_add_u32" if self.is_cdna else "v_add_nc_u32"
        self.carry = "v_addc_co_u32" if self.is_cdna else "v_add_co_ci_u32"
        self.wait = "s_wait_loadcnt 0x0\ns_wait_kmcnt 0x0" if self.has_counters else "s_waitcnt vmcnt(0) lgkmcnt(0)"
        self.lines = [*self._beginning(), *self._body(), "s_endpgm"]

    def _beginning(self) -> list[str]:
        ids = ["ttmp9", "s59", "s59"] if self.has_counters else ["s2", "s3", "s4"]
        unpack = [[], ["s_and_b32 s59, ttmp7, 0xffff"], ["s_lshr_b32 s59, ttmp7, 16"]] if self.has_counters else [[]] * 3
        lines = ["s_mov_b64 s[50:51], s[0:1]", "s_load_dwordx4 s[40:43], s[0:1], 0x0", "s_load_dwordx2 s[44:45], s[0:1], 0x10"]
        lines += [
            "s_load_dwordx2 s[46:47], s[0:1], 0x18",
            "s_load_dwordx2 s[56:57], s[0:1], 0x20",
            "s_load_dword s58, s[0:1], 0x28",
        ]
        lines += ["s_load_dwordx2 s[62:63], s[0:1], 0x2c", self.wait]
        # Bits of MODE that no arithmetic depends on. The next wave begins with its own.
        lines += ["s_getreg_b32 s60, hwreg(1, 24, 3)", "s_setreg_imm32_b32 hwreg(1, 24, 2), 3"]
        if self.has_packed_ids:
            lines += ["v_bfe_u32 v2, v0, 20, 10", "v_bfe_u32 v1, v0, 10, 10", "v_and_b32 v0, 0x3ff, v0"]
        lines += ["v_mov_b32 v3, 0"]
        # z * height + y, times the width, + x.
        for axis in reversed(range(self.dimensions)):
            lines += [*unpack[axis], f"s_mul_i32 s59, {ids[axis]}, s{56 + axis}"]
            lines += ["v_mul_lo_u32 v3, v3, s63"] if axis == 1 else ["v_mul_lo_u32 v3, v3, s62"] if axis == 0 else []
            lines += [f"{self.add}_e64 v3, v3, s59", f"{self.add}_e64 v3, v3, v{axis}"]
        lines += ["v_lshlrev_b32 v4, 2, v3", f"v_mov_b32 v9, {4 * self.random.randrange(32)}"]
        some = [number for number in range(10, 26) if self.random.random() < 0.5]
        return lines + [f"v_mov_b32 v{n}, {self.random.choice(['v3', 'v4', 's47', '1.0', '0x12345'])}" for n in some]

    def _vector(self) -> str:
        return f"v{self.random.randrange(10, 26)}"

    def _scalar(self) -> str:
        return f"s{self.random.randrange(20, 36)}"

    def _any(self) -> str:
        """A source: a register, perhaps one that nothing has written, or a constant."""
        of = self.random
        return of.choice(
            [self._vector(), self._vector(), self._vector(), self._scalar(), f"v{of.randrange(40, 44)}", "-1", "64", "1.0", "s60"]
        )

    def _mask(self) -> str:
        return self.random.choice([self.vcc, "s[36:37]", "s[38:39]"] if self.lanes == 64 else [self.vcc, "s36", "s38"])

    def _arithmetic(self) -> str:
        of, d, a, b, c = self.random, self._vector(), self._any(), self._vector(), self._vector()
        if a[0] in "v":
            mask = [f"v_cndmask_b32_e64 {d}, {a}, {b}, {self._mask()}"]
        else:
            mask = [f"v_cndmask_b32_e64 {d}, 1.0, {b}, {self._mask()}"]
        crossing = f"{of.choice(CROSSINGS)} row_mask:0x{of.choice('ff5')} bank_mask:0x{of.choice('ffa')} {of.choice(['', 'bound_ctrl:0'])}"
        return of.choice(
            [
                f"v_{of.choice(BINARY)}_e64 {d}, {a}, {b}", f"v_{of.choice(TERNARY)} {d}, {a}, {b}, {c}", f"{self.add}_e64 {d}, {a}, {b}",
                f"v_mul_lo_u32 {d}, {a}, {b}", f"v_mul_hi_u32 {d}, {a}, {b}", f"v_mov_b32 {d}, {a}", f"v_mov_b32_dpp {d}, {b} {crossing}",
                f"v_cvt_f32_u32 {d}, {b}", f"v_cvt_i32_f32_e64 {d}, {b}", f"v_add_co_u32_e64 {d}, {self._mask()}, {a}, {b}",
                of.choice(FLOAT.replace("|{b}|", "~").split("|")).format(d=d, a=b, b=c).replace("~", f"|{c}|"),
                f"v_cmp_{of.choice(['lt_u32', 'gt_i32', 'lt_f32', 'eq_u32'])}_e64 {self._mask()}, {a}, {b}", *mask,
            ]
        )  # fmt: skip

    def _scalars(self) -> str:
        d, a, b = self._scalar(), self._scalar(), self.random.choice([self._scalar(), "3", "s47", "vcc_lo", "0x12345678"])
        first = [
            f"s_cmp_lt_u32 {a}, {b}",
            f"s_bcnt1_i32_b{self.lanes} {d}, {self.exec}",
            f"s_mov_b{self.lanes} {self.vcc}, {self._mask()}",
        ]
        return self.random.choice([*first, *[f"{self.random.choice(SCALAR)} {d}, {a}, {b}"] * 4])

    def _address(self, base: int) -> str:
        vcc = self.vcc
        return f"v_mov_b32 v7, s{base + 1}\nv_add_co_u32 v6, {vcc}, s{base}, v4\n{self.carry} v7, {vcc}, 0, v7, {vcc}\n"

    def _load(self) -> str:
        of, base = self.random, self.random.choice((40, 42, 44))
        buffer = f"s[{base}:{base + 1}]"
        offset = of.choice(["", "", " offset:4", " offset:-4", " offset:128", " offset:-256"])
        size, d = of.choice([("dword", self._vector())] * 5 + [("dwordx2", "v[12:13]"), ("ubyte", self._vector())])
        first = of.choice(["s[20:21]", "s[24:25]", "s[28:29]"])
        loads = [f"global_load_{size} {d}, {of.choice(['v4', 'v4', 'v9'])}, {buffer}{offset}"] * 3
        loads += [f"{self._address(base)}global_load_{size} {d}, v[6:7], off{offset}"] * 3
        loads += [
            f"s_load_dwordx2 {first}, s[50:51], {of.choice(['0x18', '0x1c', '0x24'])}",
            f"s_load_dword {self._scalar()}, {buffer}, s46",
        ]
        loads += [f"s_load_dwordx4 s[20:23], {buffer}, 0x10\ns_load_dwordx2 {first}, {buffer}, {of.choice(['0x0', '0x40'])}"]
        return f"{of.choice(loads)}\n{self.wait}"

    def _store(self) -> str:
        of, base = self.random, self.random.choice((42, 42, 44))
        offset = of.choice(["", "", " offset:4", " offset:-64"])
        near = f"global_store_dword {of.choice(['v4', 'v4', 'v9'])}, {self._vector()}, s[{base}:{base + 1}]{offset}"
        return of.choice([near, f"{self._address(base)}global_store_dword v[6:7], {self._vector()}, off{offset}"])

    def _some(self, most: int) -> list[str]:
        kinds = [self._arithmetic] * 10 + [self._scalars] * 3 + [self._load] * 4 + [self._store] * 2
        return [self.random.choice(kinds)() for _ in range(self.random.randrange(1, most))]

    def _body(self) -> list[str]:
        of, lanes, saved = self.random, self.lanes, "s[48:49]" if self.lanes == 64 else "s48"
        last = f"global_store_dword v4, {self._vector()}, s[42:43]"
        first = [self._arithmetic() for _ in range(of.randrange(3))] if of.random() < 0.7 else self._some(4)
        guard = f"v_cmp_gt_u32_e64 {self.vcc}, s47, v3"
        shape = of.choice(["plain", "guard", "guard", "guard", "again", "widened", "whole waves", "scc"])
        if shape == "plain":
            return [*first, *self._some(12), last]
        if shape == "whole waves":
            return [*first, guard, f"s_cbranch_{of.choice(['vccz', 'vccnz'])} 1f", *self._some(9), last, "1:"]
        if shape == "scc":
            return [*first, "s_cmp_lt_u32 s20, s47", f"s_cbranch_scc{of.randrange(2)} 1f", *self._some(9), last, "1:"]
        if shape == "widened":
            lines = [*first, f"s_mov_b{lanes} {saved}, {self.exec}", f"s_mov_b{lanes} {self.exec}, 0x00ff00f7", *self._some(6)]
            return [*lines, f"s_mov_b{lanes} {self.exec}, {saved}", *self._some(6), last]
        lines = [*first, guard, f"s_and_saveexec_b{lanes} {saved}, {self.vcc}", "s_cbranch_execz 1f", *self._some(10), last, "1:"]
        return lines if shape == "guard" else [*lines, f"s_or_b{lanes} {self.exec}, {self.exec}, {saved}", *self._some(5), last]

    def text(self, name: str) -> str:
        settings = ["next_free_vgpr 64", "next_free_sgpr 96", "system_vgpr_workitem_id 2", *self.entry_settings]
        settings += [
            *self.settings,
            f"float_denorm_mode_32 {self.random.choice((0, 3, 3))}",
            f"float_round_mode_32 {self.random.choice((0, 0, 0, 1))}",
        ]
        settings += ["accum_offset 64"] if self.is_cdna else [f"wavefront_size32 {int(self.lanes == 32)}"]
        lines = [
            f".globl {name}",
            f".protected {name}",
            ".p2align 8",
            f".type {name},@function",
            f"{name}:",
            *self.before,
            *self.lines,
        ]
        lines += [f".size {name}, .-{name}", ".rodata", ".p2align 6", f".amdhsa_kernel {name}"]
        return "\n".join([*lines, *(f".amdhsa_{setting}" for setting in settings), ".end_amdhsa_kernel", ".text", ""])


def _metadata(kernels: Mapping[str, Kernel], lanes: int) -> str:
    lines, offsets = [], [sum(ARGUMENTS[:n]) for n in range(len(ARGUMENTS))]
    for name, kernel in kernels.items():
        lines += [
            f"  - .name: {name}",
            f"    .symbol: {name}.kd",
            "    .kernarg_segment_size: 64",
            "    .kernarg_segment_align: 8",
        ]
        lines += [f"    .group_segment_fixed_size: {kernel.lds}", f"    .private_segment_fixed_size: {kernel.scratch}"]
        lines += [f"    .wavefront_size: {lanes}"]
        lines += ["    .sgpr_count: 96", "    .vgpr_count: 64", "    .max_flat_workgroup_size: 1024", "    .args:"]
        lines += [f"      - {{.size: {size}, .offset: {at}, .value_kind: by_value}}" for size, at in zip(ARGUMENTS, offsets)]
    return "\n".join(
        [".amdgpu_metadata", "---", "amdhsa.version: [1, 2]", "amdhsa.kernels:", *lines, "...", ".end_amdgpu_metadata", ""]
    )


def build(processor: str, lanes: int, seed: int, count: int, kind: type[Kernel] = Kernel) -> tuple[Path, dict[str, int]]:
    """A code object with ``count`` kernels of a kind; for each kernel's name, the dimensions of the grids that it is made for."""
    kernels = {f"k{n}": kind(processor, lanes, f"{seed} {n}") for n in range(count)}
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--{processor}"\n.text\n'
    text += "".join(kernel.text(name) for name, kernel in kernels.items()) + _metadata(kernels, lanes)
    command = ["clang-22", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-x", "assembler"]
    wide = ["-mwavefrontsize64"] if lanes == 64 and not re.match("gfx9", processor) else []
    made = kept_builds.keep([*command, *wide, "-"], f"{kind.__name__}-{processor}-{lanes}-{seed}", text=text)
    return made, {name: kernel.dimensions for name, kernel in kernels.items()}
