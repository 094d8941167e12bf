//! The element types: how they lie in registers, and one multiply-add.

use crate::wave::Row;

/// An element type of A and B, with the type it is accumulated in.
pub trait Element {
    /// Elements that a lane holds, along K.
    const PER_LANE: usize;
    type Sum: Copy + Default;

    /// Element `e` of every lane.
    fn load(rows: &[Row], e: usize, out: &mut [Self::Sum; 64]);
    fn from_bits(bits: u32) -> Self::Sum;
    fn to_bits(sum: Self::Sum) -> u32;
    fn multiply_add(a: Self::Sum, b: Self::Sum, sum: Self::Sum) -> Self::Sum;
}

pub struct F32;
pub struct F16;
/// Two bf16 a lane: the forms that gfx908 introduced.
pub struct Bf16;
/// Four bf16 a lane: the `_1k` forms.
pub struct Bf16Wide;
pub struct I8;
/// CDNA3's forms, which keep denormals.
pub struct F16Exact;
pub struct Bf16Exact;
/// CDNA4's forms: eight elements a lane.
pub struct F16Double;
pub struct Bf16Double;
/// Eight and sixteen bytes a lane.
pub struct I8Double;
pub struct I8Quad;

impl Element for F32 {
    const PER_LANE: usize = 1;
    type Sum = f32;
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
        sum.to_bits()
    }
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, sum: f32) -> f32 {
        a.mul_add(b, sum)
    }
}

/// Denormals become zeros of their sign.
#[inline(always)]
fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Exact, but for denormals, which become zeros.
#[inline(always)]
fn half_to_single(half: u32) -> u32 {
    let (sign, exponent, fraction) = ((half & 0x8000) << 16, half >> 10 & 31, half & 0x3ff);
    let finite = (exponent + 112) << 23 | fraction << 13;
    let magnitude = if exponent == 31 { 0x7f80_0000 | fraction << 13 } else { finite };
    if exponent == 0 { sign } else { sign | magnitude }
}

/// The 16-bit types differ only in how they widen.
macro_rules! sixteen_bits {
    ($name:ident, $per_lane:literal, $widen:expr, $flush:expr) => {
        impl Element for $name {
            const PER_LANE: usize = $per_lane;
            type Sum = f32;
            #[inline(always)]
            fn load(rows: &[Row], e: usize, out: &mut [f32; 64]) {
                for i in 0..64 {
                    out[i] = f32::from_bits($widen(rows[e / 2].0[i] >> (16 * (e % 2)) & 0xffff));
                }
            }
            #[inline(always)]
            fn from_bits(bits: u32) -> f32 {
                f32::from_bits($flush(bits))
            }
            #[inline(always)]
            fn to_bits(sum: f32) -> u32 {
                $flush(sum.to_bits())
            }
            #[inline(always)]
            fn multiply_add(a: f32, b: f32, sum: f32) -> f32 {
                a.mul_add(b, sum)
            }
        }
    };
}

/// Exact.
#[inline(always)]
fn half_exactly(half: u32) -> u32 {
    crate::fp::half::f16_to_f32(half).to_bits()
}

#[inline(always)]
fn keep(bits: u32) -> u32 {
    bits
}

sixteen_bits!(F16, 4, half_to_single, flush);
sixteen_bits!(Bf16, 2, |bits: u32| flush(bits << 16), flush);
sixteen_bits!(Bf16Wide, 4, |bits: u32| flush(bits << 16), flush);
sixteen_bits!(F16Exact, 4, half_exactly, keep);
sixteen_bits!(Bf16Exact, 4, |bits: u32| bits << 16, keep);
sixteen_bits!(F16Double, 8, half_exactly, keep);
sixteen_bits!(Bf16Double, 8, |bits: u32| bits << 16, keep);

/// Bytes, four in a register.
macro_rules! bytes {
    ($name:ident, $per_lane:literal) => {
        impl Element for $name {
            const PER_LANE: usize = $per_lane;
            type Sum = i32;
            #[inline(always)]
            fn load(rows: &[Row], e: usize, out: &mut [i32; 64]) {
                for i in 0..64 {
                    out[i] = i32::from((rows[e / 4].0[i] >> (8 * (e % 4))) as i8);
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
    };
}

bytes!(I8, 4);
bytes!(I8Double, 8);
bytes!(I8Quad, 16);
