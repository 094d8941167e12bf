//! What sums of RDNA3's and RDNA4's matrix operations become, in vectors: an f32, or one that is an f16 or bf16 number too.

use crate::fp::dot::{Bf16, F16, Result, Single};

#[cfg(target_arch = "x86_64")]
use super::lanes::Lanes;

/// A format of results, and of what is added to them.
pub trait Held: Result {
    /// It is f32.
    const IS_SINGLE: bool = false;
    /// It is f16.
    const IS_HALF: bool = false;

    /// Codes as f32.
    ///
    /// # Safety
    /// The processor has what `L` is named for.
    #[cfg(target_arch = "x86_64")]
    unsafe fn read<L: Lanes>(codes: L::Int) -> L::Float;
    /// The codes of such numbers.
    ///
    /// # Safety
    /// Likewise.
    #[cfg(target_arch = "x86_64")]
    unsafe fn code<L: Lanes>(numbers: L::Float) -> L::Int;
    /// A sum of units as such a number, where zero is not negative. `unit`: what one is, a power of two, or zero.
    ///
    /// # Safety
    /// Likewise.
    #[cfg(target_arch = "x86_64")]
    unsafe fn rounded<L: Lanes>(sum: L::Int, unit: L::Float) -> L::Float;
}

#[cfg(target_arch = "x86_64")]
impl Held for Single {
    const IS_SINGLE: bool = true;
    #[inline(always)]
    unsafe fn read<L: Lanes>(codes: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(codes) }
    }
    #[inline(always)]
    unsafe fn code<L: Lanes>(numbers: L::Float) -> L::Int {
        // SAFETY: likewise.
        unsafe { L::as_int(numbers) }
    }
    #[inline(always)]
    unsafe fn rounded<L: Lanes>(sum: L::Int, unit: L::Float) -> L::Float {
        // SAFETY: likewise.
        unsafe { L::multiply_add(L::singles_of_ints(sum), unit, L::all(0.0)) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Held for Bf16 {
    #[inline(always)]
    unsafe fn read<L: Lanes>(codes: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(L::up(codes, 16)) }
    }
    #[inline(always)]
    unsafe fn code<L: Lanes>(numbers: L::Float) -> L::Int {
        // SAFETY: likewise.
        unsafe { L::down(L::as_int(numbers), 16) }
    }
    #[inline(always)]
    unsafe fn rounded<L: Lanes>(sum: L::Int, unit: L::Float) -> L::Float {
        // SAFETY: likewise.
        unsafe { L::as_float(L::and(L::as_int(Single::rounded::<L>(sum, unit)), L::all_int(!0xffff))) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Held for F16 {
    const IS_HALF: bool = true;
    #[inline(always)]
    unsafe fn read<L: Lanes>(codes: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::singles_of_halves(codes) }
    }
    #[inline(always)]
    unsafe fn code<L: Lanes>(numbers: L::Float) -> L::Int {
        // SAFETY: likewise.
        unsafe { L::halves_of_singles(numbers) }
    }
    #[inline(always)]
    unsafe fn rounded<L: Lanes>(sum: L::Int, unit: L::Float) -> L::Float {
        // SAFETY: likewise.
        unsafe {
            let exact_enough = L::multiply(L::odd_singles_of_ints(sum), unit);
            // What rounds to zero is not negative either.
            L::add_float(L::singles_of_halves(L::halves_of_singles(exact_enough)), L::all(0.0))
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Held for Single {}
#[cfg(not(target_arch = "x86_64"))]
impl Held for Bf16 {}
#[cfg(not(target_arch = "x86_64"))]
impl Held for F16 {}
