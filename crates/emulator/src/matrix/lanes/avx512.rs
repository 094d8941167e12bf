//! Sixteen lanes.

use std::arch::asm;
use std::arch::x86_64::*;

use super::Lanes;

pub struct Avx512;

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
        fn four_times(x: __m512i) -> __m512i { _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c))) }
    }
}
