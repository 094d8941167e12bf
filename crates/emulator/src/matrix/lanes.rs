//! Vectors of the host that matrix operations are computed with: 16 lanes with AVX-512, 8 with AVX2.
//!
//! The compilers unroll short loops before they look for vectors, and find few in what is left; so these are spelt out.

use std::arch::asm;
use std::arch::x86_64::*;

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

pub struct Avx512;
pub struct Avx2;

/// `x` with its last bit set where `y` is more than `z`, as unsigned numbers. (The compiler would make words of the mask, and
/// move and add them: two instructions more.)
#[inline]
#[target_feature(enable = "avx512f")]
fn or_one_where_more(mut x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    // SAFETY: it works on registers alone.
    unsafe {
        asm!(
            "vpcmpud {mask}, {y}, {z}, 6",
            "vpord {x}{{{mask}}}, {x}, {one}",
            mask = out(kreg) _, x = inout(zmm_reg) x, y = in(zmm_reg) y, z = in(zmm_reg) z, one = in(zmm_reg) _mm512_set1_epi32(1),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    x
}

/// `x` and two more where the first bit of `of` is set. (The compiler would shift, cut off and add: an instruction more.)
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn add_two_where_negative(mut x: __m512i, of: __m512) -> __m512i {
    // SAFETY: it works on registers alone.
    unsafe {
        asm!(
            "vpmovd2m {mask}, {of}",
            "vpaddd {x}{{{mask}}}, {x}, {two}",
            mask = out(kreg) _, x = inout(zmm_reg) x, of = in(zmm_reg) of, two = in(zmm_reg) _mm512_set1_epi32(2),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    x
}

/// A mask of the upper halves of lanes that the compiler does not know. (Of one that it knows it makes an instruction more.)
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub fn upper_halves() -> __mmask32 {
    let mut mask = 0xaaaa_aaaa;
    // SAFETY: it does nothing.
    unsafe { asm!("/* {0} */", inout(kreg) mask, options(pure, nomem, nostack, preserves_flags)) };
    mask
}

/// For a shuffle of bytes: the lowest byte of each word, four times.
#[inline]
#[target_feature(enable = "sse2")]
fn lowest_bytes() -> __m128i {
    _mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c)
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

// SAFETY: every method is one of AVX-512 (F, BW).
unsafe impl Lanes for Avx512 {
    const N: usize = 16;
    type Float = __m512;
    type Int = __m512i;

    methods! {
        fn load(from: *const f32) -> __m512 { _mm512_loadu_ps(from) }
        fn load_int(from: *const i32) -> __m512i { _mm512_loadu_epi32(from) }
        fn store(to: *mut u32, x: __m512) -> () { _mm512_storeu_ps(to.cast(), x) }
        fn all(x: f32) -> __m512 { _mm512_set1_ps(x) }
        fn all_int(x: i32) -> __m512i { _mm512_set1_epi32(x) }
        fn multiply(x: __m512, y: __m512) -> __m512 { _mm512_mul_ps(x, y) }
        fn add_float(x: __m512, y: __m512) -> __m512 { _mm512_add_ps(x, y) }
        fn multiply_add(x: __m512, y: __m512, z: __m512) -> __m512 { _mm512_fmadd_ps(x, y, z) }
        fn whole(x: __m512) -> __m512i { _mm512_cvttps_epi32(x) }
        fn floor_whole(x: __m512) -> __m512i {
            _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x)
        }
        fn singles_of_ints(x: __m512i) -> __m512 { _mm512_cvtepi32_ps(x) }
        fn odd_singles_of_ints(x: __m512i) -> __m512 {
            let down = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
            let is_inexact = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(down), x);
            let bits = _mm512_castps_si512(down);
            _mm512_castsi512_ps(_mm512_mask_or_epi32(bits, is_inexact, bits, _mm512_set1_epi32(1)))
        }
        fn singles_of_halves(x: __m512i) -> __m512 { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)) }
        fn halves_of_singles(x: __m512) -> __m512i {
            _mm512_cvtepu16_epi32(_mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x))
        }
        fn as_float(bits: __m512i) -> __m512 { _mm512_castsi512_ps(bits) }
        fn as_int(x: __m512) -> __m512i { _mm512_castps_si512(x) }
        fn add(x: __m512i, y: __m512i) -> __m512i { _mm512_add_epi32(x, y) }
        fn sub(x: __m512i, y: __m512i) -> __m512i { _mm512_sub_epi32(x, y) }
        fn max(x: __m512i, y: __m512i) -> __m512i { _mm512_max_epi32(x, y) }
        fn and(x: __m512i, y: __m512i) -> __m512i { _mm512_and_si512(x, y) }
        fn store_int(to: *mut i32, x: __m512i) -> () { _mm512_storeu_epi32(to, x) }
        fn up(x: __m512i, bits: u32) -> __m512i { _mm512_sll_epi32(x, _mm_cvtsi32_si128(bits as i32)) }
        fn down(x: __m512i, bits: u32) -> __m512i { _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits as i32)) }
        fn xor(x: __m512i, y: __m512i) -> __m512i { _mm512_xor_si512(x, y) }
        fn or(x: __m512i, y: __m512i) -> __m512i { _mm512_or_si512(x, y) }
        fn sums_of_products(x: __m512i, y: __m512i) -> __m512i { _mm512_madd_epi16(x, y) }
        fn add_where_negative(x: __m512i, of: __m512i, more: i32) -> __m512i {
            _mm512_mask_add_epi32(x, _mm512_movepi32_mask(of), x, _mm512_set1_epi32(more))
        }
        fn down_each(x: __m512i, bits: __m512i) -> __m512i { _mm512_srav_epi32(x, bits) }
        fn up_each(x: __m512i, bits: __m512i) -> __m512i { _mm512_sllv_epi32(x, bits) }
        fn max_halves(x: __m512i, y: __m512i) -> __m512i { _mm512_max_epu16(x, y) }
        fn add_bytes(x: __m512i, y: __m512i) -> __m512i { _mm512_adds_epi8(x, y) }
        fn max_bytes(x: __m512i, y: __m512i) -> __m512i { _mm512_max_epi8(x, y) }
        fn sub_bytes(x: __m512i, y: __m512i) -> __m512i { _mm512_sub_epi8(x, y) }
        fn where_no_half(x: __m512i, zero: __m512i, other: __m512i) -> __m512i {
            _mm512_mask_mov_epi16(other, _mm512_testn_epi16_mask(x, _mm512_set1_epi16(0x7fff)), zero)
        }
        fn normal_halves(x: __m512i) -> __m512i {
            _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(x, _mm512_set1_epi16(0x7c00)), x)
        }
        fn min_unsigned(x: __m512i, y: __m512i) -> __m512i { _mm512_min_epu32(x, y) }
        fn where_less(x: __m512i, y: __m512i, less: __m512i, other: __m512i) -> __m512i {
            _mm512_mask_mov_epi32(other, _mm512_cmplt_epi32_mask(x, y), less)
        }
        fn mark(x: __m512i, cut_off: __m512i) -> __m512i {
            let magnitude = _mm512_abs_epi32(x);
            or_one_where_more(x, _mm512_andnot_si512(magnitude, cut_off), magnitude)
        }
        fn zero_where_less(x: __m512i, y: __m512i, from: __m512) -> __m512 {
            _mm512_maskz_mov_ps(_mm512_cmpge_epi32_mask(x, y), from)
        }
        fn any_more(x: __m512i, y: __m512i) -> bool { _mm512_cmpgt_epi32_mask(x, y) != 0 }
        fn add_halves(x: __m512i, y: __m512i) -> __m512i { _mm512_add_epi16(x, y) }
        fn max_signed_halves(x: __m512i, y: __m512i) -> __m512i { _mm512_max_epi16(x, y) }
        fn max_upper_halves(x: __m512i, y: __m512i) -> __m512i { _mm512_maskz_max_epi16(upper_halves(), x, y) }
        fn sub_down_to_zero(x: __m512i, y: __m512i) -> __m512i { _mm512_subs_epu16(x, y) }
        fn add_two_where_negative(x: __m512i, of: __m512) -> __m512i { add_two_where_negative(x, of) }
        fn transposed_halves(x: __m512i) -> __m512i {
            _mm512_shufflehi_epi16::<0b11_01_10_00>(_mm512_shufflelo_epi16::<0b11_01_10_00>(x))
        }
        fn store_bytes(to: *mut u8, x: __m512i) -> () { _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(x)) }
        fn four_times(x: __m512i) -> __m512i { _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(lowest_bytes())) }
    }
}

