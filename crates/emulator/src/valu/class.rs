//! `v_cmp_class`: which of ten kinds of number a value is.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::shapes::{mask, read64};
use crate::fp::{is_nan16, is_nan32, is_nan64, is_snan16, is_snan32, is_snan64};
use crate::lanes::{TO_EXEC, compare, compared};
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// The bit of the kind: 0 signalling NaN, 1 quiet NaN, 2 to 5 -inf, -normal, -denormal, -0, 6 to 9 the positive ones
/// in the opposite order.
macro_rules! kind {
    ($name:ident, $t:ty, $exponent:expr, $sign:expr, $is_nan:ident, $is_snan:ident) => {
        #[inline(always)]
        fn $name(x: $t) -> u32 {
            const SIGN: $t = $sign;
            const EXPONENT: $t = $exponent;
            let magnitude = x & (SIGN - 1);
            let k = if magnitude & EXPONENT == 0 { 4 } else { 3 };
            let k = if magnitude == EXPONENT { 2 } else { k };
            let k = if magnitude == 0 { 5 } else { k };
            let k = if x & SIGN != 0 { k } else { 11 - k };
            let k = if $is_nan(x) { 1 } else { k };
            if $is_snan(x) { 0 } else { k }
        }
    };
}

kind!(kind32, u32, 0x7f80_0000, 1 << 31, is_nan32, is_snan32);
kind!(kind64, u64, 0x7ff << 52, 1 << 63, is_nan64, is_snan64);
kind!(kind16, u32, 0x7c00, 1 << 15, is_nan16, is_snan16);

#[inline(always)]
fn class32(w: &mut Wave, op: &Op) -> Flow {
    compare(w, op, |x, mask| mask >> kind32(x) & 1 != 0)
}
#[inline(always)]
fn class16(w: &mut Wave, op: &Op) -> Flow {
    compare(w, op, |x, mask| mask >> kind16(x & 0xffff) & 1 != 0)
}
#[inline(always)]
fn class64(w: &mut Wave, op: &Op) -> Flow {
    let a = read64(w, op.src[0]);
    let mut out = [0; 64];
    let wanted = w.row(op.src[1]);
    for i in 0..64 {
        out[i] = wanted.0[i] >> kind64(a[i]) & 1;
    }
    let lanes = mask(&out);
    compared(w, op, lanes)
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VCmpClassF32 => op!(w, o => class32(w, o)),
        IsaOp::VCmpClassF64 => op!(w, o => class64(w, o)),
        IsaOp::VCmpClassF16 => op!(w, o => class16(w, o)),
        IsaOp::VCmpxClassF32 => op!(w, o => class32(w, o)).variant(TO_EXEC),
        IsaOp::VCmpxClassF64 => op!(w, o => class64(w, o)).variant(TO_EXEC),
        IsaOp::VCmpxClassF16 => op!(w, o => class16(w, o)).variant(TO_EXEC),
        _ => return None,
    })
}
