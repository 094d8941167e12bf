//! One operand of a matrix operation: its values, and what they are made of.

use std::marker::PhantomData;
use std::ops::Range;

use super::accumulate::b_lane;
use super::fields;
use super::types::Element;
use crate::fp::small::packed;
#[cfg(target_arch = "x86_64")]
use crate::level::{Level, level};
use crate::op::Op;
use crate::registers::Row;

/// What zeros have for an exponent: below that of any product.
pub const ZERO: i32 = -1000;

/// One operand, aligned as vectors are; a lane holds `PER_LANE` of its elements: by block, then k, then row (of A) or column (of B).
#[repr(align(64))]
pub struct Side<const PER_LANE: usize> {
    pub value: [[f32; 64]; PER_LANE],
    pub fraction: i32,
    /// The exponent of the least normal number.
    pub least: i32,
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
    /// The least normal number.
    pub least: f32,
    /// The values as f64 and their exponents, for those who ask for them.
    pub wide: &'a [f64],
    pub reach: Reach,
}

/// Exponents of numbers but zero, as f32 has them: of the least magnitude and of the largest. Where all are zero, the
/// first is more than the second.
#[derive(Clone, Copy)]
pub struct Reach {
    pub least: i32,
    pub most: i32,
}

impl Reach {
    #[inline(always)]
    pub fn of<const N: usize>(rows: &[[f32; N]]) -> Reach {
        let (mut least, mut most) = ([u32::MAX; N], [0; N]);
        for row in rows {
            for i in 0..N {
                // Of zeros that are taken to be less than none, the least is the largest of all.
                let size = row[i].to_bits() & 0x7fff_ffff;
                (least[i], most[i]) = (least[i].min(size.wrapping_sub(1)), most[i].max(size));
            }
        }
        // A power of two less one counts as the next lower exponent, which is on the safe side.
        let least = least.iter().fold(u32::MAX, |least, &x| least.min(x));
        let most = most.iter().fold(0, |most, &x| most.max(x));
        Reach { least: ((least.min(0x7fff_ffff) >> 23) as i32).max(1) - 127, most: (most >> 23) as i32 - 127 }
    }
}

impl<const PER_LANE: usize> Side<PER_LANE> {
    #[inline(always)]
    pub fn new() -> Side<PER_LANE> {
        Side { value: [[0.0; 64]; PER_LANE], fraction: 0, least: 0 }
    }

    /// The values alone.
    #[inline(always)]
    pub fn view(&self) -> View<'_> {
        View {
            value: self.value.as_flattened(),
            significand: &[],
            exponent: &[],
            fraction: self.fraction,
            special: false,
            least: self.least(),
            wide: &[],
            reach: Reach { least: 1, most: 0 },
        }
    }

    /// The values as f64.
    #[inline(always)]
    pub fn wide(&self) -> [[f64; 64]; PER_LANE] {
        let mut wide = [[0.0; 64]; PER_LANE];
        for (wide, values) in wide.iter_mut().zip(&self.value) {
            for i in 0..64 {
                wide[i] = values[i].into();
            }
        }
        wide
    }

    #[inline(always)]
    fn least(&self) -> f32 {
        f32::from_bits(((self.least + 127) as u32) << 23)
    }

    /// Reads the elements of all lanes, those of B after BLGP has permuted them. `place` says where element `e` of the
    /// first of `M` lanes belongs; those of the others follow.
    #[inline(always)]
    pub fn load<E: Element, const M: usize>(
        &mut self,
        op: &Op,
        rows: &[Row],
        blgp: u32,
        place: impl Fn(usize, usize) -> usize,
    ) {
        (self.fraction, self.least) = (E::FRACTION, E::least(op));
        let value = self.value.as_flattened_mut();
        #[cfg(target_arch = "x86_64")]
        if E::IS_WIDENED && M >= 16 && blgp == 0 && level() != Level::Base {
            super::lanes::by_widest(vectors::Take::<E, _, PER_LANE, M> { rows, value, place, element: PhantomData });
            return;
        }
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
        let least = self.least();
        for value in self.value.as_flattened_mut() {
            *value = if value.abs() < least { 0.0 } else { *value };
        }
    }

    /// Multiplies the values of neighbouring k by powers of two, by row or column.
    #[inline(always)]
    pub fn scale<const M: usize>(&mut self, ks: Range<usize>, powers: &[i32; M]) {
        for values in &mut self.value.as_flattened_mut().as_chunks_mut::<M>().0[ks] {
            fields::scale(values, powers);
        }
    }
}

