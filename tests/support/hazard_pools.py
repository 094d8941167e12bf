"""Instructions that hazards are about, by processor: pairs for each rule, and templates for random sequences."""

from __future__ import annotations

import random
import re

TARGETS = {
    "gfx900": [64],
    "gfx906": [64],
    "gfx908": [64],
    "gfx90a": [64],
    "gfx942": [64],
    "gfx950": [64],
    "gfx1010": [32, 64],
    "gfx1030": [32, 64],
    "gfx1100": [32, 64],
    "gfx1151": [32, 64],
    "gfx1200": [32],
    "gfx1201": [32, 64],
    "gfx1250": [32],
    "gfx1251": [32],
}
_GFX10 = ("gfx1010", "gfx1030")


def _is_gfx9(target: str) -> bool:
    return len(target) == 6


def prelude(target: str) -> list[str]:
    """Addresses in s[8:9] and v[2:3], zeros elsewhere, and nothing that is still under way. No VALU instruction reads
    a scalar here."""
    gfx9 = _is_gfx9(target)
    load = "s_load_dwordx2" if gfx9 or target in _GFX10 else "s_load_b64"
    vector = "global_load_dwordx2" if gfx9 or target in _GFX10 else "global_load_b64"
    lines = [f"v_mov_b32 v{n}, 0" for n in range(1, 64)]
    lines += [f"{load} s[8:9], s[0:1], 0x0", f"{vector} v[2:3], v1, s[0:1]"]
    if target.startswith("gfx12"):
        lines += ["s_wait_kmcnt 0x0", "s_wait_loadcnt 0x0"]
    else:
        lines += ["s_waitcnt vmcnt(0) lgkmcnt(0)"]
    # A raw buffer.
    lines += ["s_mov_b32 s12, s8", "s_mov_b32 s13, s9", "s_mov_b32 s14, 0x4000"]
    lines += [f"s_mov_b32 s15, {'0x31016000' if not gfx9 else '0x27000'}"]
    lines += [f"s_mov_b32 s{n}, 0" for n in (4, 5, 6, 7, 10, 11, 16, 17)]
    if gfx9:
        lines += ["s_mov_b32 m0, 0", "s_nop 15", "s_nop 15"]
    elif target != "gfx1030":
        lines += ["s_waitcnt_depctr 0"]
    return lines


def end(target: str) -> list[str]:
    return []


