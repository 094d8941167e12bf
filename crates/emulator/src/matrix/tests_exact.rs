//! CDNA1's sums, each rounded once, in f64 and otherwise: beside the sum of each group's terms.

use super::exact::{COUNTS, rounded_once};
use super::named;
use crate::fp::dot::reference::{BF16, Codes, F16, F32, Format};
use crate::fp::half::f16_to_f32;
use crate::op::{Op, OpFlags};
use crate::wave::Wave;

struct Shape {
    name: &'static str,
    format: Format,
    m: usize,
    k: usize,
    /// Elements of a lane, which are summed at once.
    group: usize,
}

const SHAPES: [Shape; 6] = [
    Shape { name: "v_mfma_f32_16x16x16f16", format: F16, m: 16, k: 16, group: 4 },
    Shape { name: "v_mfma_f32_32x32x8f16", format: F16, m: 32, k: 8, group: 4 },
    Shape { name: "v_mfma_f32_16x16x8bf16", format: BF16, m: 16, k: 8, group: 2 },
    Shape { name: "v_mfma_f32_32x32x4bf16", format: BF16, m: 32, k: 4, group: 2 },
    Shape { name: "v_mfma_f32_16x16x16bf16_1k", format: BF16, m: 16, k: 16, group: 4 },
    Shape { name: "v_mfma_f32_32x32x8bf16_1k", format: BF16, m: 32, k: 8, group: 4 },
];

/// Exponents of elements and accumulators, by which some sums are in f64 and others not: few, those of any code, and
/// those at which f64 just has all sums, or just not.
fn code(codes: &mut Codes, f: Format, style: u32, round: u32) -> u32 {
    if style < 6 {
        return codes.code(f, style);
    }
    let (any, bias) = (codes.next(), (1i32 << (f.exponent - 1)) - 1);
    let field = match f {
        // Bits of a sum: from 20 below the least product, or from 23 below the least accumulator.
        F32 => bias + (any >> 8) as i32 % 4 - (round % 16) as i32,
        _ => bias - 4 + (any >> 8) as i32 % (6 + round as i32 % 8),
    };
    let field = if any.is_multiple_of(32) { 0 } else { field.clamp(0, 2 * bias) as u32 };
    let fraction = any >> 4 & ((1 << f.fraction) - 1);
    any >> 31 << (f.bits() - 1)
        | field << f.fraction
        | if field == 0 && !any.is_multiple_of(2048) { 0 } else { fraction }
}

#[test]
fn groups_are_rounded_once_with_the_accumulator() {
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(24);
    for (number, shape) in SHAPES.iter().enumerate() {
        let mut codes = Codes::new(300 + number as u64);
        let before = COUNTS.get();
        for round in 0..rounds {
            one(shape, &mut codes, round);
        }
        let (asked, wide) = (COUNTS.get().0 - before.0, COUNTS.get().1 - before.1);
        assert!(4 * wide > asked && 8 * (asked - wide) > asked, "{}: of {asked} rows {wide} in f64", shape.name);
    }
}

fn one(shape: &Shape, codes: &mut Codes, round: u32) {
    let Shape { name, format, m, k, group } = *shape;
    // Where elements are any codes, accumulators are of any kind.
    let style = if round.is_multiple_of(2) { 6 } else { round / 2 % 7 };
    let mut wave = Wave::new();
    let value = |code: u32| if format == F16 { f16_to_f32(code) } else { f32::from_bits(code << 16) };
    let mut sides = [vec![vec![0f32; k]; m], vec![vec![0f32; k]; m]];
    for (side, first) in [0, 4].into_iter().enumerate() {
        for lane in 0..64 {
            for e in 0..group {
                let code = code(codes, format, style, round);
                sides[side][lane % m][lane / m * group + e] = value(code);
                wave.rows[first + e / 2].0[lane] |= code << (16 * (e % 2));
            }
        }
    }
    let registers = m * m / 64;
    for register in 0..registers {
        for lane in 0..64 {
            wave.rows[16 + register].0[lane] = code(codes, F32, style, round);
        }
    }
    let op = Op { dst: 64, src: [0, 4, 16], flags: OpFlags::CDNA1, ..Op::NOTHING };
    let handler = named(name).variants.select();
    // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
    let _ = unsafe { handler(&mut wave, &op) };
    for register in 0..registers {
        for lane in 0..64 {
            let (row, column) = if m == 32 {
                (8 * (register / 4) + 4 * (lane / 32) + register % 4, lane % 32)
            } else {
                (4 * (lane / 16) + register, lane % 16)
            };
            let mut want = wave.rows[16 + register].0[lane];
            for first in (0..k).step_by(group) {
                let mut terms: Vec<f64> = (first..first + group)
                    .map(|k| f64::from(sides[0][row][k]) * f64::from(sides[1][column][k]))
                    .collect();
                terms.push(f32::from_bits(want).into());
                want = rounded_once(&terms);
            }
            let got = wave.rows[64 + register].0[lane];
            assert_eq!(got, want, "{name}, round {round}: {row}, {column}: {got:x} for {want:x}");
        }
    }
}
