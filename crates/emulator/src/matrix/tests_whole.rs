//! Products of whole numbers with integers beside the sums of [`super::sum`], and what is not taken for whole.

use std::arch::is_x86_feature_detected;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::lanes::{Job, by_avx2, by_avx512};
use super::side::{Parts, Side};
use super::sum::{Aligned, Rule, Span};
use super::tests_aligned::{Random, home};
use super::types::{Bf16, Element, F16};
use super::whole::{Block, Take, Whole};
use crate::fp::half::f32_to_f16;
use crate::op::Op;
use crate::registers::Row;

impl Random {
    /// A number of `bits` bits, its last ones zeros where it is large, with a sign. Each tenth is a zero with a sign.
    fn whole(&mut self, bits: u32) -> f32 {
        let size = match self.next() % 10 {
            0 => 0.0,
            1 => (((1u64 << bits) - 1) >> bits.saturating_sub(8) << bits.saturating_sub(8)) as f32,
            _ => ((self.next() % 256) << (self.next() % (bits - 7))) as f32,
        };
        if self.next().is_multiple_of(2) { size } else { -size }
    }
}

/// The result of a job by vectors of a width, where the processor has them.
pub(super) fn by<J: Job>(wide: bool, job: J) -> Option<J::Result> {
    let has = if wide { is_x86_feature_detected!("avx512dq") } else { is_x86_feature_detected!("avx2") };
    // SAFETY: it has.
    has.then(|| unsafe { if wide { by_avx512(job) } else { by_avx2(job) } })
}

fn code<E: Element>(number: f32) -> u32 {
    if E::IS_HALF { f32_to_f16(number) } else { number.to_bits() >> 16 }
}

fn elements<E: Element>(random: &mut Random, per_lane: usize) -> Vec<Row> {
    let mut rows = vec![Row::ZERO; per_lane / 2];
    for word in rows.iter_mut().flat_map(|row| &mut row.0) {
        *word = code::<E>(random.whole(9)) | code::<E>(random.whole(9)) << 16;
    }
    rows
}

fn sums<E: Element, const M: usize, const PER_LANE: usize>() {
    let (op, mut random) = (Op::NOTHING, Random(0x6a09_e667_f3bc_c909 ^ (M * PER_LANE) as u64));
    let k = PER_LANE * 64 / M;
    for _ in 0..30 {
        let rows = [elements::<E>(&mut random, PER_LANE), elements::<E>(&mut random, PER_LANE)];
        let c: Vec<Row> = (0..M * M / 64).map(|_| Row(std::array::from_fn(|_| random.whole(24).to_bits()))).collect();
        let c: Vec<Row> =
            c.iter().map(|row| Row(row.0.map(|bits| (f32::from_bits(bits) / 2.0).trunc().to_bits()))).collect();
        let sides = rows.each_ref().map(|rows| {
            let mut side = Side::<PER_LANE>::new();
            side.load::<E, M>(&op, rows, 0, |lane, e| (lane / M * PER_LANE + e) * M);
            let mut parts = Parts::new();
            parts.take(&side);
            (side, parts)
        });
        let [a, b] = sides.each_ref().map(|(side, parts)| parts.view(side));
        let mut want = c.clone();
        for row in 0..M {
            let mut sums: [u32; M] = std::array::from_fn(|j| c[home::<M>(row, j).0].0[home::<M>(row, j).1]);
            Aligned::<8>::add(&op, a, b, Span { a: row, b: 0, k, step: M }, &mut sums);
            (0..M).for_each(|j| want[home::<M>(row, j).0].0[home::<M>(row, j).1] = sums[j]);
        }
        for wide in [false, true] {
            let mut room = [MaybeUninit::<Whole<PER_LANE>>::uninit(), MaybeUninit::uninit()];
            for (rows, room) in rows.iter().zip(&mut room) {
                let taken = by(wide, Take::<E, M, 1, PER_LANE> { rows, room, element: PhantomData });
                assert_ne!(taken, Some(false));
            }
            if !is_x86_feature_detected!("avx512dq") && (wide || !is_x86_feature_detected!("avx2")) {
                continue;
            }
            // SAFETY: both have been taken.
            let [a, b] = room.each_ref().map(|room| unsafe { room.assume_init_ref().words() });
            let mut got = [MaybeUninit::uninit(); 16];
            let got = &mut got[..c.len()];
            assert_eq!(by(wide, Block::<M> { a, b, k, c: &c, sums: got }), Some(true));
            for (got, want) in got.iter().zip(&want) {
                // SAFETY: all rows have been stored.
                assert_eq!(unsafe { got.assume_init() }.0, want.0);
            }
        }
    }
}

#[test]
fn whole_numbers_are_summed_as_lanes_do() {
    sums::<F16, 32, 4>();
    sums::<F16, 16, 4>();
    sums::<F16, 32, 8>();
    sums::<F16, 16, 8>();
    sums::<Bf16, 32, 4>();
    sums::<Bf16, 16, 8>();
}

#[test]
fn other_numbers_are_not_taken_for_whole() {
    let mut random = Random(0x3c6e_f372_fe94_f82b);
    for number in [0.5, -510.5, 512.0, -513.0, f32::INFINITY, f32::NAN, 6.0e-8, 65504.0] {
        for lane in [0, 15, 37, 63] {
            let mut rows = elements::<F16>(&mut random, 4);
            rows[1].0[lane] = rows[1].0[lane] & 0xffff | code::<F16>(number) << 16;
            for wide in [false, true] {
                let mut room = MaybeUninit::uninit();
                let taken = by(wide, Take::<F16, 16, 1, 4> { rows: &rows, room: &mut room, element: PhantomData });
                assert_ne!(taken, Some(true), "{number} in lane {lane}");
            }
        }
    }
    let none = [0; 128];
    for number in [0.5, 8_388_610.0, -8_388_610.0, -3e38, f32::INFINITY, f32::NAN, 1e-40, 4_194_304.5] {
        for lane in [0, 21, 63] {
            let mut c = [Row::ZERO; 4];
            c[2].0[lane] = number.to_bits();
            for wide in [false, true] {
                let mut sums = [MaybeUninit::uninit(); 4];
                let done = by(wide, Block::<16> { a: &none, b: &none, k: 16, c: &c, sums: &mut sums });
                assert_ne!(done, Some(true), "{number} in lane {lane}");
            }
        }
    }
}
