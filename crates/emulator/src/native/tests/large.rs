//! A phase that needs more addresses than a function has room for.

use luthier_isa::op::Op as IsaOp;

use super::compare::{HOST, compare, machines, run};
use super::instructions::lds_load;
use super::waves::wave;
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Kind, Op};
use crate::registers::{Row, rows};
use crate::valu;

#[test]
fn more_addresses_than_a_phase_may_have_are_several_phases() {
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    // v1 goes on by eight bytes, and is where the next load is from.
    let next = |inst| Op {
        run: add,
        kind: Kind::of(IsaOp::VAddU32),
        dst: 1,
        src: [1, rows::CONST + 8, 0],
        inst,
        ..Op::NOTHING
    };
    let ops: Vec<Op> =
        (0..60).map(|inst| if inst % 2 == 0 { next(inst) } else { lds_load(2 + inst / 2 % 16, 1, inst) }).collect();
    for (machine, wave64) in machines().into_iter().flat_map(|machine| [(machine, true), (machine, false)]) {
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run");
        assert_eq!(native.ops.len(), 1, "{machine:?}");
        let mut waves = [0; 2].map(|_| wave(3, wave64, !0, HOST, 100));
        waves.iter_mut().for_each(|w| *w.row_mut(1) = Row(std::array::from_fn(|lane| 12 * lane as u32)));
        let [ours, theirs] = &mut waves;
        run(ours, &native.ops);
        run(theirs, &ops);
        assert_eq!(ours.finished, 1, "{machine:?}");
        (1..18).for_each(|row| assert!(ours.row(row).0 == theirs.row(row).0, "{machine:?} v{row}"));
        assert_eq!(compare(machine, &ops, wave64, 9, HOST, 100), 59);
    }
}
