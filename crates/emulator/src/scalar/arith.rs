//! Scalar arithmetic, shifts, bit fields and comparisons.

use super::{next, s32, s64, set32};
use crate::op::{Handler, Op};
use crate::wave::Wave;

fn set_nz32(w: &mut Wave, op: &Op, value: u32) {
    set32(w, op, value);
    w.set_scc(value != 0);
}

fn set_nz64(w: &mut Wave, op: &Op, value: u64) {
    w.set_s64(op.sdst, value);
    w.set_scc(value != 0);
}

fn set_carry(w: &mut Wave, op: &Op, value: u32, scc: bool) {
    set32(w, op, value);
    w.set_scc(scc);
}

fn shl_add(w: &mut Wave, op: &Op, by: u32) {
    let sum = (u64::from(s32(w, op, 0)) << by) + u64::from(s32(w, op, 1));
    set_carry(w, op, sum as u32, sum >> 32 != 0);
}

fn bfe_u(value: u64, offset: u32, width: u32, bits: u32) -> u64 {
    let value = if offset >= bits { 0 } else { value >> offset };
    if width >= 64 { value } else { value & ((1u64 << width) - 1) }
}

fn bfe_i(value: i64, offset: u32, width: u32) -> i64 {
    if width == 0 {
        return 0;
    }
    let value = value >> offset.min(63);
    if width >= 64 { value } else { value << (64 - width) >> (64 - width) }
}

fn compare(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> bool) {
    let scc = f(s32(w, op, 0), s32(w, op, 1));
    w.set_scc(scc);
}

fn compare_k(w: &mut Wave, op: &Op, f: impl Fn(u32, i64) -> bool) {
    let scc = f(s32(w, op, 0), op.imm as i64);
    w.set_scc(scc);
}

/// Index of the highest bit that differs from the sign, counted from the top; -1 if none does.
fn flbit_signed(value: i64, bits: u32) -> u32 {
    let folded = (value ^ (value >> 63)) as u64;
    if folded == 0 { u32::MAX } else { folded.leading_zeros() - (64 - bits) }
}

