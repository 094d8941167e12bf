//! Sums by vectors beside those of [`super::sum`], with random and with hostile elements and accumulators.

use std::arch::is_x86_feature_detected;
use std::mem::MaybeUninit;

use super::aligned::{self, vectors};
use super::codes::{self, Codes};
use super::halves::{self, Halves, WithoutCodes};
use super::lanes::{by_avx2, by_avx512};
use super::pairs;
use super::side::{Parts, Side};
use super::sparse::Picks;
use super::sum::{Aligned, Rule, Span, TwoSums, in_pairs};
use super::types::{Bf8, Bf16, Element, F16, Fp8, Xf32};
use crate::op::Op;
use crate::registers::Row;

pub(super) struct Random(pub u64);
impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
    fn one_in(&mut self, n: u32) -> bool {
        self.next().is_multiple_of(n)
    }
}

/// How elements are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// About one, as those of networks are.
    Ordinary,
    /// Any bits: few of them are infinities or NaNs.
    Any,
    /// Zeros, denormals, the largest, and powers of two.
    Ends,
    /// As large and as small as they may be for vectors, or nearly.
    Far,
    /// Products that nearly cancel each other and the accumulator.
    Cancelling,
}
pub(super) const KINDS: [Kind; 5] = [Kind::Ordinary, Kind::Any, Kind::Ends, Kind::Far, Kind::Cancelling];

/// A code with `exponent` bits above `fraction` bits, and a sign.
fn code(random: &mut Random, kind: Kind, exponent: u32, fraction: u32) -> u32 {
    let (most, one) = ((1 << exponent) - 1, 1u32 << fraction);
    let sign = (random.next() & 1) << (exponent + fraction);
    let bits = random.next() & (one - 1);
    let middle = most / 2;
    sign | match kind {
        _ if random.one_in(40) => 0,
        Kind::Ordinary => (middle - (random.next() % 6).min(middle)) << fraction | bits,
        Kind::Any if random.one_in(500) => most << fraction | bits,
        Kind::Any => (random.next() % most) << fraction | bits,
        Kind::Ends => match random.next() % 5 {
            0 => 0,
            1 => bits,
            2 => (most - 1) << fraction | bits,
            3 => 1 << fraction,
            _ => (random.next() % most) << fraction,
        },
        // Of a matrix most products are neither the least nor the largest.
        Kind::Far => (middle - 36.min(middle - 1) + random.next() % (2 * 36.min(middle - 1) + 2)) << fraction | bits,
        Kind::Cancelling => middle << fraction | bits & 1,
    }
}

pub(super) fn accumulator(random: &mut Random, kind: Kind) -> u32 {
    let x = random.next();
    match (kind, x % 16) {
        (_, 0) => x & 0x8000_0000,
        (Kind::Ends, 1) => x >> 9,
        (Kind::Ends, 2) => 0x7f7f_ffff,
        (Kind::Ends | Kind::Any, 3) => 0x7f80_0000 | x & 0x8000_0000 | x & 0x10,
        (Kind::Ends | Kind::Any, _) => x,
        (Kind::Far, 1) => 30 << 23,
        (Kind::Far, _) => (30 + x % 217) << 23 | x & 0x807f_ffff,
        (Kind::Cancelling, 4..) => (0x3f80_0000 + (x >> 30 << 23)) | x & 0x8000_0003,
        _ => (100 + x % 40) << 23 | x & 0x807f_ffff,
    }
}

/// The operand's elements in registers, of `kind`.
pub(super) fn registers<E: Element>(
    random: &mut Random,
    kind: Kind,
    per_lane: usize,
    exponent: u32,
    fraction: u32,
) -> Vec<Row> {
    let mut rows = vec![Row::ZERO; per_lane * E::BITS / 32];
    for word in rows.iter_mut().flat_map(|row| &mut row.0) {
        for at in (0..32).step_by(E::BITS) {
            // Those of 32 bits have more fraction bits than count.
            let low = if E::BITS == 32 { random.next() & 0x1fff } else { 0 };
            let bits = code(random, kind, exponent, fraction);
            *word |= if E::BITS == 32 { bits << 13 | low } else { bits << at };
        }
    }
    rows
}

