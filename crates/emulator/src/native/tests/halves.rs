//! f16 whose fused product and sum lies next to the middle of two: rounded to f32 it is the middle.

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
fn fused_halves_are_rounded_once() {
    // 1 + 2^-10, 2^-11 - 2^-21 and the like: c + 2^-11 - 2^-31 is not a middle, but its f32 is.
    const HALVES: [u32; 10] = [0x3c01, 0x0ffe, 0x3bfe, 0x1001, 0x0fff, 0x3c00, 0x3c03, 0x4001, 0x0001, 0x03ff];
    let of = |operation: IsaOp, dst: u16, inst: u16| {
        let run = valu::lookup(operation).expect("an operation").variants.select();
        Op { run, kind: Kind::of(operation), dst, src: [1, 2, 3], inst, ..Op::NOTHING }
    };
    let ops = [of(IsaOp::VFmaF16, 4, 0), of(IsaOp::VPkFmaF16, 5, 1), of(IsaOp::VFmaLegacyF16, 6, 2)];
    for machine in machines() {
        let native = native_on(machine, &ops, true, Mode(HOST), false).expect("a run of three");
        let mut corrected = 0;
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let mut half = || random.of(&HALVES) | if random.below(2) == 0 { 0 } else { 0x8000 };
            let rows = [0; 3].map(|_| Row(std::array::from_fn(|_| half() | half() << 16)));
            let mut waves = [0; 2].map(|_| wave(1, true, !0, HOST, 100));
            for w in &mut waves {
                (1..4).zip(&rows).for_each(|(row, held)| *w.row_mut(row) = *held);
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert_eq!(ours.finished, 1, "{machine:?}");
            for row in 4..7 {
                assert!(ours.row(row).0 == theirs.row(row).0, "{machine:?} seed {seed} v{row}");
            }
            // How often rounding twice would have been wrong.
            for lane in 0..64 {
                let [a, b, c] = [0, 1, 2].map(|k: usize| crate::fp::half::f16_to_f32(rows[k].0[lane] & 0xffff));
                let twice = crate::fp::half::f32_to_f16(a.mul_add(b, c));
                corrected += usize::from(twice != theirs.row(4).0[lane]);
            }
        }
        assert!(corrected > 50, "{corrected} lanes");
    }
}