pub(super) fn lookup(base: &str) -> Option<Handler> {
    match base {
        "s_add_u32" => next!(|w, op| {
            let (sum, carry) = s32(w, op, 0).overflowing_add(s32(w, op, 1));
            set_carry(w, op, sum, carry)
        }),
        "s_sub_u32" => next!(|w, op| {
            let (sum, carry) = s32(w, op, 0).overflowing_sub(s32(w, op, 1));
            set_carry(w, op, sum, carry)
        }),
        "s_add_i32" => next!(|w, op| {
            let (sum, over) = (s32(w, op, 0) as i32).overflowing_add(s32(w, op, 1) as i32);
            set_carry(w, op, sum as u32, over)
        }),
        "s_sub_i32" => next!(|w, op| {
            let (sum, over) = (s32(w, op, 0) as i32).overflowing_sub(s32(w, op, 1) as i32);
            set_carry(w, op, sum as u32, over)
        }),
        "s_addc_u32" => next!(|w, op| {
            let sum = u64::from(s32(w, op, 0)) + u64::from(s32(w, op, 1)) + u64::from(w.scc());
            set_carry(w, op, sum as u32, sum >> 32 != 0)
        }),
        "s_subb_u32" => next!(|w, op| {
            let (a, b) = (u64::from(s32(w, op, 0)), u64::from(s32(w, op, 1)) + u64::from(w.scc()));
            set_carry(w, op, a.wrapping_sub(b) as u32, b > a)
        }),
        "s_min_i32" => next!(|w, op| {
            let (a, b) = (s32(w, op, 0) as i32, s32(w, op, 1) as i32);
            set_carry(w, op, a.min(b) as u32, a < b)
        }),
        "s_min_u32" => next!(|w, op| {
            let (a, b) = (s32(w, op, 0), s32(w, op, 1));
            set_carry(w, op, a.min(b), a < b)
        }),
        "s_max_i32" => next!(|w, op| {
            let (a, b) = (s32(w, op, 0) as i32, s32(w, op, 1) as i32);
            set_carry(w, op, a.max(b) as u32, a >= b)
        }),
        "s_max_u32" => next!(|w, op| {
            let (a, b) = (s32(w, op, 0), s32(w, op, 1));
            set_carry(w, op, a.max(b), a >= b)
        }),
        "s_mul_i32" => next!(|w, op| set32(w, op, s32(w, op, 0).wrapping_mul(s32(w, op, 1)))),
        "s_mul_hi_u32" => {
            next!(|w, op| set32(w, op, ((u64::from(s32(w, op, 0)) * u64::from(s32(w, op, 1))) >> 32) as u32))
        }
        "s_mul_hi_i32" => next!(|w, op| {
            let product = i64::from(s32(w, op, 0) as i32) * i64::from(s32(w, op, 1) as i32);
            set32(w, op, (product >> 32) as u32)
        }),
        "s_absdiff_i32" => next!(|w, op| {
            let d = (s32(w, op, 0) as i32).wrapping_sub(s32(w, op, 1) as i32);
            set_nz32(w, op, d.wrapping_abs() as u32)
        }),
        "s_abs_i32" => next!(|w, op| set_nz32(w, op, (s32(w, op, 0) as i32).wrapping_abs() as u32)),
        "s_lshl1_add_u32" => next!(|w, op| shl_add(w, op, 1)),
        "s_lshl2_add_u32" => next!(|w, op| shl_add(w, op, 2)),
        "s_lshl3_add_u32" => next!(|w, op| shl_add(w, op, 3)),
        "s_lshl4_add_u32" => next!(|w, op| shl_add(w, op, 4)),
        "s_addk_i32" => next!(|w, op| {
            let (sum, over) = (w.s[usize::from(op.sdst)] as i32).overflowing_add(op.imm as i32);
            set_carry(w, op, sum as u32, over)
        }),
        "s_mulk_i32" => next!(|w, op| set32(w, op, w.s[usize::from(op.sdst)].wrapping_mul(op.imm as u32))),

        "s_lshl_b32" => next!(|w, op| set_nz32(w, op, s32(w, op, 0) << (s32(w, op, 1) & 31))),
        "s_lshr_b32" => next!(|w, op| set_nz32(w, op, s32(w, op, 0) >> (s32(w, op, 1) & 31))),
        "s_ashr_i32" => next!(|w, op| set_nz32(w, op, (s32(w, op, 0) as i32 >> (s32(w, op, 1) & 31)) as u32)),
        "s_lshl_b64" => next!(|w, op| set_nz64(w, op, s64(w, op, 0) << (s32(w, op, 1) & 63))),
        "s_lshr_b64" => next!(|w, op| set_nz64(w, op, s64(w, op, 0) >> (s32(w, op, 1) & 63))),
        "s_ashr_i64" => next!(|w, op| set_nz64(w, op, (s64(w, op, 0) as i64 >> (s32(w, op, 1) & 63)) as u64)),
        "s_bfm_b32" => next!(|w, op| {
            let mask = (1u32 << (s32(w, op, 0) & 31)) - 1;
            set32(w, op, mask << (s32(w, op, 1) & 31))
        }),
        "s_bfm_b64" => next!(|w, op| {
            let mask = (1u64 << (s32(w, op, 0) & 63)) - 1;
            w.set_s64(op.sdst, mask << (s32(w, op, 1) & 63))
        }),
        "s_bfe_u32" => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz32(w, op, bfe_u(s32(w, op, 0).into(), field & 31, field >> 16 & 127, 32) as u32)
        }),
        "s_bfe_i32" => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz32(w, op, bfe_i((s32(w, op, 0) as i32).into(), field & 31, field >> 16 & 127) as u32)
        }),
        "s_bfe_u64" => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz64(w, op, bfe_u(s64(w, op, 0), field & 63, field >> 16 & 127, 64))
        }),
        "s_bfe_i64" => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz64(w, op, bfe_i(s64(w, op, 0) as i64, field & 63, field >> 16 & 127) as u64)
        }),
        "s_sext_i32_i8" => next!(|w, op| set32(w, op, s32(w, op, 0) as i8 as u32)),
        "s_sext_i32_i16" => next!(|w, op| set32(w, op, s32(w, op, 0) as i16 as u32)),
        "s_pack_ll_b32_b16" => next!(|w, op| set32(w, op, s32(w, op, 0) & 0xffff | s32(w, op, 1) << 16)),
        "s_pack_lh_b32_b16" => next!(|w, op| set32(w, op, s32(w, op, 0) & 0xffff | s32(w, op, 1) & 0xffff_0000)),
        "s_add_nc_u64" => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_add(s64(w, op, 1)))),
        "s_sub_nc_u64" => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_sub(s64(w, op, 1)))),
        "s_mul_u64" => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_mul(s64(w, op, 1)))),
        "s_pack_hl_b32_b16" => next!(|w, op| set32(w, op, s32(w, op, 0) >> 16 | s32(w, op, 1) << 16)),
        "s_pack_hh_b32_b16" => next!(|w, op| set32(w, op, s32(w, op, 0) >> 16 | s32(w, op, 1) & 0xffff_0000)),

        "s_brev_b32" => next!(|w, op| set32(w, op, s32(w, op, 0).reverse_bits())),
        "s_brev_b64" => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).reverse_bits())),
        "s_bcnt0_i32_b32" => next!(|w, op| set_nz32(w, op, s32(w, op, 0).count_zeros())),
        "s_bcnt0_i32_b64" => next!(|w, op| set_nz32(w, op, s64(w, op, 0).count_zeros())),
        "s_bcnt1_i32_b32" => next!(|w, op| set_nz32(w, op, s32(w, op, 0).count_ones())),
        "s_bcnt1_i32_b64" => next!(|w, op| set_nz32(w, op, s64(w, op, 0).count_ones())),
        "s_ff0_i32_b32" => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == !0 { !0 } else { v.trailing_ones() })
        }),
        "s_ff0_i32_b64" => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == !0 { !0 } else { v.trailing_ones() })
        }),
        "s_ff1_i32_b32" => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.trailing_zeros() })
        }),
        "s_ff1_i32_b64" => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.trailing_zeros() })
        }),
        "s_flbit_i32_b32" => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.leading_zeros() })
        }),
        "s_flbit_i32_b64" => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.leading_zeros() })
        }),
        "s_flbit_i32" => next!(|w, op| set32(w, op, flbit_signed((s32(w, op, 0) as i32).into(), 32))),
        "s_flbit_i32_i64" => next!(|w, op| set32(w, op, flbit_signed(s64(w, op, 0) as i64, 64))),
        "s_bitset0_b32" => next!(|w, op| w.s[usize::from(op.sdst)] &= !(1 << (s32(w, op, 0) & 31))),
        "s_bitset1_b32" => next!(|w, op| w.s[usize::from(op.sdst)] |= 1 << (s32(w, op, 0) & 31)),
        "s_bitset0_b64" => next!(|w, op| w.set_s64(op.sdst, w.s64(op.sdst) & !(1 << (s32(w, op, 0) & 63)))),
        "s_bitset1_b64" => next!(|w, op| w.set_s64(op.sdst, w.s64(op.sdst) | 1 << (s32(w, op, 0) & 63))),
        "s_bitreplicate_b64_b32" => next!(|w, op| {
            let v = s32(w, op, 0);
            w.set_s64(op.sdst, (0..32).fold(0, |r, i| r | ((u64::from(v >> i & 1) * 3) << (2 * i))))
        }),

        "s_cmp_eq_i32" | "s_cmp_eq_u32" => next!(|w, op| compare(w, op, |a, b| a == b)),
        "s_cmp_lg_i32" | "s_cmp_lg_u32" => next!(|w, op| compare(w, op, |a, b| a != b)),
        "s_cmp_gt_i32" => next!(|w, op| compare(w, op, |a, b| a as i32 > b as i32)),
        "s_cmp_ge_i32" => next!(|w, op| compare(w, op, |a, b| a as i32 >= b as i32)),
        "s_cmp_lt_i32" => next!(|w, op| compare(w, op, |a, b| (a as i32) < b as i32)),
        "s_cmp_le_i32" => next!(|w, op| compare(w, op, |a, b| a as i32 <= b as i32)),
        "s_cmp_gt_u32" => next!(|w, op| compare(w, op, |a, b| a > b)),
        "s_cmp_ge_u32" => next!(|w, op| compare(w, op, |a, b| a >= b)),
        "s_cmp_lt_u32" => next!(|w, op| compare(w, op, |a, b| a < b)),
        "s_cmp_le_u32" => next!(|w, op| compare(w, op, |a, b| a <= b)),
        "s_cmp_eq_u64" => next!(|w, op| w.set_scc(s64(w, op, 0) == s64(w, op, 1))),
        "s_cmp_lg_u64" => next!(|w, op| w.set_scc(s64(w, op, 0) != s64(w, op, 1))),
        "s_bitcmp0_b32" => next!(|w, op| compare(w, op, |a, b| a >> (b & 31) & 1 == 0)),
        "s_bitcmp1_b32" => next!(|w, op| compare(w, op, |a, b| a >> (b & 31) & 1 == 1)),
        "s_bitcmp0_b64" => next!(|w, op| w.set_scc(s64(w, op, 0) >> (s32(w, op, 1) & 63) & 1 == 0)),
        "s_bitcmp1_b64" => next!(|w, op| w.set_scc(s64(w, op, 0) >> (s32(w, op, 1) & 63) & 1 == 1)),
        "s_cmpk_eq_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) == k)),
        "s_cmpk_lg_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) != k)),
        "s_cmpk_gt_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) > k)),
        "s_cmpk_ge_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) >= k)),
        "s_cmpk_lt_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) < k)),
        "s_cmpk_le_i32" => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) <= k)),
        "s_cmpk_eq_u32" => next!(|w, op| compare_k(w, op, |a, k| a == k as u32 & 0xffff)),
        "s_cmpk_lg_u32" => next!(|w, op| compare_k(w, op, |a, k| a != k as u32 & 0xffff)),
        "s_cmpk_gt_u32" => next!(|w, op| compare_k(w, op, |a, k| a > k as u32 & 0xffff)),
        "s_cmpk_ge_u32" => next!(|w, op| compare_k(w, op, |a, k| a >= k as u32 & 0xffff)),
        "s_cmpk_lt_u32" => next!(|w, op| compare_k(w, op, |a, k| a < k as u32 & 0xffff)),
        "s_cmpk_le_u32" => next!(|w, op| compare_k(w, op, |a, k| a <= k as u32 & 0xffff)),
        _ => None,
    }
}
