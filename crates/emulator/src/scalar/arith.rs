//! Scalar arithmetic, shifts, bit fields and comparisons.

use luthier_isa::op::Op as IsaOp;

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

pub(super) fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::SAddU32 => next!(|w, op| {
            let (sum, carry) = s32(w, op, 0).overflowing_add(s32(w, op, 1));
            set_carry(w, op, sum, carry)
        }),
        IsaOp::SSubU32 => next!(|w, op| {
            let (sum, carry) = s32(w, op, 0).overflowing_sub(s32(w, op, 1));
            set_carry(w, op, sum, carry)
        }),
        IsaOp::SAddI32 => next!(|w, op| {
            let (sum, over) = (s32(w, op, 0) as i32).overflowing_add(s32(w, op, 1) as i32);
            set_carry(w, op, sum as u32, over)
        }),
        IsaOp::SSubI32 => next!(|w, op| {
            let (sum, over) = (s32(w, op, 0) as i32).overflowing_sub(s32(w, op, 1) as i32);
            set_carry(w, op, sum as u32, over)
        }),
        IsaOp::SAddcU32 => next!(|w, op| {
            let sum = u64::from(s32(w, op, 0)) + u64::from(s32(w, op, 1)) + u64::from(w.scc());
            set_carry(w, op, sum as u32, sum >> 32 != 0)
        }),
        IsaOp::SSubbU32 => next!(|w, op| {
            let (a, b) = (u64::from(s32(w, op, 0)), u64::from(s32(w, op, 1)) + u64::from(w.scc()));
            set_carry(w, op, a.wrapping_sub(b) as u32, b > a)
        }),
        IsaOp::SMinI32 => next!(|w, op| {
            let (a, b) = (s32(w, op, 0) as i32, s32(w, op, 1) as i32);
            set_carry(w, op, a.min(b) as u32, a < b)
        }),
        IsaOp::SMinU32 => next!(|w, op| {
            let (a, b) = (s32(w, op, 0), s32(w, op, 1));
            set_carry(w, op, a.min(b), a < b)
        }),
        IsaOp::SMaxI32 => next!(|w, op| {
            let (a, b) = (s32(w, op, 0) as i32, s32(w, op, 1) as i32);
            set_carry(w, op, a.max(b) as u32, a >= b)
        }),
        IsaOp::SMaxU32 => next!(|w, op| {
            let (a, b) = (s32(w, op, 0), s32(w, op, 1));
            set_carry(w, op, a.max(b), a >= b)
        }),
        IsaOp::SMulI32 => next!(|w, op| set32(w, op, s32(w, op, 0).wrapping_mul(s32(w, op, 1)))),
        IsaOp::SMulHiU32 => {
            next!(|w, op| set32(w, op, ((u64::from(s32(w, op, 0)) * u64::from(s32(w, op, 1))) >> 32) as u32))
        }
        IsaOp::SMulHiI32 => next!(|w, op| {
            let product = i64::from(s32(w, op, 0) as i32) * i64::from(s32(w, op, 1) as i32);
            set32(w, op, (product >> 32) as u32)
        }),
        IsaOp::SAbsdiffI32 => next!(|w, op| {
            let d = (s32(w, op, 0) as i32).wrapping_sub(s32(w, op, 1) as i32);
            set_nz32(w, op, d.wrapping_abs() as u32)
        }),
        IsaOp::SAbsI32 => next!(|w, op| set_nz32(w, op, (s32(w, op, 0) as i32).wrapping_abs() as u32)),
        IsaOp::SLshl1AddU32 => next!(|w, op| shl_add(w, op, 1)),
        IsaOp::SLshl2AddU32 => next!(|w, op| shl_add(w, op, 2)),
        IsaOp::SLshl3AddU32 => next!(|w, op| shl_add(w, op, 3)),
        IsaOp::SLshl4AddU32 => next!(|w, op| shl_add(w, op, 4)),
        IsaOp::SAddkI32 => next!(|w, op| {
            let (sum, over) = (w.s[usize::from(op.sdst)] as i32).overflowing_add(op.imm as i32);
            set_carry(w, op, sum as u32, over)
        }),
        IsaOp::SMulkI32 => next!(|w, op| set32(w, op, w.s[usize::from(op.sdst)].wrapping_mul(op.imm as u32))),

        IsaOp::SLshlB32 => next!(|w, op| set_nz32(w, op, s32(w, op, 0) << (s32(w, op, 1) & 31))),
        IsaOp::SLshrB32 => next!(|w, op| set_nz32(w, op, s32(w, op, 0) >> (s32(w, op, 1) & 31))),
        IsaOp::SAshrI32 => next!(|w, op| set_nz32(w, op, (s32(w, op, 0) as i32 >> (s32(w, op, 1) & 31)) as u32)),
        IsaOp::SLshlB64 => next!(|w, op| set_nz64(w, op, s64(w, op, 0) << (s32(w, op, 1) & 63))),
        IsaOp::SLshrB64 => next!(|w, op| set_nz64(w, op, s64(w, op, 0) >> (s32(w, op, 1) & 63))),
        IsaOp::SAshrI64 => next!(|w, op| set_nz64(w, op, (s64(w, op, 0) as i64 >> (s32(w, op, 1) & 63)) as u64)),
        IsaOp::SBfmB32 => next!(|w, op| {
            let mask = (1u32 << (s32(w, op, 0) & 31)) - 1;
            set32(w, op, mask << (s32(w, op, 1) & 31))
        }),
        IsaOp::SBfmB64 => next!(|w, op| {
            let mask = (1u64 << (s32(w, op, 0) & 63)) - 1;
            w.set_s64(op.sdst, mask << (s32(w, op, 1) & 63))
        }),
        IsaOp::SBfeU32 => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz32(w, op, bfe_u(s32(w, op, 0).into(), field & 31, field >> 16 & 127, 32) as u32)
        }),
        IsaOp::SBfeI32 => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz32(w, op, bfe_i((s32(w, op, 0) as i32).into(), field & 31, field >> 16 & 127) as u32)
        }),
        IsaOp::SBfeU64 => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz64(w, op, bfe_u(s64(w, op, 0), field & 63, field >> 16 & 127, 64))
        }),
        IsaOp::SBfeI64 => next!(|w, op| {
            let field = s32(w, op, 1);
            set_nz64(w, op, bfe_i(s64(w, op, 0) as i64, field & 63, field >> 16 & 127) as u64)
        }),
        IsaOp::SSextI32I8 => next!(|w, op| set32(w, op, s32(w, op, 0) as i8 as u32)),
        IsaOp::SSextI32I16 => next!(|w, op| set32(w, op, s32(w, op, 0) as i16 as u32)),
        IsaOp::SPackLlB32B16 => next!(|w, op| set32(w, op, s32(w, op, 0) & 0xffff | s32(w, op, 1) << 16)),
        IsaOp::SPackLhB32B16 => next!(|w, op| set32(w, op, s32(w, op, 0) & 0xffff | s32(w, op, 1) & 0xffff_0000)),
        IsaOp::SAddNcU64 => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_add(s64(w, op, 1)))),
        IsaOp::SSubNcU64 => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_sub(s64(w, op, 1)))),
        IsaOp::SMulU64 => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).wrapping_mul(s64(w, op, 1)))),
        IsaOp::SPackHlB32B16 => next!(|w, op| set32(w, op, s32(w, op, 0) >> 16 | s32(w, op, 1) << 16)),
        IsaOp::SPackHhB32B16 => next!(|w, op| set32(w, op, s32(w, op, 0) >> 16 | s32(w, op, 1) & 0xffff_0000)),

        IsaOp::SBrevB32 => next!(|w, op| set32(w, op, s32(w, op, 0).reverse_bits())),
        IsaOp::SBrevB64 => next!(|w, op| w.set_s64(op.sdst, s64(w, op, 0).reverse_bits())),
        IsaOp::SBcnt0I32B32 => next!(|w, op| set_nz32(w, op, s32(w, op, 0).count_zeros())),
        IsaOp::SBcnt0I32B64 => next!(|w, op| set_nz32(w, op, s64(w, op, 0).count_zeros())),
        IsaOp::SBcnt1I32B32 => next!(|w, op| set_nz32(w, op, s32(w, op, 0).count_ones())),
        IsaOp::SBcnt1I32B64 => next!(|w, op| set_nz32(w, op, s64(w, op, 0).count_ones())),
        IsaOp::SFf0I32B32 => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == !0 { !0 } else { v.trailing_ones() })
        }),
        IsaOp::SFf0I32B64 => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == !0 { !0 } else { v.trailing_ones() })
        }),
        IsaOp::SFf1I32B32 => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.trailing_zeros() })
        }),
        IsaOp::SFf1I32B64 => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.trailing_zeros() })
        }),
        IsaOp::SFlbitI32B32 => next!(|w, op| {
            let v = s32(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.leading_zeros() })
        }),
        IsaOp::SFlbitI32B64 => next!(|w, op| {
            let v = s64(w, op, 0);
            set32(w, op, if v == 0 { !0 } else { v.leading_zeros() })
        }),
        IsaOp::SFlbitI32 => next!(|w, op| set32(w, op, flbit_signed((s32(w, op, 0) as i32).into(), 32))),
        IsaOp::SFlbitI32I64 => next!(|w, op| set32(w, op, flbit_signed(s64(w, op, 0) as i64, 64))),
        IsaOp::SBitset0B32 => next!(|w, op| w.s[usize::from(op.sdst)] &= !(1 << (s32(w, op, 0) & 31))),
        IsaOp::SBitset1B32 => next!(|w, op| w.s[usize::from(op.sdst)] |= 1 << (s32(w, op, 0) & 31)),
        IsaOp::SBitset0B64 => next!(|w, op| w.set_s64(op.sdst, w.s64(op.sdst) & !(1 << (s32(w, op, 0) & 63)))),
        IsaOp::SBitset1B64 => next!(|w, op| w.set_s64(op.sdst, w.s64(op.sdst) | 1 << (s32(w, op, 0) & 63))),
        IsaOp::SBitreplicateB64B32 => next!(|w, op| {
            let v = s32(w, op, 0);
            w.set_s64(op.sdst, (0..32).fold(0, |r, i| r | ((u64::from(v >> i & 1) * 3) << (2 * i))))
        }),

        IsaOp::SCmpEqI32 | IsaOp::SCmpEqU32 => next!(|w, op| compare(w, op, |a, b| a == b)),
        IsaOp::SCmpLgI32 | IsaOp::SCmpLgU32 => next!(|w, op| compare(w, op, |a, b| a != b)),
        IsaOp::SCmpGtI32 => next!(|w, op| compare(w, op, |a, b| a as i32 > b as i32)),
        IsaOp::SCmpGeI32 => next!(|w, op| compare(w, op, |a, b| a as i32 >= b as i32)),
        IsaOp::SCmpLtI32 => next!(|w, op| compare(w, op, |a, b| (a as i32) < b as i32)),
        IsaOp::SCmpLeI32 => next!(|w, op| compare(w, op, |a, b| a as i32 <= b as i32)),
        IsaOp::SCmpGtU32 => next!(|w, op| compare(w, op, |a, b| a > b)),
        IsaOp::SCmpGeU32 => next!(|w, op| compare(w, op, |a, b| a >= b)),
        IsaOp::SCmpLtU32 => next!(|w, op| compare(w, op, |a, b| a < b)),
        IsaOp::SCmpLeU32 => next!(|w, op| compare(w, op, |a, b| a <= b)),
        IsaOp::SCmpEqU64 => next!(|w, op| w.set_scc(s64(w, op, 0) == s64(w, op, 1))),
        IsaOp::SCmpLgU64 => next!(|w, op| w.set_scc(s64(w, op, 0) != s64(w, op, 1))),
        IsaOp::SBitcmp0B32 => next!(|w, op| compare(w, op, |a, b| a >> (b & 31) & 1 == 0)),
        IsaOp::SBitcmp1B32 => next!(|w, op| compare(w, op, |a, b| a >> (b & 31) & 1 == 1)),
        IsaOp::SBitcmp0B64 => next!(|w, op| w.set_scc(s64(w, op, 0) >> (s32(w, op, 1) & 63) & 1 == 0)),
        IsaOp::SBitcmp1B64 => next!(|w, op| w.set_scc(s64(w, op, 0) >> (s32(w, op, 1) & 63) & 1 == 1)),
        IsaOp::SCmpkEqI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) == k)),
        IsaOp::SCmpkLgI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) != k)),
        IsaOp::SCmpkGtI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) > k)),
        IsaOp::SCmpkGeI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) >= k)),
        IsaOp::SCmpkLtI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) < k)),
        IsaOp::SCmpkLeI32 => next!(|w, op| compare_k(w, op, |a, k| i64::from(a as i32) <= k)),
        IsaOp::SCmpkEqU32 => next!(|w, op| compare_k(w, op, |a, k| a == k as u32 & 0xffff)),
        IsaOp::SCmpkLgU32 => next!(|w, op| compare_k(w, op, |a, k| a != k as u32 & 0xffff)),
        IsaOp::SCmpkGtU32 => next!(|w, op| compare_k(w, op, |a, k| a > k as u32 & 0xffff)),
        IsaOp::SCmpkGeU32 => next!(|w, op| compare_k(w, op, |a, k| a >= k as u32 & 0xffff)),
        IsaOp::SCmpkLtU32 => next!(|w, op| compare_k(w, op, |a, k| a < k as u32 & 0xffff)),
        IsaOp::SCmpkLeU32 => next!(|w, op| compare_k(w, op, |a, k| a <= k as u32 & 0xffff)),
        _ => None,
    }
}
