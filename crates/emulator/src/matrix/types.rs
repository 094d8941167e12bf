//! The types of floating-point elements: how they lie in registers, and their significands and exponents.

use super::accumulate::b_lane;
use super::fields;
use crate::fp::half::{all_to_f32, f16_to_f32};
use crate::fp::small::{BF6, BF8, BF8_FNUZ, FP4, FP6, FP8, FP8_FNUZ, Small, packed};
use crate::op::{Op, OpFlags};
use crate::wave::Row;

use std::ops::Range;
use std::sync::LazyLock;

/// An element type.
pub trait Element {
    /// Width in a register.
    const BITS: usize;
    /// Bits of the fraction.
    const FRACTION: i32;
    /// The exponent of the least normal number, which is that of denormals too.
    fn least(op: &Op) -> i32;
    /// The value of a code, exactly.
    fn value(op: &Op, code: u32) -> f32;
    /// The significand is the value.
    const INTEGER: bool = false;
    /// The values of 64 codes. NaNs need not keep what tells them apart: matrix operations have one.
    #[inline(always)]
    fn values(op: &Op, codes: &[u32; 64]) -> [f32; 64] {
        let (table, mut values) = (Self::table(op), [0.0; 64]);
        for lane in 0..64 {
            values[lane] = match table {
                Some(table) => table[codes[lane] as usize],
                None => Self::value(op, codes[lane]),
            };
        }
        values
    }
    /// A conversion of codes to values by table, where that is faster.
    fn table(_op: &Op) -> Option<&'static [f32]> {
        None
    }
}

pub struct F16;
pub struct Bf16;
/// f32 whose upper 19 bits count. The others are cut off, which the manual also calls rounding; gfx942 was measured to cut
/// (ROCm/rocm-libraries#9176).
pub struct Xf32;
pub struct Fp8;
pub struct Bf8;
pub struct Fp6;
pub struct Bf6;
pub struct Fp4;
pub struct I8;

impl Element for F16 {
    const BITS: usize = 16;
    const FRACTION: i32 = 10;
    fn least(_op: &Op) -> i32 {
        -14
    }
    #[inline(always)]
    fn value(_op: &Op, code: u32) -> f32 {
        f16_to_f32(code)
    }
    #[inline(always)]
    fn values(_op: &Op, codes: &[u32; 64]) -> [f32; 64] {
        all_to_f32(codes)
    }
}

impl Element for Bf16 {
    const BITS: usize = 16;
    const FRACTION: i32 = 7;
    fn least(_op: &Op) -> i32 {
        -126
    }
    #[inline(always)]
    fn value(_op: &Op, code: u32) -> f32 {
        f32::from_bits(code << 16)
    }
}

impl Element for Xf32 {
    const BITS: usize = 32;
    const FRACTION: i32 = 10;
    fn least(_op: &Op) -> i32 {
        -126
    }
    #[inline(always)]
    fn value(_op: &Op, code: u32) -> f32 {
        let kept = code & 0xffff_e000;
        // A NaN stays one whatever is cut off.
        f32::from_bits(if code & 0x7fff_ffff > 0x7f80_0000 { kept | 0x0040_0000 } else { kept })
    }
}

impl Element for I8 {
    const BITS: usize = 8;
    const FRACTION: i32 = 23;
    fn least(_op: &Op) -> i32 {
        0
    }
    fn value(_op: &Op, code: u32) -> f32 {
        f32::from(code as i8)
    }
    const INTEGER: bool = true;
}

fn values(format: Small) -> Vec<f32> {
    (0..1 << format.bits()).map(|code| format.to_f32(code)).collect()
}

