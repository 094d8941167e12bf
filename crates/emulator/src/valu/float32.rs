//! f32 arithmetic.

use luthier_isa::op::Op as IsaOp;

use super::minmax::minmax3;
use super::op;
use super::shapes::{float32, mask};
use crate::fp::minmax::Rules;
use crate::fp::unit::{Cubics, Exp, Rcp, Rsq, Sqrt};
use crate::fp::{self, SIGN32, division, minmax, quiet32, scale, soft, transcendental, unit};
use crate::lanes::{map1, map2, map3, ranges};
use crate::mem::lanes;
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

use luthier_isa::Generation;

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

/// The product is exact in f64 and rounded once, by the host where it can.
#[inline(always)]
fn ldexp(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
    if m.round32() == Round::NearestEven {
        map2(w, op, |x, n| {
            let exact = f32::from_bits(fp::flush32(x, ki)) as f64 * scale::pow2((n as i32).clamp(-500, 500));
            fp::flush32(quiet32((exact as f32).to_bits()), ko)
        })
    } else {
        map2(w, op, |x, n| scale::ldexp32(m, x, n as i32))
    }
}

#[inline(always)]
fn minmax2(w: &mut Wave, op: &Op, f: impl Fn(Rules, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let rules = Rules::of(w);
    let keep = rules.keeps32(m) == [true; 2];
    map2(w, op, |a, b| f(rules, fp::flush32(a, keep), fp::flush32(b, keep)))
}

/// The transcendental unit: denormals are zero on both sides, whatever MODE says. RDNA3's and RDNA4's bits are known, of
/// the others no more than that they lie within a unit in the last place.
#[inline(always)]
fn trans<K: Cubics>(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64) -> Flow {
    if unit_is_known(w) {
        let mut out = Row::ZERO;
        let source = w.row(op.src[0]).0.as_chunks().0;
        for (source, out) in source.iter().zip(out.0.as_chunks_mut().0).take(w.halves()) {
            unit::of_lanes::<K>(source, out);
        }
        w.write(op.dst, &out);
        return Flow::Next;
    }
    within_a_unit(w, op, f)
}
#[inline(always)]
fn log2(w: &mut Wave, op: &Op) -> Flow {
    if unit_is_known(w) { map1(w, op, unit::log) } else { within_a_unit(w, op, log2_all) }
}
#[inline(always)]
fn within_a_unit(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64) -> Flow {
    map1(w, op, |x| {
        let x = fp::flush32(x, false);
        let r = fp::flush32((f(f32::from_bits(x).into()) as f32).to_bits(), false);
        let r = if fp::is_nan32(r) { fp::NAN32 } else { r };
        if fp::is_nan32(x) { quiet32(x) } else { r }
    })
}
/// Sine and cosine, which keep denormals there if MODE says so.
#[inline(always)]
fn trig(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64, known: impl Fn(u32, [bool; 2]) -> u32) -> Flow {
    let keep = [w.mode.denorm_in32(), w.mode.denorm_out32()];
    if unit_is_known(w) { map1(w, op, |x| known(x, keep)) } else { within_a_unit(w, op, f) }
}
/// Whether [`unit`](mod@unit) has this processor's transcendental functions.
pub(super) fn unit_is_known(w: &Wave) -> bool {
    matches!(w.generation, Generation::Gfx11 | Generation::Gfx12)
}
/// log2 over its whole domain.
#[inline(always)]
pub(super) fn log2_all(x: f64) -> f64 {
    let r = transcendental::log2(x);
    let r = if x == f64::INFINITY { x } else { r };
    let r = if x < 0.0 { f64::NAN } else { r };
    if x == 0.0 { f64::NEG_INFINITY } else { r }
}
#[inline(always)]
pub(super) fn exp2_all(x: f64) -> f64 {
    let r = transcendental::exp2(x);
    let r = if x == f64::INFINITY { x } else { r };
    if x == f64::NEG_INFINITY { 0.0 } else { r }
}
/// Outside of +-256 revolutions the hardware gives up: zero (sine) or one (cosine). NaN for infinities.
#[inline(always)]
pub(super) fn sin_all(x: f64) -> f64 {
    let r = transcendental::sin_turns(x);
    let r = if x.abs() > 256.0 { 0.0 } else { r };
    let r = if x == 0.0 { x } else { r };
    if x.is_infinite() { f64::NAN } else { r }
}
#[inline(always)]
pub(super) fn cos_all(x: f64) -> f64 {
    let r = transcendental::cos_turns(x);
    let r = if x.abs() > 256.0 { 1.0 } else { r };
    if x.is_infinite() { f64::NAN } else { r }
}

fn fma(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    soft::fma32(m, a, b, c)
}

/// Whether v_div_scale is known to go by exponents; gfx1250 is taken to do as RDNA4.
pub(super) fn knows_scale(w: &Wave) -> bool {
    matches!(w.generation, Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250)
}

#[inline(always)]
fn div_scale(w: &mut Wave, op: &Op) -> Flow {
    let m = w.mode;
    let (mut out, mut vcc) = (Row::ZERO, [0; 64]);
    let (a, b, c) = (w.row(op.src[0]), w.row(op.src[1]), w.row(op.src[2]));
    if knows_scale(w) {
        let mut left = 0;
        for lanes in ranges(w.halves()) {
            for i in lanes {
                let (value, again, rare) = division::rdna_scale32_fast(m, a.0[i], b.0[i], c.0[i]);
                (out.0[i], vcc[i]) = (value, u32::from(again));
                left |= u64::from(rare) << i;
            }
        }
        for i in lanes(left) {
            out.0[i] = division::rdna_scale32(m, a.0[i], b.0[i], c.0[i]).0;
        }
    } else {
        for i in 0..64 {
            let (value, again) = division::scale32(m, a.0[i], b.0[i], c.0[i]);
            (out.0[i], vcc[i]) = (value, u32::from(again));
        }
    }
    w.write(op.dst, &out);
    let mask = mask(&vcc) & w.exec();
    w.set_mask(op.sdst, mask);
    Flow::Next
}

/// Lanes of VCC are scaled back, with one rounding.
#[inline(always)]
fn div_fmas(w: &mut Wave, op: &Op) -> Flow {
    let mut scaled = w.vcc() & w.exec();
    if scaled == 0 {
        return float32::<3>(w, op, f32::mul_add, fma);
    }
    let (a, b, c) = (*w.row(op.src[0]), *w.row(op.src[1]), *w.row(op.src[2]));
    let flow = float32::<3>(w, op, f32::mul_add, fma);
    let m = w.mode;
    while scaled != 0 {
        let i = scaled.trailing_zeros() as usize;
        w.row_mut(op.dst).0[i] = division::fmas32(m, a.0[i], b.0[i], c.0[i]);
        scaled &= scaled - 1;
    }
    flow
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
        IsaOp::VLdexpF32 => op!(w, o => ldexp(w, o)),
        IsaOp::VFrexpMantF32 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_mant32(m, x)) }),
        IsaOp::VFrexpExpI32F32 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_exp32(m, x)) }),
        IsaOp::VRcpF32 | IsaOp::VRcpIflagF32 => op!(w, o => trans::<Rcp>(w, o, |x| 1.0 / x)),
        IsaOp::VRsqF32 => op!(w, o => trans::<Rsq>(w, o, |x| 1.0 / x.sqrt())),
        IsaOp::VSqrtF32 => op!(w, o => trans::<Sqrt>(w, o, f64::sqrt)),
        IsaOp::VExpF32 | IsaOp::VExpLegacyF32 => op!(w, o => trans::<Exp>(w, o, exp2_all)),
        IsaOp::VLogF32 | IsaOp::VLogLegacyF32 => op!(w, o => log2(w, o)),
        // gfx1250 alone has it.
        IsaOp::VTanhF32 => op!(w, o => within_a_unit(w, o, f64::tanh)),
        IsaOp::VSinF32 => op!(w, o => trig(w, o, sin_all, unit::sin)),
        IsaOp::VCosF32 => op!(w, o => trig(w, o, cos_all, unit::cos)),
        IsaOp::VDivScaleF32 => op!(w, o => div_scale(w, o)),
        IsaOp::VDivFmasF32 => op!(w, o => div_fmas(w, o)),
        IsaOp::VDivFixupF32 => op!(w, o => {
            let m = division::Limits32::new(w.mode);
            map3(w, o, |a, b, c| division::fixup32(&m, a, b, c))
        }),
        _ => return None,
    })
}

/// The other sign, but a NaN as it is.
fn negated(x: u32) -> u32 {
    if fp::is_nan32(x) { x } else { x ^ SIGN32 }
}
