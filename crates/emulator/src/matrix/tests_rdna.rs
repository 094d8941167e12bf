//! Floating-point matrix operations of RDNA3 and RDNA4 against wide integers.

use luthier_isa::Generation;

use super::{chain, named};
use crate::fp::dot::reference::{BF8, BF16, Codes, F16, F32, FP8, Format, Sum};
use crate::level::{Level, level};
use crate::mode::Mode;
use crate::op::Op;
use crate::wave::Wave;

/// Part of the wave and place in its lanes.
type Place = (usize, usize);

/// What is added in one step: the places of two groups.
fn steps(rdna3: bool, parts: usize, bits: u32) -> Vec<Vec<Place>> {
    match (rdna3, parts, bits) {
        (true, ..) => (0..8).map(|s| vec![(0, 2 * s), (0, 2 * s + 1)]).collect(),
        (false, 2, 16) => (0..4).map(|s| (0..4).map(|j| (s % 2, s / 2 * 4 + j)).collect()).collect(),
        (false, _, 16) => (0..4).map(|s| (0..4).map(|j| (s, j)).collect()).collect(),
        (false, 2, _) => (0..2).map(|s| (0..8).map(|j| (s, j)).collect()).collect(),
        // The second part has what comes third.
        _ => [[0, 2], [1, 3]].iter().map(|p| p.iter().flat_map(|&p| (0..4).map(move |j| (p, j))).collect()).collect(),
    }
}

