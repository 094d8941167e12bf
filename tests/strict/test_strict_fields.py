"""Strict mode on bits of registers that are only partly defined, as code for halves of registers has them."""

from __future__ import annotations

import numpy as np
import pytest
from hazard_oracle import assemble

import luthier as lt

#: v3's low half is defined, the high one is not; v0 and v6 are, v9 is not at all.
START = [
    "s_load_b64 s[4:5], s[0:1], 0x0",
    "v_lshlrev_b32 v1, 2, v0",
    "v_mov_b16 v3.l, v0.l",
    "v_mov_b32 v6, v0",
    "s_waitcnt lgkmcnt(0)",
]
STORE = "global_store_b32 v1, v2, s[4:5]"
#: The same with what RDNA2 and gfx9 have: there v3 is loaded, and its high half kept, or merged.
GFX10 = ["s_load_dwordx2 s[4:5], s[0:1], 0x0", "v_lshlrev_b32_e32 v1, 2, v0", "v_mov_b32_e32 v6, v0", "s_waitcnt lgkmcnt(0)"]
PART = "v_and_b32_e32 v3, 0xffff0000, v9\nv_or_b32_e32 v3, v0, v3"

FIELDS = [
    ("v_bfe_i32 v2, v3, 0, 16", False),
    ("v_bfe_u32 v2, v3, 3, 13", False),
    ("v_bfe_u32 v2, v3, 3, 14", True),
    ("v_bfe_i32 v2, v3, 16, 8", True),
    ("v_bfe_u32 v2, v3, v0, 4", True),
    ("v_bfe_i32 v2, v3, 12, 8\nv_and_b32 v2, 15, v2", False),
    ("v_bfe_i32 v2, v3, 12, 8\nv_and_b32 v2, 16, v2", True),
    ("v_bfrev_b32 v2, v3", True),
    ("v_bfrev_b32 v2, v3\nv_lshrrev_b32 v2, 16, v2", False),
    ("v_bfrev_b32 v2, v3\nv_lshrrev_b32 v2, 15, v2", True),
    ("v_cvt_f32_ubyte1 v2, v3", False),
    ("v_cvt_f32_ubyte2 v2, v3", True),
    ("v_perm_b32 v2, v3, v0, 0x0c050403", False),
    ("v_perm_b32 v2, v3, v0, 0x0c060403", True),
    ("v_perm_b32 v2, v0, v3, 0x080d0100", False),
    ("v_perm_b32 v2, v0, v3, 0x09040400", True),
    ("v_perm_b32 v2, v3, v0, v6", True),
    ("v_alignbit_b32 v2, v3, v0, 16", False),
    ("v_alignbit_b32 v2, v3, v0, 17", True),
    ("v_alignbyte_b32 v2, v3, v0, 2", False),
    ("v_alignbyte_b32 v2, v3, v0, 3", True),
    ("v_bfi_b32 v2, 0xffff, v3, v0", False),
    ("v_bfi_b32 v2, 0x1ffff, v3, v0", True),
    ("v_and_or_b32 v2, v3, 0xffff, v0", False),
    ("v_and_or_b32 v2, v3, 0x18000, v0", True),
    ("v_or3_b32 v2, v3, 0xffff0000, v0", False),
    ("v_or3_b32 v2, v3, 0xfffe0000, v0", True),
    ("v_lshl_or_b32 v2, v3, 16, v0", False),
    ("v_lshl_or_b32 v2, v3, 15, v0", True),
    ("v_ashrrev_i32 v2, 8, v3\nv_and_b32 v2, 0xff, v2", False),
    ("v_ashrrev_i32 v2, 8, v3\nv_and_b32 v2, 0x1ff, v2", True),
    ("v_lshlrev_b32 v2, v3, v0", False),
    ("v_lshlrev_b32 v2, v9, v0", True),
    ("v_mul_u32_u24 v2, v3, v0", True),
]
HALVES = [
    ("v_mov_b16 v2.h, v3.l\nv_mov_b16 v2.l, v0.l", False),
    ("v_mov_b16 v2.l, v3.h\nv_mov_b16 v2.h, v0.l", True),
    ("v_mov_b32 v2, v0\nv_mov_b16 v2.h, v3.h\nv_and_b32 v2, 0xffff, v2", False),
    ("v_mov_b32 v2, v0\nv_and_b16 v2.h, 0xff, v3.l", False),
    ("v_mov_b32 v2, v0\nv_and_b16 v2.h, 0xff, v3.h", True),
    ("v_mov_b32 v2, v0\nv_and_b16 v2.l, 0, v3.h", False),
    ("v_mov_b32 v2, v0\nv_add_nc_u16 v2.l, v3.h, v3.l\nv_and_b32 v2, 0xffff0000, v2", False),
    ("v_mov_b32 v2, v0\nv_add_nc_u16 v2.l, v3.h, v3.l", True),
    ("v_mov_b32 v2, v0\nv_lshlrev_b16 v2.l, 8, v3.h\nv_and_b32 v2, 0xff, v2", False),
    ("v_mov_b32 v2, v0\nv_lshlrev_b16 v2.l, 7, v3.h\nv_and_b32 v2, 0xff, v2", True),
    ("v_mov_b32 v2, v0\nv_cndmask_b16 v2.l, v3.l, v3.h, s8", False),
    ("v_mov_b32 v2, v0\nv_cndmask_b16 v2.l, v3.h, v3.l, s8", True),
    ("v_pk_add_u16 v2, v3, v0\nv_and_b32 v2, 0xffff, v2", False),
    ("v_pk_add_u16 v2, v3, v0", True),
    ("v_pk_add_u16 v2, v3, v0 op_sel_hi:[0,1]", False),
    ("v_pk_add_f16 v2, v3, v0 op_sel:[1,0] op_sel_hi:[0,0]\nv_lshrrev_b32 v2, 16, v2", False),
    ("v_pk_add_f16 v2, v3, v0 op_sel:[1,0] op_sel_hi:[0,0]", True),
    ("v_pack_b32_f16 v2, v3.l, v3.l", False),
    ("v_pack_b32_f16 v2, v3.h, v3.l\nv_lshrrev_b32 v2, 16, v2", False),
    ("v_pack_b32_f16 v2, v3.h, v3.l", True),
    ("v_cvt_pk_rtz_f16_f32 v2, v9, v0\nv_lshrrev_b32 v2, 16, v2", False),
    ("v_cvt_pk_rtz_f16_f32 v2, v9, v0\nv_lshrrev_b32 v2, 15, v2", True),
    ("v_mad_u32_u16 v2, v3.l, v0.l, v0", False),
    ("v_mad_u32_u16 v2, v0.l, v0.l, v3", True),
]
SCALARS = [
    ("s_pack_ll_b32_b16 s6, s7, s7", False),
    ("s_pack_lh_b32_b16 s6, s7, s7", True),
    ("s_pack_hl_b32_b16 s6, s8, s7", False),
    ("s_sext_i32_i16 s6, s7", False),
    ("s_bfe_u32 s6, s7, 0xc0004", False),
    ("s_bfe_u32 s6, s7, 0xd0004", True),
    ("s_lshl_b32 s6, s7, 16", False),
    ("s_lshl_b32 s6, s7, 15", True),
    ("s_ashr_i32 s6, s7, 4\ns_and_b32 s6, s6, 0xfff", False),
    ("s_lshr_b32 s6, s7, 4", True),
]
RDNA2 = [
    ("v_add_nc_u16 v2, v3, v0\nv_and_b32_e32 v2, 0xffff, v2", False),
    ("v_add_nc_u16 v2, v3, v0 op_sel:[1,0,0]\nv_and_b32_e32 v2, 0xffff, v2", True),
    ("v_mov_b32_e32 v2, v0\nv_add_nc_u16 v2, v3, v0", False),
    ("v_mov_b32_e32 v2, v0\nv_add_nc_u16 v2, v3, v0 op_sel:[1,0,0]", True),
    ("v_mov_b32_e32 v2, v0\nv_fmac_f16_e32 v2, v3, v0", False),
    ("v_fmac_f16_e32 v2, v3, v0\nv_and_b32_e32 v2, 0xffff, v2", True),
]
SDWA = [
    ("v_and_b32_sdwa v2, v3, v0 src0_sel:WORD_0 src1_sel:DWORD", False),
    ("v_and_b32_sdwa v2, v3, v0 src0_sel:WORD_1 src1_sel:DWORD", True),
    ("v_mov_b32_sdwa v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1", False),
    ("v_mov_b32_sdwa v2, v3 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_2\nv_lshrrev_b32_e32 v2, 8, v2", False),
    ("v_mov_b32_sdwa v2, v3 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_2", True),
    ("v_mov_b32_e32 v2, v0\nv_mov_b32_sdwa v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", False),
    ("v_mov_b32_sdwa v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", True),
    ("v_mov_b32_sdwa v2, sext(v3) dst_sel:DWORD src0_sel:BYTE_1", False),
    ("v_mov_b32_sdwa v2, sext(v3) dst_sel:DWORD src0_sel:BYTE_3", True),
]


