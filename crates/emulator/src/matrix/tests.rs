//! Matrices are put into registers and read back by the formulas of AMD's manual, written here once more, and multiplied
//! by a plain triple loop. Small integers: every order of summation gives the same sum.

use super::named;
use crate::fp::small::{BF6, BF8, FP4, FP6, FP8, Small};
use crate::op::Op;
use crate::registers::Row;
use crate::wave::Wave;

/// An operation: its results are M x M in some blocks, of `k` products each.
pub(super) struct Case {
    pub name: &'static str,
    pub m: usize,
    pub k: usize,
    pub blocks: usize,
}

pub(super) const fn case(name: &'static str, m: usize, k: usize, blocks: usize) -> Case {
    Case { name, m, k, blocks }
}

const CASES: [Case; 61] = [
    case("v_mfma_f32_32x32x1f32", 32, 1, 2),
    case("v_mfma_f32_32x32x2f32", 32, 2, 1),
    case("v_mfma_f32_16x16x1f32", 16, 1, 4),
    case("v_mfma_f32_16x16x4f32", 16, 4, 1),
    case("v_mfma_f32_4x4x1f32", 4, 1, 16),
    case("v_mfma_f32_32x32x4f16", 32, 4, 2),
    case("v_mfma_f32_32x32x8f16", 32, 8, 1),
    case("v_mfma_f32_16x16x4f16", 16, 4, 4),
    case("v_mfma_f32_16x16x16f16", 16, 16, 1),
    case("v_mfma_f32_4x4x4f16", 4, 4, 16),
    case("v_mfma_f32_32x32x2bf16", 32, 2, 2),
    case("v_mfma_f32_32x32x4bf16", 32, 4, 1),
    case("v_mfma_f32_16x16x2bf16", 16, 2, 4),
    case("v_mfma_f32_16x16x8bf16", 16, 8, 1),
    case("v_mfma_f32_4x4x2bf16", 4, 2, 16),
    case("v_mfma_f32_32x32x4bf16_1k", 32, 4, 2),
    case("v_mfma_f32_32x32x8bf16_1k", 32, 8, 1),
    case("v_mfma_f32_16x16x4bf16_1k", 16, 4, 4),
    case("v_mfma_f32_16x16x16bf16_1k", 16, 16, 1),
    case("v_mfma_f32_4x4x4bf16_1k", 4, 4, 16),
    case("v_mfma_i32_32x32x4i8", 32, 4, 2),
    case("v_mfma_i32_32x32x8i8", 32, 8, 1),
    case("v_mfma_i32_16x16x4i8", 16, 4, 4),
    case("v_mfma_i32_16x16x16i8", 16, 16, 1),
    case("v_mfma_i32_4x4x4i8", 4, 4, 16),
    case("v_mfma_f32_32x32x1_2b_f32", 32, 1, 2),
    case("v_mfma_f32_32x32x2_f32", 32, 2, 1),
    case("v_mfma_f32_16x16x1_4b_f32", 16, 1, 4),
    case("v_mfma_f32_16x16x4_f32", 16, 4, 1),
    case("v_mfma_f32_4x4x1_16b_f32", 4, 1, 16),
    case("v_mfma_f32_32x32x4_2b_f16", 32, 4, 2),
    case("v_mfma_f32_32x32x8_f16", 32, 8, 1),
    case("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4),
    case("v_mfma_f32_16x16x16_f16", 16, 16, 1),
    case("v_mfma_f32_4x4x4_16b_f16", 4, 4, 16),
    case("v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2),
    case("v_mfma_f32_32x32x8_bf16", 32, 8, 1),
    case("v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4),
    case("v_mfma_f32_16x16x16_bf16", 16, 16, 1),
    case("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16),
    case("v_mfma_i32_32x32x4_2b_i8", 32, 4, 2),
    case("v_mfma_i32_16x16x4_4b_i8", 16, 4, 4),
    case("v_mfma_i32_4x4x4_16b_i8", 4, 4, 16),
    case("v_mfma_i32_32x32x16_i8", 32, 16, 1),
    case("v_mfma_i32_16x16x32_i8", 16, 32, 1),
    case("v_mfma_f32_32x32x16_f16", 32, 16, 1),
    case("v_mfma_f32_16x16x32_f16", 16, 32, 1),
    case("v_mfma_f32_32x32x16_bf16", 32, 16, 1),
    case("v_mfma_f32_16x16x32_bf16", 16, 32, 1),
    case("v_mfma_i32_32x32x32_i8", 32, 32, 1),
    case("v_mfma_i32_16x16x64_i8", 16, 64, 1),
    case("v_mfma_f32_16x16x8_xf32", 16, 8, 1),
    case("v_mfma_f32_32x32x4_xf32", 32, 4, 1),
    case("v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1),
    case("v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1),
    case("v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1),
    case("v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1),
    case("v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1),
    case("v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1),
    case("v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1),
    case("v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1),
];

/// f16 bits of a small integer.
fn half(value: i32) -> u32 {
    if value == 0 {
        return 0;
    }
    let single = (value as f32).to_bits();
    (single >> 16 & 0x8000) | ((single >> 23 & 0xff) - 112) << 10 | (single >> 13 & 0x3ff)
}

/// The bits of an element of A or B and how many of them a register holds.
fn element(name: &str, is_b: bool, value: i32) -> (u32, usize) {
    let single = (value as f32).to_bits();
    let types: Vec<&str> = name.rsplit('_').collect();
    match types[usize::from(!is_b)] {
        "fp8" => return (FP8.from_f32(single, false), 4),
        "bf8" => return (BF8.from_f32(single, false), 4),
        _ => {}
    }
    if name.ends_with("i8") {
        (value as u32 & 0xff, 4)
    } else if name.contains("bf16") {
        (single >> 16, 2)
    } else if name.ends_with("f16") {
        (half(value), 2)
    } else {
        (single, 1)
    }
}

fn a_value(block: usize, row: usize, k: usize) -> i32 {
    ((block * 31 + row * 7 + k * 3) % 9) as i32 - 4
}

fn b_value(block: usize, k: usize, column: usize) -> i32 {
    ((block * 17 + column * 5 + k * 13) % 9) as i32 - 4
}

fn c_value(register: usize, lane: usize) -> i32 {
    ((register * 3 + lane) % 7) as i32 - 3
}

fn run(case: &Case, cbsz: u64, abid: u64, blgp: u64) -> (Wave, usize) {
    let mut wave = Wave::new();
    let per_lane = case.k * case.m * case.blocks / 64;
    let integer = case.name.ends_with("i8");
    for block in 0..case.blocks {
        for index in 0..case.m {
            for k in 0..case.k {
                let lane = (k / per_lane * case.blocks + block) * case.m + index;
                for (first, value) in [(0, a_value(block, index, k)), (4, b_value(block, k, index))] {
                    let (bits, packed) = element(case.name, first == 4, value);
                    let e = k % per_lane;
                    wave.rows[first + e / packed].0[lane] |= bits << (32 / packed * (e % packed));
                }
            }
        }
    }
    let registers = case.m * case.m * case.blocks / 64;
    for r in 0..registers {
        let mut row = Row::ZERO;
        for lane in 0..64 {
            let value = c_value(r, lane);
            row.0[lane] = if integer { value as u32 } else { (value as f32).to_bits() };
        }
        wave.rows[16 + r] = row;
    }
    let op = Op { dst: 64, src: [0, 4, 16], imm: cbsz << 16 | abid << 19 | blgp << 23, ..Op::NOTHING };
    let handler = named(case.name).variants.select();
    // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
    let _ = unsafe { handler(&mut wave, &op) };
    (wave, registers)
}

/// Block, row and column of a result.
fn place(case: &Case, register: usize, lane: usize) -> (usize, usize, usize) {
    match case.m {
        32 => (register / 16, 8 * (register % 16 / 4) + 4 * (lane / 32) + register % 4, lane % 32),
        16 => (register / 4, 4 * (lane / 16) + register % 4, lane % 16),
        _ => (lane / 4, register, lane % 4),
    }
}

#[test]
fn every_shape_multiplies() {
    for case in &CASES {
        let (wave, registers) = run(case, 0, 0, 0);
        for r in 0..registers {
            for lane in 0..64 {
                let (block, row, column) = place(case, r, lane);
                let sum: i32 = (0..case.k).map(|k| a_value(block, row, k) * b_value(block, k, column)).sum();
                let want = sum + c_value(r, lane);
                let bits = wave.rows[64 + r].0[lane];
                let got = if case.name.ends_with("i8") { bits as i32 } else { f32::from_bits(bits) as i32 };
                assert_eq!(got, want, "{} register {r} lane {lane}", case.name);
            }
        }
    }
}

#[test]
fn one_block_of_a_is_broadcast() {
    for case in CASES.iter().filter(|c| c.blocks > 1) {
        let group = case.blocks.min(2);
        let (wave, registers) = run(case, 1, 1, 0);
        for r in 0..registers {
            for lane in 0..64 {
                let (block, row, column) = place(case, r, lane);
                let a_block = block / group * group + 1;
                let sum: i32 = (0..case.k).map(|k| a_value(a_block, row, k) * b_value(block, k, column)).sum();
                let bits = wave.rows[64 + r].0[lane];
                let got = if case.name.ends_with("i8") { bits as i32 } else { f32::from_bits(bits) as i32 };
                assert_eq!(got, sum + c_value(r, lane), "{} register {r} lane {lane}", case.name);
            }
        }
    }
}

#[test]
fn lanes_of_b_are_permuted() {
    // One k a lane and one block: B's lane is its column.
    let case = case("v_mfma_f32_4x4x1f32", 4, 1, 16);
    for (blgp, from) in [(1u64, 5usize), (2, 37), (3, 53), (4, 5), (7, 53)] {
        let (wave, _) = run(&case, 0, 0, blgp);
        let lane = 37;
        let (block, row, _) = place(&case, 2, lane);
        let b = b_value(from / 4, 0, from % 4);
        let want = a_value(block, row, 0) * b + c_value(2, lane);
        assert_eq!(f32::from_bits(wave.rows[66].0[lane]) as i32, want, "blgp {blgp}");
    }
}

#[test]
fn halves_flush_denormals_and_singles_keep_them() {
    let tiny = 1u32;
    for (name, kept) in [("v_mfma_f32_4x4x1f32", true), ("v_mfma_f32_4x4x4f16", false)] {
        let mut wave = Wave::new();
        wave.rows[16] = Row([tiny; 64]);
        let op = Op { dst: 64, src: [0, 4, 16], ..Op::NOTHING };
        let handler = named(name).variants.select();
        // SAFETY: as above.
        let _ = unsafe { handler(&mut wave, &op) };
        assert_eq!(wave.rows[64].0[0], if kept { tiny } else { 0 }, "{name}");
    }
}

#[test]
fn doubles_multiply() {
    for (name, four) in [("v_mfma_f64_16x16x4f64", false), ("v_mfma_f64_4x4x4f64", true)] {
        let mut wave = Wave::new();
        let put = |wave: &mut Wave, row: usize, lane: usize, value: f64| {
            wave.rows[row].0[lane] = value.to_bits() as u32;
            wave.rows[row + 1].0[lane] = (value.to_bits() >> 32) as u32;
        };
        for lane in 0..64 {
            let (block, index, k) = if four { (lane / 4 % 4, lane % 4, lane / 16) } else { (0, lane % 16, lane / 16) };
            put(&mut wave, 0, lane, f64::from(a_value(block, index, k)));
            put(&mut wave, 4, lane, f64::from(b_value(block, k, index)));
        }
        let op = Op { dst: 64, src: [0, 4, 16], ..Op::NOTHING };
        let handler = named(name).variants.select();
        // SAFETY: as above.
        let _ = unsafe { handler(&mut wave, &op) };
        for r in 0..if four { 1 } else { 4 } {
            for lane in 0..64 {
                let (block, row, column) =
                    if four { (lane / 4 % 4, lane / 16, lane % 4) } else { (0, 4 * r + lane / 16, lane % 16) };
                let want: i32 = (0..4).map(|k| a_value(block, row, k) * b_value(block, k, column)).sum();
                let at = 64 + 2 * r;
                let bits = u64::from(wave.rows[at].0[lane]) | u64::from(wave.rows[at + 1].0[lane]) << 32;
                assert_eq!(f64::from_bits(bits), f64::from(want), "{name} pair {r} lane {lane}");
            }
        }
    }
}

/// Whatever NaNs meet, and whatever vectors the host has.
#[test]
fn nans_of_singles_and_doubles_are_one() {
    for (name, doubles) in
        [("v_mfma_f32_16x16x4f32", false), ("v_mfma_f32_4x4x1f32", false), ("v_mfma_f64_16x16x4f64", true)]
    {
        let mut wave = Wave::new();
        for (row, word) in
            [(0, 0xffc1_2345), (1, 0x7ff1_2345), (4, 0x7f81_2345), (5, 0xfff0_0001), (16, 0xffff_ffff), (17, !0)]
        {
            wave.rows[row].0 = [word; 64];
        }
        execute(name, &mut wave, &Op { dst: 64, src: [0, 4, 16], ..Op::NOTHING });
        let want = if doubles { [0, 0x7ff8_0000] } else { [0x7fc0_0000; 2] };
        for (row, want) in [(64, want[0]), (65, want[1])] {
            assert_eq!(wave.rows[row].0, [want; 64], "{name}");
        }
    }
}

/// Calls the handler.
pub(super) fn execute(name: &str, wave: &mut Wave, op: &Op) {
    let handler = named(name).variants.select();
    // SAFETY: as above.
    let _ = unsafe { handler(wave, op) };
}

fn put(wave: &mut Wave, first: usize, bits: usize, lane: usize, e: usize, code: u32) {
    let at = e * bits;
    let placed = u64::from(code) << (at % 32);
    wave.rows[first + at / 32].0[lane] |= placed as u32;
    wave.rows[first + at / 32 + 1].0[lane] |= (placed >> 32) as u32;
}

#[test]
fn sparse_operations_take_what_the_indices_say() {
    for (name, m, k, bits) in [
        ("v_smfmac_f32_16x16x32_f16", 16, 32, 16),
        ("v_smfmac_f32_32x32x16_bf16", 32, 16, 16),
        ("v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, 8),
        ("v_smfmac_i32_32x32x32_i8", 32, 32, 8),
        ("v_smfmac_f32_16x16x64_bf16", 16, 64, 16),
        ("v_smfmac_f32_32x32x32_f16", 32, 32, 16),
        ("v_smfmac_f32_16x16x128_bf8_fp8", 16, 128, 8),
        ("v_smfmac_i32_32x32x64_i8", 32, 64, 8),
    ] {
        let mut wave = Wave::new();
        let (groups, wide) = (64 / m, k * bits / (64 / m) >= 256);
        let pick = |row: usize, q: usize| [(row + q) % 3, (row + q) % 3 + 1];
        for row in 0..m {
            for q in 0..k / 4 {
                for half in 0..2 {
                    let s = 2 * q + half;
                    // The manual's layouts once more: stored element `s` of A, and its index.
                    let per_lane = k / 2 / groups;
                    let bit = |x: usize, n: usize| x >> n & 1;
                    let (group, e) = match (bits == 8 && wide, groups) {
                        (true, 4) => (2 * bit(s, 5) + bit(s, 3), 8 * bit(s, 2) + 4 * bit(s, 4) + s % 4),
                        (true, _) => (bit(s, 4), 8 * bit(s, 2) + 4 * bit(s, 3) + s % 4),
                        _ => (s / per_lane, s % per_lane),
                    };
                    let value = a_value(0, row, s);
                    put(&mut wave, 0, bits, group * m + row, e, element(name, false, value).0);
                    let (group, nibble) = match (bits == 8 && wide, groups) {
                        (true, 4) => (2 * bit(q, 4) + bit(q, 2), 4 * bit(q, 1) + 2 * bit(q, 3) + bit(q, 0)),
                        (true, _) => (bit(q, 3), 4 * bit(q, 1) + 2 * bit(q, 2) + bit(q, 0)),
                        _ => (q / (per_lane / 2), q % (per_lane / 2)),
                    };
                    // With ABID 1 where there is room for more than one set.
                    let shift = if per_lane * 2 < 32 { per_lane * 2 } else { 0 };
                    wave.rows[30].0[group * m + row] |= (pick(row, q)[half] as u32) << (shift + 4 * nibble + 2 * half);
                }
            }
            for k_at in 0..k {
                let per_lane = k / groups;
                let (group, e) = if wide {
                    (k_at / 8 % groups, k_at / (8 * groups) * 8 + k_at % 8)
                } else {
                    (k_at / per_lane, k_at % per_lane)
                };
                put(&mut wave, 16, bits, group * m + row, e, element(name, true, b_value(0, k_at, row)).0);
            }
        }
        let abid = if k / 2 / groups * 2 < 32 { 1 } else { 0 };
        let op = Op { dst: 64, src: [0, 16, 30], imm: abid << 19, ..Op::NOTHING };
        execute(name, &mut wave, &op);
        let case = case(name, m, k, 1);
        for register in 0..m * m / 64 {
            for lane in 0..64 {
                let (_, row, column) = place(&case, register, lane);
                let want: i32 = (0..k / 2)
                    .map(|s| a_value(0, row, s) * b_value(0, s / 2 * 4 + pick(row, s / 2)[s % 2], column))
                    .sum();
                let bits = wave.rows[64 + register].0[lane];
                let got = if name.ends_with("i8") { bits as i32 } else { f32::from_bits(bits) as i32 };
                assert_eq!(got, want, "{name} row {row} column {column}");
            }
        }
    }
}

#[test]
fn blocks_of_mixed_formats_have_scales() {
    const FORMATS: [Small; 5] = [FP8, BF8, FP6, BF6, FP4];
    let small = |row: usize, k: usize| [-1.0f32, 0.5, 1.0, 2.0][(row * 5 + k * 3) % 4];
    for (name, m, k) in [("v_mfma_scale_f32_16x16x128_f8f6f4", 16, 128), ("v_mfma_scale_f32_32x32x64_f8f6f4", 32, 64)] {
        for (fa, fb) in [(0, 0), (0, 4), (1, 2), (3, 1), (4, 4), (2, 3)] {
            let mut wave = Wave::new();
            let groups = 64 / m;
            for index in 0..m {
                for at in 0..k {
                    for (first, format, shift) in [(0, fa, 0), (10, fb, 7)] {
                        let bits = FORMATS[format].bits() as usize;
                        let (group, e) = if bits == 8 {
                            (at / 16 % groups, at / (16 * groups) * 16 + at % 16)
                        } else {
                            (at / 32, at % 32)
                        };
                        let code = FORMATS[format].from_f32(small(index + shift, at).to_bits(), false);
                        put(&mut wave, first, bits, group * m + index, e, code);
                    }
                }
                for block in 0..groups {
                    // A's scales in byte 1, B's in byte 2.
                    wave.rows[40].0[block * m + index] = ((126 + (index + block) % 3) as u32) << 8;
                    wave.rows[41].0[block * m + index] = ((127 + (index * block) % 2) as u32) << 16;
                }
            }
            let mods = 1 << 6 | 1 << 11 | (fa as u64) << 16 | (fb as u64) << 23;
            let op = Op { dst: 64, src: [0, 10, 20], imm2: 40 | 41 << 16, imm: mods, ..Op::NOTHING };
            execute(name, &mut wave, &op);
            let case = case(name, m, k, 1);
            for register in 0..m * m / 64 {
                for lane in 0..64 {
                    let (_, row, column) = place(&case, register, lane);
                    let want: f32 = (0..k)
                        .map(|at| {
                            let block = at / 32;
                            let scale = 2f32.powi((row + block) as i32 % 3 - 1 + (column * block) as i32 % 2);
                            small(row, at) * small(column + 7, at) * scale
                        })
                        .sum();
                    let got = f32::from_bits(wave.rows[64 + register].0[lane]);
                    assert_eq!(got, want, "{name} formats {fa} {fb} row {row} column {column}");
                }
            }
        }
    }
}

/// Runs one 4x4 operation whose first row of A and first column of B are given, and gives the first result.
fn one_sum(name: &str, a: [f32; 4], b: [f32; 4], c: f32, flags: crate::op::OpFlags) -> f32 {
    let mut wave = Wave::new();
    let code = |x: f32| if name.contains("bf16") { x.to_bits() >> 16 } else { crate::fp::half::f32_to_f16(x) };
    for e in 0..4 {
        put(&mut wave, 0, 16, 0, e, code(a[e]));
        put(&mut wave, 4, 16, 0, e, code(b[e]));
    }
    wave.rows[16].0[0] = c.to_bits();
    execute(name, &mut wave, &Op { dst: 64, src: [0, 4, 16], flags, ..Op::NOTHING });
    f32::from_bits(wave.rows[64].0[0])
}

#[test]
fn each_generation_rounds_in_its_own_way() {
    use crate::op::OpFlags;
    let none = OpFlags::empty();
    let (two, eight) = (2f32.powi(12), 2f32.powi(-13));
    // 2^24 + 1 + 1 + ...: CDNA2 adds pairs first, 2^24 and 1 and then 1 and 1.
    let a = [two, 1.0, 1.0, 1.0];
    let b = [two, 1.0, 1.0, 1.0];
    assert_eq!(one_sum("v_mfma_f32_4x4x4f16", a, b, 0.0, none), 16_777_218.0);
    // CDNA1 rounds the exact sum of 2^24 + 3 once.
    assert_eq!(one_sum("v_mfma_f32_4x4x4f16", a, b, 0.0, OpFlags::CDNA1), 16_777_220.0);
    // CDNA3 has 24 bits below the largest product: nothing of 2^24 + 3 is lost before it is rounded.
    assert_eq!(one_sum("v_mfma_f32_4x4x4_16b_f16", a, b, 0.0, none), 16_777_220.0);
    // A product of 2^-26 of the largest is cut off, whatever its sign.
    for sign in [1.0, -1.0] {
        let (a, b) = ([1.0, sign * eight, 0.0, 0.0], [1.0, eight, 0.0, 0.0]);
        assert_eq!(one_sum("v_mfma_f32_4x4x4_16b_f16", a, b, -1.0, none), 0.0);
        assert_eq!(one_sum("v_mfma_f32_4x4x4f16", a, b, -1.0, OpFlags::CDNA1), sign * eight * eight);
    }
    // Against the accumulator it is cut off towards minus infinity.
    let tiny = 2f32.powi(-40);
    assert_eq!(one_sum("v_mfma_f32_4x4x4_16b_bf16", [tiny, 0.0, 0.0, 0.0], [1.0; 4], 1.0, none), 1.0);
    let infinite = one_sum("v_mfma_f32_4x4x4_16b_bf16", [1e38, 0.0, 0.0, 0.0], [1e38, 0.0, 0.0, 0.0], 0.0, none);
    assert_eq!(infinite, f32::INFINITY);
    let nan = one_sum("v_mfma_f32_4x4x4_16b_f16", [f32::INFINITY, 0.0, 0.0, 0.0], [0.0; 4], 0.0, none);
    assert_eq!(nan.to_bits(), 0x7fc0_0000);
    assert_eq!(one_sum("v_mfma_f32_4x4x4f16", [2f32.powi(-20); 4], [1.0; 4], 0.0, none), 0.0, "denormals");
    assert_eq!(one_sum("v_mfma_f32_4x4x4f16", [2f32.powi(-20); 4], [1.0; 4], 0.0, OpFlags::CDNA1), 2f32.powi(-18));
}