#[test]
fn products_of_matrices_are_those_of_wide_integers() {
    let forms: [(&str, Format, Format, Format); 8] = [
        ("v_wmma_f32_16x16x16_f16", F16, F16, F32),
        ("v_wmma_f32_16x16x16_bf16", BF16, BF16, F32),
        ("v_wmma_f16_16x16x16_f16", F16, F16, F16),
        ("v_wmma_bf16_16x16x16_bf16", BF16, BF16, BF16),
        ("v_wmma_f32_16x16x16_fp8_fp8", FP8, FP8, F32),
        ("v_wmma_f32_16x16x16_fp8_bf8", FP8, BF8, F32),
        ("v_wmma_f32_16x16x16_bf8_fp8", BF8, FP8, F32),
        ("v_wmma_f32_16x16x16_bf8_bf8", BF8, BF8, F32),
    ];
    let rounds = std::env::var("LUTHIER_MATRIX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(32);
    for (number, (name, a, b, result)) in forms.into_iter().enumerate() {
        for (rdna3, lanes) in [(true, 32), (true, 64), (false, 32), (false, 64usize)] {
            if rdna3 && a.bits() == 8 {
                continue;
            }
            let mut codes = Codes::new(1000 + 4 * number as u64 + 2 * u64::from(rdna3) + lanes as u64 / 64);
            let before = chain::COUNTS.get();
            for round in 0..rounds {
                one(name, (a, b, result), rdna3, lanes, round, &mut codes);
            }
            let (asked, by_vectors) = chain::COUNTS.get();
            let (asked, by_vectors) = (asked - before.0, by_vectors - before.1);
            if level() == Level::Base {
                assert_eq!(by_vectors, 0);
            } else {
                assert!(2 * by_vectors > asked, "{name}, RDNA3 {rdna3}: of {asked} products {by_vectors} by vectors");
            }
        }
    }
}

/// A number that vectors take, small or large, or zero.
fn moderate(codes: &mut Codes, f: Format, result: Format) -> u32 {
    let (any, most) = (codes.code(f, 0), (1 << f.exponent) - 1);
    // Few exponents are far from 0; but sums of the largest products are no f16.
    let (least, count) = match f {
        F32 => (30, 170),
        BF16 => (127 - 35, 70),
        _ if result == F16 => (0, 20),
        _ => (0, most - u32::from(f.infinite)),
    };
    let field = if codes.next().is_multiple_of(16) { 0 } else { least + codes.next() % count };
    let fraction = if field == 0 && f.exponent == 8 { 0 } else { any & ((1 << f.fraction) - 1) };
    any & 1 << (f.bits() - 1) | field << f.fraction | fraction
}

fn one(name: &str, (a, b, result): (Format, Format, Format), rdna3: bool, lanes: usize, round: u32, codes: &mut Codes) {
    let parts = lanes / 16;
    let saturates = round % 2 == 1;
    let mut wave = Wave::new();
    wave.generation = if rdna3 { Generation::Gfx11 } else { Generation::Gfx12 };
    wave.set_lanes(lanes as u32);
    wave.mode = Mode(0xf0 | u32::from(saturates) << 23);
    // Six kinds of elements with any accumulators, and of those that vectors take each with accumulators of its kind.
    let (style, c_style) = match round % 16 {
        style @ 0..6 => (style, codes.next() % 6),
        6 | 13 => (7, 7),
        style => ([6, 1, 6, 3, 6][style as usize % 5], [6, 1, 1, 3, 6][style as usize % 5]),
    };
    let code = |codes: &mut Codes, f: Format, style: u32| match style {
        6 => moderate(codes, f, result),
        // Nearly all are zeros of both signs, so that whole steps are; others are the least that vectors take.
        7 => {
            let least = if f == F32 { 30 + codes.next() % 3 } else { 0 };
            let fraction = codes.next() & codes.next() & ((1 << f.fraction) - 1);
            let sign = codes.next() & 1 << (f.bits() - 1);
            let is_zero = !codes.next().is_multiple_of(if f == F32 { 4 } else { 24 });
            if is_zero || f == BF16 { sign } else { sign | least << f.fraction | fraction }
        }
        _ => codes.code(f, style),
    };
    let each = if rdna3 { 16 } else { 16 / parts };
    let agree = rdna3 && !round.is_multiple_of(3);
    // Element `at` of each lane, RDNA3's parts with elements of their own unless they are to agree.
    let fill = |first: usize, f: Format, wave: &mut Wave, codes: &mut Codes| -> Vec<Vec<u32>> {
        let per_word = 32 / f.bits() as usize;
        let mut elements: Vec<Vec<u32>> =
            (0..lanes).map(|_| (0..each).map(|_| code(codes, f, style)).collect()).collect();
        if agree {
            (16..lanes).for_each(|lane| elements[lane] = elements[lane % 16].clone());
        }
        for (lane, elements) in elements.iter().enumerate() {
            for (at, code) in elements.iter().enumerate() {
                wave.rows[first + at / per_word].0[lane] |= code << (f.bits() as usize * (at % per_word));
            }
        }
        elements
    };
    let (x, y) = (fill(10, a, &mut wave, codes), fill(20, b, &mut wave, codes));
    let place = |row: usize, column: usize| {
        let (register, part) = match (rdna3, parts) {
            (true, _) => (row / parts, row % parts),
            (false, 2) => (row % 8, row / 8),
            (false, _) => (row % 4, row / 8 + 2 * (row % 8 / 4)),
        };
        let (register, shift) = match (result == F32, rdna3) {
            (true, _) => (register, 0),
            (false, true) => (register, 16),
            (false, false) => (register / 2, 16 * (register % 2)),
        };
        (register, 16 * part + column, shift)
    };
    let mut c = [[0; 16]; 16];
    for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
        c[row][column] = code(codes, result, c_style);
        let (register, lane, shift) = place(row, column);
        wave.rows[30 + register].0[lane] |= c[row][column] << shift;
    }
    // RDNA3's 16-bit results in upper halves.
    let op = Op { dst: 40, src: [10, 20, 30], imm: 4 << 6, ..Op::NOTHING };
    let handler = named(name).variants.select();
    // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
    let _ = unsafe { handler(&mut wave, &op) };
    let sum = Sum { rdna3, a, b, result, group: if a.bits() == 8 { 4 } else { 2 }, saturates };
    for (row, column) in (0..256).map(|n| (n / 16, n % 16)) {
        let (register, lane, shift) = place(row, column);
        let mut want = c[row][column];
        for step in steps(rdna3, parts, a.bits()) {
            let own = |part: usize| if rdna3 { lane / 16 } else { part };
            let of = |x: &[Vec<u32>], i: usize| -> Vec<u32> {
                step.iter().map(|&(part, at)| x[16 * own(part) + i][at]).collect()
            };
            want = sum.of(&of(&x, row), &of(&y, column), want);
        }
        let got = wave.rows[40 + register].0[lane] >> shift & if result == F32 { !0 } else { 0xffff };
        assert_eq!(
            got, want,
            "{name}, RDNA3 {rdna3}, {lanes} lanes, round {round}: {row}, {column}: {got:x} for {want:x}"
        );
    }
}