def _kinds(target: str, lines: list[str], wave: int, tmp_path) -> list[str]:
    path = assemble({"k": lines}, target, wave, tmp_path)
    memory = np.zeros(64, np.uint32)
    result = lt.Device(target).load(path).run("k", grid=wave, block=wave, args=[memory], strict=["undefined-register"])
    return [finding["kind"] for finding in result.findings]


@pytest.mark.parametrize(("line", "found"), FIELDS + HALVES)
def test_a_field_is_what_it_takes(line: str, found: bool, tmp_path) -> None:
    lines = [*START, "s_mov_b32 s8, 0", line, STORE]
    assert _kinds("gfx1100", lines, 32, tmp_path) == ["undefined-register"] * found


@pytest.mark.parametrize(("line", "found"), SCALARS)
def test_scalar_fields(line: str, found: bool, tmp_path) -> None:
    # s7's upper half is undefined.
    half = ["s_mov_b32 s8, 0", "v_readfirstlane_b32 s30, v3", "s_mov_b32 s7, s30"]
    lines = [*START, *half, line, "v_mov_b32 v2, s6", STORE]
    assert _kinds("gfx1100", lines, 32, tmp_path) == ["undefined-register"] * found


@pytest.mark.parametrize(
    ("target", "line", "found"), [("gfx1030", *one) for one in RDNA2 + SDWA] + [("gfx90a", *one) for one in SDWA]
)
def test_halves_without_names(target: str, line: str, found: bool, tmp_path) -> None:
    wave = 32 if target == "gfx1030" else 64
    lines = [*GFX10, PART, line, "global_store_dword v1, v2, s[4:5]"]
    assert _kinds(target, lines, wave, tmp_path) == ["undefined-register"] * found


