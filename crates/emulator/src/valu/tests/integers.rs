//! Integer operations against 128-bit arithmetic and loops over bits.

use super::{Bench, DEFAULT, run_many, triples};

const EDGES: [u64; 16] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7f,
    0x80,
    0x7fff,
    0x8000,
    0xffff,
    0x7f_ffff,
    0x80_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];

type Reference = fn(i128, i128, i128) -> i128;

fn signed(x: i128, bits: u32) -> i128 {
    let x = x & ((1 << bits) - 1);
    if x >> (bits - 1) != 0 { x - (1 << bits) } else { x }
}
fn low(x: i128, bits: u32) -> i128 {
    x & ((1 << bits) - 1)
}
fn bytes(x: i128) -> [i128; 4] {
    [x & 255, x >> 8 & 255, x >> 16 & 255, x >> 24 & 255]
}
fn from_bytes(f: impl Fn(usize) -> i128) -> i128 {
    (0..4).map(|k| (f(k) & 255) << (8 * k)).sum()
}
fn sad(a: i128, b: i128, masked: bool) -> i128 {
    bytes(a).iter().zip(bytes(b)).map(|(&x, y)| if masked && y == 0 { 0 } else { (x - y).abs() }).sum()
}
fn middle(a: i128, b: i128, c: i128) -> i128 {
    let mut all = [a, b, c];
    all.sort();
    all[1]
}
fn s(x: i128) -> i128 {
    signed(x, 32)
}
fn perm(a: i128, b: i128, select: i128) -> i128 {
    let data = a << 32 | b;
    from_bytes(|k| match bytes(select)[k] {
        n @ 0..=7 => data >> (8 * n),
        n @ 8..=11 => -(data >> (16 * (n - 8) + 15) & 1),
        12 => 0,
        _ => 255,
    })
}
fn field(a: i128, b: i128, c: i128, sign: bool) -> i128 {
    let (offset, width) = (b & 31, (c & 31) as u32);
    let source = if sign { s(a) } else { a };
    match width {
        0 => 0,
        n if sign => signed(source >> offset, n),
        n => low(source >> offset, n),
    }
}

