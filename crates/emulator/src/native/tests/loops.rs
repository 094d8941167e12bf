//! Blocks that lead to themselves: they turn in native code as often as the interpreter does.

use luthier_isa::op::Op as IsaOp;

use super::compare::{HOST, machines};
use super::waves::wave;
use crate::mem::ds_words::Words;
use crate::mem::flat::Encoded;
use crate::mem::{Action, Transfer};
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Flow, Kind, Op, Variants};
use crate::registers::{Row, scalar};
use crate::valu;
use crate::wave::Wave;

/// A block that counts s10 down while it adds, until its branch falls through.
fn counting(branch: IsaOp, mask: u8, accesses: bool) -> Vec<Op> {
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    let add = Op { run: add, kind: Kind::of(IsaOp::VAddU32), dst: 1, src: [1, 2, 0], ..Op::NOTHING };
    let scalar = |operation: IsaOp, op: Op| Op {
        run: crate::scalar::lookup(operation).expect("a scalar operation"),
        kind: Kind::of(operation),
        ..op
    };
    let (imm, one) = (crate::scalar::IMM, Op { imm: 1, sdst: 10, ..Op::NOTHING });
    let load = (Variants::of::<Words<false>>().select(), Encoded::new(Action::Load(Transfer::Words), 1).0);
    let load = Op { run: load.0, kind: Kind::DS_WORDS, dst: 2, src: [20, 0, 0], imm2: load.1, ..Op::NOTHING };
    let mut ops = vec![
        add,
        scalar(IsaOp::SSubU32, Op { src: [10, imm, 0], ..one }),
        scalar(IsaOp::SCmpLgU32, Op { src: [10, imm, 0], imm: 0, ..one }),
    ];
    if accesses {
        ops.insert(0, load);
    }
    if matches!(branch, IsaOp::SCbranchScc0) {
        ops.push(scalar(IsaOp::SCmpEqU32, Op { src: [10, imm, 0], imm: 0, ..one }));
    }
    if mask != scalar::SCC {
        // The mask is what is left to count, in both of its halves' lower one.
        ops.push(scalar(IsaOp::SMovB32, Op { src: [10, 0, 0], sdst: mask, ..Op::NOTHING }));
        ops.push(scalar(IsaOp::SMovB32, Op { src: [imm, 0, 0], imm: 0, sdst: mask + 1, ..Op::NOTHING }));
    }
    ops.push(scalar(branch, Op::NOTHING));
    (0..).zip(&mut ops).for_each(|(inst, op)| op.inst = inst);
    ops
}

/// Turns of a block while it leads to itself and may be turned, and how the last one ends.
fn turns(w: &mut Wave, ops: &[Op], most: u32) -> (Flow, u32) {
    let mut turned = 0;
    loop {
        let mut flow = Flow::Next;
        for op in ops {
            // SAFETY: handlers of this host, on rows that there are.
            flow = unsafe { (op.run)(w, op) };
            if flow != Flow::Next {
                break;
            }
        }
        turned += std::mem::take(&mut w.turned);
        if flow != Flow::Taken || turned == most {
            return (flow, turned);
        }
        turned += 1;
    }
}

#[test]
fn blocks_that_lead_to_themselves_turn_as_often_as_they_may() {
    use IsaOp::{SCbranchExecnz, SCbranchScc0, SCbranchScc1, SCbranchVccnz};
    let branches = [
        (SCbranchScc1, scalar::SCC),
        (SCbranchScc0, scalar::SCC),
        (SCbranchVccnz, scalar::VCC),
        (SCbranchExecnz, scalar::EXEC),
    ];
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for ((branch, mask), accesses) in branches.iter().flat_map(|&it| [(it, true), (it, false)]) {
            let ops = counting(branch, mask, accesses);
            let native = native_on(machine, &ops, wave64, Mode(HOST), true).expect("a run");
            assert_eq!(native.ops.len(), 1);
            for (most, count) in [0, 1, 2, 7, 1000].into_iter().flat_map(|most| [(most, 1), (most, 5), (most, 300)]) {
                let mut waves = [0; 2].map(|_| wave(1, wave64, 0x00ff_ffff_ffff_ff0f, HOST, 100));
                for w in &mut waves {
                    w.s[10] = count;
                    *w.row_mut(20) = Row(std::array::from_fn(|lane| 4 * lane as u32));
                }
                let [ours, theirs] = &mut waves;
                ours.may_turn = most;
                let about = format!("{machine:?} wave64 {wave64} {branch:?} {accesses} most {most} of {count}");
                // SAFETY: a handler of this host.
                let flow = unsafe { (native.ops[0].run)(ours, &native.ops[0]) };
                assert_eq!((flow, ours.turned), turns(theirs, &ops, most), "{about}");
                assert_eq!(ours.s[..], theirs.s[..], "{about}");
                assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{about}");
            }
        }
    }
}

#[test]
fn a_loop_that_the_interpreter_has_to_finish_goes_on_behind_it() {
    for machine in machines() {
        let ops = counting(IsaOp::SCbranchScc1, scalar::SCC, true);
        let native = native_on(machine, &ops, true, Mode(HOST), true).expect("a run");
        let mut waves = [0; 2].map(|_| wave(1, true, !0, HOST, 100));
        for w in &mut waves {
            w.s[10] = 9;
            // The last lanes' addresses are outside of LDS.
            *w.row_mut(20) = Row(std::array::from_fn(|lane| 4 * lane as u32 + if lane > 40 { 1 << 20 } else { 0 }));
        }
        let [ours, theirs] = &mut waves;
        let mut flow = Flow::Taken;
        while flow == Flow::Taken {
            ours.may_turn = 100;
            // SAFETY: a handler of this host.
            flow = unsafe { (native.ops[0].run)(ours, &native.ops[0]) };
        }
        assert_eq!((flow, 8), turns(theirs, &ops, 100), "{machine:?}");
        assert_eq!(ours.s[..], theirs.s[..], "{machine:?}");
        assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{machine:?}");
    }
}
