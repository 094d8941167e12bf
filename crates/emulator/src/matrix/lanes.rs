//! Vectors of the host that matrix operations are computed with: 16 lanes with AVX-512, 8 with AVX2.
//!
//! The compilers unroll short loops before they look for vectors, and find few in what is left; so these are spelt out.

use crate::level::{Level, level};

/// Operations on `N` lanes of 32 bits. To be inlined, always.
///
/// # Safety
/// The processor has what the type is named for.
pub unsafe trait Lanes {
    const N: usize;
    type Float: Copy;
    type Int: Copy;

    unsafe fn load(from: *const f32) -> Self::Float;
    unsafe fn load_int(from: *const i32) -> Self::Int;
    unsafe fn store(to: *mut u32, x: Self::Float);
    unsafe fn store_int(to: *mut i32, x: Self::Int);
    unsafe fn all(x: f32) -> Self::Float;
    unsafe fn all_int(x: i32) -> Self::Int;
    unsafe fn multiply(x: Self::Float, y: Self::Float) -> Self::Float;
    unsafe fn add_float(x: Self::Float, y: Self::Float) -> Self::Float;
    /// With one rounding.
    unsafe fn multiply_add(x: Self::Float, y: Self::Float, z: Self::Float) -> Self::Float;
    /// Towards zero.
    unsafe fn whole(x: Self::Float) -> Self::Int;
    /// Towards minus infinity.
    unsafe fn floor_whole(x: Self::Float) -> Self::Int;
    unsafe fn singles_of_ints(x: Self::Int) -> Self::Float;
    /// f32 of whole numbers of 30 bits at most, for results of f16. A number of more than 24 bits loses its lowest bits; if one
    /// of these was set, the conversion sets a bit that it keeps. AVX-512 keeps 24 bits and sets the last of them (rounding to
    /// odd); AVX2 clears the last seven bits and sets bit 6.
    unsafe fn odd_singles_of_ints(x: Self::Int) -> Self::Float;
    /// Of f16 numbers in words whose upper halves do not count.
    unsafe fn singles_of_halves(x: Self::Int) -> Self::Float;
    /// To nearest even.
    unsafe fn halves_of_singles(x: Self::Float) -> Self::Int;
    unsafe fn as_float(bits: Self::Int) -> Self::Float;
    unsafe fn as_int(x: Self::Float) -> Self::Int;
    unsafe fn add(x: Self::Int, y: Self::Int) -> Self::Int;
    unsafe fn sub(x: Self::Int, y: Self::Int) -> Self::Int;
    unsafe fn max(x: Self::Int, y: Self::Int) -> Self::Int;
    unsafe fn and(x: Self::Int, y: Self::Int) -> Self::Int;
    unsafe fn up(x: Self::Int, bits: u32) -> Self::Int;
    /// As unsigned numbers.
    unsafe fn down(x: Self::Int, bits: u32) -> Self::Int;
    unsafe fn xor(x: Self::Int, y: Self::Int) -> Self::Int;
    unsafe fn or(x: Self::Int, y: Self::Int) -> Self::Int;
    /// Of both halves of each lane, as signed numbers.
    unsafe fn sums_of_products(x: Self::Int, y: Self::Int) -> Self::Int;
    /// `x` and `more` where the first bit of `of` is set.
    unsafe fn add_where_negative(x: Self::Int, of: Self::Int, more: i32) -> Self::Int;
    /// Each lane with its own number of bits less, and its sign; of 32 bits and more the sign remains.
    unsafe fn down_each(x: Self::Int, bits: Self::Int) -> Self::Int;
    /// Each lane with its own number of bits more; of 32 bits and more, or less than none, zero remains.
    unsafe fn up_each(x: Self::Int, bits: Self::Int) -> Self::Int;
    /// The larger ones of halves of lanes, as unsigned numbers.
    unsafe fn max_halves(x: Self::Int, y: Self::Int) -> Self::Int;
    /// Sums of bytes as signed numbers, none beyond the largest or the least one.
    unsafe fn add_bytes(x: Self::Int, y: Self::Int) -> Self::Int;
    /// Differences of bytes.
    unsafe fn sub_bytes(x: Self::Int, y: Self::Int) -> Self::Int;
    /// The larger ones of bytes, as signed numbers.
    unsafe fn max_bytes(x: Self::Int, y: Self::Int) -> Self::Int;
    /// The lesser ones, as unsigned numbers.
    unsafe fn min_unsigned(x: Self::Int, y: Self::Int) -> Self::Int;
    /// `less` where `x` is less than `y`, or else `other`.
    unsafe fn where_less(x: Self::Int, y: Self::Int, less: Self::Int, other: Self::Int) -> Self::Int;
    /// Halves of `zero` where those of `x` are zeros as f16, or else of `other`.
    unsafe fn where_no_half(x: Self::Int, zero: Self::Int, other: Self::Int) -> Self::Int;
    /// Numbers of f16, with zeros that are not negative in the place of zeros and denormals.
    unsafe fn normal_halves(x: Self::Int) -> Self::Int;
    /// Whole numbers, which are to be rounded, with the last bit set where the first bit of what was cut off is a higher one
    /// than that of the number's magnitude.
    unsafe fn mark(x: Self::Int, cut_off: Self::Int) -> Self::Int;
    /// Zero in those lanes in which `x` is less than `y`.
    unsafe fn zero_where_less(x: Self::Int, y: Self::Int, from: Self::Float) -> Self::Float;
    /// Whether `x` is more than `y` in some lane.
    unsafe fn any_more(x: Self::Int, y: Self::Int) -> bool;
    /// Of halves of lanes.
    unsafe fn add_halves(x: Self::Int, y: Self::Int) -> Self::Int;
    /// The larger ones of halves of lanes, as signed numbers.
    unsafe fn max_signed_halves(x: Self::Int, y: Self::Int) -> Self::Int;
    /// The larger ones of upper halves, as signed numbers; lower halves become zero.
    unsafe fn max_upper_halves(x: Self::Int, y: Self::Int) -> Self::Int;
    /// Of halves of lanes, as unsigned numbers: what would be less than zero is zero.
    unsafe fn sub_down_to_zero(x: Self::Int, y: Self::Int) -> Self::Int;
    /// `x`, and two more where the first bit of `of` is set.
    unsafe fn add_two_where_negative(x: Self::Int, of: Self::Float) -> Self::Int;
    /// Of each two lanes, the lower halves in the first and the upper ones in the second.
    unsafe fn transposed_halves(x: Self::Int) -> Self::Int;
    /// Stores the lowest bytes of words.
    unsafe fn store_bytes(to: *mut u8, x: Self::Int);
    /// Words whose bytes are all the lowest one of `x`'s.
    unsafe fn four_times(x: Self::Int) -> Self::Int;
}

