//! Eight lanes.

use std::arch::x86_64::*;

use super::Lanes;

pub struct Avx2;

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
        fn four_times(x: __m256i) -> __m256i { _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c))) }
    }
}
