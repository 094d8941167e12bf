//! What waves take from one another is what they would have made, and nothing that they are given goes unseen.

use super::named;
use super::tests_aligned::Random;
use crate::op::{Handler, Op};
use crate::registers::Row;
use crate::repeated::{DONE, Repeated};
use crate::wave::Wave;

use luthier_isa::Generation;

use std::rc::Rc;

/// Where operands begin: A, B, C, and scales of A and of B. The result is C's registers, or others.
const A: usize = 0;
const B: usize = 16;
const C: usize = 32;
const SCALES: usize = 80;
const ELSEWHERE: u16 = 100;

struct Case {
    name: &'static str,
    /// Registers of A, B and C.
    registers: [usize; 3],
    imm: u64,
    scales: usize,
    generation: Generation,
    lanes: u32,
}

const fn case(name: &'static str, registers: [usize; 3]) -> Case {
    Case { name, registers, imm: 0, scales: 0, generation: Generation::Gfx940, lanes: 64 }
}

const fn wmma(name: &'static str, generation: Generation, lanes: u32, registers: [usize; 3]) -> Case {
    Case { generation, lanes, ..case(name, registers) }
}

/// CBSZ and BLGP: the formats of A and B.
const fn scaled(name: &'static str, formats: [u64; 2], registers: [usize; 3]) -> Case {
    Case { imm: formats[0] << 16 | formats[1] << 23, scales: 2, ..case(name, registers) }
}

const CASES: [Case; 18] = [
    case("v_mfma_f32_32x32x8_f16", [2, 2, 16]),
    case("v_mfma_f32_32x32x4_2b_f16", [2, 2, 32]),
    case("v_mfma_f32_16x16x16_f16", [2, 2, 4]),
    case("v_mfma_f32_4x4x4_16b_f16", [2, 2, 4]),
    case("v_mfma_f32_16x16x4_4b_bf16", [2, 2, 16]),
    case("v_mfma_f32_32x32x16_bf16", [4, 4, 16]),
    case("v_mfma_f32_16x16x8_xf32", [2, 2, 4]),
    case("v_mfma_f32_32x32x16_fp8_bf8", [2, 2, 16]),
    scaled("v_mfma_scale_f32_16x16x128_f8f6f4", [0, 1], [8, 8, 4]),
    scaled("v_mfma_scale_f32_32x32x64_f8f6f4", [2, 4], [6, 4, 16]),
    scaled("v_mfma_scale_f32_32x32x64_f8f6f4", [4, 3], [4, 6, 16]),
    Case { scales: 0, ..scaled("v_mfma_f32_16x16x128_f8f6f4", [3, 0], [6, 8, 4]) },
    wmma("v_wmma_f32_16x16x16_f16", Generation::Gfx11, 32, [8, 8, 8]),
    wmma("v_wmma_f32_16x16x16_bf16", Generation::Gfx11, 64, [8, 8, 4]),
    wmma("v_wmma_f32_16x16x16_f16", Generation::Gfx12, 32, [4, 4, 8]),
    wmma("v_wmma_f32_16x16x16_f16", Generation::Gfx12, 64, [2, 2, 4]),
    wmma("v_wmma_f32_16x16x16_fp8_bf8", Generation::Gfx12, 32, [2, 2, 8]),
    wmma("v_wmma_f32_16x16x16_bf8_fp8", Generation::Gfx12, 64, [1, 1, 4]),
];

impl Case {
    /// Rows that the instruction reads.
    fn operands(&self) -> Vec<usize> {
        let [a, b, c] = self.registers;
        (A..A + a).chain(B..B + b).chain(C..C + c).chain(SCALES..SCALES + self.scales).collect()
    }

    fn op(&self, dst: u16) -> Box<Op> {
        let imm2 = (SCALES | (SCALES + 1) << 16) as u64;
        Box::new(Op { dst, src: [A as u16, B as u16, C as u16], imm: self.imm, imm2, ..Op::NOTHING })
    }

    fn handler(&self) -> Handler {
        named(self.name).variants.select()
    }

    /// A wave of a workgroup with these registers, having done the instruction.
    fn wave(&self, rows: &[Row], repeated: &Rc<Repeated>, op: &Op) -> Wave {
        let mut wave = Wave::new();
        wave.repeated = Rc::clone(repeated);
        wave.generation = self.generation;
        wave.set_lanes(self.lanes);
        wave.rows[..rows.len()].copy_from_slice(rows);
        // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
        let _ = unsafe { (self.handler())(&mut wave, op) };
        wave
    }
}

fn done() -> usize {
    DONE.with(std::cell::Cell::get)
}

