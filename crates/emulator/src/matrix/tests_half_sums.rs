//! Sums of f16 products by vectors beside those of [`super::sum`]: elements with and without zeros, and any accumulators.

use std::arch::is_x86_feature_detected;
use std::mem::MaybeUninit;

use super::half_sums::Block;
use super::halves::{Elements, Halves, OfColumns, OfRows, Take};
use super::lanes::{Job, by_avx2, by_avx512};
use super::side::{Parts, Side};
use super::sum::{Aligned, Rule, Span};
use super::tests_aligned::{Hex, KINDS, Random, accumulator, home, registers};
use super::types::F16;
use crate::op::Op;
use crate::registers::Row;

/// Without zeros, with one in 200, and as many as [`registers`] has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Zeros {
    None,
    Few,
    Some,
}

/// Zeros become ones but for those that stay.
fn without_zeros(rows: &mut [Row], zeros: Zeros, random: &mut Random) {
    for word in rows.iter_mut().flat_map(|row| &mut row.0) {
        for at in [0, 16] {
            let stays = zeros == Zeros::Some || zeros == Zeros::Few && random.next().is_multiple_of(5);
            if *word >> at & 0x7fff == 0 && !stays {
                *word |= 0x3c00 << at;
            }
        }
    }
}

fn elements(rows: &[Row]) -> Elements {
    let halves = || rows.iter().flat_map(|row| row.0).flat_map(|word| [word & 0x7fff, word >> 16 & 0x7fff]);
    let two_to_13 = 28 << 10;
    Elements {
        are_numbers: halves().all(|half| half < 0x7c00),
        are_usual: halves().all(|half| (1..two_to_13).contains(&half)),
    }
}

fn by<J: Job>(wide: bool, job: J) -> J::Result {
    // SAFETY: the caller has seen that the processor has the vectors.
    unsafe { if wide { by_avx512(job) } else { by_avx2(job) } }
}

/// Whether vectors may add to accumulators where some elements are not usual.
fn are_moderate(accumulators: &[Row]) -> bool {
    let size = |word: u32| word & 0x7fff_ffff;
    accumulators
        .iter()
        .flat_map(|row| row.0)
        .all(|word| size(word) == 0 || (30 << 23..=247 << 23).contains(&size(word)))
}

/// Compares products of `BLOCKS` pairs of matrices, and gives how many could be done by vectors, of elements that are not all usual
/// and of others.
fn compare<const M: usize, const BLOCKS: usize, const PER_LANE: usize>(rounds: usize) -> [usize; 2] {
    let (op, k) = (Op::NOTHING, PER_LANE * 64 / (M * BLOCKS));
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (M * PER_LANE * 8 + BLOCKS) as u64);
    let mut done = [0; 2];
    for round in 0..rounds {
        let (kind, zeros) = (KINDS[round % KINDS.len()], [Zeros::None, Zeros::Few, Zeros::Some][round % 3]);
        let of_c = KINDS[round / KINDS.len() % KINDS.len()];
        let mut operand = || {
            let mut rows = registers::<F16>(&mut random, kind, PER_LANE, 5, 10);
            without_zeros(&mut rows, zeros, &mut random);
            rows
        };
        let (a_rows, b_rows) = (operand(), operand());
        let are_tiny = round % 7 == 0;
        let mut accumulator = || match random.next() {
            x if are_tiny => x & 0x8000_0007,
            _ => accumulator(&mut random, of_c),
        };
        let c: Vec<Row> = (0..M * M * BLOCKS / 64).map(|_| Row(std::array::from_fn(|_| accumulator()))).collect();
        let (a, b) = (elements(&a_rows), elements(&b_rows));
        let are_usual = a.are_usual && b.are_usual;
        if !a.are_numbers || !b.are_numbers || !are_usual && !are_moderate(&c) {
            continue;
        }
        done[usize::from(are_usual)] += 1;
        let side = |rows: &[Row]| {
            let mut side = Side::<PER_LANE>::new();
            side.load::<F16, M>(&op, rows, 0, |lane, e| {
                (lane / M % BLOCKS * k + lane / (M * BLOCKS) * PER_LANE + e) * M
            });
            side
        };
        let (a, b) = (side(&a_rows), side(&b_rows));
        let (mut a_parts, mut b_parts) = (Parts::new(), Parts::new());
        a_parts.take(&a);
        b_parts.take(&b);
        let mut want = c.clone();
        for (block, want) in want.chunks_exact_mut(M * M / 64).enumerate() {
            for row in 0..M {
                let place = |column: usize| home::<M>(row, column);
                let mut sums: [u32; M] = std::array::from_fn(|j| want[place(j).0].0[place(j).1]);
                let at = Span { a: block * k * M + row, b: block * k * M, k, step: M };
                Aligned::<8>::add(&op, a_parts.view(&a), b_parts.view(&b), at, &mut sums);
                (0..M).for_each(|j| want[place(j).0].0[place(j).1] = sums[j]);
            }
        }
        for wide in [false, true] {
            let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
            if !has {
                continue;
            }
            let (mut of_a, mut of_b) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            let found = by(wide, Take::<OfRows, M, BLOCKS, PER_LANE>::new(&a_rows, &mut of_a));
            assert_eq!(found, elements(&a_rows));
            let found = by(wide, Take::<OfColumns, M, BLOCKS, PER_LANE>::new(&b_rows, &mut of_b));
            assert_eq!(found, elements(&b_rows));
            // SAFETY: these have been taken.
            let (a, b) = unsafe { (Halves::left(&of_a), Halves::right(&of_b)) };
            let mut got = c.clone();
            for (block, c) in got.chunks_exact_mut(M * M / 64).enumerate() {
                by(wide, Block::<M> { a: a.block::<M>(k, block), b: b.block::<M>(k, block), k, c });
            }
            for (register, (got, want)) in got.iter().zip(&want).enumerate() {
                let before = c[register].0.map(Hex);
                assert_eq!(
                    got.0.map(Hex),
                    want.0.map(Hex),
                    "{kind:?} {zeros:?} register {register}, before {before:x?}"
                );
            }
        }
    }
    done
}

#[test]
fn sums_of_f16_are_the_same_by_vectors_and_one_by_one() {
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(150);
    let done = [
        compare::<32, 1, 4>(rounds),
        compare::<16, 1, 4>(rounds),
        compare::<32, 2, 4>(rounds),
        compare::<16, 4, 4>(rounds),
        compare::<32, 1, 8>(rounds),
        compare::<16, 1, 8>(rounds),
    ];
    assert!(done.iter().flatten().all(|&done| done > rounds / 8), "too few by vectors: {done:?}");
}

#[test]
fn elements_are_found_to_be_numbers_and_usual_ones() {
    for half in [0x3c00, 0, 0x8000, 1, 0x6fff, 0xefff, 0x7000, 0xf000, 0x7bff, 0xfc00, 0x7c01] {
        for place in 0..512 {
            let mut rows = [Row([0x3c00_bc00; 64]); 4];
            let word = &mut rows[place / 128].0[place / 2 % 64];
            *word = *word & !(0xffff << (place % 2 * 16)) | half << (place % 2 * 16);
            for wide in [false, true] {
                let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
                if has {
                    let mut room = MaybeUninit::uninit();
                    let found = by(wide, Take::<OfRows, 16, 1, 8>::new(&rows, &mut room));
                    assert_eq!(found, elements(&rows), "{half:x} at {place}");
                }
            }
        }
    }
}