/// The result may lie where C, A or B is, or where some of their registers are.
#[test]
fn the_result_may_lie_where_sources_are() {
    lie_where_sources_are("v_wmma_f32_16x16x16_f16");
    lie_where_sources_are("v_wmma_i32_16x16x16_iu8");
}

fn lie_where_sources_are(name: &str) {
    for (lanes, to) in [32, 64].into_iter().flat_map(|lanes| (2..45).map(move |to| (lanes, to))) {
        let mut codes = Codes::new(5 + u64::from(lanes) + to);
        let mut wave = Wave::new();
        wave.generation = Generation::Gfx11;
        wave.set_lanes(lanes);
        for lane in 0..lanes as usize {
            let rows = &mut wave.rows;
            let half = |codes: &mut Codes| codes.code(F16, 1);
            for register in (10..18).chain(20..28) {
                let word = half(&mut codes) | half(&mut codes) << 16;
                rows[register].0[lane] = if lane < 16 { word } else { rows[register].0[lane % 16] };
            }
            (30..38).for_each(|register| rows[register].0[lane] = codes.code(F32, 1));
        }
        let mut run = |dst: u16| {
            // NEG of A (whose integers are signed), NEG_HI of B, both of C.
            let op = Op { dst, src: [10, 20, 30], imm: 0b101 | 0b110 << 3, ..Op::NOTHING };
            let handler = named(name).variants.select();
            // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
            let _ = unsafe { handler(&mut wave, &op) };
            let registers = dst..dst + 256 / lanes as u16;
            registers.map(|row| wave.rows[usize::from(row)].0[..lanes as usize].to_vec()).collect::<Vec<_>>()
        };
        let apart = run(60);
        assert_eq!(run(to as u16), apart, "{name}, {lanes} lanes, v{to}");
    }
}

/// Eight products that are too much for C, then eight that bring it back: with CLAMP, RDNA4 shows what it has cut off.
#[test]
fn integers_are_limited_after_each_half_of_the_products() {
    const MOST: i64 = i32::MAX as i64;
    let (up, down) = (8 * 127 * 127, 8 * -128 * 127);
    for (rdna3, clamp, want) in
        [(true, true, MOST + up + down), (false, true, MOST + down), (false, false, MOST + up + down)]
    {
        let mut wave = Wave::new();
        wave.generation = if rdna3 { Generation::Gfx11 } else { Generation::Gfx12 };
        wave.set_lanes(32);
        for lane in 0..32 {
            // Elements 0 to 7 and 8 to 15 are in registers of their own, or in lanes.
            for (register, second) in [(10, !rdna3 && lane >= 16), (12, true)] {
                (0..2).for_each(|k| wave.rows[register + k].0[lane] = if second { 0x8080_8080 } else { 0x7f7f_7f7f });
            }
            (20..24).for_each(|register| wave.rows[register].0[lane] = 0x7f7f_7f7f);
            (30..38).for_each(|register| wave.rows[register].0[lane] = i32::MAX as u32);
        }
        let op = Op { dst: 40, src: [10, 20, 30], imm: 0b11 | u64::from(clamp) << 13, ..Op::NOTHING };
        let handler = named("v_wmma_i32_16x16x16_iu8").variants.select();
        // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
        let _ = unsafe { handler(&mut wave, &op) };
        for register in 40..48 {
            assert_eq!(wave.rows[register].0[..32], [want as u32; 32], "RDNA3 {rdna3}, clamp {clamp}");
        }
    }
}

