//! Products of bytes beside sums as the manual has them: all values, any places of A, B, C and the result, which may overlap.

use std::arch::is_x86_feature_detected;

use super::bytes::{Products, multiply_by_lanes};
use super::fours::by_fours;
use super::named;
use super::tests::{Case, case};
use super::tests_aligned::Random;
use super::tests_whole::by;
use crate::op::Op;
use crate::registers::Row;
use crate::wave::Wave;

const CASES: [Case; 9] = [
    case("v_mfma_i32_32x32x4i8", 32, 4, 2),
    case("v_mfma_i32_32x32x8i8", 32, 8, 1),
    case("v_mfma_i32_16x16x4i8", 16, 4, 4),
    case("v_mfma_i32_16x16x16i8", 16, 16, 1),
    case("v_mfma_i32_4x4x4i8", 4, 4, 16),
    case("v_mfma_i32_32x32x16_i8", 32, 16, 1),
    case("v_mfma_i32_16x16x32_i8", 16, 32, 1),
    case("v_mfma_i32_32x32x32_i8", 32, 32, 1),
    case("v_mfma_i32_16x16x64_i8", 16, 64, 1),
];

/// Rows that are looked at.
const ROWS: usize = 100;

impl Case {
    /// Bytes of A, or of B, in a lane.
    fn per_lane(&self) -> usize {
        self.k * self.m * self.blocks / 64
    }
    fn results(&self) -> usize {
        self.m * self.m * self.blocks / 64
    }

    fn products<'a, const M: usize>(&self, w: &'a mut Wave, op: &'a Op) -> Products<'a, M> {
        Products { w, op, blocks: self.blocks, registers: self.per_lane() / 4 }
    }

    /// The registers that an operation leaves.
    fn wanted(&self, rows: &[Row], op: &Op) -> Vec<[u32; 64]> {
        let [cbsz, abid, blgp] = [16, 19, 23].map(|at| (op.imm >> at) as usize);
        let (abid, blgp) = (abid & 15, blgp & 7);
        let [a, b, c] = op.src.map(usize::from);
        let byte = |first: usize, lane: usize, e: usize| rows[first + e / 4].0[lane].to_le_bytes()[e % 4] as i8;
        let permuted = |lane: usize| match blgp {
            0 => lane,
            1 => lane & 31,
            2 => lane | 32,
            3 => (lane + 16) & 63,
            _ => (blgp - 4) << 4 | lane & 15,
        };
        let within = (1 << (cbsz & 7)).min(self.blocks) - 1;
        let mut out: Vec<_> = rows.iter().map(|row| row.0).collect();
        for (register, lane) in (0..self.results()).flat_map(|register| (0..64).map(move |lane| (register, lane))) {
            let (block, row) = match self.m {
                32 => (register / 16, 8 * (register % 16 / 4) + 4 * (lane / 32) + register % 4),
                16 => (register / 4, 4 * (lane / 16) + register % 4),
                _ => (lane / 4, register),
            };
            let a_block = block & !within | abid & within;
            let mut sum = rows[c + register].0[lane] as i32;
            for k in 0..self.k {
                let (slice, e) = (k / self.per_lane() * self.blocks, k % self.per_lane());
                let x = byte(a, (slice + a_block) * self.m + row, e);
                let y = byte(b, permuted((slice + block) * self.m + lane % self.m), e);
                sum = sum.wrapping_add(i32::from(x) * i32::from(y));
            }
            out[usize::from(op.dst) + register][lane] = sum as u32;
        }
        out
    }
}

/// Registers after an operation on these.
fn done(rows: &[Row], operation: impl FnOnce(&mut Wave)) -> Vec<[u32; 64]> {
    let mut wave = Wave::new();
    wave.rows[..ROWS].copy_from_slice(rows);
    operation(&mut wave);
    wave.rows[..ROWS].iter().map(|row| row.0).collect()
}

fn compare<const M: usize>(case: &Case, rows: &[Row], op: &Op, wanted: &[[u32; 64]]) {
    let what = |form: &str| format!("{}, {form}, {:?} to {}, {:x}", case.name, op.src, op.dst, op.imm);
    assert!(done(rows, |w| multiply_by_lanes(case.products::<M>(w, op))) == wanted, "{}", what("lane by lane"));
    for wide in [false, true] {
        let mut is_done = false;
        let found = done(rows, |w| is_done = by(wide, case.products::<M>(w, op)).is_some());
        assert!(!is_done || found == wanted, "{}, {wide}", what("two at a time"));
    }
    if is_x86_feature_detected!("avx512vnni") {
        // SAFETY: the processor has it, and so AVX-512.
        assert!(done(rows, |w| unsafe { by_fours(case.products::<M>(w, op)) }) == wanted, "{}", what("four at a time"));
    }
}

#[test]
fn products_of_bytes_are_those_of_the_manual() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for case in &CASES {
        for round in 0..150 {
            let any = |random: &mut Random| match round % 4 {
                0 => [0x8080_8080, 0x7f7f_7f7f, 0x8080_7f7f][random.next() as usize % 3],
                1 => u32::from_le_bytes([0; 4].map(|_| [0x80, 0x7f, 0, 1, 0xff][random.next() as usize % 5])),
                _ => random.next(),
            };
            let rows: Vec<Row> = (0..ROWS).map(|_| Row(std::array::from_fn(|_| any(&mut random)))).collect();
            let place = |random: &mut Random, registers: usize| (random.next() as usize % (ROWS - registers)) as u16;
            let src = [case.per_lane() / 4, case.per_lane() / 4, case.results()].map(|n| place(&mut random, n));
            let dst = if round % 3 == 0 { src[2] } else { place(&mut random, case.results()) };
            // CBSZ, ABID and BLGP.
            let imm = if round < 20 { 0 } else { u64::from(random.next() & 0x3ff) << 16 };
            let op = Op { dst, src, imm, ..Op::NOTHING };
            let wanted = case.wanted(&rows, &op);
            let found = done(&rows, |w| {
                let handler = named(case.name).variants.select();
                // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
                let _ = unsafe { handler(w, &op) };
            });
            assert!(found == wanted, "{}, {:?} to {dst}, {imm:x}", case.name, op.src);
            match case.m {
                32 => compare::<32>(case, &rows, &op, &wanted),
                16 => compare::<16>(case, &rows, &op, &wanted),
                _ => {}
            }
        }
    }
}
