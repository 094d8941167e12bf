//! Packed, dot and mixed operations.

use super::{Bench, DEFAULT, RESULT, Random, one, run_many};

#[test]
fn packed_halves_are_two_single_operations() {
    let pairs = [
        ("v_pk_add_f16", "v_add_f16"),
        ("v_pk_mul_f16", "v_mul_f16"),
        ("v_pk_fma_f16", "v_fma_f16"),
        ("v_pk_min_f16", "v_min_f16"),
        ("v_pk_max_f16", "v_max_f16"),
        ("v_pk_add_u16", "v_add_u16"),
        ("v_pk_sub_u16", "v_sub_u16"),
        ("v_pk_add_i16", "v_add_i16"),
        ("v_pk_sub_i16", "v_sub_i16"),
        ("v_pk_mul_lo_u16", "v_mul_lo_u16"),
        ("v_pk_mad_u16", "v_mad_u16"),
        ("v_pk_mad_i16", "v_mad_i16"),
        ("v_pk_min_u16", "v_min_u16"),
        ("v_pk_max_u16", "v_max_u16"),
        ("v_pk_min_i16", "v_min_i16"),
        ("v_pk_max_i16", "v_max_i16"),
        ("v_pk_lshlrev_b16", "v_lshlrev_b16"),
        ("v_pk_lshrrev_b16", "v_lshrrev_b16"),
        ("v_pk_ashrrev_i16", "v_ashrrev_i16"),
    ];
    let mut r = Random(5);
    let cases: Vec<[u64; 3]> = (0..640).map(|_| std::array::from_fn(|_| r.next() & 0xffff_ffff)).collect();
    let high: Vec<[u64; 3]> = cases.iter().map(|c| c.map(|x| x >> 16)).collect();
    for (packed, single) in pairs {
        for clamp in [false, packed.ends_with("add_u16") || packed.ends_with("sub_i16")] {
            let (both, lo, hi) = (
                run_many(packed, DEFAULT, clamp, &cases),
                run_many(single, DEFAULT, clamp, &cases),
                run_many(single, DEFAULT, clamp, &high),
            );
            for i in 0..cases.len() {
                let want = lo[i] & 0xffff | (hi[i] & 0xffff) << 16;
                assert_eq!(both[i], want, "{packed} {:x?} clamp {clamp}", cases[i]);
            }
        }
    }
}

/// A pair operation with raw modifiers: op_sel at bit 6, op_sel_hi at bit 10, neg at 0, neg_hi at 3.
fn pair(name: &str, imm: u64, sources: [[f32; 2]; 3]) -> [f32; 2] {
    let mut bench = Bench::new(DEFAULT);
    for (k, [lo, hi]) in sources.iter().enumerate() {
        bench.set(k, 3, u64::from(lo.to_bits()) | u64::from(hi.to_bits()) << 32);
    }
    bench.op.imm = imm;
    bench.run(name);
    let value = bench.get(3);
    [f32::from_bits(value as u32), f32::from_bits((value >> 32) as u32)]
}

#[test]
fn pairs_of_singles_select_words() {
    let sources = [[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]];
    let straight = 7 << 10;
    assert_eq!(pair("v_pk_fma_f32", straight, sources), [21.0, 34.0]);
    assert_eq!(pair("v_pk_mul_f32", straight, sources), [10.0, 21.0]);
    assert_eq!(pair("v_pk_add_f32", straight, sources), [7.0, 10.0]);
    assert_eq!(pair("v_pk_add_f32", 0, sources), [7.0, 7.0]);
    assert_eq!(pair("v_pk_mul_f32", 1 << 6 | 2 << 10, sources), [15.0, 14.0]);
    assert_eq!(pair("v_pk_add_f32", straight | 1 | 2 << 3, sources), [3.0, -4.0]);
    assert_eq!(pair("v_pk_mul_f32", straight | 1 << 13 | 1, sources), [0.0, 1.0]);
    assert_eq!(pair("v_pk_mov_b32", 1 << 6, sources), [3.0, 5.0]);
    assert_eq!(pair("v_pk_mov_b32", 2 << 6, sources), [2.0, 7.0]);
}

#[test]
fn dot_products() {
    assert_eq!(one("v_dot4_i32_i8", 0xff02_0380, 0x0405_067f, 100), (100 - 4 + 10 + 18 - 128 * 127) as u32);
    assert_eq!(one("v_dot4_u32_u8", 0xff02_0380, 0x0405_067f, 100), 100 + 255 * 4 + 10 + 18 + 128 * 127);
    assert_eq!(one("v_dot2_i32_i16", 0xffff_8000, 0x0002_8000, 5), (5 - 2 + (1 << 30)) as u32);
    assert_eq!(one("v_dot2_u32_u16", 0xffff_8000, 0x0002_8000, 5), 5 + 0xffff * 2 + (1 << 30));
    assert_eq!(one("v_dot8_i32_i4", 0xf123_4567, 0x1111_1111, 0), 27);
    assert_eq!(one("v_dot8_u32_u4", 0xf123_4567, 0x1111_1111, 0), 15 + 1 + 2 + 3 + 4 + 5 + 6 + 7);
    // 2 * 3 + 0.5 * 4 + 10; a denormal half counts as zero.
    assert_eq!(one("v_dot2_f32_f16", 0x3800_4000, 0x4400_4200, 10f32.to_bits()), 18f32.to_bits());
    assert_eq!(one("v_dot2_f32_f16", 0x0001_4000, 0x7bff_4200, 10f32.to_bits()), 16f32.to_bits());
    let most = run_many("v_dot4_u32_u8", DEFAULT, true, &[[0xffff_ffff, 0xffff_ffff, 0xffff_fff0]])[0];
    assert_eq!(most, 0xffff_ffff);
}

#[test]
fn fma_mix_reads_halves_where_told() {
    let mut bench = Bench::new(DEFAULT);
    bench.set(0, 0, 0x4000_3c00); // halves 1 and 2
    bench.set(1, 0, 3f32.to_bits().into());
    bench.set(2, 0, 0x4500_4400); // halves 4 and 5
    let halves = 5 << 10; // sources 0 and 2 are halves
    let mut mix = |name: &str, mods: u64| {
        bench.op.imm = mods;
        *bench.wave.row_mut(RESULT) = crate::registers::Row([0xaaaa_bbbb; 64]);
        bench.run(name);
        bench.get32(0)
    };
    assert_eq!(mix("v_fma_mix_f32", halves), 7f32.to_bits());
    assert_eq!(mix("v_fma_mix_f32", halves | 5 << 6), 11f32.to_bits());
    assert_eq!(mix("v_fma_mix_f32", halves | 1), 1f32.to_bits());
    assert_eq!(mix("v_fma_mix_f32", halves | 1 << 13), 1f32.to_bits());
    assert_eq!(mix("v_fma_mixlo_f16", halves), 0xaaaa_4700);
    assert_eq!(mix("v_fma_mixhi_f16", halves), 0x4700_bbbb);
}
