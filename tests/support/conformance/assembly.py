"""Kernels of one instruction each: load its operands, execute it, store all that it may have changed.

A launch has one wave in each workgroup. Wave number ``w`` finds a record of 16 words for its scalar operands (the
``SCALARS`` below) and, for every word of a vector operand, a row of lanes. It leaves the same: a record of scalars,
and rows.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import kept_builds

from .targets import Target

#: The scalar record: first word and SGPR of each part. (S2 shares its place with D0, the destination's old value.)
RECORD = 16  # words, loaded into s[16:31]
SCALARS = {"S0": 0, "S1": 2, "D0": 4, "VCC": 6, "EXEC": 8, "SCC": 10, "M0": 11, "MODE": 12, "MASK": 14}
#: What comes back, in this order of words.
RESULTS = {"D0": 0, "VCC": 2, "EXEC": 4, "SDST": 6, "SCC": 8, "M0": 9, "S0": 10, "MODE": 12}
MASK_SOURCE = 30
MASK_RESULT = 40
FIRST_VGPR = 16


def sgpr(name: str) -> int:
    return 16 + SCALARS[name]


def tuple_of(file: str, first: int, words: int) -> str:
    return f"{file}{first}" if words == 1 else f"{file}[{first}:{first + words - 1}]"


@dataclass
class Trial:
    """An instruction to try. ``loads`` and ``stores`` are VGPRs, one row for each, in order."""

    name: str
    lines: Sequence[str]
    loads: Sequence[int] = ()
    stores: Sequence[int] = ()
    #: Bytes of LDS and scratch that the kernel declares.
    lds: int = 0
    scratch: int = 0
    vgprs: int = 128
    sgprs: int = 64
    #: More instructions before (with EXEC as it starts: all lanes), and after (all lanes again).
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    facts: dict = field(default_factory=dict)

    @property
    def symbol(self) -> str:
        return "trial_" + re.sub(r"\W", "_", self.name)


def check_lines(target: Target, lines: Sequence[str]) -> list[str | None]:
    """For each line of assembly: None if the target has it, else the assembler's complaint."""
    with tempfile.TemporaryDirectory(prefix="luthier-conformance-") as folder:
        source = Path(folder) / "lines.s"
        source.write_text("\n".join(lines) + "\n")
        command = ["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target.processor}", "-filetype=null", str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
    complaints: list[str | None] = [None] * len(lines)
    for match in re.finditer(r"lines\.s:(\d+):\d+: error: (.*)", done.stderr):
        complaints[int(match[1]) - 1] = complaints[int(match[1]) - 1] or match[2]
    if done.returncode and not any(complaints):
        raise RuntimeError(done.stderr)
    return complaints


class Writer:
    """The assembly text around an instruction, for one target."""

    def __init__(self, target: Target):
        self.target = target
        self.wait = (
            ["s_waitcnt vmcnt(0) lgkmcnt(0)", *(["s_waitcnt_vscnt null, 0x0"] if target.major in (10, 11) else [])]
            if target.major < 12
            else ["s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0"]
        )

    def rows(self, action: str, registers: Sequence[int], base: str) -> list[str]:
        lines = []
        for index, register in enumerate(registers):
            if index and index % 8 == 0:
                lines.append(f"v_add_u32_e32 v0, {8 * 4 * self.target.lanes}, v0".replace("_e32", self.add_suffix))
            at = index % 8 * 4 * self.target.lanes
            if action == "load":
                lines.append(f"global_load_dword v{register}, v0, {base} offset:{at}")
            else:
                lines.append(f"global_store_dword v0, v{register}, {base} offset:{at}")
        return lines

    @property
    def add_suffix(self) -> str:
        return "_e32"

    def body(self, trial: Trial) -> list[str]:
        t, mask = self.target, self.target.mask
        move = "s_mov_b64" if t.lanes == 64 else "s_mov_b32"

        def pair(first: int) -> str:
            return tuple_of("s", first, t.mask_words)

        group = "s2" if t.major < 12 else "ttmp9"
        add = "v_add_u32_e32" if t.major == 9 else "v_add_nc_u32_e32"
        row_bytes = 4 * t.lanes
        lines = []
        if trial.scratch and t.major == 10:
            lines = ["s_add_u32 s2, s2, s5", "s_addc_u32 s3, s3, 0"]
            lines += [f"s_setreg_b32 hwreg(HW_REG_FLAT_SCR_{half}), s{k}" for half, k in (("LO", 2), ("HI", 3))]
            lines += ["s_mov_b32 s2, s4"]
        elif trial.scratch and t.processor not in ARCHITECTED:  # its base is in s[2:3], the wave's part of it in s5
            lines = ["s_add_u32 flat_scratch_lo, s2, s5", "s_addc_u32 flat_scratch_hi, s3, 0", "s_mov_b32 s2, s4"]
        lines += [
            "s_load_dwordx8 s[4:11], s[0:1], 0x0",
            *self.wait,
            f"s_lshl_b32 s3, {group}, 6",
            "s_add_u32 s4, s4, s3",
            "s_addc_u32 s5, s5, 0",
            "s_add_u32 s8, s8, s3",
            "s_addc_u32 s9, s9, 0",
            "s_load_dwordx16 s[16:31], s[4:5], 0x0",
            f"s_mul_i32 s3, {group}, {max(1, len(trial.loads)) * row_bytes}",
            "s_add_u32 s6, s6, s3",
            "s_addc_u32 s7, s7, 0",
            f"s_mul_i32 s3, {group}, {max(1, len(trial.stores)) * row_bytes}",
            "s_add_u32 s10, s10, s3",
            "s_addc_u32 s11, s11, 0",
            "v_and_b32_e32 v0, 0x3ff, v0",
            "v_lshlrev_b32_e32 v0, 2, v0",
            "v_mov_b32_e32 v1, v0",
            "s_mov_b64 s[40:41], 0",
        ]
        lines += [line.replace("v_add_u32_e32", add) for line in self.rows("load", trial.loads, "s[6:7]")]
        lines += self.wait
        lines += trial.before
        lines += [
            # Of gfx1250's MODE bits 12 and up belong to VGPR numbers.
            f"s_setreg_b32 hwreg(HW_REG_MODE{', 0, 12' if t.processor == 'gfx1250' else ''}), s{sgpr('MODE')}",
            f"{move} vcc{mask}, {pair(sgpr('VCC'))}",
            f"s_mov_b32 m0, s{sgpr('M0')}",
            f"s_cmp_lg_u32 s{sgpr('SCC')}, 0",
            f"{move} exec{mask}, {pair(sgpr('EXEC'))}",
            "s_nop 7",
            *trial.lines,
            "s_nop 7",
            f"s_cselect_b32 s{MASK_RESULT + 8}, 1, 0",
            f"{move} {pair(42)}, vcc{mask}",
            f"{move} {pair(44)}, exec{mask}",
            f"s_mov_b32 s{MASK_RESULT + 9}, m0",
            f"s_getreg_b32 s{MASK_RESULT + 10}, hwreg(HW_REG_MODE)",
            f"{move} exec{mask}, -1",
            "s_mov_b32 m0, -1",
            *self.wait,
            *trial.after,
            "v_mov_b32_e32 v0, v1",
        ]
        lines += [line.replace("v_add_u32_e32", add) for line in self.rows("store", trial.stores, "s[10:11]")]
        results = [(f"s{sgpr('D0')}", f"s{sgpr('D0') + 1}"), ("s42", "s43"), ("s44", "s45"), ("s40", "s41")]
        results += [("s48", "s49"), (f"s{sgpr('S0')}", f"s{sgpr('S0') + 1}"), ("s50", "s50")]
        lines += [f"{move} exec{mask}, 1", "v_mov_b32_e32 v0, 0"]
        for index, (low, high) in enumerate(results):
            lines += [
                f"v_mov_b32_e32 v2, {low}",
                f"v_mov_b32_e32 v3, {high}",
                f"global_store_dwordx2 v0, v[2:3], s[8:9] offset:{8 * index}",
            ]
        return [*lines, "s_endpgm"]

    def kernel(self, trial: Trial) -> str:
        t = self.target
        settings = {
            "next_free_vgpr": trial.vgprs,
            "next_free_sgpr": trial.sgprs,
            "kernarg_size": 32,
            "user_sgpr_kernarg_segment_ptr": 1,
            "system_sgpr_workgroup_id_x": 1,
            "group_segment_fixed_size": trial.lds,
            "private_segment_fixed_size": trial.scratch,
            "float_denorm_mode_32": 3,
        }
        if t.processor in ("gfx90a", "gfx942", "gfx950"):
            settings["accum_offset"] = (trial.vgprs + 3) // 4 * 4
        if t.major >= 10:
            settings["wavefront_size32"] = int(t.lanes == 32)
        if trial.scratch and t.processor in ARCHITECTED:
            settings["enable_private_segment"] = 1
        elif trial.scratch:
            settings["user_sgpr_flat_scratch_init"] = 1
            settings["system_sgpr_private_segment_wavefront_offset"] = 1
        name = trial.symbol
        return "\n".join(
            [
                f".globl {name}\n.p2align 8\n.type {name},@function\n{name}:",
                *self.body(trial),
                f".section .rodata\n.p2align 6\n.amdhsa_kernel {name}",
                *(f".amdhsa_{key} {value}" for key, value in settings.items()),
                ".end_amdhsa_kernel\n.text",
            ]
        )

    def metadata(self, trial: Trial) -> str:
        return (
            f"  - .name: {trial.symbol}\n    .symbol: {trial.symbol}.kd\n    .kernarg_segment_size: 32\n"
            f"    .kernarg_segment_align: 8\n    .group_segment_fixed_size: {trial.lds}\n"
            f"    .private_segment_fixed_size: {trial.scratch}\n    .wavefront_size: {self.target.lanes}\n"
            f"    .sgpr_count: {trial.sgprs}\n    .vgpr_count: {trial.vgprs}\n    .max_flat_workgroup_size: 64\n"
        )

    def assemble(self, trials: Sequence[Trial]) -> bytes:
        """A code object with a kernel for each."""
        text = [".text", *(self.kernel(trial) for trial in trials), ".amdgpu_metadata", "amdhsa.version:\n  - 1\n  - 2"]
        text += ["amdhsa.kernels:", *(self.metadata(trial) for trial in trials), ".end_amdgpu_metadata\n"]
        with tempfile.TemporaryDirectory(prefix="luthier-conformance-") as folder:
            output = Path(folder) / "trials.hsaco"
            command = ["clang-22", "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={self.target.processor}", "-"]
            kept_builds.make(command, output, "\n".join(text))
            return output.read_bytes()


#: Targets whose scratch needs no set-up by the kernel.
ARCHITECTED = ("gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
