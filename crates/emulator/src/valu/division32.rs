//! The steps of an f32 division ([`division`](mod@division)), and scaling by powers of two.

use luthier_isa::Generation;

use super::lanewise::{Lanewise, RESULTS, SOURCES};
use super::shapes::float32;
use crate::fp::{self, SIGN32, division, quiet32, scale, soft};
use crate::masks::lanes;
use crate::mode::{Mode, Round};
use crate::op::{Flow, Op};
use crate::wave::Wave;

/// Whether v_div_scale is known to go by exponents; gfx1250 is taken to do as RDNA4.
pub(super) fn knows_scale(w: &Wave) -> bool {
    matches!(w.generation, Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250)
}

/// v_div_scale: the value, and the lanes that v_div_fmas is to scale back.
pub struct Scaled;

/// Whether both exponents are so near to zero that nothing is scaled.
#[inline(always)]
fn are_ordinary(denominator: u32, numerator: u32) -> bool {
    let is_near = |x: u32| (x >> 23 & 255).wrapping_sub(80) < 95;
    is_near(denominator) & is_near(numerator)
}

impl Lanewise for Scaled {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [a, b, c, ..]: [&[u32; N]; SOURCES], [out, again, _]: [&mut [u32; N]; RESULTS]) {
        let m = w.mode;
        let mut odd = 0;
        for i in 0..N {
            // The first source is one of the others, where it is what compilers make of it.
            odd |= u32::from(!are_ordinary(b[i], c[i]) | ((a[i] != b[i]) & (a[i] != c[i])));
        }
        if odd == 0 {
            (*out, *again) = (*a, [0; N]);
            return;
        }
        if !knows_scale(w) {
            for i in 0..N {
                let (value, back) = division::scale32(m, a[i], b[i], c[i]);
                (out[i], again[i]) = (value, u32::from(back).wrapping_neg());
            }
            return;
        }
        let mut left = 0;
        for i in 0..N {
            let (value, back, rare) = division::rdna_scale32_fast(m, a[i], b[i], c[i]);
            (out[i], again[i]) = (value, u32::from(back).wrapping_neg());
            left |= u64::from(rare) << i;
        }
        for i in lanes(left) {
            out[i] = division::rdna_scale32(m, a[i], b[i], c[i]).0;
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
    fn lanes<const N: usize>(w: &Wave, [a, b, c, .., mask]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        for i in 0..N {
            out[i] = if mask[i] == 0 { 0 } else { division::fmas32(w.mode, a[i], b[i], c[i]) };
        }
    }
}

pub struct Fixup;

impl Lanewise for Fixup {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [q, d, n, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        let mut odd = 0;
        for i in 0..N {
            // A quotient that is neither zero, nor denormal, nor infinite, nor a NaN.
            let is_normal = (q[i] & 0x7fff_ffff).wrapping_sub(0x0080_0000) < 0x7f00_0000;
            odd |= u32::from(!are_ordinary(d[i], n[i]) | !is_normal);
        }
        if odd == 0 {
            for i in 0..N {
                out[i] = q[i] & 0x7fff_ffff | (d[i] ^ n[i]) & SIGN32;
            }
            return;
        }
        let limits = division::Limits32::new(w.mode);
        for i in 0..N {
            out[i] = division::fixup32(&limits, q[i], d[i], n[i]);
        }
    }
}

/// x * 2^n: exact in f64 and rounded once, by the host where it can.
pub struct TimesPower;

impl Lanewise for TimesPower {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, n, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers around those exponents from which on nothing is scaled, and up to which.
    fn numbers() -> Vec<u32> {
        let exponents = [0, 1, 24, 79, 80, 81, 126, 127, 173, 174, 175, 176, 252, 254, 255];
        let words =
            exponents.into_iter().flat_map(|e: u32| [0, 1, 0x40_0000, 0x7f_ffff].map(|fraction| e << 23 | fraction));
        words.flat_map(|word| [word, word | SIGN32]).collect()
    }

    #[test]
    fn ordinary_operands_are_scaled_and_fixed_up_as_all_others_are() {
        let mut w = Wave::new();
        for (generation, mode) in [Generation::Gfx9, Generation::Gfx11].into_iter().zip([0xf0, 0]) {
            (w.generation, w.mode) = (generation, Mode(mode));
            let limits = division::Limits32::new(w.mode);
            for (d, n) in numbers().into_iter().flat_map(|d| numbers().into_iter().map(move |n| (d, n))) {
                let first = [d, n, n, d ^ SIGN32, 0x3f80_0000, 0x7fc0_0000, 0, 0x7f80_0001];
                let [mut value, mut again, mut fixed] = [[0; 8]; 3];
                for some in 1..8 {
                    // One at a time, then more, as all lanes have to be ordinary.
                    let first = std::array::from_fn(|i| if i < some { first[i] } else { first[0] });
                    let (d, n) = ([d; 8], [n; 8]);
                    let sources = [&first, &d, &n, &n, &n, &n, &n];
                    Scaled::lanes(&w, sources, [&mut value, &mut again, &mut [0; 8]]);
                    Fixup::lanes(&w, sources, [&mut fixed, &mut [0; 8], &mut [0; 8]]);
                    for i in 0..8 {
                        let (scaled, back) = match generation {
                            Generation::Gfx9 => division::scale32(w.mode, first[i], d[i], n[i]),
                            _ => division::rdna_scale32(w.mode, first[i], d[i], n[i]),
                        };
                        let about = format!("{:#x} / {:#x}, {:#x}, {generation:?}", n[i], d[i], first[i]);
                        assert_eq!((value[i], again[i]), (scaled, u32::from(back).wrapping_neg()), "scaled: {about}");
                        assert_eq!(fixed[i], division::fixup32(&limits, first[i], d[i], n[i]), "fixed up: {about}");
                    }
                }
            }
        }
    }
}
