//! Elements whose products are added one after the other: f32, by fused multiply-adds, and bytes.

use super::sum::NAN;
use crate::registers::Row;

/// An element type of A and B, with the type it is accumulated in.
pub trait Chained {
    type Sum: Copy + Default;
    /// Those of A or B: for each that a lane holds along K, those of all lanes.
    type Side: AsMut<[[Self::Sum; 64]]>;
    const NOTHING: Self::Side;

    /// Element `e` of every lane.
    fn load(rows: &[Row], e: usize, out: &mut [Self::Sum; 64]);
    fn from_bits(bits: u32) -> Self::Sum;
    fn to_bits(sum: Self::Sum) -> u32;
    fn multiply_add(a: Self::Sum, b: Self::Sum, sum: Self::Sum) -> Self::Sum;
}

pub struct F32;
/// Four bytes a lane.
pub struct I8;

impl Chained for F32 {
    type Sum = f32;
    type Side = [[f32; 64]; 1];
    const NOTHING: Self::Side = [[0.0; 64]; 1];
    #[inline(always)]
    fn load(rows: &[Row], _e: usize, out: &mut [f32; 64]) {
        for i in 0..64 {
            out[i] = f32::from_bits(rows[0].0[i]);
        }
    }
    #[inline(always)]
    fn from_bits(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
    #[inline(always)]
    fn to_bits(sum: f32) -> u32 {
        // Which of several NaNs the host's arithmetic gives depends on its vectors.
        if sum.is_nan() { NAN } else { sum.to_bits() }
    }
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, sum: f32) -> f32 {
        a.mul_add(b, sum)
    }
}

impl Chained for I8 {
    type Sum = i32;
    type Side = [[i32; 64]; 4];
    const NOTHING: Self::Side = [[0; 64]; 4];
    #[inline(always)]
    fn load(rows: &[Row], e: usize, out: &mut [i32; 64]) {
        for i in 0..64 {
            out[i] = i32::from((rows[0].0[i] >> (8 * e)) as i8);
        }
    }
    #[inline(always)]
    fn from_bits(bits: u32) -> i32 {
        bits as i32
    }
    #[inline(always)]
    fn to_bits(sum: i32) -> u32 {
        sum as u32
    }
    #[inline(always)]
    fn multiply_add(a: i32, b: i32, sum: i32) -> i32 {
        sum.wrapping_add(a.wrapping_mul(b))
    }
}
