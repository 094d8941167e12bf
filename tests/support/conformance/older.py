"""What RDNA 1 and 2 call the instructions of RDNA 3's table: LLVM's assembler knows those under the older names only."""

from __future__ import annotations

import re

_EXACTLY = {
    "v_cvt_floor_i32_f32": "v_cvt_flr_i32_f32",
    "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_cls_i32": "v_ffbh_i32",
    "v_dot2acc_f32_f16": "v_dot2c_f32_f16",
    "s_clz_i32_u32": "s_flbit_i32_b32",
    "s_clz_i32_u64": "s_flbit_i32_b64",
    "s_cls_i32": "s_flbit_i32",
    "s_cls_i32_i64": "s_flbit_i32_i64",
    "s_ctz_i32_b32": "s_ff1_i32_b32",
    "s_ctz_i32_b64": "s_ff1_i32_b64",
}
_PARTS = (
    (r"^v_cvt_pk_norm_", "v_cvt_pknorm_"),
    (r"^v_cvt_pk_rtz_", "v_cvt_pkrtz_"),
    (r"^(v_\w+)_dx9_zero_f32$", r"\1_legacy_f32"),
    (r"^(v_cmpx?)_t_", r"\1_tru_"),
    (r"^s_(and|or)_not0_", r"s_\1n1_"),
    (r"^s_(and|or)_not1_", r"s_\1n2_"),
)
_LOADED = {"u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort", "b8": "byte", "b16": "short"}
_LOADED |= {"b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4", "b256": "dwordx8", "b512": "dwordx16"}
_MINIMA = {"min_i": "smin", "min_u": "umin", "max_i": "smax", "max_u": "umax", "min_f": "fmin", "max_f": "fmax"}
_IN_LDS = (
    (r"^ds_(load|store)_2addr_stride64_", r"ds_\g<1>2st64_"),
    (r"^ds_(load|store)_2addr_", r"ds_\g<1>2_"),
    (r"^ds_load", "ds_read"),
    (r"^ds_storexchg_2addr_stride64_", "ds_wrxchg2st64_"),
    (r"^ds_storexchg_2addr_", "ds_wrxchg2_"),
    (r"^ds_storexchg_", "ds_wrxchg_"),
    (r"^ds_store", "ds_write"),
)


def older(name: str) -> str:
    """``global_load_b64`` is ``global_load_dwordx2``. (``ds_cmpstore`` stays what it is: ``ds_cmpst`` has its operands the
    other way round.)"""
    if name in _EXACTLY:
        return _EXACTLY[name]
    if name.startswith("ds_"):
        for pattern, replacement in _IN_LDS:
            name = re.sub(pattern, replacement, name)
        return name
    match = re.fullmatch(r"(\w+_(?:load|store))_(d16_)?(hi_)?(\w?\d+)", name)
    if match and match[4] in _LOADED:
        halves = "_d16" * bool(match[2]) + "_hi" * bool(match[3])
        return f"{match[1]}_{_LOADED[match[4]]}{halves}"
    match = re.fullmatch(r"(\w+_atomic)_(\w+)_([biuf])(32|64)", name)
    if match and (match[3] != "f" or match[2] != "add"):
        wide = "_x2" if match[4] == "64" else ""
        kind = "fcmpswap" if match.group(2, 3) == ("cmpswap", "f") else match[2]
        what = _MINIMA.get(f"{match[2]}_{match[3]}", kind)
        return f"{match[1]}_{what}{wide}"
    for pattern, replacement in _PARTS:
        name = re.sub(pattern, replacement, name)
    return name