/// The small formats differ in their numbers of bits and in what is infinite or a NaN.
macro_rules! small {
    ($name:ident, $bits:literal, $fraction:literal, $least:literal, $format:ident, $fnuz:ident, $fnuz_least:literal) => {
        impl Element for $name {
            const BITS: usize = $bits;
            const FRACTION: i32 = $fraction;
            fn least(op: &Op) -> i32 {
                if op.flags.contains(OpFlags::FNUZ) { $fnuz_least } else { $least }
            }
            fn value(op: &Op, code: u32) -> f32 {
                Self::table(op).map_or(0.0, |table| table[code as usize])
            }
            #[inline(always)]
            fn values(op: &Op, codes: &[u32; 64]) -> [f32; 64] {
                // Those of fewer than eight bits have no other form.
                let fnuz = op.flags.contains(OpFlags::FNUZ) && $least != $fnuz_least;
                let mut values = [0.0; 64];
                if fnuz {
                    for lane in 0..64 {
                        values[lane] = $fnuz.number(codes[lane]);
                    }
                } else {
                    for lane in 0..64 {
                        values[lane] = $format.number(codes[lane]);
                    }
                }
                values
            }
            fn table(op: &Op) -> Option<&'static [f32]> {
                static TABLES: LazyLock<[Vec<f32>; 2]> = LazyLock::new(|| [values($format), values($fnuz)]);
                Some(&TABLES[usize::from(op.flags.contains(OpFlags::FNUZ))])
            }
        }
    };
}

small!(Fp8, 8, 3, -6, FP8, FP8_FNUZ, -7);
small!(Bf8, 8, 2, -14, BF8, BF8_FNUZ, -15);
small!(Fp6, 6, 3, 0, FP6, FP6, 0);
small!(Bf6, 6, 2, -2, BF6, BF6, -2);
small!(Fp4, 4, 1, 0, FP4, FP4, 0);

/// What zeros have for an exponent: below that of any product.
pub const ZERO: i32 = -1000;

/// One operand; a lane holds `PER_LANE` of its elements: by block, then k, then row (of A) or column (of B).
pub struct Side<const PER_LANE: usize> {
    value: [[f32; 64]; PER_LANE],
    significand: [[i32; 64]; PER_LANE],
    exponent: [[i32; 64]; PER_LANE],
    pub fraction: i32,
    pub special: bool,
    pub narrow: bool,
    least: f32,
    /// The significands are there.
    is_split: bool,
}

/// The elements of an operand.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub value: &'a [f32],
    /// `value` is `significand * 2^(exponent - fraction)`; or, for integers, just the significand.
    pub significand: &'a [i32],
    pub exponent: &'a [i32],
    pub fraction: i32,
    /// Some element is infinite or a NaN.
    pub special: bool,
    /// Every element but zeros has an exponent of [`NARROW`] at most, up or down.
    pub narrow: bool,
    /// The least normal number.
    pub least: f32,
}

/// Products of such elements are exact as f32, and so are their places in a sum.
const NARROW: i32 = 50;
/// Elements of eight bits and fewer stay narrow if they are multiplied by 2 to the power of this, or divided.
pub const MOST_SCALED: i32 = 34;

