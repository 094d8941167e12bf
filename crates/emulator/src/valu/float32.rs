//! f32 arithmetic.

use luthier_isa::op::Op as IsaOp;

use super::division32::{Fixup, Scaled, TimesPower, div_fmas, fma};
use super::lanewise::{lanewise, lanewise_with_mask};
use super::minmax::minmax3;
use super::op;
use super::shapes::float32;
use super::unit32::{Cosine, HyperbolicTangent, Logarithm, Power, Reciprocal, ReciprocalRoot, Root, Sine};
use crate::fp::minmax::Rules;
use crate::fp::{self, SIGN32, minmax, quiet32, scale, soft};
use crate::lanes::{map1, map2, map3};
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// The unfused multiply-add of GFX9 rounds the product and flushes denormals, whatever MODE says.
pub fn mad(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let m = Mode(m.0 & !0x30);
    soft::add32(m, soft::mul32(m, a, b), c)
}

#[inline(always)]
fn mad32(w: &mut Wave, op: &Op) -> Flow {
    let flush = |x: f32| f32::from_bits(fp::flush32(x.to_bits(), false));
    float32::<3>(w, op, |a, b, c| flush(flush(flush(a) * flush(b)) + flush(c)), mad)
}

/// DX9 rules: zero times anything is zero.
fn mul_legacy(m: Mode, a: u32, b: u32, _: u32) -> u32 {
    if fp::in32(m, a) << 1 == 0 || fp::in32(m, b) << 1 == 0 { 0 } else { soft::mul32(m, a, b) }
}
fn mad_legacy(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let m = Mode(m.0 & !0x30);
    soft::add32(m, mul_legacy(m, a, b, 0), c)
}

/// Rounding to an integer: exact, so only denormals and NaNs need care.
#[inline(always)]
fn integral(w: &mut Wave, op: &Op, f: impl Fn(f32) -> f32) -> Flow {
    let m = w.mode;
    map1(w, op, |x| {
        let x = fp::in32(m, x);
        let r = f(f32::from_bits(x)).to_bits();
        if fp::is_nan32(x) { quiet32(x) } else { r }
    })
}

#[inline(always)]
fn minmax2(w: &mut Wave, op: &Op, f: impl Fn(Rules, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let rules = Rules::of(w.mode, w.generation);
    let keep = rules.keeps32(m) == [true; 2];
    map2(w, op, |a, b| f(rules, fp::flush32(a, keep), fp::flush32(b, keep)))
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VAddF32 => op!(w, o => float32::<2>(w, o, |a, b, _| a + b, |m, a, b, _| soft::add32(m, a, b))),
        IsaOp::VSubF32 => op!(w, o => float32::<2>(w, o, |a, b, _| a - b, |m, a, b, _| soft::add32(m, a, negated(b)))),
        IsaOp::VSubrevF32 => {
            op!(w, o => float32::<2>(w, o, |a, b, _| b - a, |m, a, b, _| soft::add32(m, negated(a), b)))
        }
        IsaOp::VMulF32 => op!(w, o => float32::<2>(w, o, |a, b, _| a * b, |m, a, b, _| soft::mul32(m, a, b))),
        IsaOp::VFmaF32 => op!(w, o => float32::<3>(w, o, f32::mul_add, fma)),
        IsaOp::VFmamkF32 | IsaOp::VFmaakF32 => op!(w, o => float32::<3>(w, o, f32::mul_add, fma)),
        IsaOp::VFmacF32 => op!(w, o => float32::<3>(w, o, f32::mul_add, fma)).accumulates(),
        IsaOp::VMadF32 | IsaOp::VMadmkF32 | IsaOp::VMadakF32 => op!(w, o => mad32(w, o)),
        IsaOp::VMacF32 => op!(w, o => mad32(w, o)).accumulates(),
        IsaOp::VMulLegacyF32 => {
            op!(w, o => { let m = w.mode; map2(w, o, |a, b| mul_legacy(m, a, b, 0)) })
        }
        IsaOp::VMacLegacyF32 => {
            op!(w, o => { let m = w.mode; map3(w, o, |a, b, c| mad_legacy(m, a, b, c)) }).accumulates()
        }
        IsaOp::VMadLegacyF32 => {
            op!(w, o => { let m = w.mode; map3(w, o, |a, b, c| mad_legacy(m, a, b, c)) })
        }
        IsaOp::VMinF32 => op!(w, o => minmax2(w, o, minmax::min32)),
        IsaOp::VMaxF32 => op!(w, o => minmax2(w, o, minmax::max32)),
        IsaOp::VMin3F32 => minmax3!(|rules, a, b, c| minmax::min3_32(rules, a, b, c)),
        IsaOp::VMax3F32 => minmax3!(|rules, a, b, c| minmax::max3_32(rules, a, b, c)),
        IsaOp::VMinimum3F32 => {
            minmax3!(|rules, a, b, c| minmax::minimum32(minmax::minimum32(a, b), c))
        }
        IsaOp::VMaximum3F32 => {
            minmax3!(|rules, a, b, c| minmax::maximum32(minmax::maximum32(a, b), c))
        }
        IsaOp::VMed3F32 => minmax3!(|rules, a, b, c| minmax::med3_32(rules, a, b, c)),
        IsaOp::VTruncF32 => op!(w, o => integral(w, o, f32::trunc)),
        IsaOp::VCeilF32 => op!(w, o => integral(w, o, f32::ceil)),
        IsaOp::VFloorF32 => op!(w, o => integral(w, o, f32::floor)),
        IsaOp::VRndneF32 => op!(w, o => integral(w, o, f32::round_ties_even)),
        IsaOp::VFractF32 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::fract32(m, x)) }),
        IsaOp::VLdexpF32 => op!(w, o => lanewise::<TimesPower>(w, o)),
        IsaOp::VFrexpMantF32 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_mant32(m, x)) }),
        IsaOp::VFrexpExpI32F32 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_exp32(m, x)) }),
        IsaOp::VRcpF32 | IsaOp::VRcpIflagF32 => op!(w, o => lanewise::<Reciprocal>(w, o)),
        IsaOp::VRsqF32 => op!(w, o => lanewise::<ReciprocalRoot>(w, o)),
        IsaOp::VSqrtF32 => op!(w, o => lanewise::<Root>(w, o)),
        IsaOp::VExpF32 | IsaOp::VExpLegacyF32 => op!(w, o => lanewise::<Power>(w, o)),
        IsaOp::VLogF32 | IsaOp::VLogLegacyF32 => op!(w, o => lanewise::<Logarithm>(w, o)),
        IsaOp::VTanhF32 => op!(w, o => lanewise::<HyperbolicTangent>(w, o)),
        IsaOp::VSinF32 => op!(w, o => lanewise::<Sine>(w, o)),
        IsaOp::VCosF32 => op!(w, o => lanewise::<Cosine>(w, o)),
        IsaOp::VDivScaleF32 => op!(w, o => lanewise_with_mask::<Scaled>(w, o)),
        IsaOp::VDivFmasF32 => op!(w, o => div_fmas(w, o)),
        IsaOp::VDivFixupF32 => op!(w, o => lanewise::<Fixup>(w, o)),
        _ => return None,
    })
}

/// The other sign, but a NaN as it is.
fn negated(x: u32) -> u32 {
    if fp::is_nan32(x) { x } else { x ^ SIGN32 }
}
