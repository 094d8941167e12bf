//! The element types of A and B that are multiplied in f32.

use crate::fp::{flush16, flush32, half};
use crate::wave::Wave;

/// How a lane's elements are read from rows.
pub trait Element {
    const PER_LANE: usize;
    /// Denormals of A, B, C and D count as zero.
    const FLUSH: bool;
    /// Element `e` of lane `l` of the operand whose first row is `row`.
    fn read(w: &Wave, row: u16, l: usize, e: usize) -> f32;
}

pub struct F32<const N: usize>;
pub struct F16;
/// N bf16 a lane: 2, or 4 for the `_1k` forms.
pub struct Bf16<const N: usize>;

impl<const N: usize> Element for F32<N> {
    const PER_LANE: usize = N;
    const FLUSH: bool = false;
    #[inline(always)]
    fn read(w: &Wave, row: u16, l: usize, e: usize) -> f32 {
        f32::from_bits(w.row(row + e as u16).0[l])
    }
}

#[inline(always)]
fn half_of(w: &Wave, row: u16, l: usize, e: usize) -> u32 {
    w.row(row + e as u16 / 2).0[l] >> (16 * (e & 1)) & 0xffff
}

impl Element for F16 {
    const PER_LANE: usize = 4;
    const FLUSH: bool = true;
    #[inline(always)]
    fn read(w: &Wave, row: u16, l: usize, e: usize) -> f32 {
        half::f16_to_f32(flush16(half_of(w, row, l, e), false))
    }
}

impl<const N: usize> Element for Bf16<N> {
    const PER_LANE: usize = N;
    const FLUSH: bool = true;
    #[inline(always)]
    fn read(w: &Wave, row: u16, l: usize, e: usize) -> f32 {
        f32::from_bits(flush32(half_of(w, row, l, e) << 16, false))
    }
}