/// The lane and the register of an element of a result.
pub(super) fn home<const M: usize>(row: usize, column: usize) -> (usize, usize) {
    if M == 32 { (row / 8 * 4 + row % 4, 32 * (row / 4 % 2) + column) } else { (row % 4, row / 4 * 16 + column) }
}

/// Compares products of matrices, and gives how many there were and how many could be done by vectors.
fn compare<E: Element, R: Rule, const M: usize, const PER_LANE: usize, const GROUP: usize, const SUMS: usize>(
    exponent: u32,
    fraction: u32,
    rounds: usize,
) -> (usize, usize) {
    let op = Op::NOTHING;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (M * PER_LANE) as u64);
    let mut fast = 0;
    for round in 0..rounds {
        let kind = KINDS[round % KINDS.len()];
        // All kinds of elements with accumulators that vectors add to.
        let of_c = if (round / KINDS.len()).is_multiple_of(2) { kind } else { Kind::Far };
        let k = PER_LANE * 64 / M;
        let mut rows = || registers::<E>(&mut random, kind, PER_LANE, exponent, fraction);
        let (a_rows, b_rows) = (rows(), rows());
        let side = |rows: &[Row]| {
            let mut side = Side::<PER_LANE>::new();
            side.load::<E, M>(&op, rows, 0, |lane, e| (lane / M * PER_LANE + e) * M);
            side
        };
        let (a, b) = (side(&a_rows), side(&b_rows));
        let (mut a_parts, mut b_parts) = (Parts::new(), Parts::new());
        a_parts.take(&a);
        b_parts.take(&b);
        let c: Vec<Row> =
            (0..M * M / 64).map(|_| Row(std::array::from_fn(|_| accumulator(&mut random, of_c)))).collect();
        let (mut want, mut picked, mut all_picks) = (c.clone(), c.clone(), Vec::new());
        for row in 0..M {
            let part = |rows: &[Row]| -> [u32; M] {
                std::array::from_fn(|j| rows[home::<M>(row, j).0].0[home::<M>(row, j).1])
            };
            let set = |rows: &mut [Row], sums: [u32; M]| {
                (0..M).for_each(|j| rows[home::<M>(row, j).0].0[home::<M>(row, j).1] = sums[j]);
            };
            let mut sums = part(&want);
            R::add(&op, a_parts.view(&a), b_parts.view(&b), Span { a: row, b: 0, k, step: M }, &mut sums);
            set(&mut want, sums);
            // The first of A's elements, whole groups of them or four, with rows of B out of order.
            let stored = if k / 2 < GROUP { k / 2 / 4 * 4 % 8 } else { k / 2 / GROUP * GROUP };
            let mut picks = Picks { rows: [0; 64], stored };
            let (mut met, mut met_parts) = (Side::<PER_LANE>::new(), Parts::<PER_LANE>::new());
            (met.fraction, met.least) = (b.fraction, b.least);
            for s in 0..stored {
                let from = 2 * s + (random.next() % 2) as usize;
                picks.rows[s] = from as u8;
                met_parts.copy(&mut met, s * M, b_parts.view(&b), from * M, M);
            }
            let mut sums = part(&picked);
            R::add(&op, a_parts.view(&a), met_parts.view(&met), Span { a: row, b: 0, k: stored, step: M }, &mut sums);
            set(&mut picked, sums);
            all_picks.push(picks);
        }
        for wide in [false, true] {
            let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
            if !has {
                continue;
            }
            let (mut a_codes, mut b_codes) = (Codes::new(), Codes::new());
            let of_a = codes::vectors::Take::<PER_LANE, M> { side: &a, code: &mut a_codes.code };
            let of_b = codes::vectors::Take::<PER_LANE, M> { side: &b, code: &mut b_codes.code };
            // SAFETY: the processor has the vectors.
            (a_codes.exponents, b_codes.exponents) =
                unsafe { if wide { (by_avx512(of_a), by_avx512(of_b)) } else { (by_avx2(of_a), by_avx2(of_b)) } };
            let (a, b) = (a_codes.factors(&a), b_codes.factors(&b));
            // SAFETY: likewise.
            let is_moderate =
                unsafe { if wide { by_avx512(vectors::AreModerate(&c)) } else { by_avx2(vectors::AreModerate(&c)) } };
            if !is_moderate || !aligned::are_moderate(&a, &b) {
                continue;
            }
            fast += 1;
            let mut got = c.clone();
            let block = vectors::Block::<M, GROUP, SUMS> { a, b, k, c: &mut got };
            // SAFETY: likewise.
            unsafe { if wide { by_avx512(block) } else { by_avx2(block) } };
            let mut got_picked = c.clone();
            for row in 0..M {
                let (register, lane) = home::<M>(row, 0);
                let c = got_picked[register].0[lane..].first_chunk_mut().expect("a row");
                let one = vectors::Picked::<M, GROUP, SUMS> { a, row, b, picks: &all_picks[row], c };
                // SAFETY: likewise.
                unsafe { if wide { by_avx512(one) } else { by_avx2(one) } };
            }
            for (got, want) in [(got, &want), (got_picked, &picked)] {
                for (register, (got, want)) in got.iter().zip(want).enumerate() {
                    let before = c[register].0.map(Hex);
                    assert_eq!(got.0.map(Hex), want.0.map(Hex), "{kind:?}, register {register}, before {before:x?}");
                }
            }
        }
    }
    (rounds, fast)
}

