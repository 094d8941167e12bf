//! Native accesses to device memory at a scalar base and offsets with a sign, as gfx1250 has them, against the interpreter's.

use std::sync::Arc;

use luthier_isa::Generation;

use super::native_on;
use super::tests::{HOST, Random, machines, wave};
use super::tests_scalar_loads::run;
use crate::mem::flat::{self, Encoded};
use crate::mem::global_words::Words;
use crate::mem::{Action, Transfer};
use crate::memory::{Memory, Recent};
use crate::mode::Mode;
use crate::op::{Flow, Kind, Op, Variants};
use crate::registers::Row;
use crate::wave::Wave;

/// Words of the allocation.
const WORDS: u64 = 1024;
const BASE: u8 = 40;
const OFFSETS: u16 = 20;

/// How lanes' offsets follow the first one's, and whether loads and stores of all of them are native.
type Pattern = (fn(i32, i32) -> i32, bool, bool);
const PATTERNS: [Pattern; 4] = [
    (|first, lane| first.wrapping_add(lane), true, true),
    (|first, _| first, true, false),
    (|first, lane| first.wrapping_add(lane + i32::from(lane == 5)), false, false),
    // Their words would follow one another if nothing but the lower 32 bits of addresses were looked at.
    (|first, lane| first.wrapping_add(lane).wrapping_add((lane % 2) << 30), false, false),
];

fn access((action, words): (Action, u8), data: u16, imm: i64, scale: u16, inst: u16) -> Op {
    let (run, kind) = match action {
        Action::Load(Transfer::Words) | Action::Store(Transfer::Words) => {
            (Variants::of::<Words>().select(), Kind::GLOBAL_WORDS_SIGNED)
        }
        _ => (flat::global as _, Kind::GLOBAL_PARTS_SIGNED),
    };
    let imm2 = Encoded::new(action, words).0;
    let src = [OFFSETS, data, scale];
    Op { run, kind, dst: data, src, ssrc: BASE, imm: imm as u64, imm2, inst, ..Op::NOTHING }
}

/// A wave of gfx1250 whose lane 0 accesses the middle of the only allocation.
fn wave_with(offsets: Row, first: i32, unit: i64, exec: u64, wave64: bool) -> (Wave, u64) {
    let mut w = wave(3, wave64, exec, HOST, 100);
    w.generation = Generation::Gfx1250;
    let (mut memory, mut random) = (Memory::new(), Random::new(7));
    let place = memory.allocate(4 * WORDS, true).expect("there is room");
    let words: Vec<u8> = (0..WORDS).flat_map(|_| random.next().to_le_bytes()).collect();
    memory.write(place, &words).expect("inside");
    w.recent = Recent::NONE;
    memory.resolve(&mut w.recent, place, 4, true).expect("inside");
    w.memory = Arc::new(memory);
    *w.row_mut(OFFSETS) = offsets;
    w.set_s64(BASE, (place + 2 * WORDS).wrapping_add_signed(-i64::from(first) * unit));
    (w, place)
}

#[test]
fn offsets_with_a_sign_reach_what_they_do_in_the_interpreter() {
    let firsts = [
        0,
        -1,
        -7,
        -64,
        100,
        i32::MIN,
        i32::MAX - 200,
        i32::MAX - 30,
        0x1fff_fff8,
        0x2000_0000,
        0x3fff_fffc,
        -0x2000_0003,
    ];
    let executions = [!0, 0xffff_fffe, 0xff00_ff00_ff00_ff00, 1 << 15, 0];
    let mut finished = 0;
    for (machine, wave64) in machines().iter().flat_map(|&machine| [(machine, false), (machine, true)]) {
        let words = |count: u8| (Transfer::Words, count, 4 * u16::from(count));
        let transfers = [words(1), words(2), words(4), (Transfer::U16, 1, 2), (Transfer::U8, 1, 1)];
        let all = transfers.iter().flat_map(|&(transfer, words, size)| {
            let scales = [1, size].into_iter();
            scales.flat_map(move |scale| [false, true].map(|stores| ((transfer, words), size, scale, stores)))
        });
        for ((transfer, words), size, scale, stores) in all {
            let (load, store) = ((Action::Load(transfer), words), (Action::Store(transfer), words));
            let last = if stores { access(store, 9, -16, scale, 2) } else { access(load, 9, -16, scale, 2) };
            let ops = [access(load, 1, 4, scale, 0), access(load, 5, -8, scale, 1), last];
            let native = native_on(machine, &ops, wave64, Mode(HOST), false).expect("a run of three");
            assert_eq!(native.ops.len(), 1);
            for ((follow, loads, all), first, exec) in PATTERNS
                .iter()
                .flat_map(|pattern| firsts.iter().flat_map(move |&first| executions.map(|exec| (pattern, first, exec))))
            {
                // Without a scale lanes are neighbours if their offsets differ by what they access.
                let by = if scale == 1 { i32::from(size) } else { 1 };
                let start = if scale == 1 { first & !(by - 1) } else { first };
                let offsets = Row(std::array::from_fn(|lane| {
                    let lane = follow(0, lane as i32).wrapping_mul(by);
                    start.wrapping_add(lane) as u32
                }));
                let [(mut ours, place), (mut theirs, other)] =
                    [0; 2].map(|_| wave_with(offsets, start, scale.into(), exec, wave64));
                let (got, wanted) = (run(&mut ours, &native.ops), run(&mut theirs, &ops));
                let is_fault = wanted.0 == Flow::Fault;
                let about = format!(
                    "{machine:?} wave64 {wave64} {size} bytes scale {scale} stores {stores} first {start:#x} exec {exec:#x}"
                );
                let [mine, its] = [(&ours, place), (&theirs, other)].map(|(w, place)| {
                    let mut bytes = vec![0; 4 * WORDS as usize];
                    w.memory.read(place, &mut bytes).expect("inside");
                    bytes
                });
                // Allocations need not be at the same addresses.
                let why = |(flow, stopped, why): (_, _, super::tests_scalar_loads::Why)| {
                    (flow, stopped, why.map(|(_, at)| at.is_some()))
                };
                assert_eq!(why(got), why(wanted), "{about}");
                assert!(mine == its, "memory: {about}");
                // Of a load that cannot be made the first lanes may have been loaded.
                let same = (1..14).all(|row| ours.row(row).0 == theirs.row(row).0);
                assert!(same || is_fault, "rows: {about}");
                let last_lane = i64::from(start) + i64::from(by) * 63;
                let is_native = if stores { *all } else { *loads };
                if is_native && exec == !0 && last_lane <= i64::from(i32::MAX) - 16 * i64::from(size.max(4)) {
                    assert_eq!(ours.finished, 1, "{about}");
                    finished += 1;
                }
            }
        }
    }
    assert!(machines().is_empty() || finished > 50, "{finished}");
}
