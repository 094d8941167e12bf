//! What MODE does where it is easily forgotten; found by tests/support/conformance, which compares with AMD's pseudocode.

use super::{DEFAULT, run_many};

const FLUSH_ALL: u32 = 0x300;
const FLUSH_RESULTS: u32 = DEFAULT & !0xa0;
/// Rounding of 32-bit results towards plus infinity, minus infinity, zero.
const UP: u32 = DEFAULT | 1;
const DOWN: u32 = DEFAULT | 2;
const TO_ZERO: u32 = DEFAULT | 3;

fn one(name: &str, mode: u32, sources: [u32; 3]) -> u32 {
    run_many(name, mode, false, &[sources.map(u64::from)])[0] as u32
}

#[test]
fn half_is_added_as_mode_rounds() {
    let odd = 8_388_609.0f32.to_bits();
    assert_eq!(one("v_cvt_rpi_i32_f32", DEFAULT, [odd, 0, 0]), 8_388_610);
    assert_eq!(one("v_cvt_rpi_i32_f32", TO_ZERO, [odd, 0, 0]), 8_388_609);
    assert_eq!(one("v_cvt_rpi_i32_f32", UP, [2_147_483_520.0f32.to_bits(), 0, 0]), i32::MAX as u32);
}

#[test]
fn cube_axes_overflow_as_mode_rounds() {
    let most = f32::MAX.to_bits();
    assert_eq!(one("v_cubema_f32", DEFAULT, [0, 0, most]), f32::INFINITY.to_bits());
    assert_eq!(one("v_cubema_f32", DOWN, [0, 0, most]), most);
}

#[test]
fn dot_products_of_halves_round_as_mode_says() {
    // 1 + 2^-12 * 2^-14 in the low half, nothing in the high one.
    let sources = [0x0c00, 0x0400, 1.0f32.to_bits()];
    assert_eq!(one("v_dot2_f32_f16", DEFAULT, sources), 1.0f32.to_bits());
    assert_eq!(one("v_dot2_f32_f16", UP, sources), 1.0f32.to_bits() + 1);
}

#[test]
fn the_median_is_chosen_before_results_are_flushed() {
    let sources = [(-0.5f32).to_bits(), 0x8000_0001, 1];
    assert_eq!(one("v_med3_f32", FLUSH_RESULTS, sources), 0x8000_0000);
    assert_eq!(one("v_med3_f32", DEFAULT, sources), 0x8000_0001);
    assert_eq!(one("v_med3_f16", FLUSH_RESULTS, [0xc000, 0x8001, 0x03ff]), 0x8000);
}

#[test]
fn denormals_are_flushed_on_the_way_through() {
    assert_eq!(one("v_pack_b32_f16", FLUSH_ALL, [0x8001, 0x77ff, 0]), 0x77ff_8000);
    assert_eq!(one("v_pack_b32_f16", DEFAULT, [0x8001, 0x77ff, 0]), 0x77ff_8001);
    assert_eq!(one("v_cvt_norm_u16_f16", FLUSH_ALL, [0x03ff, 0, 0]), 0);
    assert_eq!(one("v_cvt_norm_u16_f16", DEFAULT, [0x03ff, 0, 0]), 4);
    assert_eq!(one("v_div_fixup_f32", FLUSH_RESULTS, [1, 1.0f32.to_bits(), 1.0f32.to_bits()]), 0);
}

#[test]
fn a_nan_as_the_quotient_of_halves_stays_one() {
    assert_eq!(one("v_div_fixup_f16", DEFAULT, [0x7e00, 0x3c00, 0xbe00]), 0xfe00);
    // In f32 it is what an overflow on the way has become.
    let (two, nan) = (2.0f32.to_bits(), 0x7fc0_0000);
    assert_eq!(one("v_div_fixup_f32", DEFAULT, [nan, two, two]), f32::INFINITY.to_bits());
}
