//! f64 arithmetic. The reciprocal, its square root and the square root are correctly rounded here; the hardware's are
//! approximations of some 29 bits that code refines.

use luthier_isa::op::Op as IsaOp;

use super::division64::{Fixup64, Scaled64, TimesPower64, div_fmas, fma};
use super::lanewise::{lanewise64, lanewise64_with_mask, lanewise64_with_word};
use super::op;
use super::shapes::{float64, read64, write64};
use crate::fp::minmax::Rules;
use crate::fp::{self, minmax, quiet64, scale, soft, trig};
use crate::lanes::{map1_64, map2_64};
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

use luthier_isa::Generation;

#[inline(always)]
fn integral(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64) -> Flow {
    let m = w.mode;
    map1_64(w, op, |x| {
        let x = fp::in64(m, x);
        let r = f(f64::from_bits(x)).to_bits();
        if fp::is_nan64(x) { quiet64(x) } else { r }
    })
}

#[inline(always)]
fn minmax2(w: &mut Wave, op: &Op, f: impl Fn(Rules, u64, u64) -> u64) -> Flow {
    let m = w.mode;
    let rules = Rules::of(w.mode, w.generation);
    let keep = rules.keeps16_64(m) == [true; 2];
    map2_64(w, op, |a, b| f(rules, fp::flush64(a, keep), fp::flush64(b, keep)))
}

#[inline(always)]
fn approximate(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64) -> Flow {
    let m = w.mode;
    map1_64(w, op, |x| {
        let x = fp::in64(m, x);
        let r = fp::out64(m, f(f64::from_bits(x)).to_bits());
        let r = if fp::is_nan64(r) { fp::NAN64 } else { r };
        if fp::is_nan64(x) { quiet64(x) } else { r }
    })
}

/// dst:64 = f(src0:64, src1:32)
#[inline(always)]
fn with_int(w: &mut Wave, op: &Op, f: impl Fn(u64, u32) -> u64) -> Flow {
    let a = read64(w, op.src[0]);
    let mut out = [0; 64];
    let n = w.row(op.src[1]);
    for i in 0..64 {
        out[i] = f(a[i], n.0[i]);
    }
    write64(w, op.dst, &out);
    Flow::Next
}

#[inline(always)]
fn frexp_exp(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let a = read64(w, op.src[0]);
    let mut out = Row::ZERO;
    for i in 0..64 {
        out.0[i] = scale::frexp_exp64(m, a[i]);
    }
    w.write(op.dst, &out);
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VAddF64 => op!(w, o => float64::<2>(w, o, |a, b, _| a + b, |m, a, b, _| soft::add64(m, a, b))),
        IsaOp::VMulF64 => op!(w, o => float64::<2>(w, o, |a, b, _| a * b, |m, a, b, _| soft::mul64(m, a, b))),
        IsaOp::VFmaF64 | IsaOp::VFmaakF64 | IsaOp::VFmamkF64 => op!(w, o => float64::<3>(w, o, f64::mul_add, fma)),
        IsaOp::VFmacF64 => op!(w, o => float64::<3>(w, o, f64::mul_add, fma)).accumulates(),
        IsaOp::VMinF64 => op!(w, o => minmax2(w, o, minmax::min64)),
        IsaOp::VMaxF64 => op!(w, o => minmax2(w, o, minmax::max64)),
        IsaOp::VTruncF64 => op!(w, o => integral(w, o, f64::trunc)),
        IsaOp::VCeilF64 => op!(w, o => integral(w, o, f64::ceil)),
        IsaOp::VFloorF64 => op!(w, o => integral(w, o, f64::floor)),
        IsaOp::VRndneF64 => op!(w, o => integral(w, o, f64::round_ties_even)),
        IsaOp::VFractF64 => op!(w, o => { let m = w.mode; map1_64(w, o, |x| scale::fract64(m, x)) }),
        IsaOp::VLdexpF64 => op!(w, o => lanewise64_with_word::<TimesPower64>(w, o)),
        IsaOp::VFrexpMantF64 => op!(w, o => { let m = w.mode; map1_64(w, o, |x| scale::frexp_mant64(m, x)) }),
        IsaOp::VFrexpExpI32F64 => op!(w, o => frexp_exp(w, o)),
        IsaOp::VRcpF64 => op!(w, o => approximate(w, o, |x| 1.0 / x)),
        IsaOp::VRsqF64 => op!(w, o => approximate(w, o, |x| 1.0 / x.sqrt())),
        IsaOp::VSqrtF64 => op!(w, o => approximate(w, o, f64::sqrt)),
        IsaOp::VDivScaleF64 => op!(w, o => lanewise64_with_mask::<Scaled64>(w, o)),
        IsaOp::VDivFmasF64 => op!(w, o => div_fmas(w, o)),
        IsaOp::VDivFixupF64 => op!(w, o => lanewise64::<Fixup64>(w, o)),
        IsaOp::VTrigPreopF64 => op!(scalar w, o => {
            let rdna4 = matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250);
            let (m, known) = (w.mode, if rdna4 { 1184 } else { 1201 });
            with_int(w, o, |x, n| trig::preop(m, x, n, known))
        }),
        _ => return None,
    })
}
