//! Accesses to memory whose lanes follow one another, or not: what is native of them.

use luthier_isa::op::Op as IsaOp;

use super::compare::{HOST, machines, run};
use super::waves::{BASE, LDS, held, wave};
use crate::mem::ds_words::Words;
use crate::mem::flat::{self, Encoded, NO_BASE};
use crate::mem::{Action, Transfer, ds, global_words};
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Kind, Op, Semantics, Variants};
use crate::registers::Row;
use crate::valu;

/// What lanes access in this test, and its bytes.
const TRANSFERS: [(Transfer, u32); 4] =
    [(Transfer::Words, 4), (Transfer::U16, 2), (Transfer::B16Hi, 2), (Transfer::U8, 1)];

#[test]
fn regular_accesses_are_done_without_the_interpreter() {
    for ((machine, wave64), (transfer, size)) in machines()
        .iter()
        .flat_map(|&machine| [(machine, true), (machine, false)])
        .flat_map(|machine| TRANSFERS.map(|transfer| (machine, transfer)))
    {
        let select = |global: bool| match (global, transfer) {
            (true, Transfer::Words) => (Variants::of::<global_words::Words>().select(), Kind::GLOBAL_WORDS),
            (false, Transfer::Words) => (Variants::of::<Words<false>>().select(), Kind::DS_WORDS),
            (true, _) => (flat::global as _, Kind::GLOBAL_PARTS),
            (false, _) => (ds::single as _, Kind::DS_PARTS),
        };
        let access = |global: bool, action, address, row, inst| {
            let ((run, kind), imm2) = (select(global), Encoded::new(action, 1).0);
            let imm = if global { 64 } else { 32 };
            Op { run, kind, dst: row, src: [address, row, 1], ssrc: NO_BASE, imm, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(transfer), Action::Store(transfer));
        let ops = [
            access(true, load, 24, 1, 0),
            access(false, load, 20, 2, 1),
            access(false, store, 20, 1, 2),
            access(true, store, 24, 2, 3),
        ];
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of four");
        assert_eq!(native.ops.len(), 1);
        for exec in [!0, 0xff, 0x0fff_ffff, 0] {
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, HOST, 100));
            for w in &mut waves {
                let place = w.s64(BASE);
                w.memory.resolve(&mut w.recent, place, 4, true).expect("inside");
                *w.row_mut(20) = Row(std::array::from_fn(|lane| size * lane as u32));
                *w.row_mut(24) = Row(std::array::from_fn(|lane| place as u32 + size * lane as u32));
                *w.row_mut(25) = Row([(place >> 32) as u32; 64]);
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert!(held(ours) == held(theirs) && ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0);
            assert_eq!(ours.finished, 1, "{machine:?} wave64 {wave64} {transfer:?} exec {exec:#x}");
        }
    }
}

/// What reads the word around a half or a byte must not need what lies behind LDS.
#[test]
fn the_last_parts_of_lds_are_loaded_and_stored_without_the_interpreter() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        let access = |action, dst, data, inst| {
            let (run, imm2) = (ds::single as _, Encoded::new(action, 1).0);
            Op { run, kind: Kind::DS_PARTS, dst, src: [20, data, 0], imm: 0, imm2, inst, ..Op::NOTHING }
        };
        for (transfer, size) in [(Transfer::U16, 2), (Transfer::I8Hi, 1)] {
            let (load, store) = (Action::Load(transfer), Action::Store(transfer));
            let ops = [access(load, 1, 0, 0), access(store, 0, 2, 1), access(load, 3, 0, 2)];
            let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of three");
            let mut waves = [0; 2].map(|_| wave(1, wave64, !0, HOST, 100));
            for w in &mut waves {
                // Neither neighbours nor at one place.
                *w.row_mut(20) = Row(std::array::from_fn(|lane| LDS as u32 - size * (1 + lane as u32)));
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert!(held(ours) == held(theirs) && ours.row(1).0 == theirs.row(1).0 && ours.row(3).0 == theirs.row(3).0);
            assert_eq!(ours.finished, 1, "{machine:?} wave64 {wave64} {transfer:?}");
        }
    }
}

#[test]
fn lanes_of_lds_may_count_from_one_that_is_off_before_it_begins() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        let access = |action, dst, data, offset, inst| {
            let (run, imm2) = (Variants::of::<Words<false>>().select(), Encoded::new(action, 1).0);
            let src = [20, data, 0];
            Op { run, kind: Words::<false>::KIND, dst, src, imm: offset, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
        let ops =
            [access(load, 1, 0, 8, 0), access(load, 2, 0, 0, 1), access(store, 0, 3, 4, 2), access(store, 0, 4, 0, 3)];
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of four");
        assert_eq!(native.ops.len(), 1);
        for (first, exec) in [(-4i32, !1), (-20, !0x1f), (-60, 1 << 15), (-28, 0xff80), (LDS as i32 - 16, 3), (8, 0)] {
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, HOST, 100));
            for w in &mut waves {
                // Behind the first vectors the lanes begin anew.
                *w.row_mut(20) = Row(std::array::from_fn(|lane| match lane {
                    0..16 => first.wrapping_add(4 * lane as i32) as u32,
                    _ => 4 * lane as u32,
                }));
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            let about = format!("{machine:?} wave64 {wave64} first {first} exec {exec:#x}");
            assert!(held(ours) == held(theirs), "memory: {about}");
            assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "{about}");
            assert_eq!(ours.finished, 1, "{about}");
        }
    }
}

#[test]
fn irregular_accesses_leave_the_arithmetic_beside_them_native() {
    let Some(machine) = machines().pop() else { return };
    let (run_load, imm2) =
        (Variants::of::<global_words::Words>().select(), Encoded::new(Action::Load(Transfer::Words), 1).0);
    let add = valu::lookup(IsaOp::VAddU32).expect("an operation").variants.select();
    let add = |inst| Op { run: add, kind: Kind::of(IsaOp::VAddU32), dst: 1, src: [1, 2, 0], inst, ..Op::NOTHING };
    let load =
        Op { run: run_load, kind: Kind::GLOBAL_WORDS, dst: 2, src: [24, 0, 1], ssrc: NO_BASE, imm2, ..Op::NOTHING };
    let ops = [add(0), add(1), add(2), Op { inst: 3, ..load }, add(4), add(5), add(6)];
    let native = native_on(machine, &ops, true, Mode(HOST), false).expect("a run");
    let mut waves = [0; 2].map(|_| wave(3, true, !0, HOST, 100));
    for w in &mut waves {
        let place = w.s64(BASE);
        *w.row_mut(24) = Row(std::array::from_fn(|lane| place as u32 + 8 * (lane as u32 % 7)));
        *w.row_mut(25) = Row([(place >> 32) as u32; 64]);
    }
    let [ours, theirs] = &mut waves;
    for round in 0..1100 {
        run(ours, &native.ops);
        run(theirs, &ops);
        assert!(ours.row(1).0 == theirs.row(1).0 && ours.row(2).0 == theirs.row(2).0, "round {round}");
    }
    // Of the rounds after the thousandth two runs each were done.
    assert!(ours.finished > 100, "{} runs were native", ours.finished);
}
