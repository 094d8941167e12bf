//! f32 times powers of two, with exponents of all sizes.

use luthier_isa::op::Op as IsaOp;

use super::compare::{HOST, machines, run};
use super::random::Random;
use super::waves::wave;
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Kind, Op};
use crate::registers::Row;
use crate::valu;

#[test]
fn products_with_powers_of_two_are_rounded_once() {
    // Zeros, denormals, the least normal numbers, ones, the largest numbers, infinities and NaNs that signal or do not.
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
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert_eq!(ours.finished, 1, "{machine:?} mode {mode:#x}");
            for row in 4..7 {
                let lane = (0..64).find(|&lane| ours.row(row).0[lane] != theirs.row(row).0[lane]);
                assert_eq!(lane, None, "{machine:?} mode {mode:#x} seed {seed} v{row}");
            }
        }
    }
}
