//! Sums by vectors beside those of [`super::sum`], with random and with hostile elements and accumulators.

use std::arch::is_x86_feature_detected;

use super::aligned;
use super::sum::{Aligned, Rule, Span, TwoSums};
use super::types::{Bf8, Bf16, Element, F16, Fp8, Side, Xf32};
use crate::op::Op;
use crate::wave::Row;

struct Random(u64);
impl Random {
    fn next(&mut self) -> u32 {
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
enum Kind {
    /// About one, as those of networks are.
    Ordinary,
    /// Any bits: few of them are infinities or NaNs.
    Any,
    /// Zeros, denormals, the largest, and powers of two.
    Ends,
    /// Products that nearly cancel each other and the accumulator.
    Cancelling,
}
const KINDS: [Kind; 4] = [Kind::Ordinary, Kind::Any, Kind::Ends, Kind::Cancelling];

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
        Kind::Cancelling => middle << fraction | bits & 1,
    }
}

fn accumulator(random: &mut Random, kind: Kind) -> u32 {
    let x = random.next();
    match (kind, x % 16) {
        (_, 0) => x & 0x8000_0000,
        (Kind::Ends, 1) => x >> 9,
        (Kind::Ends, 2) => 0x7f7f_ffff,
        (Kind::Ends | Kind::Any, 3) => 0x7f80_0000 | x & 0x8000_0000 | x & 0x10,
        (Kind::Ends | Kind::Any, _) => x,
        (Kind::Cancelling, 4..) => (0x3f80_0000 + (x >> 30 << 23)) | x & 0x8000_0003,
        _ => (100 + x % 40) << 23 | x & 0x807f_ffff,
    }
}

/// Compares the rows of a product, and gives how many there were and how many could be done by vectors.
fn compare<E: Element, R: Rule, const M: usize, const PER_LANE: usize, const GROUP: usize, const SUMS: usize>(
    exponent: u32,
    fraction: u32,
    rounds: usize,
) -> (usize, usize) {
    let op = Op::NOTHING;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (M * PER_LANE) as u64);
    let (mut all, mut fast) = (0, 0);
    for round in 0..rounds {
        let kind = KINDS[round % KINDS.len()];
        let mut side = || {
            let mut rows = vec![Row::ZERO; PER_LANE * E::BITS / 32];
            for row in &mut rows {
                for word in &mut row.0 {
                    for at in (0..32).step_by(E::BITS) {
                        // Those of 32 bits have more fraction bits than count.
                        let low = if E::BITS == 32 { random.next() & 0x1fff } else { 0 };
                        let bits = code(&mut random, kind, exponent, fraction);
                        *word |= if E::BITS == 32 { bits << 13 | low } else { bits << at };
                    }
                }
            }
            let mut side = Side::<PER_LANE>::new();
            side.load::<E, M>(&op, &rows, 0, |lane, e| (lane / M * PER_LANE + e) * M);
            side.split::<E>(&op);
            side.significands();
            side
        };
        let (a, b) = (side(), side());
        for row in 0..M {
            let c: [u32; M] = std::array::from_fn(|_| accumulator(&mut random, kind));
            let at = Span { a: row, b: 0, k: PER_LANE * 64 / M, step: M };
            let mut want = c;
            R::add(&op, a.view(), b.view(), at, &mut want);
            for wide in [false, true] {
                let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
                if !has || a.special || b.special || !a.narrow || !b.narrow {
                    continue;
                }
                let mut got = c;
                // SAFETY: the processor has the vectors.
                let done = unsafe {
                    if wide {
                        aligned::wide::<M, GROUP, SUMS>(a.view(), b.view(), at, &mut got)
                    } else {
                        aligned::narrow::<M, GROUP, SUMS>(a.view(), b.view(), at, &mut got)
                    }
                };
                assert!(done || got == c, "{kind:?} changed");
                if done {
                    assert_eq!(got.map(Hex), want.map(Hex), "{kind:?} row {row}, accumulators {:x?}", c);
                }
                fast += usize::from(done);
            }
            all += 1;
        }
    }
    (all, fast)
}

#[derive(PartialEq)]
struct Hex(u32);
impl std::fmt::Debug for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

#[test]
fn vectors_sum_as_lanes_do() {
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(40);
    let done = [
        compare::<F16, Aligned<8>, 32, 4, 8, 1>(5, 10, rounds),
        compare::<F16, Aligned<8>, 16, 4, 8, 1>(5, 10, rounds),
        compare::<F16, Aligned<8>, 32, 2, 8, 1>(5, 10, rounds),
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