/// Work for vectors of any width.
pub trait Job {
    type Result;
    /// To be inlined, always.
    ///
    /// # Safety
    /// The processor has what `L` is named for.
    unsafe fn run<L: Lanes>(self) -> Self::Result;
}

/// Work done by the widest vectors that the processor has, if it has any.
#[inline(always)]
pub fn by_widest<J: Job>(job: J) -> Option<J::Result> {
    match level() {
        // SAFETY: the processor has the features.
        Level::Avx512 => Some(unsafe { by_avx512(job) }),
        // SAFETY: likewise.
        Level::Avx2 => Some(unsafe { by_avx2(job) }),
        Level::Base => None,
    }
}

/// The same of work that is long: a function of its own, which operations share.
#[inline(always)]
pub fn by_widest_apart<J: Job>(job: J) -> Option<J::Result> {
    by_widest(Apart(job))
}

struct Apart<J>(J);
impl<J: Job> Job for Apart<J> {
    type Result = J::Result;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> J::Result {
        // SAFETY: as the caller says.
        unsafe { if L::N == 16 { apart_by_avx512(self.0) } else { apart_by_avx2(self.0) } }
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn apart_by_avx512<J: Job>(job: J) -> J::Result {
    by_avx512(job)
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn apart_by_avx2<J: Job>(job: J) -> J::Result {
    by_avx2(job)
}

#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub fn by_avx512<J: Job>(job: J) -> J::Result {
    // SAFETY: the processor has AVX-512.
    unsafe { job.run::<Avx512>() }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn by_avx2<J: Job>(job: J) -> J::Result {
    // SAFETY: the processor has AVX2.
    unsafe { job.run::<Avx2>() }
}

/// The methods of a width, each from its arguments.
macro_rules! methods {
    ($(fn $name:ident($($x:ident: $type:ty),*) -> $result:ty $body:block)*) => {
        $(
            #[inline(always)]
            unsafe fn $name($($x: $type),*) -> $result {
                // SAFETY: the caller says that the processor has these; who loads and stores, that there are `N` lanes.
                unsafe { $body }
            }
        )*
    };
}

// Behind the macro that they use.
mod avx2;
mod avx512;

pub use avx2::Avx2;
pub use avx512::{Avx512, upper_halves};
