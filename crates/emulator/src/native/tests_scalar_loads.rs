//! Native loads of scalars against the interpreter's: every kind of address and destination, and where there is no memory.

use std::sync::Arc;

use luthier_isa::op::Op as IsaOp;

use super::machine::Machine;
use super::native_on;
use super::tests::{HOST, LOADS, Random, load_of, machines, wave};
use crate::memory::{Memory, Recent};
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op};
use crate::registers::scalar;
use crate::scalar::NONE;
use crate::wave::Wave;

/// Words of an allocation.
const WORDS: u64 = 64;
/// Scalars that hold the base, and an offset.
const BASE: u8 = 40;
const OFFSET: u8 = 44;

/// A wave that remembers the first `remembered` allocations, and the addresses of all of them.
fn wave_with(allocations: usize, remembered: usize) -> (Wave, Vec<u64>) {
    let mut w = wave(1, true, !0, HOST, 100);
    let mut random = Random::new(7);
    let mut memory = Memory::new();
    let places: Vec<u64> = (0..allocations).map(|_| memory.allocate(4 * WORDS, true).expect("there is room")).collect();
    for &place in &places {
        let words: Vec<u8> = (0..WORDS).flat_map(|_| random.next().to_le_bytes()).collect();
        memory.write(place, &words).expect("inside");
    }
    w.recent = Recent::NONE;
    for &place in &places[..remembered] {
        memory.resolve(&mut w.recent, place, 4, false).expect("inside");
    }
    w.memory = Arc::new(memory);
    (w, places)
}

/// The load, and enough behind it for a run that is worth a call.
fn run_of(load: Op) -> Vec<Op> {
    let mov = |inst| {
        let run = crate::scalar::lookup(IsaOp::SMovB32).expect("a scalar operation");
        Op { run, kind: Kind::of(IsaOp::SMovB32), src: [3, 0, 0], sdst: 50 + inst as u8, inst, ..Op::NOTHING }
    };
    vec![load, mov(1), mov(2), mov(3)]
}

/// The fault's message, and the address that it names.
pub(super) type Why = Option<(String, Option<u64>)>;

/// How it ends, what stopped it, and why.
pub(super) fn run(w: &mut Wave, ops: &[Op]) -> (Flow, Option<u16>, Why) {
    for op in ops {
        // SAFETY: handlers of this host, on rows that there are.
        let flow = unsafe { (op.run)(w, op) };
        if flow != Flow::Next {
            let why = w.fault.take().map(|fault| (fault.message, fault.address));
            return (flow, Some(w.stopped.take().unwrap_or(op.inst)), why);
        }
    }
    (Flow::Next, None, None)
}

/// Both ways from the same state; gives the native one, and how it ended.
fn both(machine: Machine, load: Op, make: impl Fn() -> Wave, about: &str) -> (Wave, Flow) {
    let ops = run_of(load);
    let native = native_on(machine, &ops, true, Mode(HOST), false).expect("a run");
    assert_eq!(native.ops.len(), 1, "{about}: the load is not native");
    let (mut ours, mut theirs) = (make(), make());
    let (found, wanted) = (run(&mut ours, &native.ops), run(&mut theirs, &ops));
    assert_eq!(found, wanted, "{about}");
    assert_eq!(ours.s[..], theirs.s[..], "{about}");
    (ours, found.0)
}

#[test]
fn every_kind_of_address_is_the_interpreters() {
    for machine in machines() {
        for (words, operation) in LOADS {
            let last = (WORDS as i64 - i64::from(words)) * 4;
            // Where the base is, the offset in a register and its scale, the immediate offset.
            let cases = [
                (0, None, 0, 0),
                (0, None, 0, last),
                (3, None, 0, 4),
                (2, None, 0, 7),
                (64, None, 0, -64),
                (67, None, 0, -61),
                (0, Some(16), 0, 0),
                (1, Some(19), 0, 3),
                (0, Some(1), 8, 0),
                (0, Some(1), 6, 0),
                (200, Some(3), 4, -200),
                // Offsets in registers have no sign, and products have 64 bits.
                (-(1i64 << 32), Some(!0), 0, 4),
                (-(1i64 << 34), Some(!0), 4, 4),
                (-(1i64 << 20), None, 0, 1 << 20),
                (1 << 20, None, 0, -(1 << 20)),
            ];
            for (case, (base, offset, scale, imm)) in cases.into_iter().enumerate() {
                for (register, sdst) in [OFFSET, scalar::M0].into_iter().zip([0, 124 - words]) {
                    let src = [BASE.into(), if offset.is_some() { register.into() } else { NONE }, 0];
                    let (imm, imm2) = (imm as u64, words.into());
                    let load = load_of(operation, Op { dst: scale, src, sdst, imm, imm2, ..Op::NOTHING });
                    let make = || {
                        let (mut w, places) = wave_with(3, 2);
                        w.set_s64(BASE, places[1].wrapping_add_signed(base));
                        w.s[usize::from(register)] = offset.unwrap_or(0);
                        w
                    };
                    let about = format!("{machine:?} {words} words, case {case}");
                    let (w, flow) = both(machine, load, make, &about);
                    assert_eq!((flow, w.finished), (Flow::Next, 1), "{about}");
                }
            }
        }
    }
}