impl<const PER_LANE: usize> Side<PER_LANE> {
    #[inline(always)]
    pub fn new() -> Side<PER_LANE> {
        Side {
            value: [[0.0; 64]; PER_LANE],
            significand: [[0; 64]; PER_LANE],
            exponent: [[ZERO; 64]; PER_LANE],
            fraction: 0,
            special: false,
            narrow: false,
            least: 0.0,
            is_split: false,
        }
    }

    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View {
            value: self.value.as_flattened(),
            significand: self.significand.as_flattened(),
            exponent: self.exponent.as_flattened(),
            fraction: self.fraction,
            special: self.special,
            narrow: self.narrow,
            least: self.least,
        }
    }

    /// Multiplies the elements of neighbouring k by powers of two, by row or column. `narrow`: no such power of the whole
    /// operand is beyond [`MOST_SCALED`], so that the values follow.
    #[inline(always)]
    pub fn scale<const M: usize>(&mut self, ks: Range<usize>, powers: &[i32; M], narrow: bool) {
        let exponents = self.exponent.as_flattened_mut().as_chunks_mut::<M>().0;
        for exponents in &mut exponents[ks.clone()] {
            fields::add(exponents, powers);
        }
        if narrow {
            for values in &mut self.value.as_flattened_mut().as_chunks_mut::<M>().0[ks] {
                fields::scale(values, powers);
            }
        }
        self.narrow &= narrow;
    }

    /// Copies `n` neighbouring elements.
    #[inline(always)]
    pub fn copy(&mut self, to: usize, from: View, at: usize, n: usize) {
        self.value.as_flattened_mut()[to..to + n].copy_from_slice(&from.value[at..at + n]);
        self.significand.as_flattened_mut()[to..to + n].copy_from_slice(&from.significand[at..at + n]);
        self.exponent.as_flattened_mut()[to..to + n].copy_from_slice(&from.exponent[at..at + n]);
    }

    /// Reads the elements of all lanes, those of B after BLGP has permuted them. `place` says where element `e` of the
    /// first of `M` lanes belongs; those of the others follow. Values only: [`Side::split`] adds significands and exponents.
    #[inline(always)]
    pub fn load<E: Element, const M: usize>(
        &mut self,
        op: &Op,
        rows: &[Row],
        blgp: u32,
        place: impl Fn(usize, usize) -> usize,
    ) {
        self.fraction = E::FRACTION;
        self.least = f32::from_bits(((E::least(op) + 127) as u32) << 23);
        let value = self.value.as_flattened_mut();
        for e in 0..PER_LANE {
            let mut codes = [0; 64];
            match E::BITS {
                32 => codes = rows[e].0,
                8 | 16 => {
                    let (word, at) = (e * E::BITS / 32, e * E::BITS % 32);
                    fields::take(&rows[word].0, at as u32, (1 << E::BITS) - 1, 0, &mut codes);
                }
                bits => {
                    for lane in 0..64 {
                        codes[lane] = packed(|i| rows[i].0[lane], bits as u32, e);
                    }
                }
            }
            if blgp != 0 {
                let straight = codes;
                for lane in 0..64 {
                    codes[lane] = straight[b_lane(blgp, lane)];
                }
            }
            let values = E::values(op, &codes);
            for (group, values) in values.as_chunks::<M>().0.iter().enumerate() {
                value[place(M * group, e)..][..M].copy_from_slice(values);
            }
        }
    }

    /// Zeros in the place of denormals.
    #[inline(always)]
    pub fn flush(&mut self) {
        let least = self.least;
        for value in self.value.as_flattened_mut() {
            *value = if value.abs() < least { 0.0 } else { *value };
        }
    }

    /// Takes the values apart: exponents only, unless they are integers ([`Side::significands`]).
    #[inline(always)]
    pub fn split<E: Element>(&mut self, op: &Op) {
        if E::INTEGER {
            let value = self.value.as_flattened();
            for (significand, value) in self.significand.as_flattened_mut().iter_mut().zip(value) {
                *significand = *value as i32;
            }
            self.is_split = true;
        } else {
            self.exponents(E::least(op));
        }
    }

    /// The exponents of the values, in a value's own format: denormals are not normalised.
    #[inline(always)]
    fn exponents(&mut self, least: i32) {
        let mut special = 0;
        for k in 0..PER_LANE {
            let (values, exponents) = (&self.value[k], &mut self.exponent[k]);
            for i in 0..64 {
                let bits = values[i].to_bits() & 0x7fff_ffff;
                let biased = (bits >> 23) as i32;
                special = special.max(biased);
                exponents[i] = if bits == 0 { ZERO } else { (biased.max(1) - 127).max(least) };
            }
        }
        self.special = special == 255;
        self.narrow = is_narrow(self.exponent.as_flattened());
    }

    /// The significands, to the exponents that [`Side::split`] has found, unless they are there. Some rules need none.
    #[inline(always)]
    pub fn significands(&mut self) {
        if std::mem::replace(&mut self.is_split, true) {
            return;
        }
        let fraction_bits = self.fraction;
        for k in 0..PER_LANE {
            let (values, significands, exponents) = (&self.value[k], &mut self.significand[k], &self.exponent[k]);
            for i in 0..64 {
                let bits = values[i].to_bits();
                let (biased, fraction) = ((bits >> 23 & 0xff) as i32, bits & 0x7f_ffff);
                let exponent = biased.max(1) - 127;
                let whole = fraction | u32::from(biased != 0) << 23;
                let magnitude = whole >> (23 - fraction_bits + exponents[i] - exponent).clamp(0, 31);
                let sign = (bits as i32) >> 31;
                significands[i] = (magnitude as i32 ^ sign) - sign;
            }
        }
    }
}

/// Whether all exponents but those of zeros are near 0.
#[inline(always)]
fn is_narrow(exponents: &[i32]) -> bool {
    let furthest = exponents.iter().fold(0, |most, &e| most.max(if e <= ZERO / 2 { 0 } else { e.abs() }));
    furthest <= NARROW
}
