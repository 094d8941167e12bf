//! Vectors of the host that matrix operations are computed with: 16 lanes with AVX-512, 8 with AVX2.
//!
//! The compilers unroll short loops before they look for vectors, and find few in what is left; so these are spelt out.

use std::arch::x86_64::*;

/// Operations on `N` lanes of 32 bits, and on two vectors with `N / 2` lanes of 64 bits each. To be inlined, always.
///
/// # Safety
/// The processor has what the type is named for.
pub unsafe trait Lanes {
    const N: usize;
    type Float: Copy;
    type Int: Copy;
    type Double: Copy;

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
    unsafe fn xor3(x: Self::Int, y: Self::Int, z: Self::Int) -> Self::Int;
    /// All ones where the first bit is set.
    unsafe fn signs(x: Self::Int) -> Self::Int;
    /// Each lane with its own number of bits less, and its sign; of 32 bits and more the sign remains.
    unsafe fn down_each(x: Self::Int, bits: Self::Int) -> Self::Int;
    /// Zero in those lanes in which `x` is less than `y`.
    unsafe fn zero_where_less(x: Self::Int, y: Self::Int, from: Self::Float) -> Self::Float;
    /// Whether `x` is more than `y` in some lane.
    unsafe fn any_more(x: Self::Int, y: Self::Int) -> bool;

    unsafe fn doubles(x: Self::Float) -> [Self::Double; 2];
    unsafe fn doubles_of_ints(x: Self::Int) -> [Self::Double; 2];
    unsafe fn singles(x: [Self::Double; 2]) -> Self::Float;
    /// 2 to the power of each `x - 1023`.
    unsafe fn powers(x: Self::Int) -> [Self::Double; 2];
    /// The power of two whose exponent field and that of the power `x` add up to `sum`.
    unsafe fn complement(sum: i64, x: Self::Double) -> Self::Double;
    unsafe fn multiply_double(x: Self::Double, y: Self::Double) -> Self::Double;
    unsafe fn add_double(x: Self::Double, y: Self::Double) -> Self::Double;
    /// With one rounding.
    unsafe fn multiply_add_double(x: Self::Double, y: Self::Double, z: Self::Double) -> Self::Double;
    unsafe fn all_double(x: f64) -> Self::Double;
    unsafe fn floor(x: Self::Double) -> Self::Double;
    /// 31 bits below the leading one, towards minus infinity.
    unsafe fn floor_to_32_bits(x: Self::Double) -> Self::Double;
}

/// What the last of them leaves out of an f64.
const LOW: i64 = (1 << 21) - 1;

pub struct Avx512;
pub struct Avx2;

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

// SAFETY: every method is one of AVX-512 (F, DQ).
unsafe impl Lanes for Avx512 {
    const N: usize = 16;
    type Float = __m512;
    type Int = __m512i;
    type Double = __m512d;

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
        fn xor3(x: __m512i, y: __m512i, z: __m512i) -> __m512i { _mm512_ternarylogic_epi32::<0x96>(x, y, z) }
        fn signs(x: __m512i) -> __m512i { _mm512_srai_epi32::<31>(x) }
        fn down_each(x: __m512i, bits: __m512i) -> __m512i { _mm512_srav_epi32(x, bits) }
        fn zero_where_less(x: __m512i, y: __m512i, from: __m512) -> __m512 {
            _mm512_maskz_mov_ps(_mm512_cmpge_epi32_mask(x, y), from)
        }
        fn any_more(x: __m512i, y: __m512i) -> bool { _mm512_cmpgt_epi32_mask(x, y) != 0 }
        fn doubles(x: __m512) -> [__m512d; 2] {
            [_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x))]
        }
        fn doubles_of_ints(x: __m512i) -> [__m512d; 2] {
            [_mm512_cvtepi32_pd(_mm512_castsi512_si256(x)), _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32::<1>(x))]
        }
        fn singles(x: [__m512d; 2]) -> __m512 {
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(x[0])), _mm512_cvtpd_ps(x[1]))
        }
        fn powers(x: __m512i) -> [__m512d; 2] {
            [_mm512_castsi512_si256(x), _mm512_extracti32x8_epi32::<1>(x)]
                .map(|x| _mm512_castsi512_pd(_mm512_slli_epi64::<52>(_mm512_cvtepi32_epi64(x))))
        }
        fn complement(sum: i64, x: __m512d) -> __m512d {
            _mm512_castsi512_pd(_mm512_sub_epi64(_mm512_set1_epi64(sum << 52), _mm512_castpd_si512(x)))
        }
        fn multiply_double(x: __m512d, y: __m512d) -> __m512d { _mm512_mul_pd(x, y) }
        fn add_double(x: __m512d, y: __m512d) -> __m512d { _mm512_add_pd(x, y) }
        fn multiply_add_double(x: __m512d, y: __m512d, z: __m512d) -> __m512d { _mm512_fmadd_pd(x, y, z) }
        fn all_double(x: f64) -> __m512d { _mm512_set1_pd(x) }
        fn floor(x: __m512d) -> __m512d { _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x) }
        fn floor_to_32_bits(x: __m512d) -> __m512d {
            let (bits, low) = (_mm512_castpd_si512(x), _mm512_set1_epi64(LOW));
            let up = _mm512_mask_add_epi64(bits, _mm512_movepi64_mask(bits), bits, low);
            _mm512_castsi512_pd(_mm512_andnot_si512(low, up))
        }
    }
}

