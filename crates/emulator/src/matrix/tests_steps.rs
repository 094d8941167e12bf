//! gfx1250's elements and sums by vectors beside those of lanes.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::steps::{Steps, Take};
use super::tests::execute;
use super::tests_aligned::Random;
use super::tests_whole::by;
use super::wmma::{Bf8, Bf16, Element, F16, Fp8, SIZE, Sums, addend};
use super::wmma1250::{codes, factors, multiply_met};
use crate::fp::dot::Factor;
use crate::op::{Op, RawMods};
use crate::registers::Row;
use crate::wave::Wave;

/// NaNs are one.
fn bits(values: &[[f32; SIZE]]) -> Vec<u32> {
    let one = |value: &f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
    values.as_flattened().iter().map(one).collect()
}

fn elements<E: Element + Factor, const BITS: usize, const TURN: usize, const K: usize>() {
    let mut random = Random(0x0123_4567_89ab_cdef ^ (BITS * TURN) as u64);
    let mut w = Wave::new();
    for round in 0..40 {
        for (row, words) in w.rows.iter_mut().enumerate().take(K * BITS / 64) {
            // At first all codes of eight bits, and many of sixteen.
            let all = |lane: usize| ((row * 64 + lane) as u32).wrapping_mul(0x0403_0201);
            *words = Row(std::array::from_fn(|lane| if round == 0 { all(lane) } else { random.next() }));
        }
        for flips in 0..4 {
            let inverted = [flips & 1, flips >> 1].map(|flip: u32| flip << (BITS - 1));
            let wanted = factors(&codes::<BITS, K>(&w, 0, TURN, inverted), <E as Element>::widen);
            for wide in [true, false] {
                let mut out = [const { MaybeUninit::uninit() }; K];
                let job = Take::<E, TURN> { rows: &w.rows[..], inverted, out: &mut out, element: PhantomData };
                if by(wide, job).is_some() {
                    // SAFETY: every k has been written.
                    let found = out.map(|row| unsafe { row.assume_init() });
                    assert_eq!(bits(&found), bits(&wanted), "{BITS} bits, turns of {TURN}, {wide}");
                }
            }
        }
    }
}

#[test]
fn elements_taken_by_vectors_are_those_of_lanes() {
    elements::<F16, 16, 8, 32>();
    elements::<F16, 16, 16, 64>();
    elements::<Bf16, 16, 8, 32>();
    elements::<Bf16, 16, 16, 64>();
    elements::<Fp8, 8, 16, 64>();
    elements::<Fp8, 8, 16, 128>();
    elements::<Bf8, 8, 16, 64>();
    elements::<Bf8, 8, 32, 128>();
}

#[test]
fn sums_by_vectors_are_those_of_lanes() {
    const K: usize = 32;
    let mut random = Random(0xfeed_face_dead_beef);
    for round in 0..60 {
        // Numbers of all sizes and denormals; infinities and NaNs now and then.
        let mut number = || match random.next() % 40 {
            0 => [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0][random.next() as usize % 4],
            1..=9 => f32::from_bits(random.next() & 0x80ff_ffff),
            _ if round % 2 == 0 => f32::from_bits(random.next() & 0x87ff_ffff | 0x3800_0000),
            _ => (random.next() % 64) as f32 - 32.0,
        };
        let mut matrix = || -> [[f32; SIZE]; K] { std::array::from_fn(|_| std::array::from_fn(|_| number())) };
        let (a, b) = (matrix(), matrix());
        let c: Sums = std::array::from_fn(|row| a[row].map(|x| x * 0.5));
        let mut wanted = c;
        multiply_met(&mut wanted, &a, &b, |_, k| k);
        for wide in [true, false] {
            let mut sums = c;
            if by(wide, Steps { a: &a, b: &b, sums: &mut sums }).is_some() {
                assert_eq!(bits(&sums), bits(&wanted), "round {round}, {wide}");
            }
        }
    }
}

/// Where A, B, C and a result begin: apart, the result over C, over A, and over B.
const PLACES: [[u16; 4]; 4] = [[0, 8, 16, 24], [0, 8, 16, 16], [0, 8, 16, 0], [3, 40, 16, 40]];

/// A product from registers to registers, beside one of elements that were taken before.
fn from_registers<E: Element>(name: &str) {
    let mut random = Random(0x1234_abcd_0bad_cafe);
    for (round, &[a, b, c, d]) in PLACES.iter().cycle().take(96).enumerate() {
        let mut w = Wave::new();
        for (row, words) in w.rows.iter_mut().enumerate().take(64) {
            // Less than two, of any size; infinities and NaNs in some results.
            let moderate = if (16..24).contains(&row) { 0xbfff_ffff } else { 0xbfff_bfff };
            let any = |random: &mut Random| random.next().is_multiple_of(400);
            *words = Row(std::array::from_fn(|_| random.next() & if any(&mut random) { !0 } else { moderate }));
        }
        let imm = u64::from(random.next() & 0o77);
        let mods = RawMods(imm);
        let taken = |source: u32, first: u16| {
            let inverted = [mods.neg(source), mods.abs(source)].map(|flip| u32::from(flip) << 15);
            factors(&codes::<16, 32>(&w, first, 8, inverted), <E as Element>::widen)
        };
        let (left, right) = (taken(0, a), taken(1, b));
        let mut sums: Sums = std::array::from_fn(|row| {
            let words = &w.rows[usize::from(c) + row % 8].0[row / 8 * SIZE..][..SIZE];
            std::array::from_fn(|column| addend(mods, f32::from_bits(words[column])))
        });
        multiply_met(&mut sums, &left, &right, |_, k| k);
        let before = w.rows.clone();
        execute(name, &mut w, &Op { dst: d, src: [a, b, c], imm, ..Op::NOTHING });
        for register in 0..64usize {
            let row = register.wrapping_sub(usize::from(d));
            for lane in 0..64 {
                let is_result = row < 8 && lane < 32;
                let wanted = if is_result {
                    bits(&[sums[row + lane / SIZE * 8]])[lane % SIZE]
                } else {
                    before[register].0[lane]
                };
                assert_eq!(w.rows[register].0[lane], wanted, "{name}, round {round}: register {register}, lane {lane}");
            }
        }
    }
}

#[test]
fn products_from_registers_to_registers_are_those_of_lanes() {
    from_registers::<F16>("v_wmma_f32_16x16x32_f16");
    from_registers::<Bf16>("v_wmma_f32_16x16x32_bf16");
}
