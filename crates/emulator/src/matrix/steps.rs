//! gfx1250's sums by the host's vectors: a product after the other, each added by one multiplication and addition; and the
//! elements of 16 and 8 bits that they take.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::lanes::{Job, Lanes};
use super::types::{self, Element};
use super::wmma::{SIZE, Sums};
use crate::fp::dot::Factor;
use crate::registers::Row;

/// The sums of the products of all rows of A and columns of B.
pub struct Steps<'a> {
    /// By k, then row.
    pub a: &'a [[f32; SIZE]],
    /// By k, then column.
    pub b: &'a [[f32; SIZE]],
    pub sums: &'a mut Sums,
}

impl Job for Steps<'_> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: as the caller says.
        unsafe {
            // As many rows at once as the processor has registers for: their steps do not wait for each other.
            if L::N == SIZE { self.rows::<L, 16>() } else { self.rows::<L, 8>() }
        }
    }
}

impl Steps<'_> {
    #[inline(always)]
    unsafe fn rows<L: Lanes, const ROWS: usize>(self) {
        for column in (0..SIZE).step_by(L::N) {
            for (part, sums) in self.sums.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
                let first = ROWS * part;
                // SAFETY: as the caller says; a row has `SIZE` columns.
                unsafe {
                    let mut local = [L::all(0.0); ROWS];
                    for (local, sums) in local.iter_mut().zip(sums.iter()) {
                        *local = L::load(sums.as_ptr().add(column));
                    }
                    for (a, b) in self.a.iter().zip(self.b) {
                        let b = L::load(b.as_ptr().add(column));
                        for (row, local) in local.iter_mut().enumerate() {
                            *local = L::multiply_add(L::all(a[first + row]), b, *local);
                        }
                    }
                    for (local, sums) in local.iter().zip(sums.iter_mut()) {
                        L::store(sums.as_mut_ptr().add(column).cast(), *local);
                    }
                }
            }
        }
    }
}

/// Takes elements from registers. The two halves of the wave have turns of `TURN` along K.
pub struct Take<'a, E, const TURN: usize> {
    pub rows: &'a [Row],
    /// Bits that are inverted in codes of even and of odd elements.
    pub inverted: [u32; 2],
    /// By k.
    pub out: &'a mut [MaybeUninit<[f32; SIZE]>],
    pub element: PhantomData<E>,
}

impl<E: Factor, const TURN: usize> Job for Take<'_, E, TURN> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let each = 32 / E::BITS as usize;
        let words = self.out.len() / 2 / each;
        assert!(self.out.len().is_multiple_of(2 * TURN) && self.rows.len() >= words);
        for (word, row) in self.rows.iter().enumerate().take(words) {
            for e in 0..each {
                let at = word * each + e;
                for part in 0..2 {
                    let k = at / TURN * 2 * TURN + part * TURN + at % TURN;
                    let inverted = self.inverted[k % 2] << (32 - E::BITS);
                    let out = self.out[k].as_mut_ptr().cast::<u32>();
                    for i in (0..SIZE).step_by(L::N) {
                        // SAFETY: as the caller says; a row has 32 lanes for two parts, and `k` one for each.
                        unsafe {
                            let words = L::load_int(row.0.as_ptr().add(SIZE * part + i).cast());
                            let value = L::as_int(widened::<L, E>(words, E::BITS * e as u32));
                            L::store(out.add(i), L::as_float(L::xor(value, L::all_int(inverted as i32))));
                        }
                    }
                }
            }
        }
    }
}

/// The values of codes that are `at` bits up in their words. A NaN is some NaN.
#[inline(always)]
unsafe fn widened<L: Lanes, E: Factor>(words: L::Int, at: u32) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        match (E::BITS, E::EXPONENT) {
            (16, 8) => return types::Bf16::widened::<L>(words, at),
            (16, _) => return types::F16::widened::<L>(words, at),
            _ => {}
        }
        // An f32 has the same fields, but for the bias.
        let rebias = L::all(f32::from_bits(((254 - E::BIAS) as u32) << 23));
        let magnitude = L::and(L::down(words, at), L::all_int(E::MAGNITUDE as i32));
        let number = L::as_int(L::multiply(L::as_float(L::up(magnitude, 23 - E::FRACTION)), rebias));
        let last = if E::INFINITE { E::SPECIAL } else { E::SPECIAL - 1 } as i32;
        let infinity = L::all_int(f32::INFINITY.to_bits() as i32);
        let number =
            if E::INFINITE { L::where_less(L::all_int(last - 1), magnitude, infinity, number) } else { number };
        let number = L::where_less(L::all_int(last), magnitude, L::all_int(f32::NAN.to_bits() as i32), number);
        let sign = L::and(L::up(words, 32 - E::BITS - at), L::all_int(i32::MIN));
        L::as_float(L::xor(number, sign))
    }
}