#: v7 is 0xffff.
TABLES = [
    ("gfx950", "v_bitop3_b32 v2, v3, v7, v9 bitop3:0xc0", False),
    ("gfx950", "v_bitop3_b32 v2, v3, v7, v9 bitop3:0xfc", True),
    ("gfx950", "v_bitop3_b32 v2, v3, v7, v9 bitop3:0x80", True),
    ("gfx950", "v_bitop3_b32 v2, v9, v9, v7 bitop3:0xaa", False),
    ("gfx1250", "v_dual_mov_b32 v8, v0 :: v_dual_bitop2_b32 v5, v3, v7 bitop3:0x40\nv_mov_b32 v2, v5", False),
    ("gfx1250", "v_dual_mov_b32 v8, v0 :: v_dual_bitop2_b32 v5, v3, v7 bitop3:0x54\nv_mov_b32 v2, v5", True),
]


@pytest.mark.parametrize(("target", "line", "found"), TABLES)
def test_truth_tables(target: str, line: str, found: bool, tmp_path) -> None:
    narrow = target == "gfx1250"
    start = ["s_load_b64 s[4:5], s[0:1], 0x0", "s_wait_kmcnt 0x0", "v_lshlrev_b32_e32 v1, 2, v0"] if narrow else GFX10
    store = STORE if narrow else STORE.replace("_b32", "_dword")
    lines = [*start, PART, "v_mov_b32_e32 v7, 0xffff", line, store]
    assert _kinds(target, lines, 32 if narrow else 64, tmp_path) == ["undefined-register"] * found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("v_movreld_b32 v6, v0", False),
        ("v_movreld_b32 v7, v0", True),
        ("v_movrels_b32 v2, v6", False),
        ("v_movrels_b32 v2, v7", True),
    ],
)
def test_a_load_in_flight_matters_where_m0_leads(line: str, found: bool, tmp_path) -> None:
    lines = [*START, "s_mov_b32 m0, 1", "v_mov_b32 v7, v0", "global_load_b32 v8, v1, s[4:5]", line]
    path = assemble({"k": [*lines, "s_waitcnt vmcnt(0)"]}, "gfx1100", 32, tmp_path)
    args = [np.zeros(64, np.uint32)]
    result = lt.Device("gfx1100").load(path).run("k", grid=32, block=32, args=args, strict=["missing-wait"])
    assert [finding["kind"] for finding in result.findings] == ["missing-wait"] * found