/// Words whose elements are ordinary numbers of all formats, so that each bit counts.
fn numbers(random: &mut Random, count: usize) -> Vec<Row> {
    let mut word = |row: usize| match row {
        C..SCALES => (random.next() & 0x807f_ffff) | 0x3f80_0000,
        SCALES.. => 0x7f7f_7f7f,
        _ => (random.next() & 0xbfbf_bfbf) | 0x2020_2020,
    };
    (0..count).map(|row| Row(std::array::from_fn(|_| word(row)))).collect()
}

#[test]
fn a_wave_that_has_the_same_takes_the_results_and_one_that_has_not_does_not() {
    let alone = Rc::new(Repeated::of(1));
    for case in &CASES {
        let mut random = Random(0x1234_5678_9abc_def1);
        for dst in [A as u16, C as u16, ELSEWHERE] {
            let (op, rows) = (case.op(dst), numbers(&mut random, 82));
            for changed in case.operands() {
                // The device looks at the first wave's instruction, and keeps the second one's; some of the waves behind them
                // have an operand that differs in one bit.
                let repeated = Rc::new(Repeated::of(4));
                let mut other = rows.clone();
                let lane = (random.next() % case.lanes) as usize;
                // The lowest bit of a scale, or a sign of an element, or the largest bit of a fraction.
                let bit = if changed >= SCALES {
                    0
                } else if changed >= C {
                    22
                } else {
                    7 + 8 * (random.next() % 4)
                };
                other[changed].0[lane] ^= 1 << bit;
                let wanted = [&rows, &other].map(|rows| case.wave(rows, &alone, &op));
                let before = done();
                for (turn, which) in [0, 0, 0, 1, 0, 1, 1].into_iter().enumerate() {
                    let found = case.wave([&rows, &other][which], &repeated, &op);
                    let same = found.rows.iter().zip(wanted[which].rows.iter()).position(|(x, y)| x.0 != y.0);
                    assert_eq!(
                        same, None,
                        "{} to {dst}, register {changed} lane {lane} bit {bit}, turn {turn}",
                        case.name
                    );
                }
                assert_eq!(done() - before, 4, "{}: results that were taken", case.name);
            }
        }
    }
}

#[test]
fn a_row_that_no_operand_has_makes_no_difference() {
    let (case, mut random) = (&CASES[0], Random(0x0bad_cafe_0bad_cafe));
    let (op, repeated) = (case.op(C as u16), Rc::new(Repeated::of(2)));
    let mut rows = numbers(&mut random, 82);
    let before = done();
    for _ in 0..5 {
        rows[case.registers[0]] = Row(std::array::from_fn(|_| random.next()));
        case.wave(&rows, &repeated, &op);
    }
    assert_eq!(done() - before, 3);
}

/// As one does that a module's other code has got the place of. It is kept once the first one is left alone.
#[test]
fn another_instruction_in_the_same_place_takes_nothing() {
    let (alone, repeated) = (Rc::new(Repeated::of(1)), Rc::new(Repeated::of(2)));
    let rows = numbers(&mut Random(0x5eed_5eed_5eed_5eed), 82);
    let mut op = case("", [2, 2, 4]).op(C as u16);
    for (name, blgp) in
        [("v_mfma_f32_16x16x16_f16", 0), ("v_mfma_f32_16x16x16_f16", 1), ("v_mfma_f32_16x16x16_bf16", 1)]
    {
        let case = case(name, [2, 2, 4]);
        (op.imm, op.run) = (blgp << 23, case.handler());
        let before = done();
        for turn in 0..450 {
            let results = [&repeated, &alone].map(|kept| case.wave(&rows, kept, &op).rows[C..C + 4].to_vec());
            let same = results[0].iter().zip(&results[1]).all(|(found, wanted)| found.0 == wanted.0);
            assert!(same, "{name} {blgp} {turn}");
        }
        assert!(done() > before, "{name} {blgp}");
    }
}

#[test]
fn an_instruction_that_is_never_the_same_is_left_alone() {
    let (case, mut random) = (&CASES[2], Random(0x7777_1111_3333_5555));
    let (op, repeated) = (case.op(ELSEWHERE), Rc::new(Repeated::of(2)));
    for _ in 0..6 {
        case.wave(&numbers(&mut random, 82), &repeated, &op);
    }
    let rows = numbers(&mut random, 82);
    let before = done();
    for _ in 0..300 {
        case.wave(&rows, &repeated, &op);
    }
    assert_eq!(done(), before);
    for _ in 0..300 {
        case.wave(&rows, &repeated, &op);
    }
    assert!(done() > before + 100);
}