/// Operations of 32-bit sources: the result is the low 32 bits of the reference.
const WORDS: &[(&str, Reference)] = &[
    ("v_and_b32", |a, b, _| a & b),
    ("v_or_b32", |a, b, _| a | b),
    ("v_xor_b32", |a, b, _| a ^ b),
    ("v_xnor_b32", |a, b, _| !(a ^ b)),
    ("v_not_b32", |a, _, _| !a),
    ("v_mov_b32", |a, _, _| a),
    ("v_lshlrev_b32", |a, b, _| b << (a & 31)),
    ("v_lshrrev_b32", |a, b, _| b >> (a & 31)),
    ("v_ashrrev_i32", |a, b, _| s(b) >> (a & 31)),
    ("v_add_u32", |a, b, _| a + b),
    ("v_sub_u32", |a, b, _| a - b),
    ("v_subrev_u32", |a, b, _| b - a),
    ("v_add_i32", |a, b, _| a + b),
    ("v_sub_i32", |a, b, _| a - b),
    ("v_add3_u32", |a, b, c| a + b + c),
    ("v_lshl_add_u32", |a, b, c| (a << (b & 31)) + c),
    ("v_add_lshl_u32", |a, b, c| (a + b) << (c & 31)),
    ("v_lshl_or_b32", |a, b, c| a << (b & 31) | c),
    ("v_and_or_b32", |a, b, c| a & b | c),
    ("v_or3_b32", |a, b, c| a | b | c),
    ("v_xad_u32", |a, b, c| (a ^ b) + c),
    ("v_mul_lo_u32", |a, b, _| a * b),
    ("v_mul_hi_u32", |a, b, _| (a * b) >> 32),
    ("v_mul_hi_i32", |a, b, _| (s(a) * s(b)) >> 32),
    ("v_mul_u32_u24", |a, b, _| low(a, 24) * low(b, 24)),
    ("v_mul_hi_u32_u24", |a, b, _| (low(a, 24) * low(b, 24)) >> 32),
    ("v_mul_i32_i24", |a, b, _| signed(a, 24) * signed(b, 24)),
    ("v_mul_hi_i32_i24", |a, b, _| (signed(a, 24) * signed(b, 24)) >> 32),
    ("v_mad_u32_u24", |a, b, c| low(a, 24) * low(b, 24) + c),
    ("v_mad_i32_i24", |a, b, c| signed(a, 24) * signed(b, 24) + c),
    ("v_mad_u32_u16", |a, b, c| low(a, 16) * low(b, 16) + c),
    ("v_mad_i32_i16", |a, b, c| signed(a, 16) * signed(b, 16) + c),
    ("v_bfe_u32", |a, b, c| field(a, b, c, false)),
    ("v_bfe_i32", |a, b, c| field(a, b, c, true)),
    ("v_bfi_b32", |a, b, c| a & b | !a & c),
    ("v_bfm_b32", |a, b, _| ((1 << (a & 31)) - 1) << (b & 31)),
    ("v_bfrev_b32", |a, _, _| (0..32).map(|k| (a >> k & 1) << (31 - k)).sum()),
    ("v_bcnt_u32_b32", |a, b, _| (0..32).map(|k| a >> k & 1).sum::<i128>() + b),
    ("v_ffbh_u32", |a, _, _| (0..32).find(|k| a >> (31 - k) & 1 == 1).unwrap_or(-1)),
    ("v_ffbl_b32", |a, _, _| (0..32).find(|k| a >> k & 1 == 1).unwrap_or(-1)),
    ("v_ffbh_i32", |a, _, _| (1..32).find(|k| a >> (31 - k) & 1 != a >> 31 & 1).unwrap_or(-1)),
    ("v_min_u32", |a, b, _| a.min(b)),
    ("v_max_u32", |a, b, _| a.max(b)),
    ("v_min_i32", |a, b, _| s(a).min(s(b))),
    ("v_max_i32", |a, b, _| s(a).max(s(b))),
    ("v_min3_u32", |a, b, c| a.min(b).min(c)),
    ("v_max3_u32", |a, b, c| a.max(b).max(c)),
    ("v_med3_u32", middle),
    ("v_min3_i32", |a, b, c| s(a).min(s(b)).min(s(c))),
    ("v_max3_i32", |a, b, c| s(a).max(s(b)).max(s(c))),
    ("v_med3_i32", |a, b, c| middle(s(a), s(b), s(c))),
    ("v_alignbit_b32", |a, b, c| (a << 32 | b) >> (c & 31)),
    ("v_alignbyte_b32", |a, b, c| (a << 32 | b) >> (8 * (c & 3))),
    ("v_perm_b32", perm),
    ("v_lerp_u8", |a, b, c| from_bytes(|k| (bytes(a)[k] + bytes(b)[k] + (bytes(c)[k] & 1)) >> 1)),
    ("v_sad_u8", |a, b, c| sad(a, b, false) + c),
    ("v_msad_u8", |a, b, c| sad(a, b, true) + c),
    ("v_sad_hi_u8", |a, b, c| (sad(a, b, false) << 16) + c),
    ("v_sad_u16", |a, b, c| (low(a, 16) - low(b, 16)).abs() + ((a >> 16) - (b >> 16)).abs() + c),
    ("v_sad_u32", |a, b, c| (a - b).abs() + c),
    ("v_pack_b32_f16", |a, b, _| low(a, 16) | low(b, 16) << 16),
    ("v_sat_pk_u8_i16", |a, _, _| signed(a, 16).clamp(0, 255) | signed(a >> 16, 16).clamp(0, 255) << 8),
    ("v_cvt_pk_u16_u32", |a, b, _| a.min(0xffff) | b.min(0xffff) << 16),
    ("v_cvt_pk_i16_i32", |a, b, _| low(s(a).clamp(-32768, 32767), 16) | low(s(b).clamp(-32768, 32767), 16) << 16),
];

