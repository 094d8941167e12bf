//! f64 arithmetic. The reciprocal, its square root and the square root are correctly rounded here; the hardware's are
//! approximations of some 29 bits that code refines.

use luthier_isa::op::Op as IsaOp;

use super::op;
use super::shapes::{float64, mask, read64, write64};
use crate::fp::minmax::Rules;
use crate::fp::{self, division, minmax, quiet64, scale, soft, trig};
use crate::lanes::{map1_64, map2_64, map3_64};
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

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
    let rules = Rules::of(w);
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

fn fma(m: Mode, a: u64, b: u64, c: u64) -> u64 {
    soft::fma64(m, a, b, c)
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

/// Where source and result are normal, the exponent moves; the other lanes are done one by one.
#[inline(always)]
fn ldexp(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let (x, n) = (read64(w, op.src[0]), *w.row(op.src[1]));
    let mut slow = [0u64; 64];
    let mut out = [0; 64];
    for i in 0..64 {
        let shift = i64::from((n.0[i] as i32).clamp(-4096, 4096));
        let exponent = (x[i] >> 52 & 0x7ff) as i64;
        let sum = exponent + shift;
        out[i] = x[i].wrapping_add((shift as u64) << 52);
        slow[i] = u64::from((exponent == 0) | (exponent == 0x7ff) | !(1..=0x7fe).contains(&sum));
    }
    if slow.iter().fold(0, |any, s| any | s) != 0 {
        for i in 0..64 {
            if slow[i] != 0 {
                out[i] = scale::ldexp64(m, x[i], n.0[i] as i32);
            }
        }
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

#[inline(always)]
fn div_scale(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let (mut out, mut vcc) = ([0; 64], [0; 64]);
    let (a, b, c) = (read64(w, op.src[0]), read64(w, op.src[1]), read64(w, op.src[2]));
    let by_exponents = super::division32::knows_scale(w);
    for i in 0..64 {
        let (value, again) = if by_exponents {
            division::rdna_scale64(m, a[i], b[i], c[i])
        } else {
            division::scale64(m, a[i], b[i], c[i])
        };
        out[i] = value;
        vcc[i] = u32::from(again);
    }
    write64(w, op.dst, &out);
    let mask = mask(&vcc) & w.exec();
    w.set_mask(op.sdst, mask);
    Flow::Next
}

#[inline(always)]
fn div_fmas(w: &mut Wave, op: &Op) -> Flow {
    let mut scaled = w.vcc() & w.exec();
    if scaled == 0 {
        return float64::<3>(w, op, f64::mul_add, fma);
    }
    let (a, b, c) = (read64(w, op.src[0]), read64(w, op.src[1]), read64(w, op.src[2]));
    let flow = float64::<3>(w, op, f64::mul_add, fma);
    let m = w.mode;
    while scaled != 0 {
        let i = scaled.trailing_zeros() as usize;
        let value = division::fmas64(m, a[i], b[i], c[i]);
        w.row_mut(op.dst).0[i] = value as u32;
        w.row_mut(op.dst + 1).0[i] = (value >> 32) as u32;
        scaled &= scaled - 1;
    }
    flow
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
        IsaOp::VLdexpF64 => op!(w, o => ldexp(w, o)),
        IsaOp::VFrexpMantF64 => op!(w, o => { let m = w.mode; map1_64(w, o, |x| scale::frexp_mant64(m, x)) }),
        IsaOp::VFrexpExpI32F64 => op!(w, o => frexp_exp(w, o)),
        IsaOp::VRcpF64 => op!(w, o => approximate(w, o, |x| 1.0 / x)),
        IsaOp::VRsqF64 => op!(w, o => approximate(w, o, |x| 1.0 / x.sqrt())),
        IsaOp::VSqrtF64 => op!(w, o => approximate(w, o, f64::sqrt)),
        IsaOp::VDivScaleF64 => op!(w, o => div_scale(w, o)),
        IsaOp::VDivFmasF64 => op!(w, o => div_fmas(w, o)),
        IsaOp::VDivFixupF64 => op!(w, o => {
            let m = division::Limits64::new(w.mode);
            map3_64(w, o, |a, b, c| division::fixup64(&m, a, b, c))
        }),
        IsaOp::VTrigPreopF64 => op!(scalar w, o => {
            let rdna4 = matches!(w.generation, Generation::Gfx12 | Generation::Gfx1250);
            let (m, known) = (w.mode, if rdna4 { 1184 } else { 1201 });
            with_int(w, o, |x, n| trig::preop(m, x, n, known))
        }),
        _ => return None,
    })
}