#[derive(PartialEq)]
pub(super) struct Hex(pub u32);
impl std::fmt::Debug for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

#[test]
fn vectors_sum_as_lanes_do() {
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(50);
    let done = [
        compare::<F16, Aligned<8>, 32, 4, 8, 1>(5, 10, rounds),
        compare::<F16, Aligned<8>, 16, 4, 8, 1>(5, 10, rounds),
        compare::<F16, Aligned<8>, 32, 2, 8, 1>(5, 10, rounds),
        compare::<Xf32, Aligned<8>, 32, 4, 8, 1>(8, 10, rounds),
        compare::<F16, Aligned<8>, 16, 8, 8, 1>(5, 10, rounds),
        compare::<Bf16, Aligned<8>, 32, 4, 8, 1>(8, 7, rounds),
        compare::<Bf16, Aligned<8>, 16, 8, 8, 1>(8, 7, rounds),
        compare::<Xf32, Aligned<4>, 16, 2, 4, 1>(8, 10, rounds),
        compare::<Xf32, Aligned<4>, 32, 2, 4, 1>(8, 10, rounds),
        compare::<Fp8, TwoSums, 16, 8, 16, 2>(4, 3, rounds),
        compare::<Bf8, TwoSums, 32, 8, 16, 2>(5, 2, rounds),
        compare::<Fp8, TwoSums, 32, 32, 16, 2>(4, 3, rounds),
    ];
    if is_x86_feature_detected!("avx2") {
        assert!(done.iter().all(|&(all, fast)| fast > all / 4), "too few by vectors: {done:?}");
    }
}

