//! The types of floating-point elements: how they lie in registers, and their significands and exponents.

use crate::fp::half::{all_to_f32, f16_to_f32};
use crate::fp::small::{BF6, BF8, BF8_FNUZ, FP4, FP6, FP8, FP8_FNUZ, Small};
use crate::op::{Op, OpFlags};

#[cfg(target_arch = "x86_64")]
use super::lanes::Lanes;

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
    /// It is f16.
    const IS_HALF: bool = false;
    /// There is [`Element::widened`].
    const IS_WIDENED: bool = false;
    /// The values of codes of 16 bits that are `at` bits up in their words.
    ///
    /// # Safety
    /// The processor has what `L` is named for.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn widened<L: Lanes>(_words: L::Int, _at: u32) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::all(0.0) }
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
    const IS_HALF: bool = true;
    const IS_WIDENED: bool = true;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn widened<L: Lanes>(words: L::Int, at: u32) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::singles_of_halves(L::down(words, at)) }
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
    const IS_WIDENED: bool = true;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn widened<L: Lanes>(words: L::Int, at: u32) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(L::and(L::up(words, 16 - at), L::all_int(!0xffff))) }
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