// SAFETY: every method is one of AVX2, FMA or F16C.
unsafe impl Lanes for Avx2 {
    const N: usize = 8;
    type Float = __m256;
    type Int = __m256i;

    methods! {
        fn load(from: *const f32) -> __m256 { _mm256_loadu_ps(from) }
        fn load_int(from: *const i32) -> __m256i { _mm256_loadu_si256(from.cast()) }
        fn store(to: *mut u32, x: __m256) -> () { _mm256_storeu_ps(to.cast(), x) }
        fn all(x: f32) -> __m256 { _mm256_set1_ps(x) }
        fn all_int(x: i32) -> __m256i { _mm256_set1_epi32(x) }
        fn multiply(x: __m256, y: __m256) -> __m256 { _mm256_mul_ps(x, y) }
        fn add_float(x: __m256, y: __m256) -> __m256 { _mm256_add_ps(x, y) }
        fn multiply_add(x: __m256, y: __m256, z: __m256) -> __m256 { _mm256_fmadd_ps(x, y, z) }
        fn whole(x: __m256) -> __m256i { _mm256_cvttps_epi32(x) }
        fn floor_whole(x: __m256) -> __m256i { _mm256_cvttps_epi32(_mm256_floor_ps(x)) }
        fn singles_of_ints(x: __m256i) -> __m256 { _mm256_cvtepi32_ps(x) }
        fn odd_singles_of_ints(x: __m256i) -> __m256 {
            let low = _mm256_set1_epi32(127);
            let is_exact = _mm256_cmpeq_epi32(_mm256_and_si256(x, low), _mm256_setzero_si256());
            let marked = _mm256_or_si256(_mm256_andnot_si256(low, x), _mm256_andnot_si256(is_exact, _mm256_set1_epi32(64)));
            let is_long = _mm256_cmpgt_epi32(_mm256_abs_epi32(x), _mm256_set1_epi32((1 << 24) - 1));
            _mm256_cvtepi32_ps(_mm256_blendv_epi8(x, marked, is_long))
        }
        fn singles_of_halves(x: __m256i) -> __m256 {
            let low = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
            let words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low));
            _mm256_cvtph_ps(words)
        }
        fn halves_of_singles(x: __m256) -> __m256i {
            _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x))
        }
        fn as_float(bits: __m256i) -> __m256 { _mm256_castsi256_ps(bits) }
        fn as_int(x: __m256) -> __m256i { _mm256_castps_si256(x) }
        fn add(x: __m256i, y: __m256i) -> __m256i { _mm256_add_epi32(x, y) }
        fn sub(x: __m256i, y: __m256i) -> __m256i { _mm256_sub_epi32(x, y) }
        fn max(x: __m256i, y: __m256i) -> __m256i { _mm256_max_epi32(x, y) }
        fn and(x: __m256i, y: __m256i) -> __m256i { _mm256_and_si256(x, y) }
        fn store_int(to: *mut i32, x: __m256i) -> () { _mm256_storeu_si256(to.cast(), x) }
        fn up(x: __m256i, bits: u32) -> __m256i { _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits as i32)) }
        fn down(x: __m256i, bits: u32) -> __m256i { _mm256_srl_epi32(x, _mm_cvtsi32_si128(bits as i32)) }
        fn xor(x: __m256i, y: __m256i) -> __m256i { _mm256_xor_si256(x, y) }
        fn or(x: __m256i, y: __m256i) -> __m256i { _mm256_or_si256(x, y) }
        fn sums_of_products(x: __m256i, y: __m256i) -> __m256i { _mm256_madd_epi16(x, y) }
        fn add_where_negative(x: __m256i, of: __m256i, more: i32) -> __m256i {
            _mm256_add_epi32(x, _mm256_and_si256(_mm256_srai_epi32::<31>(of), _mm256_set1_epi32(more)))
        }
        fn down_each(x: __m256i, bits: __m256i) -> __m256i { _mm256_srav_epi32(x, bits) }
        fn up_each(x: __m256i, bits: __m256i) -> __m256i { _mm256_sllv_epi32(x, bits) }
        fn max_halves(x: __m256i, y: __m256i) -> __m256i { _mm256_max_epu16(x, y) }
        fn add_bytes(x: __m256i, y: __m256i) -> __m256i { _mm256_adds_epi8(x, y) }
        fn max_bytes(x: __m256i, y: __m256i) -> __m256i { _mm256_max_epi8(x, y) }
        fn sub_bytes(x: __m256i, y: __m256i) -> __m256i { _mm256_sub_epi8(x, y) }
        fn where_no_half(x: __m256i, zero: __m256i, other: __m256i) -> __m256i {
            let magnitude = _mm256_and_si256(x, _mm256_set1_epi16(0x7fff));
            _mm256_blendv_epi8(other, zero, _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256()))
        }
        fn normal_halves(x: __m256i) -> __m256i {
            let exponents = _mm256_and_si256(x, _mm256_set1_epi16(0x7c00));
            _mm256_andnot_si256(_mm256_cmpeq_epi16(exponents, _mm256_setzero_si256()), x)
        }
        fn min_unsigned(x: __m256i, y: __m256i) -> __m256i { _mm256_min_epu32(x, y) }
        fn where_less(x: __m256i, y: __m256i, less: __m256i, other: __m256i) -> __m256i {
            _mm256_blendv_epi8(other, less, _mm256_cmpgt_epi32(y, x))
        }
        fn mark(x: __m256i, cut_off: __m256i) -> __m256i {
            let magnitude = _mm256_abs_epi32(x);
            let higher = _mm256_andnot_si256(magnitude, cut_off);
            let is_lower = _mm256_cmpeq_epi32(_mm256_min_epu32(higher, magnitude), higher);
            _mm256_or_si256(x, _mm256_andnot_si256(is_lower, _mm256_set1_epi32(1)))
        }
        fn zero_where_less(x: __m256i, y: __m256i, from: __m256) -> __m256 {
            _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(y, x)), from)
        }
        fn any_more(x: __m256i, y: __m256i) -> bool { _mm256_movemask_epi8(_mm256_cmpgt_epi32(x, y)) != 0 }
        fn add_halves(x: __m256i, y: __m256i) -> __m256i { _mm256_add_epi16(x, y) }
        fn max_signed_halves(x: __m256i, y: __m256i) -> __m256i { _mm256_max_epi16(x, y) }
        fn max_upper_halves(x: __m256i, y: __m256i) -> __m256i {
            _mm256_and_si256(_mm256_max_epi16(x, y), _mm256_set1_epi32(!0xffff))
        }
        fn sub_down_to_zero(x: __m256i, y: __m256i) -> __m256i { _mm256_subs_epu16(x, y) }
        fn add_two_where_negative(x: __m256i, of: __m256) -> __m256i {
            _mm256_add_epi32(x, _mm256_and_si256(_mm256_srli_epi32::<30>(_mm256_castps_si256(of)), _mm256_set1_epi32(2)))
        }
        fn transposed_halves(x: __m256i) -> __m256i {
            _mm256_shufflehi_epi16::<0b11_01_10_00>(_mm256_shufflelo_epi16::<0b11_01_10_00>(x))
        }
        fn store_bytes(to: *mut u8, x: __m256i) -> () {
            let first = _mm256_shuffle_epi8(x, _mm256_set1_epi32(0x0c08_0400));
            let both = _mm_unpacklo_epi32(_mm256_castsi256_si128(first), _mm256_extracti128_si256::<1>(first));
            _mm_storeu_si64(to, both);
        }
        fn four_times(x: __m256i) -> __m256i { _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(lowest_bytes())) }
    }
}
