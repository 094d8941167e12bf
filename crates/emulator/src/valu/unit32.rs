//! The transcendental unit's functions of f32: denormals are zero on both sides, whatever MODE says, but for sine and cosine.
//! RDNA3's and RDNA4's bits are known, of the others no more than that they lie within a unit in the last place.

use luthier_isa::Generation;

use super::lanewise::{Lanewise, RESULTS, SOURCES};
use crate::fp::unit::{Cubics, Exp, Rcp, Rsq, Sqrt};
use crate::fp::{self, quiet32, transcendental, unit};
use crate::level::{Level, level};
use crate::wave::Wave;

/// Whether [`unit`](mod@unit) has the transcendental functions of a generation's processors.
pub fn is_known_on(generation: Generation) -> bool {
    matches!(generation, Generation::Gfx11 | Generation::Gfx12)
}

/// The same of the wave's.
pub(super) fn is_known(w: &Wave) -> bool {
    is_known_on(w.generation)
}

#[inline(always)]
fn cubics<K: Cubics, const N: usize>(w: &Wave, x: &[u32; N], out: &mut [u32; N], otherwise: impl Fn(f64) -> f64) {
    if is_known(w) {
        unit::of_lanes::<K, N>(x, out);
    } else {
        within_a_unit(x, out, otherwise);
    }
}

#[inline(always)]
fn within_a_unit<const N: usize>(sources: &[u32; N], out: &mut [u32; N], f: impl Fn(f64) -> f64) {
    for i in 0..N {
        let x = fp::flush32(sources[i], false);
        let r = fp::flush32((f(f32::from_bits(x).into()) as f32).to_bits(), false);
        let r = if fp::is_nan32(r) { fp::NAN32 } else { r };
        out[i] = if fp::is_nan32(x) { quiet32(x) } else { r };
    }
}

/// 1 / x.
pub struct Reciprocal;
/// 1 / sqrt(x).
pub struct ReciprocalRoot;
pub struct Root;
/// 2^x.
pub struct Power;
/// log2(x).
pub struct Logarithm;
/// Of turns.
pub struct Sine;
pub struct Cosine;
/// gfx1250 alone has it.
pub struct HyperbolicTangent;

impl Lanewise for Reciprocal {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        cubics::<Rcp, N>(w, x, out, |x| 1.0 / x);
    }
}

impl Lanewise for ReciprocalRoot {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        cubics::<Rsq, N>(w, x, out, |x| 1.0 / x.sqrt());
    }
}

impl Lanewise for Root {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        cubics::<Sqrt, N>(w, x, out, f64::sqrt);
    }
}

impl Lanewise for Power {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        if is_known(w) {
            unit::of_lanes::<Exp, N>(x, out);
        } else if level() == Level::Base {
            transcendental::exp2_of_singles::<false, N>(x, out);
        } else {
            transcendental::exp2_of_singles::<true, N>(x, out);
        }
    }
}

impl Lanewise for Logarithm {
    #[inline(always)]
    fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        if is_known(w) {
            for i in 0..N {
                out[i] = unit::log(x[i]);
            }
        } else {
            within_a_unit(x, out, log2_all);
        }
    }
}

impl Lanewise for HyperbolicTangent {
    #[inline(always)]
    fn lanes<const N: usize>(_: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
        within_a_unit(x, out, f64::tanh);
    }
}

/// They keep denormals if MODE says so, where their bits are known.
macro_rules! of_turns {
    ($name:ident, $known:path, $otherwise:path) => {
        impl Lanewise for $name {
            #[inline(always)]
            fn lanes<const N: usize>(w: &Wave, [x, ..]: [&[u32; N]; SOURCES], [out, ..]: [&mut [u32; N]; RESULTS]) {
                let keep = [w.mode.denorm_in32(), w.mode.denorm_out32()];
                if is_known(w) {
                    for i in 0..N {
                        out[i] = $known(x[i], keep);
                    }
                } else {
                    within_a_unit(x, out, $otherwise);
                }
            }
        }
    };
}
of_turns!(Sine, unit::sin, sin_all);
of_turns!(Cosine, unit::cos, cos_all);

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
