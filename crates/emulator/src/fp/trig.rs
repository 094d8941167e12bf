//! `v_trig_preop_f64`: a 53-bit segment of 2/pi, for the reduction of large arguments.

use crate::mode::Mode;

/// The fraction of 2/pi, most significant word first.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// Segment `select & 31` of 2/pi for an argument `x`: as many leading bits are left out as multiply to whole turns.
/// A denormal segment is rounded and flushed as MODE says.
/// `known`: how many bits of 2/pi there are: 1201 in the manuals, 1184 on gfx1201 (bjacob/goc's captures of every exponent
/// and segment).
pub fn preop(m: Mode, x: u64, select: u32, known: u32) -> u64 {
    let exponent = (x >> 52 & 0x7ff) as u32;
    let shift = (select & 31) * 53 + exponent.saturating_sub(1077);
    let segment = bits53(shift, known);
    let scale = -53 - shift as i32 + if exponent >= 1968 { 128 } else { 0 };
    super::scale::ldexp64(m, (segment as f64).to_bits(), scale)
}

/// 53 bits from `shift` bits after the binary point on; `known` of them are there.
fn bits53(shift: u32, known: u32) -> u64 {
    let word = |i: u32| TWO_OVER_PI.get(i as usize).map_or(0, |&w| u128::from(w));
    let window = word(shift / 64) << 64 | word(shift / 64 + 1);
    let bits = (window >> (75 - shift % 64)) as u64 & ((1 << 53) - 1);
    let beyond = (shift + 53).saturating_sub(known).min(53);
    bits >> beyond << beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Mode = Mode(0xf0);

    #[test]
    fn first_segments_sum_to_two_over_pi() {
        let part = |k| f64::from_bits(preop(KEEP, 1.0f64.to_bits(), k, 1201));
        assert_eq!(part(0) + part(1) + part(2), std::f64::consts::FRAC_2_PI);
        assert!(part(1) < 2f64.powi(-53) && part(1) > 0.0);
    }

    #[test]
    fn large_arguments_drop_whole_turns() {
        // 2^60 has biased exponent 1083: six bits are dropped.
        assert_eq!(
            preop(KEEP, 2f64.powi(60).to_bits(), 0, 1201),
            super::super::scale::ldexp64_host((bits53(6, 1201) as f64).to_bits(), -59)
        );
    }
}
