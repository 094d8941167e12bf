//! f32 times powers of two, with exponents of all sizes, and powers of two with f32 as exponents.

use luthier_isa::Generation;
use luthier_isa::op::Op as IsaOp;

use super::compare::{HOST, machines, run};
use super::random::Random;
use super::waves::wave;
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Kind, Op, OpFlags};
use crate::registers::Row;
use crate::valu;
use crate::wave::Wave;

use std::ops::Range;

/// Zeros, denormals, the least normal numbers, ones, the largest numbers, infinities and NaNs that signal or do not.
const NUMBERS: [u32; 14] = [
    0,
    1,
    3,
    0x0040_0001,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x3f80_0000,
    0x3fff_ffff,
    0x3f80_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc1_2345,
];

/// Native code for one wave and the interpreter for the other, both alike before, leave the same in rows.
fn assert_same(waves: &mut [Wave; 2], [native, ops]: [&[Op]; 2], rows: Range<u16>, what: &str) {
    let [ours, theirs] = waves;
    run(ours, native);
    run(theirs, ops);
    assert_eq!(ours.finished, 1, "{what}");
    for row in rows {
        let lane = (0..64).find(|&lane| ours.row(row).0[lane] != theirs.row(row).0[lane]);
        assert_eq!(lane, None, "{what} v{row}");
    }
}

#[test]
fn products_with_powers_of_two_are_rounded_once() {
    const POWERS: [i32; 12] = [0, 1, -1, 23, -24, 64, -64, 127, -149, -150, i32::MAX, i32::MIN];
    let run_of = valu::lookup(IsaOp::VLdexpF32).expect("an operation").variants.select();
    let of = |dst: u16, inst: u16| Op {
        run: run_of,
        kind: Kind::of(IsaOp::VLdexpF32),
        dst,
        src: [dst - 3, dst, 0],
        inst,
        ..Op::NOTHING
    };
    let ops = [of(4, 0), of(5, 1), of(6, 2)];
    // Denormals that are kept, and zeros in their place.
    for (machine, mode) in machines().into_iter().flat_map(|machine| [(machine, HOST), (machine, 0xc0)]) {
        let native = native_on(machine, &ops, true, Mode(mode), false).expect("a run of three");
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut number = || {
                let any = random.next();
                let word = if random.below(3) == 0 { any & !(1 << 31) } else { random.of(&NUMBERS) };
                word | if random.below(2) == 0 { 1 << 31 } else { 0 }
            };
            let numbers = [0; 3].map(|_| Row(std::array::from_fn(|_| number())));
            let mut random = Random::new(seed ^ 0x5eed);
            let mut power = || {
                let near = random.below(600) as i32 - 300;
                if random.below(2) == 0 { near as u32 } else { random.of(&POWERS) as u32 }
            };
            let powers = [0; 3].map(|_| Row(std::array::from_fn(|_| power())));
            let mut waves = [0; 2].map(|_| wave(1, true, !0, mode, 100));
            for w in &mut waves {
                (1..4).zip(&numbers).for_each(|(row, held)| *w.row_mut(row) = *held);
                (4..7).zip(&powers).for_each(|(row, held)| *w.row_mut(row) = *held);
            }
            assert_same(&mut waves, [&native.ops, &ops], 4..7, &format!("{machine:?} mode {mode:#x} seed {seed}"));
        }
    }
}

/// Where the results are the nearest ones. Ten of a run, so that some of what is constant for all waits on the stack.
#[test]
fn powers_of_two_are_the_interpreters() {
    let run_of = valu::lookup(IsaOp::VExpF32).expect("an operation").variants.select();
    let of = |inst: u16| Op {
        run: run_of,
        kind: Kind::of(IsaOp::VExpF32),
        dst: 20 + inst,
        src: [1 + inst, 0, 0],
        flags: OpFlags::NEAREST,
        inst,
        ..Op::NOTHING
    };
    let ops: Vec<Op> = (0..10).map(of).collect();
    // Of results: zero, the least normal number, infinity, and what lies beside them.
    let ends = [0x42fc_0000, 0x42fb_ffff, 0x42fc_0001, 0x4300_0000, 0x42ff_ffff, 0x4300_0001, 0x42fe_0000, 0x7f00_0000];
    for (machine, mode) in machines().into_iter().flat_map(|machine| [(machine, HOST), (machine, 0xc0)]) {
        for (wave64, seed) in [true, false].into_iter().flat_map(|wave64| (0..100).map(move |seed| (wave64, seed))) {
            let native = native_on(machine, &ops, wave64, Mode(mode), false).expect("a run of ten");
            let mut random = Random::new(seed);
            let mut number = || {
                let near = (f32::from_bits(random.next() >> 9 | 0x3f80_0000) - 1.5) * random.of(&[1.0, 8.0, 300.0]);
                let special = random.of(&NUMBERS) ^ random.of(&[0, 1 << 31]);
                let end = random.of(&ends) ^ random.of(&[0, 1 << 31]);
                let any = random.next();
                random.of(&[near.to_bits(), near.to_bits(), special, end, any])
            };
            let numbers: Vec<Row> = (0..10).map(|_| Row(std::array::from_fn(|_| number()))).collect();
            let exec = if seed % 2 == 0 { !0 } else { 0x5555_f00f_1234_ffff };
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, mode, 100));
            for w in &mut waves {
                w.generation = Generation::Gfx90a;
                (1..11).zip(&numbers).for_each(|(row, held)| *w.row_mut(row) = *held);
            }
            assert_same(&mut waves, [&native.ops, &ops], 20..30, &format!("{machine:?} mode {mode:#x} seed {seed}"));
        }
    }
}
