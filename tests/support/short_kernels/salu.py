"""Random scalar instructions, by what they read and write: ``d``, ``a`` and ``b`` are 32 bits, ``D``, ``A`` and ``B`` 64."""

from __future__ import annotations

_THREE = """add_u32 addc_u32 sub_u32 subb_u32 add_i32 sub_i32 and_b32 or_b32 xor_b32 andn2_b32 orn2_b32 nand_b32 nor_b32 xnor_b32
    lshl_b32 lshr_b32 ashr_i32 mul_i32 mul_hi_u32 mul_hi_i32 min_i32 min_u32 max_i32 max_u32 cselect_b32 bfe_u32 bfm_b32
    lshl1_add_u32 lshl2_add_u32 lshl3_add_u32 lshl4_add_u32 pack_ll_b32_b16 pack_lh_b32_b16 pack_hh_b32_b16""".split()
#: What chains of wide numbers and addresses are made of: more of these.
_OFTEN = ["add_u32", "addc_u32", "addc_u32", "sub_u32", "subb_u32", "cselect_b32", "cselect_b32", "mul_i32", "mul_hi_u32"]
_TWO = [
    "mov_b32",
    "mov_b32",
    "not_b32",
    "abs_i32",
    "sext_i32_i8",
    "sext_i32_i16",
    "ff1_i32_b32",
    "flbit_i32_b32",
    "bcnt1_i32_b32",
]
_WIDE_THREE = "and_b64 or_b64 xor_b64 andn2_b64 orn2_b64 nand_b64 nor_b64 xnor_b64 cselect_b64".split()
_WIDE_SHIFTS = ["lshl_b64", "lshr_b64", "ashr_i64", "bfe_u64"]
_COMPARED = [f"cmp_{how}_{kind}" for how in ("eq", "lg", "gt", "ge", "lt", "le") for kind in ("i32", "u32")]


#: What native code leaves to the interpreter.
FOREIGN = [
    "s_cmov_b32 d, a",
    "s_cmov_b64 D, A",
    "s_cmovk_i32 d, 77",
    "s_brev_b32 d, a",
    "s_bfe_i32 d, a, b",
    "s_quadmask_b32 d, a",
]


def forms(processor: str) -> list[str]:
    """Those of a processor that have native forms, the frequent ones more than once."""
    is_gfx12, is_old = processor[:5] == "gfx12", processor[:4] == "gfx9"
    found = [f"s_{name} d, a, b" for name in _THREE + _OFTEN]
    found += [f"s_{name} d, a" for name in _TWO]
    found += [
        "s_absdiff_i32 d, a, b",
        "s_bfe_i32 d, a, 0x90003",
        "s_bfe_i32 d, a, 0x100010",
        "s_bitset0_b32 d, a",
        "s_bitset1_b32 d, a",
    ]
    found += ["s_movk_i32 d, -1234", "s_mulk_i32 d, -3"]
    # The same instruction has another name on gfx12.
    found += ["s_addk_co_i32 d, -77" if is_gfx12 else "s_addk_i32 d, -77"]
    found += [f"s_{name} D, A, B" for name in _WIDE_THREE] + [f"s_{name} D, A, b" for name in _WIDE_SHIFTS]
    found += ["s_mov_b64 D, A", "s_not_b64 D, A", "s_bfm_b64 D, a, b", "s_bfe_i64 D, A, 0x140007"]
    found += ["s_bcnt1_i32_b64 d, A", "s_ff1_i32_b64 d, A", "s_flbit_i32_b64 d, A", "s_mov_b64 D, 0x1234567"]
    found += [f"s_{name} a, b" for name in _COMPARED * 2] + ["s_cmp_eq_u64 A, B", "s_cmp_lg_u64 A, B"]
    found += ["s_bitcmp0_b32 a, b", "s_bitcmp1_b32 a, b", "s_bitcmp1_b64 A, b"]
    if not is_gfx12:
        found += ["s_cmpk_lg_u32 a, 0x1234", "s_cmpk_gt_i32 a, -5", "s_cmpk_lt_u32 a, 70", "s_cmpk_eq_i32 a, 0"]
    else:
        found += ["s_mul_u64 D, A, B", "s_add_nc_u64 D, A, B", "s_sub_nc_u64 D, A, B"] * 2
    if not is_old:
        found += ["s_pack_hl_b32_b16 d, a, b"] if processor[:5] in ("gfx11", "gfx12") else []
    return found
