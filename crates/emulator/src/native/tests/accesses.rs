//! Accesses to memory whose lanes follow one another, or not: what is native of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use luthier_isa::Generation;
use luthier_isa::op::Op as IsaOp;

use super::super::tests_scalar_loads::run as outcome;
use super::compare::{HOST, machines, run};
use super::waves::{BASE, LDS, RESOURCES, held, wave};
use crate::buffer::Buffer;
use crate::mem::ds_words::Words;
use crate::mem::flat::{self, Encoded, NO_BASE};
use crate::mem::{Action, Transfer, buffer, ds, global_words};
use crate::memory::{Memory, Recent};
use crate::mode::Mode;
use crate::native::native_on;
use crate::op::{Flow, Kind, Op, Semantics, Variants};
use crate::registers::Row;
use crate::valu;

/// What lanes access in this test, and its bytes.
const TRANSFERS: [(Transfer, u8, u32); 6] = [
    (Transfer::Words, 1, 4),
    (Transfer::Words, 2, 8),
    (Transfer::Words, 4, 16),
    (Transfer::U16, 1, 2),
    (Transfer::B16Hi, 1, 2),
    (Transfer::U8, 1, 1),
];

#[test]
fn regular_accesses_are_done_without_the_interpreter() {
    for ((machine, wave64), (transfer, words, size)) in machines()
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
            let ((run, kind), imm2) = (select(global), Encoded::new(action, words).0);
            let imm = if global { 64 } else { 32 };
            Op { run, kind, dst: row, src: [address, row, 1], ssrc: NO_BASE, imm, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(transfer), Action::Store(transfer));
        let ops = [
            access(true, load, 24, 1, 0),
            access(false, load, 20, 5, 1),
            access(false, store, 20, 1, 2),
            access(true, store, 24, 5, 3),
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
            assert!(held(ours) == held(theirs) && (1..9).all(|row| ours.row(row).0 == theirs.row(row).0));
            assert_eq!(ours.finished, 1, "{machine:?} wave64 {wave64} {transfer:?} {words} exec {exec:#x}");
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

/// Two arrays of the process's in one word: what is behind the first one's end is not its own, even if it is remembered.
#[test]
fn bytes_of_another_array_in_the_same_word_are_not_stored_to() {
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, true), (machine, false)]) {
        for (kind, base, last) in
            [(Kind::GLOBAL_PARTS, NO_BASE, 45), (Kind::GLOBAL_PARTS, NO_BASE, 46), (Kind::BUFFER, 0, 46)]
        {
            let access = |action, row, imm, inst| {
                let run = if kind == Kind::BUFFER { buffer::buffer as _ } else { flat::global as _ };
                let imm2 = Encoded::new(action, 1).0 | u64::from(buffer::OFFEN) << 32;
                let src = [24, row, if kind == Kind::BUFFER { 128 } else { 1 }];
                Op { run, kind, dst: row, src, ssrc: base, sdst: 36, imm, imm2, inst, ..Op::NOTHING }
            };
            let transfer = Transfer::U8;
            let ops = [
                access(Action::Load(transfer), 1, 0, 0),
                access(Action::Load(transfer), 2, 4, 1),
                access(Action::Store(transfer), 3, 0, 2),
            ];
            let Some(native) = native_on(machine, &ops, wave64, Mode(HOST), false) else {
                // Narrow vectors load no bytes from buffers.
                assert!(!machine.wide && kind == Kind::BUFFER);
                continue;
            };
            let outcomes = [&native.ops[..], &ops].map(|ops| {
                let words: Box<[AtomicU64]> = (0..16).map(AtomicU64::new).collect();
                let at = words.as_ptr().expose_provenance() as u64;
                let mut memory = Memory::new();
                for (from, len, writable) in [(0, 46, true), (46, 50, false)] {
                    // SAFETY: the words outlive the memory, and are atomics.
                    let part =
                        unsafe { Buffer::in_place(std::ptr::with_exposed_provenance_mut((at + from) as usize), len) };
                    assert!(memory.add_in_place(part, len, writable));
                }
                let mut w = wave(1, wave64, (2 << (last - 30)) - 1, HOST, 100);
                w.generation = Generation::Gfx90a;
                w.recent = Recent::NONE;
                memory.resolve(&mut w.recent, at, 4, true).expect("inside");
                w.memory = Arc::new(memory);
                // Lane 16 stores to the read-only array, if it is on.
                let first = if kind == Kind::BUFFER { 30 } else { at as u32 + 30 };
                *w.row_mut(24) = Row(std::array::from_fn(|lane| first + lane as u32));
                *w.row_mut(25) = Row([(at >> 32) as u32; 64]);
                w.set_s64(36, at);
                w.set_s64(38, 1 << 20);
                let why = outcome(&mut w, ops);
                let bytes: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
                (why.0, why.1, bytes)
            });
            assert!(outcomes[0] == outcomes[1], "{machine:?} wave64 {wave64} {kind:?} {last}: {outcomes:x?}");
            assert_eq!(outcomes[0].0 == Flow::Fault, last == 46);
        }
    }
}

/// Triton has lanes without a part in an access at such an offset.
const NOWHERE: u32 = 1 << 31;

#[test]
fn offsets_that_are_not_inside_of_a_buffer_need_no_interpreter() {
    let patterns: [fn(u32, u32) -> u32; 5] = [
        |size, lane| size * lane,
        |size, lane| if lane < 21 { size * lane } else { NOWHERE },
        |size, lane| if lane % 3 == 0 { NOWHERE } else { size * lane },
        |size, lane| size * (lane ^ 5),
        |_, _| NOWHERE,
    ];
    let machines = machines();
    let all = machines.iter().flat_map(|&machine| [(machine, true), (machine, false)]);
    for ((machine, wave64), words) in all.flat_map(|way| [1, 2, 4].map(|words| (way, words))) {
        let access = |action, row, imm, inst| {
            let imm2 = Encoded::new(action, words).0 | u64::from(buffer::OFFEN) << 32;
            let (run, kind) = (buffer::buffer as _, Kind::BUFFER);
            Op { run, kind, dst: row, src: [20, row, 128], sdst: RESOURCES[0], imm, imm2, inst, ..Op::NOTHING }
        };
        let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
        let ops = [access(load, 1, 0, 0), access(load, 5, 128, 1), access(store, 9, 16, 2), access(store, 1, 512, 3)];
        let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of four");
        assert_eq!(native.ops.len(), 1);
        for (pattern, exec) in patterns.iter().flat_map(|pattern| [!0, 0xffff_fff0, 0].map(|exec| (pattern, exec))) {
            let mut waves = [0; 2].map(|_| wave(1, wave64, exec, HOST, 100));
            for w in &mut waves {
                *w.row_mut(20) = Row(std::array::from_fn(|lane| pattern(4 * u32::from(words), lane as u32)));
                let place = w.s64(BASE);
                w.memory.resolve(&mut w.recent, place, 4, true).expect("inside");
                w.set_s64(RESOURCES[0], place);
                // Of the last store's words some are inside.
                w.set_s64(RESOURCES[0] + 2, 608 | 3 << 60);
            }
            let [ours, theirs] = &mut waves;
            run(ours, &native.ops);
            run(theirs, &ops);
            assert!(held(ours) == held(theirs) && (1..9).all(|row| ours.row(row).0 == theirs.row(row).0));
            assert_eq!(ours.finished, 1, "{machine:?} wave64 {wave64} {words} words exec {exec:#x}");
        }
    }
}