// SAFETY: every method is one of AVX2 or FMA.
unsafe impl Lanes for Avx2 {
    const N: usize = 8;
    type Float = __m256;
    type Int = __m256i;
    type Double = __m256d;

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
        fn xor3(x: __m256i, y: __m256i, z: __m256i) -> __m256i { _mm256_xor_si256(x, _mm256_xor_si256(y, z)) }
        fn signs(x: __m256i) -> __m256i { _mm256_srai_epi32::<31>(x) }
        fn down_each(x: __m256i, bits: __m256i) -> __m256i { _mm256_srav_epi32(x, bits) }
        fn zero_where_less(x: __m256i, y: __m256i, from: __m256) -> __m256 {
            _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(y, x)), from)
        }
        fn any_more(x: __m256i, y: __m256i) -> bool { _mm256_movemask_epi8(_mm256_cmpgt_epi32(x, y)) != 0 }
        fn doubles(x: __m256) -> [__m256d; 2] {
            [_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x))]
        }
        fn doubles_of_ints(x: __m256i) -> [__m256d; 2] {
            [_mm256_cvtepi32_pd(_mm256_castsi256_si128(x)), _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(x))]
        }
        fn singles(x: [__m256d; 2]) -> __m256 { _mm256_set_m128(_mm256_cvtpd_ps(x[1]), _mm256_cvtpd_ps(x[0])) }
        fn powers(x: __m256i) -> [__m256d; 2] {
            [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)]
                .map(|x| _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_cvtepi32_epi64(x))))
        }
        fn complement(sum: i64, x: __m256d) -> __m256d {
            _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_set1_epi64x(sum << 52), _mm256_castpd_si256(x)))
        }
        fn multiply_double(x: __m256d, y: __m256d) -> __m256d { _mm256_mul_pd(x, y) }
        fn add_double(x: __m256d, y: __m256d) -> __m256d { _mm256_add_pd(x, y) }
        fn multiply_add_double(x: __m256d, y: __m256d, z: __m256d) -> __m256d { _mm256_fmadd_pd(x, y, z) }
        fn all_double(x: f64) -> __m256d { _mm256_set1_pd(x) }
        fn floor(x: __m256d) -> __m256d { _mm256_floor_pd(x) }
        fn floor_to_32_bits(x: __m256d) -> __m256d {
            let (bits, low) = (_mm256_castpd_si256(x), _mm256_set1_epi64x(LOW));
            let is_negative = _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd()));
            let up = _mm256_and_si256(is_negative, low);
            _mm256_castsi256_pd(_mm256_andnot_si256(low, _mm256_add_epi64(bits, up)))
        }
    }
}