/// Operations of 16-bit sources: the result is the low 16 bits of the reference, zero-extended.
const HALVES: &[(&str, Reference)] = &[
    ("v_add_u16", |a, b, _| a + b),
    ("v_sub_u16", |a, b, _| a - b),
    ("v_subrev_u16", |a, b, _| b - a),
    ("v_add_i16", |a, b, _| a + b),
    ("v_sub_i16", |a, b, _| a - b),
    ("v_mul_lo_u16", |a, b, _| a * b),
    ("v_lshlrev_b16", |a, b, _| b << (a & 15)),
    ("v_lshrrev_b16", |a, b, _| low(b, 16) >> (a & 15)),
    ("v_ashrrev_i16", |a, b, _| signed(b, 16) >> (a & 15)),
    ("v_min_u16", |a, b, _| low(a, 16).min(low(b, 16))),
    ("v_max_u16", |a, b, _| low(a, 16).max(low(b, 16))),
    ("v_min_i16", |a, b, _| signed(a, 16).min(signed(b, 16))),
    ("v_max_i16", |a, b, _| signed(a, 16).max(signed(b, 16))),
    ("v_med3_u16", |a, b, c| middle(low(a, 16), low(b, 16), low(c, 16))),
    ("v_med3_i16", |a, b, c| middle(signed(a, 16), signed(b, 16), signed(c, 16))),
    ("v_min3_u16", |a, b, c| low(a, 16).min(low(b, 16)).min(low(c, 16))),
    ("v_max3_i16", |a, b, c| signed(a, 16).max(signed(b, 16)).max(signed(c, 16))),
    ("v_mad_u16", |a, b, c| a * b + c),
    ("v_mad_i16", |a, b, c| a * b + c),
    ("v_mad_legacy_u16", |a, b, c| a * b + c),
    ("v_mad_legacy_i16", |a, b, c| a * b + c),
];

/// Saturating forms: the reference is exact, and limited to this range.
const CLAMPED: &[(&str, u32, bool, Reference)] = &[
    ("v_add_u32", 32, false, |a, b, _| a + b),
    ("v_sub_u32", 32, false, |a, b, _| a - b),
    ("v_subrev_u32", 32, false, |a, b, _| b - a),
    ("v_add_i32", 32, true, |a, b, _| s(a) + s(b)),
    ("v_sub_i32", 32, true, |a, b, _| s(a) - s(b)),
    ("v_mad_u32_u24", 32, false, |a, b, c| low(a, 24) * low(b, 24) + c),
    ("v_mad_i32_i24", 32, true, |a, b, c| signed(a, 24) * signed(b, 24) + s(c)),
    ("v_mad_u32_u16", 32, false, |a, b, c| low(a, 16) * low(b, 16) + c),
    ("v_mad_i32_i16", 32, true, |a, b, c| signed(a, 16) * signed(b, 16) + s(c)),
    ("v_sad_u8", 32, false, |a, b, c| sad(a, b, false) + c),
    ("v_sad_u32", 32, false, |a, b, c| (a - b).abs() + c),
    ("v_add_u16", 16, false, |a, b, _| low(a, 16) + low(b, 16)),
    ("v_sub_u16", 16, false, |a, b, _| low(a, 16) - low(b, 16)),
    ("v_add_i16", 16, true, |a, b, _| signed(a, 16) + signed(b, 16)),
    ("v_sub_i16", 16, true, |a, b, _| signed(a, 16) - signed(b, 16)),
    ("v_mad_u16", 16, false, |a, b, c| low(a, 16) * low(b, 16) + low(c, 16)),
    ("v_mad_i16", 16, true, |a, b, c| signed(a, 16) * signed(b, 16) + signed(c, 16)),
];

fn check(name: &str, clamp: bool, want: impl Fn([i128; 3]) -> i128) {
    let mut cases = triples(&EDGES, 3, 1000);
    cases.iter_mut().flatten().for_each(|x| *x &= 0xffff_ffff);
    for (case, got) in cases.iter().zip(run_many(name, DEFAULT, clamp, &cases)) {
        let want = want(case.map(i128::from)) as u32;
        assert_eq!(got as u32, want, "{name} {:#x} {:#x} {:#x} clamp {clamp}", case[0], case[1], case[2]);
    }
}

#[test]
fn words() {
    WORDS.iter().for_each(|(name, reference)| check(name, false, |[a, b, c]| low(reference(a, b, c), 32)));
}

#[test]
fn halves() {
    HALVES.iter().for_each(|(name, reference)| check(name, false, |[a, b, c]| low(reference(a, b, c), 16)));
}