# The rule that a row is about (None: none, the instructions need nothing), and its instructions.
_GFX9 = [
    ("valu-sgpr-vmem", "v_readfirstlane_b32 s8, v2; global_load_dword v10, v1, s[8:9]"),
    ("valu-sgpr-vmem", "v_cmp_eq_u32_e64 s[16:17], v1, v1; buffer_load_dword v10, v1, s[12:15], s16 offen"),
    ("valu-sgpr-lane-select", "v_readfirstlane_b32 s4, v1; v_readlane_b32 s10, v1, s4"),
    ("valu-sgpr-lane-select", "v_readfirstlane_b32 s4, v1; v_writelane_b32 v10, 0, s4"),
    ("valu-vcc-div-fmas", "v_cmp_eq_u32_e32 vcc, v1, v1; v_div_fmas_f32 v10, v1, v1, v1"),
    ("valu-exec-dpp", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_mov_b32_dpp v10, v11 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("valu-vgpr-dpp", "v_add_u32_e32 v11, v1, v1; v_mov_b32_dpp v10, v11 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("valu-vgpr-dpp", "v_mov_b32 v11, v1; v_add_f32_dpp v10, v1, v11 row_shr:1 row_mask:0xf bank_mask:0xf"),
    ("setreg-hwreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0; s_getreg_b32 s4, hwreg(HW_REG_MODE)"),
    ("setreg-hwreg", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s4; s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0"),
    (None, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0; v_add_f32 v10, v1, v1"),
    ("wide-store-overwrite", "global_store_dwordx4 v1, v[4:7], s[8:9]; v_mov_b32 v5, 0"),
    ("wide-store-overwrite", "flat_store_dwordx3 v[2:3], v[4:6]; v_mov_b32 v6, 0"),
    ("wide-store-overwrite", "buffer_store_dwordx4 v[4:7], v1, s[12:15], 0 offen; v_mov_b32 v5, 0"),
    ("wide-store-overwrite", "global_atomic_cmpswap_x2 v1, v[4:7], s[8:9]; v_mov_b32 v5, 0"),
    (None, "buffer_store_dwordx4 v[4:7], v1, s[12:15], s4 offen; v_mov_b32 v5, 0"),
    (None, "global_store_dwordx2 v1, v[4:5], s[8:9]; v_mov_b32 v5, 0"),
    (None, "v_readfirstlane_b32 s8, v1; s_load_dword s4, s[0:1], 0x0"),
]
_MOVREL = [("salu-m0", "s_mov_b32 m0, 0; s_movrels_b32 s4, s5")]
_CDNA1 = [
    ("valu-exec-matrix", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_mfma_f32_4x4x1f32 a[0:3], v10, v11, a[0:3]"),
    ("valu-exec-matrix", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_accvgpr_write_b32 a4, v10"),
    ("valu-vgpr-matrix", "v_mov_b32 v10, 0; v_mfma_f32_4x4x1f32 a[0:3], v10, v11, a[0:3]"),
    ("valu-vgpr-matrix", "v_mov_b32 v10, 0; v_accvgpr_write_b32 a4, v10"),
    ("accumulator-write-factor", "v_accvgpr_write_b32 a8, v1; v_mfma_f32_4x4x1f32 a[0:3], a8, v11, a[0:3]"),
    ("accumulator-write-accumulator", "v_accvgpr_write_b32 a8, v1; v_mfma_f32_4x4x1f32 a[0:3], v10, v11, a[8:11]"),
    ("accumulator-write-move", "v_accvgpr_write_b32 a8, v1; v_accvgpr_read_b32 v10, a8"),
    ("accumulator-write-move", "v_accvgpr_write_b32 a8, v1; v_accvgpr_write_b32 a8, v11"),
    ("accumulator-read-memory", "v_accvgpr_read_b32 v10, a8; global_store_dword v1, v10, s[8:9]"),
    ("accumulator-read-memory", "v_accvgpr_read_b32 v10, a8; ds_write_b32 v1, v10"),
    ("valu-accumulator-move-memory", "v_mov_b32 v10, 0; v_accvgpr_read_b32 v11, a8; global_store_dword v1, v10, s[8:9]"),
    *(
        row
        for shape, registers in (("4x4x1", 4), ("16x16x4", 4), ("32x32x2", 16))
        for d in [f"a[0:{registers - 1}]"]
        for c in [f"a[16:{15 + registers}]"]
        for first in [f"v_mfma_f32_{shape}f32 {d}, v10, v11, {c}"]
        for row in (
            ("matrix-result", f"{first}; v_accvgpr_read_b32 v12, a1"),
            ("matrix-result", f"{first}; v_accvgpr_write_b32 a1, v12"),
            (None if shape == "4x4x1" else "matrix-accumulator-overwrite", f"{first}; v_accvgpr_write_b32 a17, v12"),
            ("matrix-result", f"{first}; v_mfma_f32_4x4x1f32 a[32:35], a1, v11, a[32:35]"),
            ("matrix-result", f"{first}; v_mfma_f32_4x4x1f32 a[32:35], v10, v11, a[2:5]"),
            (None, f"{first}; v_mfma_f32_{shape}f32 {d}, v10, v11, {d}"),
        )
    ),
]
_CDNA2 = [
    ("valu-exec-matrix", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_mfma_f32_4x4x1f32 a[0:3], v10, v11, a[0:3]"),
    ("valu-vgpr-matrix", "v_mov_b32 v10, 0; v_mfma_f32_4x4x1f32 a[0:3], v10, v11, a[0:3]"),
    (
        "valu-double-matrix-memory",
        "v_mov_b32 v10, 0; v_mfma_f64_4x4x4f64 v[4:5], v[12:13], v[12:13], 0; global_store_dword v1, v10, s[8:9]",
    ),
    ("double-matrix-fma", "v_mfma_f64_4x4x4f64 v[4:5], v[12:13], v[12:13], 0; v_fma_f64 v[6:7], v[10:11], v[10:11], v[10:11]"),
    ("matrix-result", "v_mfma_f32_16x16x4f32 v[4:7], v1, v1, v[4:7]; v_add_f32 v10, v4, v4"),
    ("matrix-accumulator-overwrite", "v_mfma_f32_16x16x4f32 v[12:15], v1, v1, v[4:7]; v_mov_b32 v6, 0"),
    ("dot-result", "v_dot2_f32_f16 v4, v1, v1, v10; v_add_f32 v5, v4, v1"),
]
_CDNA3 = [
    ("valu-exec-matrix", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_mfma_f32_4x4x1_16b_f32 a[0:3], v10, v11, a[0:3]"),
    ("valu-vgpr-matrix", "v_mov_b32 v10, 0; v_mfma_f32_4x4x1_16b_f32 a[0:3], v10, v11, a[0:3]"),
    ("transcendental-result", "v_exp_f32 v10, v1; v_add_f32 v11, v10, v1"),
    ("transcendental-result", "v_rcp_f64 v[10:11], v[12:13]; v_add_f32 v14, v11, v1"),
    (None, "v_exp_f32 v10, v1; v_exp_f32 v11, v10"),
    ("shifted-result", "v_mov_b32_sdwa v10, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0; v_mov_b32 v11, v10"),
    ("shifted-result", "v_mov_b32_sdwa v10, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0; v_mov_b32 v10, v1"),
    ("shifted-result", "v_cvt_pk_fp8_f32 v10, v1, v1 op_sel:[0,0,1]; v_add_f32 v11, v10, v1"),
    ("shifted-result", "v_cvt_sr_fp8_f32 v10, v1, v1 op_sel:[0,0,1,0]; v_add_f32 v11, v10, v1"),
    (None, "v_cvt_sr_fp8_f32 v10, v1, v1; v_add_f32 v11, v10, v1"),
    ("valu-sgpr-valu", "v_readfirstlane_b32 s4, v1; v_mov_b32 v10, s4"),
    ("valu-sgpr-valu", "v_cmp_eq_u32_e32 vcc, v1, v1; v_cndmask_b32_e32 v10, v1, v1, vcc"),
    ("valu-vgpr-readlane", "v_mov_b32 v10, 0; v_readfirstlane_b32 s4, v10"),
    ("valu-vgpr-readlane", "v_mov_b32 v10, 0; v_readlane_b32 s4, v10, 0"),
    ("valu-exec-readlane", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_readfirstlane_b32 s4, v10"),
    ("valu-exec-readlane", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_writelane_b32 v10, 0, 0"),
    ("matrix-result", "v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, v[12:15]; v_add_f32 v10, v4, v4"),
    ("matrix-accumulator-overwrite", "v_mfma_f32_16x16x16_f16 v[12:15], v[10:11], v[10:11], v[4:7]; v_mov_b32 v6, 0"),
    (
        "double-matrix-fma",
        "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[12:13], v[12:13], 0; v_fma_f64 v[6:7], v[10:11], v[10:11], v[10:11]",
    ),
    ("dot-result", "v_dot2_f32_f16 v4, v1, v1, v10; v_add_f32 v5, v4, v1"),
]
_CDNA4 = [
    ("valu-vgpr-permlane", "v_mov_b32 v10, 0; v_permlane16_swap_b32_e32 v10, v11"),
    ("valu-exec-permlane", "v_cmpx_eq_u32_e32 vcc, v1, v1; v_permlane32_swap_b32_e32 v10, v11"),
    (None, "v_cvt_scalef32_pk_fp4_f32 v10, v1, v1, v11; v_add_f32 v12, v10, v1"),
    ("shifted-result", "v_cvt_scalef32_sr_fp8_f32 v10, v1, v1, v11 op_sel:[0,0,1,0]; v_add_f32 v12, v10, v1"),
]
_RDNA1_AND_2 = [
    ("float-atomic-denorm-mode", "global_atomic_fmin v1, v10, s[8:9]; s_denorm_mode 3"),
    ("float-atomic-denorm-mode", "global_atomic_fcmpswap v1, v[10:11], s[8:9]; s_mov_b32 s4, 0; s_denorm_mode 3"),
    (None, "global_atomic_fmin v1, v10, s[8:9]; v_mov_b32 v11, 0; s_denorm_mode 3"),
    (None, "global_atomic_add v1, v10, s[8:9]; s_denorm_mode 3"),
]
_RDNA1 = [
    ("memory-scalar-overwrite", "global_load_dword v10, v1, s[8:9]; s_mov_b32 s8, 0"),
    ("memory-scalar-overwrite", "global_load_dword v10, v1, s[8:9]; s_load_dword s9, s[0:1], 0x0"),
    ("memory-scalar-overwrite", "ds_write_b32 v1, v10; s_mov_b32 exec_lo, -1"),
    (None, "global_load_dword v10, v1, s[8:9]; v_mov_b32 v11, 0; s_mov_b32 s8, 0"),
    ("smem-vector-overwrite", "s_load_dword s4, s[8:9], 0x0; v_readfirstlane_b32 s8, v1"),
    ("smem-vector-overwrite", "s_load_dword s4, s[8:9], 0x0; v_cmp_eq_u32_e64 s8, v1, v1"),
    (None, "s_load_dword s4, s[8:9], 0x0; s_mov_b32 s5, 0; v_readfirstlane_b32 s8, v1"),
    ("exec-cmpx-overwrite", "s_mov_b32 s4, exec_lo; v_cmpx_eq_u32_e32 v1, v1"),
    (None, "s_mov_b32 s4, exec_lo; v_cmp_eq_u32_e64 s5, v1, v1; v_cmpx_eq_u32_e32 v1, v1"),
    ("lds-branch-memory", "ds_write_b32 v1, v10; s_cbranch_scc0 0; global_load_dword v11, v1, s[8:9]"),
    ("lds-branch-memory", "global_load_dword v11, v1, s[8:9]; s_branch 0; ds_write_b32 v1, v10"),
    (None, "ds_write_b32 v1, v10; global_load_dword v11, v1, s[8:9]"),
    (None, "ds_write_b32 v1, v10; s_branch 0; ds_write_b32 v1, v10"),
]
_RDNA2 = [(None, "v_cmpx_eq_u32_e32 v1, v1; v_permlane16_b32 v10, v11, s4, s5")]
_RDNA3_AND_4 = [
    ("cmpx-permlane", "v_cmpx_eq_u32_e32 v1, v1; v_permlane16_b32 v10, v11, s16, s17"),
    ("cmpx-permlane", "v_cmpx_eq_u32_e32 v1, v1; s_mov_b32 s4, 0; v_permlanex16_b32 v10, v11, s16, s17"),
    (None, "v_cmpx_eq_u32_e32 v1, v1; v_mov_b32 v12, 0; v_permlane16_b32 v10, v11, s16, s17"),
]
_FIRST_RDNA3 = [
    ("transcendental-use", "v_exp_f32 v10, v1; v_add_f32 v11, v10, v1"),
    ("transcendental-use", "v_exp_f32 v10, v1; v_exp_f32 v11, v10"),
    ("transcendental-use", "v_rcp_f64 v[10:11], v[12:13]; v_add_f32 v14, v11, v1"),
    ("transcendental-use", "v_exp_f32 v10, v1; " + "v_mov_b32 v5, v6; " * 5 + "v_add_f32 v11, v10, v1"),
    ("transcendental-use", "v_exp_f32 v10, v1; v_exp_f32 v11, v1; v_add_f32 v11, v10, v1"),
    (None, "v_exp_f32 v10, v1; " + "v_mov_b32 v5, v6; " * 6 + "v_add_f32 v11, v10, v1"),
    (None, "v_exp_f32 v10, v1; v_exp_f32 v11, v1; v_exp_f32 v12, v1; v_add_f32 v11, v10, v1"),
    (None, "v_exp_f32 v10, v1; global_load_b32 v12, v1, s[8:9]; v_add_f32 v11, v10, v1"),
]
_EXEC_WRITE = "s_mov_b64 exec, -1"
_RDNA3_WAVE64 = [
    ("partial-forwarding", f"v_mov_b32 v10, v1; {_EXEC_WRITE}; v_mov_b32 v11, v1; v_add_f32 v12, v10, v11"),
    (
        "partial-forwarding",
        f"v_mov_b32 v10, v1; v_mov_b32 v5, v1; {_EXEC_WRITE}; v_mov_b32 v5, v1; v_mov_b32 v11, v1; "
        + "v_mov_b32 v5, v1; " * 4
        + "v_add_f32 v12, v10, v11",
    ),
    (
        None,
        f"v_mov_b32 v10, v1; v_mov_b32 v5, v1; v_mov_b32 v5, v1; {_EXEC_WRITE}; v_mov_b32 v5, v1; v_mov_b32 v11, v1; "
        "v_add_f32 v12, v10, v11",
    ),
    (
        None,
        f"v_mov_b32 v10, v1; {_EXEC_WRITE}; v_mov_b32 v11, v1; " + "v_mov_b32 v5, v1; " * 5 + "v_add_f32 v12, v10, v11",
    ),
    ("sgpr-write-after-mask", "v_cndmask_b32_e64 v10, v1, v1, s[4:5]; s_mov_b32 s4, 0; v_mov_b32 v11, s4"),
    ("sgpr-write-after-mask", "v_cndmask_b32_e64 v10, v1, v1, s[4:5]; s_mov_b64 s[4:5], 0; s_mov_b32 s6, s5"),
    ("sgpr-write-after-mask", "v_cndmask_b32_e64 v10, v1, v1, s[4:5]; v_readfirstlane_b32 s4, v1; v_mov_b32 v11, s4"),
    (
        "sgpr-write-after-mask",
        "v_cndmask_b32_e32 v10, v1, v1, vcc; v_cmp_eq_u32_e32 vcc, v1, v1; v_cndmask_b32_e32 v11, v1, v1, vcc",
    ),
    (
        "sgpr-write-after-mask",
        "v_add_co_ci_u32_e64 v10, s[4:5], v1, v1, s[6:7]; s_mov_b64 s[6:7], 0; v_add_co_ci_u32_e64 v10, s[4:5], v1, v1, s[6:7]",
    ),
    (None, "v_cndmask_b32_e64 v10, v1, v1, s[4:5]; s_mov_b32 s6, 0; v_mov_b32 v11, s6"),
    (None, "v_mov_b32 v10, s4; s_mov_b32 s4, 0; v_mov_b32 v11, s4"),
]
_RDNA3_WAVE32 = [
    (None, "v_cndmask_b32_e64 v10, v1, v1, s4; s_mov_b32 s4, 0; v_mov_b32 v11, s4"),
    (
        "matrix-result-factor",
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]; "
        "v_wmma_f32_16x16x16_f16 v[32:39], v[24:31], v[16:23], v[32:39]",
    ),
    (
        None,
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]; "
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[16:23], v[24:31]",
    ),
]
_RDNA4 = [
    ("sgpr-write-after-vector-read", "v_mov_b32 v10, s4; s_mov_b32 s4, 0; v_mov_b32 v11, s4"),
    ("sgpr-write-after-vector-read", "v_mov_b32 v10, s4; s_mov_b32 s5, 0; s_mov_b32 s6, s5"),
    ("sgpr-write-after-vector-read", "v_mov_b32 v10, s4; v_readfirstlane_b32 s5, v1; v_mov_b32 v11, s5"),
    (None, "v_mov_b32 v10, s4; v_readfirstlane_b32 s5, v1; s_mov_b32 s6, s5"),
    (None, "v_mov_b32 v10, s4; v_readfirstlane_b32 s5, v1; s_mov_b32 s6, s5; v_mov_b32 v11, s5"),
    (None, "v_mov_b32 v10, s4; s_mov_b32 s6, 0; v_mov_b32 v11, s6"),
    (None, "v_mov_b32 v10, s4; s_mov_b32 s4, 0; s_load_b32 s16, s[0:1], 0x0; v_mov_b32 v11, s4"),
    (None, "v_mov_b32 v10, s4; s_mov_b32 s4, 0; buffer_load_b32 v12, v1, s[12:15], null offen; v_mov_b32 v11, s4"),
]
_RDNA4_WAVE32 = [
    ("sgpr-write-after-vector-read", "v_cndmask_b32_e32 v10, v1, v1, vcc_lo; s_mov_b32 vcc_lo, 0; v_mov_b32 v11, vcc_lo"),
    (
        "sgpr-write-after-vector-read",
        "v_cndmask_b32_e32 v10, v1, v1, vcc_lo; v_cmp_eq_u32_e32 vcc_lo, v1, v1; v_cndmask_b32_e32 v11, v1, v1, vcc_lo",
    ),
    (
        "matrix-result-factor",
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[16:19], v[24:31]; "
        "v_wmma_f32_16x16x16_f16 v[32:39], v[24:27], v[16:19], v[32:39]",
    ),
    (
        None,
        "v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[16:19], v[24:31]; "
        "v_wmma_f32_16x16x16_f16 v[32:39], v[8:11], v[16:19], v[24:31]",
    ),
]

_DENSE = "v_wmma_f32_16x16x32_f16 v[16:23], v[24:31], v[32:39], v[40:47]"
_BYTES = "v_wmma_i32_16x16x64_iu8 v[16:23], v[24:31], v[32:39], v[40:47]"
_SPARSE = "v_swmmac_f32_16x16x64_f16 v[16:23], v[24:31], v[32:47], v48"
_MIXED = (
    "v_wmma_scale_f32_16x16x128_f8f6f4 v[16:23], v[24:35], v[36:51], v[52:59], v1, v1 "
    "matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP8"
)
_NARROW = (
    "v_wmma_f32_16x16x128_f8f6f4 v[16:23], v[24:31], v[32:43], v[44:51] matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP6"
)
_ADD = "v_add_f32 v9, v10, v10"
_GFX1250 = [
    *(("matrix-result-use", f"{first}; v_add_f32 v1, v1, v20") for first in (_DENSE, _BYTES, _SPARSE, _MIXED, _NARROW)),
    *(("matrix-factor-overwrite", f"{first}; v_add_f32 v25, v1, v1") for first in (_DENSE, _BYTES, _SPARSE, _MIXED, _NARROW)),
    ("matrix-factor-overwrite", f"{_SPARSE}; v_mov_b32 v48, 0"),
    ("matrix-result-use", f"{_DENSE}; v_add_f32 v23, v1, v1"),
    ("matrix-result-use", f"{_DENSE}; v_readlane_b32 s4, v23, 0"),
    ("matrix-result-use", f"{_DENSE}; v_dual_mov_b32 v8, v16 :: v_dual_mov_b32 v9, v10"),
    ("matrix-result-use", f"{_BYTES}; s_mov_b32 s4, 0; {_ADD}; global_load_b32 v60, v1, s[8:9]; {_ADD}; v_add_f32 v1, v1, v20"),
    ("matrix-result-factor", f"{_BYTES}; {_DENSE.replace('v[24:31]', 'v[16:23]').replace('v[16:23], ', 'v[48:55], ', 1)}"),
    ("matrix-result-factor", f"{_SPARSE}; v_wmma_f32_16x16x4_f32 v[48:55], v[16:17], v[2:3], v[48:55]"),
    (
        "matrix-result-factor",
        "v_wmma_f32_16x16x4_f32 v[16:23], v[24:25], v[26:27], v[16:23]; " + _DENSE.replace("v[24:31]", "v[16:23]"),
    ),
    (None, "v_wmma_f32_16x16x4_f32 v[16:23], v[24:25], v[26:27], v[16:23]; v_add_f32 v24, v16, v16"),
    (None, f"{_DENSE}; v_wmma_f32_16x16x32_f16 v[24:31], v[32:39], v[32:39], v[16:23]"),
    (None, f"{_DENSE}; v_add_f32 v40, v1, v1"),
    (None, f"{_BYTES}; " + f"{_ADD}; " * 8 + "v_add_f32 v1, v1, v20"),
    (None, f"{_DENSE}; global_load_b32 v16, v1, s[8:9]"),
    ("transcendental-use", "v_exp_f32 v10, v11; s_mov_b32 s4, 0; v_add_f32 v12, v1, v10"),
    ("transcendental-use", "v_tanh_bf16 v10, v11; v_add_f32 v12, v1, v10"),
    ("transcendental-use", "v_rcp_f64 v[10:11], v[12:13]; v_add_f32 v1, v1, v11"),
    ("transcendental-use", f"v_exp_f32 v30, v11; {_DENSE}"),
    ("transcendental-use", "v_s_exp_f32 s4, s5; v_add_f32 v1, v1, s4"),
    ("transcendental-overwrite", "v_exp_f32 v10, v11; v_add_f32 v11, v1, v1"),
    ("transcendental-overwrite", "v_exp_f32 v10, s4; v_readfirstlane_b32 s4, v1"),
    (None, "v_exp_f32 v10, s4; v_cmp_eq_u32_e64 s4, 0, v1"),
    (None, "v_s_exp_f32 s5, s4; v_cmp_lt_f32_e64 s4, v1, v2"),
    (None, "v_exp_f32 v10, v11; v_exp_f32 v12, v10"),
    (None, f"v_exp_f32 v10, v11; {_ADD}; v_add_f32 v12, v1, v10".replace("v9, v10, v10", "v9, v1, v1")),
    (None, "v_exp_f32 v10, v11; v_mov_b32 v10, 0"),
    ("cmpx-permlane", "v_cmpx_eq_u32_e32 v1, v1; v_permlane16_swap_b32 v10, v11"),
]


def pairs(target: str, wave: int) -> list[tuple[str | None, list[str]]]:
    rows = list(_GFX9 if _is_gfx9(target) else [])
    rows += {
        "gfx900": _MOVREL,
        "gfx906": _MOVREL,
        "gfx908": _MOVREL + _CDNA1,
        "gfx90a": _MOVREL + _CDNA2,
        "gfx942": _MOVREL + _CDNA3,
        "gfx950": _MOVREL + _CDNA3 + _CDNA4,
        "gfx1010": _RDNA1_AND_2 + _RDNA3_AND_4 + (_RDNA1 if wave == 32 else []),
        "gfx1030": _RDNA1_AND_2 + _RDNA2,
        "gfx1100": _RDNA3_AND_4 + _FIRST_RDNA3,
        "gfx1151": _RDNA3_AND_4 + [(None, text) for _, text in _FIRST_RDNA3],
        "gfx1250": _RDNA3_AND_4 + _GFX1250,
        "gfx1251": _RDNA3_AND_4 + _GFX1250,
        "gfx1200": _RDNA3_AND_4 + _RDNA4 + _RDNA4_WAVE32,
        "gfx1201": _RDNA3_AND_4 + _RDNA4 + (_RDNA4_WAVE32 if wave == 32 else []),
    }[target]
    if target in ("gfx1100", "gfx1151"):
        rows += _RDNA3_WAVE64 if wave == 64 else _RDNA3_WAVE32
    return [(rule, [line.strip() for line in text.split(";")]) for rule, text in rows]


_POOL = [
    "v_mov_b32 {v}, {v}",
    "v_add_f32 {v}, {v}, {v}",
    "v_mov_b32 {v}, {s}",
    "v_readfirstlane_b32 {s}, {v}",
    "v_readlane_b32 {s}, {v}, {s}",
    "v_cmp_eq_u32_e32 {vcc}, {v}, {v}",
    "v_cmp_eq_u32_e64 {m}, {v}, {v}",
    "v_cndmask_b32_e32 {v}, {v}, {v}, {vcc}",
    "v_cndmask_b32_e64 {v}, {v}, {v}, {m}",
    "v_div_fmas_f32 {v}, {v}, {v}, {v}",
    "v_exp_f32 {v}, {v}",
    "v_fma_f64 {v2}, {v2}, {v2}, {v2}",
    "s_mov_b32 {s}, {s}",
    "s_add_u32 {s}, {s}, {s}",
]
_GFX9_POOL = [
    "global_store_dword v1, {v}, s[8:9]",
    "global_store_dwordx4 v1, {v4}, s[8:9]",
    "global_load_dword v60, v1, s[8:9]",
    "buffer_load_dword v60, v1, s[12:15], 0 offen",
    "v_mov_b32_dpp v56, {v} row_shr:1 row_mask:0xf bank_mask:0xf",
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
    "s_getreg_b32 {s}, hwreg(HW_REG_MODE)",
]
_MATRIX_POOL = {
    "gfx908": [
        "v_accvgpr_read_b32 {v}, {a}",
        "v_accvgpr_write_b32 {a}, {v}",
        "v_mfma_f32_4x4x1f32 {a4}, {v}, {a}, {a4}",
        "v_mfma_f32_16x16x4f32 {a4}, {v}, {a}, {a4}",
        "v_mfma_f32_32x32x2f32 {a16}, {v}, {a}, {a16}",
        "v_mfma_f32_16x16x8bf16 {a4}, {v}, {v}, {a4}",
        "v_mfma_i32_4x4x4i8 {a4}, {v}, {v}, {a4}",
    ],
    "gfx90a": [
        "v_accvgpr_read_b32 {v}, {a}",
        "v_accvgpr_write_b32 {a}, {v}",
        "v_mfma_f32_4x4x1f32 {a4}, {v}, {a}, {a4}",
        "v_mfma_f32_16x16x4f32 {v4}, {v}, {a}, {v4}",
        "v_mfma_f32_32x32x2f32 {a16}, {v}, {v}, {a16}",
        "v_mfma_f64_4x4x4f64 {v2}, {v2}, {v2}, {v2}",
        "v_mfma_f64_16x16x4f64 {a8}, {v2}, {v2}, {a8}",
        "v_dot2_f32_f16 {v}, {v}, {v}, {v}",
        "v_dot4_i32_i8 {v}, {v}, {v}, {v}",
    ],
    "gfx942": [
        "v_accvgpr_read_b32 {v}, {a}",
        "v_accvgpr_write_b32 {a}, {v}",
        "v_mfma_f32_4x4x1_16b_f32 {a4}, {v}, {a}, {a4}",
        "v_mfma_f32_16x16x4_f32 {v4}, {v}, {a}, {v4}",
        "v_mfma_f32_16x16x16_f16 {v4}, {v2}, {v2}, {v4}",
        "v_mfma_f32_4x4x4_16b_f16 {v4}, {v2}, {v2}, {v4}",
        "v_mfma_f32_32x32x8_f16 {a16}, {v2}, {v2}, {a16}",
        "v_mfma_f64_4x4x4_4b_f64 {v2}, {v2}, {v2}, {v2}",
        "v_mfma_f64_16x16x4_f64 {a8}, {v2}, {v2}, {a8}",
        "v_smfmac_f32_16x16x32_f16 {v4}, {v2}, {v4}, {v}",
        "v_dot2_f32_f16 {v}, {v}, {v}, {v}",
        "v_mov_b32_sdwa {v}, {v} dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
        "v_cvt_pk_fp8_f32 {v}, {v}, {v} op_sel:[0,0,1]",
    ],
}
_MATRIX_POOL["gfx950"] = [
    *_MATRIX_POOL["gfx942"],
    "v_mfma_f32_16x16x32_f16 {v4}, {v4}, {v4}, {v4}",
    "v_mfma_f32_16x16x128_f8f6f4 {v4}, {v8}, {v8}, {v4}",
    "v_mfma_f32_16x16x128_f8f6f4 {v4}, {v4}, {v4}, {v4} cbsz:4 blgp:4",
    "v_permlane16_swap_b32_e32 {v}, {v}",
    "v_cvt_scalef32_pk_fp4_f32 {v}, {v}, {v}, {v}",
    "v_cvt_scalef32_sr_fp8_f32 {v}, {v}, {v}, {v} op_sel:[0,0,1,0]",
]
_RDNA_POOL = [
    "v_cmpx_eq_u32_e32 {v}, {v}",
    "v_permlane16_b32 {v}, {v}, {s}, {s}",
    "s_mov_{b} {exec}, -1",
    "v_add_co_ci_u32_e64 {v}, {m}, {v}, {v}, {m}",
]


# LLVM 22 does not look for transcendental instructions beside matrix instructions, and of several matrix instructions that
# are waited for it asks one alone how long it takes: each has registers of its own here.
_GFX1250_POOL = [
    "v_exp_f32 {x}, {x}",
    "v_exp_f32 {x}, {s}",
    "v_s_exp_f32 {s}, {s}",
    "v_add_f32 {x}, {x}, {x}",
    "v_wmma_f32_16x16x32_f16 {v8}, v[72:79], {v8}, v[80:87]",
    "v_wmma_f32_16x16x32_f16 v[88:95], {v8}, {v8}, v[80:87]",
    "v_wmma_f32_16x16x128_fp8_bf8 {v8}, v[40:55], v[40:55], v[80:87]",
    "v_wmma_f32_16x16x4_f32 v[88:95], {v2}, {v2}, v[80:87]",
    "v_wmma_i32_16x16x64_iu8 v[24:31], v[72:79], v[24:31], v[80:87]",
    "v_add_f32 {y}, {y}, {y}",
    "v_swmmac_f32_16x16x64_f16 v[64:71], v[72:79], v[32:47], {z}",
    "v_add_f32 {z}, {z}, {z}",
    "global_load_b32 v60, v1, s[8:9]",
]
_OWN = {"x": (56, 60), "y": (24, 32), "z": (64, 68)}


def pool(target: str, wave: int) -> list[str]:
    """Templates for :func:`fill`."""
    templates = list(_POOL)
    if target in ("gfx1250", "gfx1251"):
        return [t for t in templates if "v_exp" not in t] + _RDNA_POOL + _GFX1250_POOL
    if _is_gfx9(target):
        return templates + _GFX9_POOL + _MATRIX_POOL.get(target, [])
    templates += _RDNA_POOL
    if target in _GFX10:
        return [*templates, "global_atomic_fmin v1, {v}, s[8:9]", "s_denorm_mode 15", "global_load_dword v60, v1, s[8:9]"]
    # Of memory accesses that pass addresses in SGPRs, newer versions of LLVM say that they end RDNA4's hazard; 22 does not.
    load = "global_load_b32 v60, v1, s[8:9]" if target.startswith("gfx11") else "buffer_load_b32 v60, v1, s[12:15], null offen"
    templates += [load, "s_load_b32 s20, s[0:1], 0x0", "ds_bpermute_b32 v60, {v}, {v}"]
    if wave == 32:
        factor = "{v8}" if target in ("gfx1100", "gfx1151") else "{v4}"
        templates += [f"v_wmma_f32_16x16x16_f16 v[40:47], {factor}, {factor}, v[40:47]"] * 2
        templates += [f"v_wmma_f32_16x16x16_f16 {{v8}}, v[48:{55 if factor == '{v8}' else 51}], {factor}, v[32:39]"]
    return templates


def fill(rng: random.Random, template: str, target: str, wave: int) -> str:
    """The template with registers from a small set, so that they meet."""

    def register(found: re.Match) -> str:
        kind, words = found[1], int(found[2] or 1)
        if kind in ("v", "a"):
            low = 10 if kind == "v" else 0
            first = low + (rng.randrange(7) if words == 1 else 2 * rng.randrange(3))
            return f"{kind}{first}" if words == 1 else f"{kind}[{first}:{first + words - 1}]"
        if kind in _OWN:
            return f"v{rng.randrange(*_OWN[kind])}"
        if kind == "s":
            return f"s{rng.choice((4, 5, 6, 7))}"
        if kind == "m":
            return rng.choice(("s[4:5]", "s[6:7]")) if wave == 64 else rng.choice(("s4", "s5", "s6", "s7"))
        wide = wave == 64
        return {"vcc": "vcc" if wide else "vcc_lo", "exec": "exec" if wide else "exec_lo", "b": "b64" if wide else "b32"}[kind]

    text = re.sub(r"\{(vcc|exec|v|a|s|m|b|x|y|z)(\d*)\}", register, template)
    if template.startswith("v_mfma"):
        # The accumulator is the result, or lies apart from it.
        result, accumulator = (
            re.search(where, text) for where in (r"([av])\[(\d+):(\d+)\],", r"([av])\[(\d+):(\d+)\]( cbsz.*)?$")
        )
        if result and accumulator and result[1] == accumulator[1] and abs(int(result[2]) - int(accumulator[2])) < 16:
            text = text[: accumulator.start()] + result[0][:-1] + (accumulator[4] or "")
    return text


def is_needless(target: str, wave: int, lines: list[str], at: int, piece: str) -> bool:
    """llc puts it there, but nothing in the sequence needs it, or AMD's manuals do not ask for it."""
    if target in ("gfx1100", "gfx1151") and wave == 64 and piece.startswith("s_waitcnt_depctr"):
        # Behind a write of a mask llc waits whether an instruction reads it or not.
        return piece.split()[1] != "0xf9f"
    if target in ("gfx942", "gfx950") and lines[at - 1].startswith("v_dot2_"):
        # llc takes the default op_sel_hi of a packed instruction for the bit that says which half is written.
        return True
    if target == "gfx908" and lines[at].startswith("v_accvgpr_"):
        # llc waits as long as for the longest of the matrix instructions on the way to the one that is waited for.
        return len({line.split()[0] for line in lines[:at] if line.startswith("v_mfma")}) > 1
    if target == "gfx1010" and lines[at].startswith("v_cmpx"):
        # To llc the lane that a VALU instruction reads is no result in an SGPR.
        return any(line.startswith(("v_readlane", "v_readfirstlane")) for line in lines[:at])
    if "_dpp " in lines[at]:
        # The manuals ask about the registers that are read, not about the one that keeps its lanes.
        kept = re.split(r"[ ,]+", lines[at])[1]
        return any(re.split(r"[ ,]+", line)[1] == kept for line in lines[max(0, at - 2) : at])
    return False
