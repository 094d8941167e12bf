//! The steps of an f64 division ([`division`](mod@division)), and scaling by powers of two.

use super::division32::knows_scale;
use super::lanewise::{Lanewise, RESULTS, SOURCES};
use super::shapes::{float64, read64};
use crate::fp::{division, scale, soft};
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::wave::Wave;

#[inline(always)]
fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Whether both exponents are so near to zero that nothing is scaled.
#[inline(always)]
fn are_ordinary(denominator_high: u32, numerator_high: u32) -> bool {
    let is_near = |high: u32| (high >> 20 & 0x7ff).wrapping_sub(650) < 750;
    is_near(denominator_high) & is_near(numerator_high)
}

/// v_div_scale: the value, and the lanes that v_div_fmas is to scale back.
pub struct Scaled64;

impl Lanewise for Scaled64 {
    #[inline(always)]
    fn lanes<const N: usize>(
        w: &Wave,
        [al, ah, bl, bh, cl, ch, _]: [&[u32; N]; SOURCES],
        [low, high, again]: [&mut [u32; N]; RESULTS],
    ) {
        let mut odd = 0;
        for i in 0..N {
            let is_other = ((al[i] != bl[i]) | (ah[i] != bh[i])) & ((al[i] != cl[i]) | (ah[i] != ch[i]));
            odd |= u32::from(!are_ordinary(bh[i], ch[i]) | is_other);
        }
        if odd == 0 {
            (*low, *high, *again) = (*al, *ah, [0; N]);
            return;
        }
        let (m, by_exponents) = (w.mode, knows_scale(w));
        for i in 0..N {
            let (a, b, c) = (joined(al[i], ah[i]), joined(bl[i], bh[i]), joined(cl[i], ch[i]));
            let (value, back) =
                if by_exponents { division::rdna_scale64(m, a, b, c) } else { division::scale64(m, a, b, c) };
            (low[i], high[i], again[i]) = (value as u32, (value >> 32) as u32, u32::from(back).wrapping_neg());
        }
    }
}

pub(super) fn fma(m: Mode, a: u64, b: u64, c: u64) -> u64 {
    soft::fma64(m, a, b, c)
}

/// Lanes of VCC are scaled back, with one rounding.
#[inline(always)]
pub(super) fn div_fmas(w: &mut Wave, op: &Op) -> Flow {
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

/// v_div_fmas in the lanes of a mask; in others it is zero.
pub struct ScalingBack64;

impl Lanewise for ScalingBack64 {
    #[inline(always)]
    fn lanes<const N: usize>(
        w: &Wave,
        [al, ah, bl, bh, cl, ch, mask]: [&[u32; N]; SOURCES],
        [low, high, _]: [&mut [u32; N]; RESULTS],
    ) {
        for i in 0..N {
            let (a, b, c) = (joined(al[i], ah[i]), joined(bl[i], bh[i]), joined(cl[i], ch[i]));
            let value = if mask[i] == 0 { 0 } else { division::fmas64(w.mode, a, b, c) };
            (low[i], high[i]) = (value as u32, (value >> 32) as u32);
        }
    }
}

pub struct Fixup64;

impl Lanewise for Fixup64 {
    #[inline(always)]
    fn lanes<const N: usize>(
        w: &Wave,
        [ql, qh, dl, dh, nl, nh, _]: [&[u32; N]; SOURCES],
        [low, high, _]: [&mut [u32; N]; RESULTS],
    ) {
        let limits = division::Limits64::new(w.mode);
        for i in 0..N {
            let (q, d, n) = (joined(ql[i], qh[i]), joined(dl[i], dh[i]), joined(nl[i], nh[i]));
            let value = division::fixup64(&limits, q, d, n);
            (low[i], high[i]) = (value as u32, (value >> 32) as u32);
        }
    }
}

/// The upper word with `n` added to its exponent, and whether both source and result are normal.
#[inline(always)]
fn with_exponent_moved(high: u32, n: u32) -> (u32, bool) {
    let shift = (n as i32).clamp(-4096, 4096);
    let exponent = (high >> 20 & 0x7ff) as i32;
    let is_normal = |exponent: i32| (1..=0x7fe).contains(&exponent);
    (high.wrapping_add((shift as u32) << 20), is_normal(exponent) & is_normal(exponent + shift))
}

/// x * 2^n. Where source and result are normal, the exponent moves; the other lanes are done one by one.
pub struct TimesPower64;

impl Lanewise for TimesPower64 {
    #[inline(always)]
    fn lanes<const N: usize>(
        w: &Wave,
        [xl, xh, n, ..]: [&[u32; N]; SOURCES],
        [low, high, _]: [&mut [u32; N]; RESULTS],
    ) {
        let mut odd = 0;
        for i in 0..N {
            let (moved, is_normal) = with_exponent_moved(xh[i], n[i]);
            (low[i], high[i]) = (xl[i], moved);
            odd |= u32::from(!is_normal);
        }
        if odd == 0 {
            return;
        }
        for i in 0..N {
            if !with_exponent_moved(xh[i], n[i]).1 {
                let value = scale::ldexp64(w.mode, joined(xl[i], xh[i]), n[i] as i32);
                (low[i], high[i]) = (value as u32, (value >> 32) as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use luthier_isa::Generation;

    #[test]
    fn ordinary_operands_are_scaled_as_all_others_are() {
        let exponents = [0u64, 1, 53, 54, 649, 650, 651, 1023, 1399, 1400, 1401, 2044, 2045, 2046, 2047];
        let numbers: Vec<u64> = (exponents.into_iter())
            .flat_map(|e| [0, 1, 1 << 51, (1 << 52) - 1].map(|fraction| e << 52 | fraction))
            .flat_map(|word| [word, word | 1 << 63])
            .collect();
        let split = |x: u64| [[x as u32; 8], [(x >> 32) as u32; 8]];
        let mut w = Wave::new();
        for (generation, mode) in [Generation::Gfx9, Generation::Gfx11].into_iter().zip([0xf0, 0]) {
            (w.generation, w.mode) = (generation, Mode(mode));
            for (&d, &n) in numbers.iter().flat_map(|d| numbers.iter().map(move |n| (d, n))) {
                for first in [d, n, d ^ 1 << 63, 1023 << 52] {
                    let ([al, ah], [bl, bh], [cl, ch]) = (split(first), split(d), split(n));
                    let [mut low, mut high, mut again] = [[0; 8]; 3];
                    Scaled64::lanes(&w, [&al, &ah, &bl, &bh, &cl, &ch, &al], [&mut low, &mut high, &mut again]);
                    let (value, back) = match generation {
                        Generation::Gfx9 => division::scale64(w.mode, first, d, n),
                        _ => division::rdna_scale64(w.mode, first, d, n),
                    };
                    let about = format!("{n:#x} / {d:#x}, {first:#x}, {generation:?}");
                    assert_eq!((joined(low[3], high[3]), again[3] != 0), (value, back), "{about}");
                }
            }
        }
    }
}