#[test]
fn saturation() {
    for (name, bits, sign, reference) in CLAMPED {
        let (least, most) =
            if *sign { (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        check(name, true, |[a, b, c]| low(reference(a, b, c).clamp(least, most), *bits));
    }
}

#[test]
fn doubles() {
    let edges = [0u64, 1, 63, 64, 0x8000_0000, 0xffff_ffff, 1 << 32, i64::MAX as u64, 1 << 63, !0];
    let cases = triples(&edges, 2, 500);
    type Shift = fn(u64, u64) -> u64;
    let shifts: [(&str, Shift); 3] = [
        ("v_lshlrev_b64", |n, x| x << (n & 63)),
        ("v_lshrrev_b64", |n, x| x >> (n & 63)),
        ("v_ashrrev_i64", |n, x| (x as i64 >> (n & 63)) as u64),
    ];
    for (name, reference) in shifts {
        for (case, got) in cases.iter().zip(run_many(name, DEFAULT, false, &cases)) {
            assert_eq!(got, reference(case[0], case[1]), "{name} {case:x?}");
        }
    }
    for case in triples(&edges, 3, 500) {
        let (a, b, c) = (case[0] & 0xffff_ffff, case[1] & 0xffff_ffff, case[2]);
        for unsigned in [true, false] {
            let mut bench = Bench::new(DEFAULT);
            [a, b, c].iter().enumerate().for_each(|(k, &x)| bench.set(k, 5, x));
            bench.run(if unsigned { "v_mad_u64_u32" } else { "v_mad_i64_i32" });
            let sum = if unsigned {
                i128::from(a) * i128::from(b) + i128::from(c)
            } else {
                s(a.into()) * s(b.into()) + i128::from(c as i64)
            };
            assert_eq!(bench.get(5), sum as u64, "{a:#x} * {b:#x} + {c:#x}");
            assert_eq!(i128::from(bench.mask() >> 5 & 1), sum >> 64 & 1, "carry of {a:#x} * {b:#x} + {c:#x}");
        }
    }
}

#[test]
fn carries() {
    let names: [(&str, bool, Reference); 6] = [
        ("v_add_co_u32", false, |a, b, c| a + b + c),
        ("v_addc_co_u32", true, |a, b, c| a + b + c),
        ("v_sub_co_u32", false, |a, b, c| a - b - c),
        ("v_subrev_co_u32", false, |a, b, c| b - a - c),
        ("v_subb_co_u32", true, |a, b, c| a - b - c),
        ("v_subbrev_co_u32", true, |a, b, c| b - a - c),
    ];
    for (name, carry_in, reference) in names {
        for exec in [!0u64, 0xffff_0000_1234_5678] {
            for &a in &EDGES {
                let mut bench = Bench::new(DEFAULT);
                bench.wave.set_exec(exec);
                let carries = 0xa5a5_0f0f_3333_ffff;
                bench.wave.set_s64(super::MASK, carries);
                for lane in 0..64 {
                    bench.set(0, lane, a);
                    bench.set(1, lane, EDGES[lane % 16]);
                }
                *bench.wave.row_mut(super::RESULT) = crate::registers::Row([0xdead_beef; 64]);
                bench.run(name);
                for lane in 0..64 {
                    let c = if carry_in { i128::from(carries >> lane & 1) } else { 0 };
                    let want = reference(a.into(), EDGES[lane % 16].into(), c);
                    let on = exec >> lane & 1 != 0;
                    assert_eq!(bench.get32(lane), if on { want as u32 } else { 0xdead_beef }, "{name} lane {lane}");
                    assert_eq!(bench.mask() >> lane & 1 != 0, on && want >> 32 & 1 != 0, "{name} carry {lane}");
                }
            }
        }
    }
}

#[test]
fn quads_of_absolute_differences() {
    let source = 0x0102_0304_f5f6_f7f8u64;
    let (reference, sums) = (0x1000_ff01u64, 0xfff0_0001_0002_0003u64);
    for (name, masked) in [("v_qsad_pk_u16_u8", false), ("v_mqsad_pk_u16_u8", true)] {
        let got = run_many(name, DEFAULT, false, &[[source, reference, sums]])[0];
        for k in 0..4 {
            let part = i128::from(source >> (8 * k) & 0xffff_ffff);
            let want = sad(part, reference.into(), masked) + i128::from(sums >> (16 * k) & 0xffff);
            assert_eq!(i128::from(got >> (16 * k) & 0xffff), low(want, 16), "{name} {k}");
        }
    }
}
