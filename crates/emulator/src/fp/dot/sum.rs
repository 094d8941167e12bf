//! The sums of finite numbers, in 32-bit integers and without branches, so that loops over lanes vectorise.

use super::{Factor, Result};

/// Less than the exponents of any product; of two of them, too.
pub(super) const NOTHING: i32 = -1000;
/// Places of a product below the sum of its factors' exponents, and of an addend below its leading one.
pub const BELOW_PRODUCT: i32 = 24;
const BELOW_ADDEND: i32 = 26;

/// A factor, or a product.
#[derive(Clone, Copy)]
pub struct Parts {
    /// With its sign, unless the unit needs that of a zero.
    pub significand: i32,
    /// Of denormals as of the least normal number, and of zeros far less.
    pub exponent: i32,
    /// All ones or none; for units that need it.
    pub negative: i32,
}

/// C.
#[derive(Clone, Copy)]
pub struct Addend {
    /// Of 24 bits, without its sign.
    pub significand: i32,
    /// That of the first of the 24 bits.
    pub exponent: i32,
    pub negative: i32,
}

/// A generation's way to form a sum.
pub trait Unit {
    /// Denormals of bf16 and f32 are zeros.
    const FLUSHES: bool;
    /// Significands come with their signs.
    const SIGNED: bool;

    /// The sum of `N` products, in groups of `GROUP`, and of what is added, in units of 2 to the power of the second number.
    fn sum<R: Result, const GROUP: usize, const N: usize>(products: [Parts; N], addend: Addend) -> (i32, i32);
}

pub struct Rdna3;
pub struct Rdna4;

/// `x` without its `n` last bits.
#[inline(always)]
fn cut(x: i32, n: i32) -> i32 {
    x >> (n as u32).min(31)
}

/// A finite code's parts.
#[inline(always)]
pub fn take<U: Unit, F: Factor>(code: u32) -> Parts {
    let field = (code & F::MAGNITUDE) >> F::FRACTION;
    let fraction = code & ((1 << F::FRACTION) - 1);
    let denormal = if U::FLUSHES && F::EXPONENT == 8 { 0 } else { fraction };
    let whole = if field != 0 { fraction | 1 << F::FRACTION } else { denormal } as i32;
    let exponent = if whole == 0 { NOTHING } else { field.max(1) as i32 - F::BIAS };
    let negative = (code << (32 - F::BITS)) as i32 >> 31;
    let significand = if U::SIGNED { (whole ^ negative) - negative } else { whole };
    Parts { significand, exponent, negative }
}

/// The left one of two factors, so that a product's significand counts in units of its last place, whose exponent it has.
#[inline(always)]
pub fn left<A: Factor, B: Factor>(parts: Parts) -> Parts {
    const { assert!(A::FRACTION + B::FRACTION <= BELOW_PRODUCT as u32) };
    Parts {
        significand: parts.significand << (BELOW_PRODUCT as u32 - A::FRACTION - B::FRACTION),
        exponent: parts.exponent - BELOW_PRODUCT,
        ..parts
    }
}

#[inline(always)]
pub fn product(left: Parts, right: Parts) -> Parts {
    Parts {
        significand: left.significand * right.significand,
        exponent: left.exponent + right.exponent,
        negative: left.negative ^ right.negative,
    }
}

/// The coarsest last place.
#[inline(always)]
fn place(products: &[Parts]) -> i32 {
    let mut most = products[0].exponent;
    for product in &products[1..] {
        most = most.max(product.exponent);
    }
    most
}

/// C's own last place, and the one that it has at the least.
#[inline(always)]
fn places<U: Unit, R: Result>(addend: Addend) -> (i32, i32) {
    let own = addend.exponent - BELOW_ADDEND;
    (own, own.max(R::floor::<U>() - BELOW_ADDEND))
}

/// C to its own last place.
const ADDEND_SHIFT: i32 = BELOW_ADDEND - 23;

impl Unit for Rdna3 {
    const FLUSHES: bool = true;
    const SIGNED: bool = false;

    #[inline(always)]
    fn sum<R: Result, const GROUP: usize, const N: usize>(products: [Parts; N], addend: Addend) -> (i32, i32) {
        let (own, least) = places::<Rdna3, R>(addend);
        let last = place(&products).max(least);
        let mut sum = cut(addend.significand << ADDEND_SHIFT, last - own);
        for p in products {
            let magnitude = cut(p.significand, last - p.exponent);
            sum += magnitude ^ p.negative ^ addend.negative;
        }
        ((sum ^ addend.negative) - addend.negative, last)
    }
}

impl Unit for Rdna4 {
    const FLUSHES: bool = false;
    const SIGNED: bool = true;

    #[inline(always)]
    fn sum<R: Result, const GROUP: usize, const N: usize>(products: [Parts; N], addend: Addend) -> (i32, i32) {
        let (own, least) = places::<Rdna4, R>(addend);
        let last = place(&products).max(least);
        let magnitude = addend.significand << ADDEND_SHIFT;
        let signed = cut((magnitude ^ addend.negative) - addend.negative, last - own);
        let lost = (cut(magnitude, last - own) == 0) & (last > R::floor::<Rdna4>());
        let mut sum = if lost { 0 } else { signed };
        for group in products.as_chunks::<GROUP>().0 {
            let own = place(group);
            let mut part = 0;
            for p in group {
                part += cut(p.significand, own - p.exponent);
            }
            sum += cut(part, last - own);
        }
        (sum, last)
    }
}
