//! Matrices are put into registers and read back by the formulas of AMD's manual, written here once more, and multiplied
//! by a plain triple loop. Small integers: every order of summation gives the same sum.

use super::lookup;
use crate::op::Op;
use crate::wave::{Row, Wave};

struct Case {
    name: &'static str,
    m: usize,
    k: usize,
    blocks: usize,
}

const fn case(name: &'static str, m: usize, k: usize, blocks: usize) -> Case {
    Case { name, m, k, blocks }
}

const CASES: [Case; 51] = [
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
];

/// f16 bits of a small integer.
fn half(value: i32) -> u32 {
    if value == 0 {
        return 0;
    }
    let single = (value as f32).to_bits();
    (single >> 16 & 0x8000) | ((single >> 23 & 0xff) - 112) << 10 | (single >> 13 & 0x3ff)
}

/// The bits of an element and how many of them a register holds.
fn element(name: &str, value: i32) -> (u32, usize) {
    let single = (value as f32).to_bits();
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
    ((block * 31 + row * 7 + k * 3) % 11) as i32 - 5
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
                    let (bits, packed) = element(case.name, value);
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
    let handler = lookup(case.name).expect("a matrix operation").variants.select();
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
        let handler = lookup(name).expect("a matrix operation").variants.select();
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
        let handler = lookup(name).expect("a matrix operation").variants.select();
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