/// Integers of both signs and sizes, at their places in words that are random altogether.
#[test]
fn products_of_integers_are_those_of_wide_ones() {
    let forms = [
        ("v_wmma_i32_16x16x16_iu8", 8, 16, true),
        ("v_wmma_i32_16x16x16_iu4", 4, 16, true),
        ("v_wmma_i32_16x16x32_iu4", 4, 32, false),
    ];
    let mut codes = Codes::new(77);
    for (name, bits, k, on_rdna3) in forms {
        for (rdna3, lanes) in [(true, 32), (true, 64), (false, 32), (false, 64usize)] {
            for imm in (0..8).filter(|_| on_rdna3 || !rdna3) {
                // Which of A and B are signed, and CLAMP.
                whole(name, (bits, k), rdna3, lanes, imm & 3 | imm >> 2 << 13, &mut codes);
            }
        }
    }
}

fn whole(name: &str, (bits, size): (u32, usize), rdna3: bool, lanes: usize, imm: u64, codes: &mut Codes) {
    let parts = lanes / 16;
    let mut wave = Wave::new();
    wave.generation = if rdna3 { Generation::Gfx11 } else { Generation::Gfx12 };
    wave.set_lanes(lanes as u32);
    for row in (10..14).chain(20..24).chain(30..38) {
        (0..lanes).for_each(|lane| wave.rows[row].0[lane] = codes.next());
    }
    // Of C's some are next to what it is limited to.
    for row in 30..38 {
        (0..lanes).step_by(2).for_each(|lane| {
            let word = &mut wave.rows[row].0[lane];
            *word = (*word % 1000).wrapping_add(if lane % 4 == 0 { i32::MIN } else { i32::MAX - 999 } as u32);
        });
    }
    let per_word = 32 / bits as usize;
    let each = if rdna3 { size } else { (size / parts).max(per_word) };
    let element = |first: usize, signed: bool, own: usize, k: usize, index: usize| {
        let part = match k / each {
            _ if rdna3 => own,
            quarter if size / each == 4 => [0, 2, 1, 3][quarter],
            half => half,
        };
        let at = k % each;
        let code = wave.rows[first + at / per_word].0[16 * part + index] >> (bits as usize * (at % per_word));
        let code = i64::from(code & ((1 << bits) - 1));
        if signed && code >> (bits - 1) != 0 { code - (1 << bits) } else { code }
    };
    let clamp = imm >> 13 != 0;
    let limited = |sum: i64| if clamp { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
    let mut want = Vec::new();
    for (register, lane) in (0..256 / lanes).flat_map(|register| (0..lanes).map(move |lane| (register, lane))) {
        let (own, column) = (lane / 16, lane % 16);
        let row = if rdna3 { register * parts + own } else { 8 * (own % 2) + 4 * (own / 2) + register };
        let mut sums = [0; 2];
        for k in 0..size {
            let product = element(10, imm & 1 != 0, own, k, row) * element(20, imm & 2 != 0, own, k, column);
            sums[if rdna3 { 0 } else { k / 8 % 2 }] += product;
        }
        let c = i64::from(wave.rows[30 + register].0[lane] as i32);
        want.push(limited(limited(c + sums[0]) + sums[1]) as u32);
    }
    let op = Op { dst: 40, src: [10, 20, 30], imm, ..Op::NOTHING };
    let handler = named(name).variants.select();
    // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
    let _ = unsafe { handler(&mut wave, &op) };
    let got: Vec<u32> = (40..40 + 256 / lanes).flat_map(|row| wave.rows[row].0[..lanes].to_vec()).collect();
    assert_eq!(got, want, "{name}, RDNA3 {rdna3}, {lanes} lanes, {imm:x}");
}