/// Significands and exponents of an operand's values.
pub struct Parts<const PER_LANE: usize> {
    significand: [[i32; 64]; PER_LANE],
    exponent: [[i32; 64]; PER_LANE],
    special: bool,
}

impl<const PER_LANE: usize> Parts<PER_LANE> {
    #[inline(always)]
    pub fn new() -> Parts<PER_LANE> {
        Parts { significand: [[0; 64]; PER_LANE], exponent: [[ZERO; 64]; PER_LANE], special: false }
    }

    #[inline(always)]
    pub fn view<'a>(&'a self, side: &'a Side<PER_LANE>) -> View<'a> {
        View {
            significand: self.significand.as_flattened(),
            exponent: self.exponent.as_flattened(),
            special: self.special,
            ..side.view()
        }
    }

    /// Takes whole numbers, which have significands only.
    #[inline(always)]
    pub fn take_integers(&mut self, side: &Side<PER_LANE>) {
        let value = side.value.as_flattened();
        for (significand, value) in self.significand.as_flattened_mut().iter_mut().zip(value) {
            *significand = *value as i32;
        }
    }

    /// Takes numbers apart, in their own format: denormals are not normalised.
    #[inline(always)]
    pub fn take(&mut self, side: &Side<PER_LANE>) {
        let mut special = 0;
        for k in 0..PER_LANE {
            let (values, significands, exponents) = (&side.value[k], &mut self.significand[k], &mut self.exponent[k]);
            for i in 0..64 {
                let bits = values[i].to_bits();
                let (biased, fraction) = ((bits >> 23 & 0xff) as i32, bits & 0x7f_ffff);
                special = special.max(biased);
                let own = biased.max(1) - 127;
                let exponent = own.max(side.least);
                let whole = fraction | u32::from(biased != 0) << 23;
                let magnitude = whole >> (23 - side.fraction + exponent - own).clamp(0, 31);
                let sign = (bits as i32) >> 31;
                significands[i] = (magnitude as i32 ^ sign) - sign;
                exponents[i] = if bits & 0x7fff_ffff == 0 { ZERO } else { exponent };
            }
        }
        self.special = special == 255;
    }

    /// Multiplies the elements of neighbouring k by powers of two, by row or column.
    #[inline(always)]
    pub fn scale<const M: usize>(&mut self, ks: Range<usize>, powers: &[i32; M]) {
        for exponents in &mut self.exponent.as_flattened_mut().as_chunks_mut::<M>().0[ks] {
            fields::add(exponents, powers);
        }
    }

    /// Copies `n` neighbouring elements, whose values are copied to `values`.
    #[inline(always)]
    pub fn copy(&mut self, values: &mut Side<PER_LANE>, to: usize, from: View, at: usize, n: usize) {
        values.value.as_flattened_mut()[to..to + n].copy_from_slice(&from.value[at..at + n]);
        self.significand.as_flattened_mut()[to..to + n].copy_from_slice(&from.significand[at..at + n]);
        self.exponent.as_flattened_mut()[to..to + n].copy_from_slice(&from.exponent[at..at + n]);
        self.special = from.special;
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::super::lanes::{Job, Lanes};
    use super::{Element, PhantomData, Row};

    /// Takes elements of 16 bits from registers to their places, as [`super::Side::load`] says.
    pub struct Take<'a, E, P, const PER_LANE: usize, const M: usize> {
        pub rows: &'a [Row],
        pub value: &'a mut [f32],
        pub place: P,
        pub element: PhantomData<E>,
    }

    impl<E: Element, P: Fn(usize, usize) -> usize, const PER_LANE: usize, const M: usize> Job
        for Take<'_, E, P, PER_LANE, M>
    {
        type Result = ();
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            assert!(M.is_multiple_of(L::N));
            for (e, row) in (0..PER_LANE).map(|e| (e, &self.rows[e / 2].0)) {
                for lane in (0..64).step_by(L::N) {
                    let to = &mut self.value[(self.place)(lane / M * M, e) + lane % M..][..L::N];
                    // SAFETY: as the caller says; a row has 64 words, and there is room for as many as `L` has.
                    unsafe {
                        let words = L::load_int(row.as_ptr().add(lane).cast());
                        L::store(to.as_mut_ptr().cast(), E::widened::<L>(words, 16 * (e % 2) as u32));
                    }
                }
            }
        }
    }
}
