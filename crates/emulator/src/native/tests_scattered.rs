//! Two and four words of lanes that lie anywhere in device memory: native as far as all are in one allocation, and the interpreter's
//! in any case.

use super::machine::Machine;
use super::native_on;
use super::tests::{HOST, machines};
use super::tests_scalar_loads::{Why, run as outcome};
use super::tests_streams::{BASE, By, LEN, access, bytes, wave_with_memory};
use crate::mem::{Action, Transfer};
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registers::Row;
use crate::wave::Wave;

/// Rows that lead to what is loaded, and stored; rows that are loaded to, and stored from.
const PLACE_FROM: u16 = 40;
const PLACE_TO: u16 = 42;
const LOADED: u16 = 1;
const STORED: u16 = 9;

/// Bytes from where the allocation begins to what a lane accesses; how many bytes that are.
type Lies = fn(i64, i64) -> i64;

const INSIDE: [Lies; 8] = [
    |lane, _| 256 * lane,
    |lane, size| 2048 - size * lane,
    |lane, _| 4 * (lane * 37 % 512),
    // Some at one place, some over each other.
    |lane, _| 1000 + 4 * (lane % 5),
    |lane, _| if lane == 0 { LEN - 16 } else { 4 * lane - 4 },
    |lane, size| size * lane + 4 * (lane / 8),
    // Some vectors' lanes are neighbours.
    |lane, size| if lane < 16 { size * (15 - lane) } else { size * lane },
    |lane, size| size * lane,
];
const OUTSIDE: [Lies; 6] = [
    |lane, size| if lane == 9 { LEN + 4 - size } else { 64 * lane },
    |lane, _| if lane == 9 { LEN + 64 } else { 64 * lane },
    |lane, _| if lane == 9 { -16 } else { 64 * lane },
    |lane, _| if lane == 9 { 1 << 32 } else { 64 * lane },
    |lane, _| if lane == 9 { 1 << 33 } else { 64 * lane },
    // Behind a half.
    |lane, _| if lane == 9 { 1002 } else { 64 * lane },
];

fn wave_there([from, to]: [Lies; 2], size: i64, by: By, (wave64, exec): (bool, u64), imm: i64) -> (Wave, u64) {
    let (mut w, place) = wave_with_memory(wave64, exec, 5);
    w.set_s64(BASE, place.wrapping_sub(imm as u64));
    for (row, lies) in [(PLACE_FROM, from), (PLACE_TO, to)] {
        let more = if by == By::Addresses { place as i64 - imm } else { 0 };
        let at: [i64; 64] = std::array::from_fn(|lane| more + lies(lane as i64, size));
        *w.row_mut(row) = Row(at.map(|at| at as u32));
        *w.row_mut(row + 1) = Row(at.map(|at| (at >> 32) as u32));
    }
    (w, place)
}

/// What has become of the wave.
#[derive(PartialEq)]
struct After {
    ended: (Flow, Option<u16>, Why),
    rows: Vec<[u32; 64]>,
    memory: Vec<u8>,
    has_stored: bool,
}

fn after((mut w, place): (Wave, u64), ops: &[Op]) -> (After, u32) {
    let ended = outcome(&mut w, ops);
    let memory = bytes(&w, place);
    let rows = (0..PLACE_TO).map(|row| w.row(row).0).collect();
    (After { ended, rows, memory, has_stored: w.has_stored }, w.finished)
}

/// Whether native code did two loads and two stores, of `words` words a lane, to the end: from one place to the other one, and back.
fn is_native(way: (Machine, bool), words: u16, lies: [Lies; 2], by: By, exec: u64, about: &str) -> bool {
    let (machine, wave64) = way;
    let (load, store) = (Action::Load(Transfer::Words), Action::Store(Transfer::Words));
    // The allocation begins at a multiple of 4 GiB: addresses have the same upper half behind it.
    let imm = -32;
    let access = |action, place, row, inst| access(action, words, [place, row], (by, imm), inst);
    let ops = [
        access(load, PLACE_FROM, LOADED, 0),
        access(store, PLACE_TO, STORED, 1),
        access(load, PLACE_TO, LOADED + 4, 2),
        access(store, PLACE_FROM, STORED + 4, 3),
    ];
    let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run");
    assert_eq!(native.ops.len(), 1, "{about}");
    let make = || wave_there(lies, 4 * i64::from(words), by, (wave64, exec), imm);
    let ((ours, finished), (theirs, _)) = (after(make(), &native.ops), after(make(), &ops));
    assert_eq!(ours.ended, theirs.ended, "{about}");
    assert!(ours == theirs, "rows or memory: {about}");
    finished == 1
}

#[test]
fn lanes_anywhere_in_an_allocation_need_no_interpreter() {
    let ways = machines().into_iter().flat_map(|machine| [(machine, true), (machine, false)]);
    for (way, words, by) in ways
        .flat_map(|way| [2, 4].map(|words| (way, words)))
        .flat_map(|(way, words)| [By::Addresses, By::Offsets].map(|by| (way, words, by)))
    {
        for (n, from) in INSIDE.into_iter().enumerate() {
            for (exec, to) in [!0, 0xffff_fff0, 0x8000_0001_8000_0001, 0x0f00_ff00_f0f0_1234, 0].into_iter().zip(
                // Stores elsewhere than the loads.
                INSIDE.into_iter().cycle().skip(n),
            ) {
                let about = format!("{way:?} {words} words by {by:?}, pattern {n}, EXEC {exec:#x}");
                assert!(is_native(way, words, [from, to], by, exec, &about), "{about}");
            }
        }
    }
}

#[test]
fn lanes_outside_are_the_interpreters_and_fault_before_anything_is_stored() {
    let ways = machines().into_iter().flat_map(|machine| [(machine, true), (machine, false)]);
    for (way, words) in ways.flat_map(|way| [2, 4].map(|words| (way, words))) {
        for ((n, outside), by) in
            OUTSIDE.into_iter().enumerate().flat_map(|it| [(it, By::Addresses), (it, By::Offsets)])
        {
            for lies in [[outside, INSIDE[0]], [INSIDE[0], outside]] {
                let about = |exec: u64| format!("{way:?} {words} words by {by:?}, pattern {n}, EXEC {exec:#x}");
                // Offsets have 32 bits.
                let is_whole = by == By::Offsets && matches!(n, 3 | 4);
                assert_eq!(is_native(way, words, lies, by, !0, &about(!0)), is_whole, "{}", about(!0));
                // That lane is off.
                let exec = !(1 << 9);
                assert!(is_native(way, words, lies, by, exec, &about(exec)), "{}", about(exec));
            }
        }
    }
}
