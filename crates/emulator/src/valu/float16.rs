//! f16 arithmetic, done in f32 (f64 for fma), where one more rounding does no harm.

use luthier_isa::op::Op as IsaOp;

use super::minmax::minmax3_16;
use super::op;
use super::shapes::{float16, fma_f16};
use super::unit32::{self, cos_all, exp2_all, log2_all, sin_all};
use crate::fp::minmax::Rules;
use crate::fp::unit::{self, Halves};
use crate::fp::{self, division, half, minmax, quiet16, scale, soft};
use crate::lanes::{map1, map2, map3};
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// Unfused: the product is rounded to f16, denormals are flushed whatever MODE says.
fn mad(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let m = Mode(m.0 & !0xc0);
    soft::add16(m, soft::mul16(m, a & 0xffff, b & 0xffff), c & 0xffff)
}
#[inline(always)]
fn mad_host(a: f32, b: f32, c: f32) -> u32 {
    let product = half::f16_to_f32(fp::flush16(half::f32_to_f16(flushed(a) * flushed(b)), false));
    fp::flush16(half::f32_to_f16(product + flushed(c)), false)
}
/// A half's value without denormals, which lie below 2^-14.
#[inline(always)]
fn flushed(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & !fp::SIGN32 < 113 << 23 { bits & fp::SIGN32 } else { bits })
}
#[inline(always)]
fn mad16(w: &mut Wave, op: &Op) -> Flow {
    float16(w, op, mad_host, mad)
}

#[inline(always)]
fn integral(w: &mut Wave, op: &Op, f: impl Fn(f32) -> f32) -> Flow {
    let m = w.mode;
    map1(w, op, |x| {
        let x = fp::in16(m, x);
        let r = half::f32_to_f16(f(half::f16_to_f32(x)));
        if fp::is_nan16(x) { quiet16(x) } else { r }
    })
}

#[inline(always)]
fn minmax2(w: &mut Wave, op: &Op, f: impl Fn(Rules, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let rules = Rules::of(w.mode, w.generation);
    let keep = rules.keeps16_64(m) == [true; 2];
    let read = |x: u32| fp::flush16(x & 0xffff, keep);
    map2(w, op, |a, b| f(rules, read(a), read(b)))
}

/// Rounded once from f64, so as close as can be; on RDNA3 and RDNA4 what the transcendental unit has.
#[inline(always)]
fn trans(w: &mut Wave, op: &Op, f: impl Fn(f64) -> f64, known: impl Fn(Halves, u32) -> u32) -> Flow {
    let m = w.mode;
    if unit32::is_known(w) {
        let halves = Halves { keep: [m.denorm_in16_64(), m.denorm_out16_64()], saturate: m.fp16_ovfl() };
        return map1(w, op, |h| known(halves, h));
    }
    map1(w, op, |x| {
        let x = fp::in16(m, x);
        let r = fp::out16(m, half::f64_to_f16(f(half::f16_to_f32(x).into())));
        let r = if fp::is_nan16(r) { fp::NAN16 } else { r };
        if fp::is_nan16(x) { quiet16(x) } else { r }
    })
}

#[inline(always)]
fn fixup(w: &mut Wave, op: &Op) -> Flow {
    let limits = division::Limits16::new(w.mode);
    map3(w, op, |a, b, c| division::fixup16(&limits, a, b, c))
}

pub(super) fn negated(x: u32) -> u32 {
    if fp::is_nan16(x) { x } else { x ^ 0x8000 }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    use half::f32_to_f16 as to;
    Some(match op {
        IsaOp::VAddF16 => op!(w, o => float16(w, o, |a, b, _| to(a + b), |m, a, b, _| soft::add16(m, a, b))),
        IsaOp::VSubF16 => op!(w, o => float16(w, o, |a, b, _| to(a - b), |m, a, b, _| soft::add16(m, a, negated(b)))),
        IsaOp::VSubrevF16 => {
            op!(w, o => float16(w, o, |a, b, _| to(b - a), |m, a, b, _| soft::add16(m, negated(a), b)))
        }
        IsaOp::VMulF16 => op!(w, o => float16(w, o, |a, b, _| to(a * b), |m, a, b, _| soft::mul16(m, a, b))),
        IsaOp::VFmaF16 => op!(w, o => float16(w, o, fma_f16, soft::fma16)).keep_high(),
        IsaOp::VFmaLegacyF16 => op!(w, o => float16(w, o, fma_f16, soft::fma16)),
        IsaOp::VMadF16 => op!(w, o => mad16(w, o)).keep_high(),
        IsaOp::VMadLegacyF16 | IsaOp::VMadmkF16 | IsaOp::VMadakF16 => op!(w, o => mad16(w, o)),
        IsaOp::VMacF16 => op!(w, o => mad16(w, o)).accumulates(),
        IsaOp::VMinF16 => op!(w, o => minmax2(w, o, minmax::min16)),
        IsaOp::VMaxF16 => op!(w, o => minmax2(w, o, minmax::max16)),
        IsaOp::VMin3F16 => minmax3_16!(|rules, a, b, c| minmax::min3_16(rules, a, b, c)),
        IsaOp::VMax3F16 => minmax3_16!(|rules, a, b, c| minmax::max3_16(rules, a, b, c)),
        IsaOp::VMed3F16 => minmax3_16!(|rules, a, b, c| minmax::med3_16(rules, a, b, c)),
        IsaOp::VTruncF16 => op!(w, o => integral(w, o, f32::trunc)),
        IsaOp::VCeilF16 => op!(w, o => integral(w, o, f32::ceil)),
        IsaOp::VFloorF16 => op!(w, o => integral(w, o, f32::floor)),
        IsaOp::VRndneF16 => op!(w, o => integral(w, o, f32::round_ties_even)),
        IsaOp::VFractF16 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::fract16(m, x)) }),
        IsaOp::VLdexpF16 => {
            op!(w, o => { let m = w.mode; map2(w, o, |x, n| scale::ldexp16(m, x, (n as i16).into())) })
        }
        IsaOp::VFrexpMantF16 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_mant16(m, x)) }),
        IsaOp::VFrexpExpI16F16 => op!(w, o => { let m = w.mode; map1(w, o, |x| scale::frexp_exp16(m, x)) }),
        IsaOp::VRcpF16 => op!(w, o => trans(w, o, |x| 1.0 / x, |m, h| m.apply(h, unit::rcp))),
        IsaOp::VRsqF16 => op!(w, o => trans(w, o, |x| 1.0 / x.sqrt(), |m, h| m.apply(h, unit::rsq))),
        IsaOp::VSqrtF16 => op!(w, o => trans(w, o, f64::sqrt, |m, h| m.apply(h, unit::sqrt))),
        IsaOp::VExpF16 => op!(w, o => trans(w, o, exp2_all, Halves::exp)),
        IsaOp::VLogF16 => op!(w, o => trans(w, o, log2_all, |m, h| m.apply(h, unit::log))),
        // gfx1250 alone has it.
        IsaOp::VTanhF16 => op!(w, o => trans(w, o, f64::tanh, |_, h| h)),
        IsaOp::VSinF16 => op!(w, o => trans(w, o, sin_all, |m, h| m.apply(h, |x| unit::sin(x, [true; 2])))),
        IsaOp::VCosF16 => op!(w, o => trans(w, o, cos_all, |m, h| m.apply(h, |x| unit::cos(x, [true; 2])))),
        IsaOp::VDivFixupF16 => op!(w, o => fixup(w, o)).keep_high(),
        IsaOp::VDivFixupLegacyF16 => {
            op!(w, o => fixup(w, o))
        }
        _ => return None,
    })
}