/// Compares CDNA2's sums of `K` products.
fn compare_pairs<const M: usize, const PER_LANE: usize, const K: usize>(rounds: usize) {
    let op = Op::NOTHING;
    let mut random = Random(0x2545_f491_4f6c_dd1d ^ (M * K) as u64);
    for round in 0..rounds {
        let kind = KINDS[round % KINDS.len()];
        let blocks = PER_LANE * 64 / (M * K);
        let mut rows = || registers::<F16>(&mut random, kind, PER_LANE, 5, 10);
        let (a_rows, b_rows) = (rows(), rows());
        let side = |rows: &[Row]| {
            let mut side = Side::<PER_LANE>::new();
            side.load::<F16, M>(&op, rows, 0, |lane, e| {
                (lane / M % blocks * K + lane / (M * blocks) * PER_LANE + e) * M
            });
            side.flush();
            side
        };
        let (a, b) = (side(&a_rows), side(&b_rows));
        let c: Vec<Row> =
            (0..M * M / 64).map(|_| Row(std::array::from_fn(|_| accumulator(&mut random, kind)))).collect();
        for block in 0..blocks {
            let at = block * K * M;
            let mut want = c.clone();
            for row in 0..M {
                let mut sums: [u32; M] = std::array::from_fn(|j| want[home::<M>(row, j).0].0[home::<M>(row, j).1]);
                in_pairs::<4, M, false, false>(
                    a.view(),
                    b.view(),
                    Span { a: at + row, b: at, k: K, step: M },
                    &mut sums,
                );
                (0..M).for_each(|j| want[home::<M>(row, j).0].0[home::<M>(row, j).1] = sums[j]);
            }
            for wide in [false, true] {
                let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
                if !has {
                    continue;
                }
                let (mut of_a, mut of_b) = (MaybeUninit::uninit(), MaybeUninit::uninit());
                // SAFETY: the processor has the vectors; all values are taken.
                let (a, b) = unsafe {
                    take_flushed::<M, PER_LANE>(&a_rows, &mut of_a, wide, blocks);
                    take_flushed::<M, PER_LANE>(&b_rows, &mut of_b, wide, blocks);
                    (Halves::values(&of_a), Halves::values(&of_b))
                };
                let mut got = c.clone();
                let products = pairs::Block::<M, K> { a: &a[at..], b: &b[at..], c: &mut got };
                // SAFETY: likewise.
                unsafe { if wide { by_avx512(products) } else { by_avx2(products) } };
                for (register, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert_eq!(got.0.map(Hex), want.0.map(Hex), "{kind:?}, block {block}, register {register}");
                }
            }
        }
    }
}

unsafe fn take_flushed<const M: usize, const PER_LANE: usize>(
    rows: &[Row],
    room: &mut MaybeUninit<Halves<PER_LANE>>,
    wide: bool,
    blocks: usize,
) {
    macro_rules! of {
        ($blocks:literal) => {{
            let take = halves::Take::<WithoutCodes, M, $blocks, PER_LANE>::new(rows, room);
            // SAFETY: as the caller says.
            unsafe { if wide { by_avx512(take) } else { by_avx2(take) } };
        }};
    }
    match blocks {
        1 => of!(1),
        2 => of!(2),
        _ => of!(4),
    }
}

#[test]
fn vectors_sum_pairs_as_lanes_do() {
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(50);
    compare_pairs::<32, 4, 8>(rounds);
    compare_pairs::<32, 4, 4>(rounds);
    compare_pairs::<16, 4, 16>(rounds);
    compare_pairs::<16, 4, 4>(rounds);
}

#[test]
fn values_of_codes_are_those_of_the_formats() {
    use super::types::{Bf6, Fp4, Fp6};
    use crate::op::OpFlags;
    fn compare<E: Element>() {
        for flags in [OpFlags::empty(), OpFlags::FNUZ] {
            let op = Op { flags, ..Op::NOTHING };
            for first in (0..1u32 << E::BITS).step_by(64) {
                let codes = std::array::from_fn(|lane| (first + lane as u32) & ((1 << E::BITS) - 1));
                for (value, code) in E::values(&op, &codes).into_iter().zip(codes) {
                    let want = E::value(&op, code);
                    let same = value.to_bits() == want.to_bits() || value.is_nan() && want.is_nan();
                    assert!(same, "{} bits, code {code:#x} {flags:?}: {value} is not {want}", E::BITS);
                }
            }
        }
    }
    compare::<Fp8>();
    compare::<Bf8>();
    compare::<Fp6>();
    compare::<Bf6>();
    compare::<Fp4>();
}