#[test]
fn destinations_may_have_the_address_in_them() {
    for machine in machines() {
        for (words, operation) in LOADS {
            for sdst in [BASE, BASE + 1, OFFSET, BASE.wrapping_sub(words) + 1, BASE.saturating_sub(15)] {
                let src = [BASE.into(), OFFSET.into(), 0];
                let load = load_of(operation, Op { src, sdst, imm: 8, imm2: words.into(), ..Op::NOTHING });
                let make = || {
                    let (mut w, places) = wave_with(2, 1);
                    w.set_s64(BASE, places[0]);
                    w.s[usize::from(OFFSET)] = 12;
                    w
                };
                let about = format!("{machine:?} {words} words to s{sdst}");
                let (w, flow) = both(machine, load, make, &about);
                assert_eq!((flow, w.finished), (Flow::Next, 1), "{about}");
            }
        }
    }
}

#[test]
fn an_allocation_that_the_wave_does_not_remember_it_comes_to_remember() {
    for machine in machines() {
        for (words, operation) in LOADS {
            for remembered in 0..=6 {
                let load = load_of(operation, Op { src: [BASE.into(), NONE, 0], imm2: words.into(), ..Op::NOTHING });
                let make = || {
                    let (mut w, places) = wave_with(7, remembered);
                    w.set_s64(BASE, places[6]);
                    w
                };
                let about = format!("{machine:?} {words} words, {remembered} others are remembered");
                let (mut w, flow) = both(machine, load, make, &about);
                assert_eq!((flow, w.finished), (Flow::Next, 1), "{about}");
                // What is found without the memory, the wave remembers.
                let place = w.s64(BASE);
                assert!(Memory::new().resolve(&mut w.recent, place, 4, false).is_ok(), "{about}");
            }
        }
    }
}

#[test]
fn what_is_in_no_allocation_is_the_same_fault_of_the_same_instruction() {
    for machine in machines() {
        for (words, operation) in LOADS {
            let past = 4 * (WORDS - u64::from(words) + 1);
            for (at, remembered) in [past, 4 * WORDS, !3, 1 << 40].into_iter().flat_map(|at| [(at, 0), (at, 1)]) {
                let load = load_of(operation, Op { src: [BASE.into(), NONE, 0], imm2: words.into(), ..Op::NOTHING });
                let make = || {
                    let (mut w, places) = wave_with(1, remembered);
                    w.set_s64(BASE, places[0].wrapping_add(at));
                    w
                };
                let (_, flow) = both(machine, load, make, &format!("{machine:?} {words} words at {at:#x}"));
                assert_eq!(flow, Flow::Fault, "{machine:?} {words} words at {at:#x}");
            }
        }
    }
}

#[test]
fn watched_waves_and_other_destinations_are_the_interpreters() {
    for machine in machines() {
        for (words, operation) in LOADS {
            let op = Op { src: [BASE.into(), NONE, 0], imm2: words.into(), ..Op::NOTHING };
            // Up to M0.
            let ops = run_of(load_of(operation, Op { sdst: 125 - words, ..op }));
            let native = native_on(machine, &ops, true, Mode(HOST), false).expect("the moves are native");
            assert_eq!(native.ops.len(), 2, "{words} words");
            let make = || {
                let (mut w, places) = wave_with(1, 1);
                w.set_s64(BASE, places[0]);
                w.is_watched = true;
                w
            };
            let (w, flow) = both(machine, load_of(operation, op), make, &format!("{words} words, watched"));
            assert_eq!((flow, w.finished), (Flow::Next, 0));
        }
    }
}
