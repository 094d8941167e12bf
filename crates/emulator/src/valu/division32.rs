//! The steps of an f32 division ([`division`](mod@division)), and scaling by powers of two.

use luthier_isa::Generation;

use super::lanewise::Lanewise;
use super::shapes::{float32, mask};
use crate::fp::{self, division, quiet32, scale, soft};
use crate::lanes::HALF;
use crate::mem::lanes;
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::wave::{Row, Wave};

/// Whether v_div_scale is known to go by exponents; gfx1250 is taken to do as RDNA4.
pub(super) fn knows_scale(w: &Wave) -> bool {
    matches!(w.generation, Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250)
}

/// v_div_scale: values, and 1 where v_div_fmas is to scale back.
#[inline(always)]
fn scaled<const N: usize>(w: &Wave, [a, b, c]: [&[u32; N]; 3], out: &mut [u32; N], again: &mut [u32; N]) {
    let m = w.mode;
    if !knows_scale(w) {
        for i in 0..N {
            let (value, back) = division::scale32(m, a[i], b[i], c[i]);
            (out[i], again[i]) = (value, u32::from(back));
        }
        return;
    }
    let mut left = 0;
    for i in 0..N {
        let (value, back, rare) = division::rdna_scale32_fast(m, a[i], b[i], c[i]);
        (out[i], again[i]) = (value, u32::from(back));
        left |= u64::from(rare) << i;
    }
    for i in lanes(left) {
        out[i] = division::rdna_scale32(m, a[i], b[i], c[i]).0;
    }
}

#[inline(always)]
pub(super) fn div_scale(w: &mut Wave, op: &Op) -> Flow {
    let (mut out, mut vcc) = (Row::ZERO, [0; 64]);
    let [a, b, c] = op.src.map(|source| w.row(source).0.as_chunks::<HALF>().0);
    let halves = out.0.as_chunks_mut().0.iter_mut().zip(vcc.as_chunks_mut().0);
    for (half, (out, vcc)) in halves.enumerate().take(w.halves()) {
        scaled(w, [&a[half], &b[half], &c[half]], out, vcc);
    }
    w.write(op.dst, &out);
    let mask = mask(&vcc) & w.exec();
    w.set_mask(op.sdst, mask);
    Flow::Next
}

/// v_div_scale's value.
pub struct Scaled;
/// The lanes that v_div_fmas is to scale back, as all ones or zeros.
pub struct ScaledBack;

impl Lanewise for Scaled {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [a, b, c, _]: [&[u32; N]; 4], out: &mut [u32; N]) {
        scaled(w, [a, b, c], out, &mut [0; N]);
    }
}

impl Lanewise for ScaledBack {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [a, b, c, _]: [&[u32; N]; 4], out: &mut [u32; N]) {
        scaled(w, [a, b, c], &mut [0; N], out);
        for x in out {
            *x = x.wrapping_neg();
        }
    }
}

pub(super) fn fma(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    soft::fma32(m, a, b, c)
}

/// Lanes of VCC are scaled back, with one rounding.
#[inline(always)]
pub(super) fn div_fmas(w: &mut Wave, op: &Op) -> Flow {
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

/// v_div_fmas in the lanes of a mask; in others it is zero.
pub struct ScalingBack;

impl Lanewise for ScalingBack {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [a, b, c, mask]: [&[u32; N]; 4], out: &mut [u32; N]) {
        for i in 0..N {
            out[i] = if mask[i] == 0 { 0 } else { division::fmas32(w.mode, a[i], b[i], c[i]) };
        }
    }
}

pub struct Fixup;

impl Lanewise for Fixup {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [a, b, c, _]: [&[u32; N]; 4], out: &mut [u32; N]) {
        let limits = division::Limits32::new(w.mode);
        for i in 0..N {
            out[i] = division::fixup32(&limits, a[i], b[i], c[i]);
        }
    }
}

/// x * 2^n: exact in f64 and rounded once, by the host where it can.
pub struct TimesPower;

impl Lanewise for TimesPower {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, n, ..]: [&[u32; N]; 4], out: &mut [u32; N]) {
        let m = w.mode;
        let (ki, ko) = (m.denorm_in32(), m.denorm_out32());
        if m.round32() != Round::NearestEven {
            for i in 0..N {
                out[i] = scale::ldexp32(m, x[i], n[i] as i32);
            }
            return;
        }
        for i in 0..N {
            let power = scale::pow2((n[i] as i32).clamp(-500, 500));
            let exact = f64::from(f32::from_bits(fp::flush32(x[i], ki))) * power;
            out[i] = fp::flush32(quiet32((exact as f32).to_bits()), ko);
        }
    }
}
