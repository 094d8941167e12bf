//! Waves that load and store at random, as instructions would: whatever caches hold and stores are under way, each place's
//! values come in one order for all, and what was waited for and looked up behind an invalidation is there.

use std::collections::HashMap;

use luthier_isa::Generation;

use super::mark::{ALL, INNER, OUTER};
use super::*;
use crate::mem::Transfer;
use crate::mem::atomic::Atomic;
use crate::schedule::Numbers;
use crate::strict::race::coherence::Within;

mod lateness;

struct Device {
    caches: Arc<Caches>,
    memory: Arc<Memory>,
    start: u64,
}

impl Device {
    fn new(seed: u64, generation: Generation, apart: bool) -> Device {
        let mut memory = Memory::new();
        let start = memory.allocate(1024, true).expect("room");
        let memory = Arc::new(memory);
        let caching = Caching::new(generation, Within { waits: true, invalidates: apart });
        let caches = Arc::new(Caches::new(seed, caching, Arc::clone(&memory), 0..0));
        Device { caches, memory, start }
    }

    fn peek(&self, at: u64) -> u32 {
        let mut bytes = [0; 4];
        self.memory.read(self.start + at, &mut bytes).expect("there");
        u32::from_le_bytes(bytes)
    }

    /// What a place has held, in order.
    fn order(&self, at: u64) -> Vec<u32> {
        let before = self.caches.lock().history.values_before(self.start + at);
        before.into_iter().chain([self.peek(at)]).collect()
    }

    /// The late loads that have landed by that.
    fn mark(&self, wave: WaveId, mark: Mark) -> Vec<(u64, u32)> {
        self.mark_at(wave, mark, 0)
    }

    fn mark_at(&self, wave: WaveId, mark: Mark, pc: u64) -> Vec<(u64, u32)> {
        self.values(self.caches.lock().before(&self.memory, wave, mark, pc))
    }

    /// Numbers of late loads, and what they have brought.
    fn values(&self, landed: Vec<late::Late>) -> Vec<(u64, u32)> {
        let mut w = Wave::new();
        let mut value = |late: &late::Late| {
            late.land(&mut w);
            (late.by.pc, w.row(late.registers().start).0[0])
        };
        landed.iter().filter(|late| !late.registers().is_empty()).map(&mut value).collect()
    }

    fn load(&self, wave: WaveId, mark: Mark, at: u64) -> u32 {
        self.mark(wave, mark);
        self.caches.access(once(self.start + at..self.start + at + 4), false, None);
        let value = self.peek(at);
        self.caches.settle();
        value
    }

    /// One with a number, into a register, that may be late: what it brings, if it is not, and late loads that have landed.
    fn issue(&self, wave: WaveId, mark: Mark, at: u64, number: u64, dst: u16) -> (Option<u32>, Vec<(u64, u32)>) {
        self.mark_at(wave, mark, number);
        let rows = Rows { dst, data: 0, words: 1 };
        let landed = self.caches.lock().landing(&self.memory, wave, |late| late.is_for(rows));
        let place = self.start + at;
        let issued = Issued { action: Action::Load(Transfer::Words), rows, at: one(place), operands: Vec::new() };
        let is_late = self.caches.access(once(place..place + 4), false, Some(issued));
        let value = (!is_late).then(|| self.peek(at));
        self.caches.settle();
        (value, self.values(landed))
    }

    /// An exchange, which may be late: what was there, if it is not.
    fn exchange(&self, wave: WaveId, at: u64, number: u64, value: u32) -> Option<u32> {
        self.mark_at(wave, Mark::Atomic, number);
        let place = self.start + at;
        let issued = Issued {
            action: Action::Atomic(Atomic::Swap, true),
            rows: Rows { dst: 7, data: 0, words: 1 },
            at: one(place),
            operands: vec![[value; 64]],
        };
        let is_late = self.caches.access(once(place..place + 4), true, Some(issued));
        let before = (!is_late).then(|| self.peek(at));
        if !is_late {
            self.memory.write(place, &value.to_le_bytes()).expect("there");
        }
        self.caches.settle();
        before
    }

    fn store(&self, wave: WaveId, mark: Mark, at: u64, value: u32) {
        self.mark(wave, mark);
        self.caches.access(once(self.start + at..self.start + at + 4), true, None);
        self.memory.write(self.start + at, &value.to_le_bytes()).expect("there");
        self.caches.settle();
    }
}

/// A lane's access.
fn one(place: u64) -> Addresses {
    Addresses { lane: [place; 64], mask: 1, stride: 4 }
}

const GENERATIONS: [Generation; 7] = [
    Generation::Gfx9,
    Generation::Gfx90a,
    Generation::Gfx940,
    Generation::Gfx10,
    Generation::Gfx11,
    Generation::Gfx12,
    Generation::Gfx1250,
];

#[derive(Clone, Copy)]
enum Did {
    /// With its number, while it has not landed.
    Waits(u64),
    Read(u32),
    Wrote(u32),
    /// Found one, and left the other one right behind it.
    Exchanged(Option<u32>, u32),
}

#[test]
fn a_place_has_one_order_of_values_for_each_wave_that_reads_and_writes_it() {
    let mut late = 0;
    for (seed, generation) in (0..400).flat_map(|seed| GENERATIONS.map(|generation| (seed, generation))) {
        let device = Device::new(seed, generation, seed / 18 % 2 == 1);
        let mut numbers = Numbers::new(seed ^ 0x5555);
        let mut did: HashMap<(WaveId, u64), Vec<Did>> = HashMap::new();
        let mut land = |did: &mut HashMap<(WaveId, u64), Vec<Did>>, landed: Vec<(u64, u32)>| {
            for (number, value) in landed {
                let mut all = did.values_mut().flatten();
                let one = all.find(|one| match one {
                    Did::Waits(other) => *other == number,
                    Did::Exchanged(None, new) => u64::from(*new) == number,
                    _ => false,
                });
                let one = one.expect("it was issued");
                *one =
                    if let Did::Exchanged(_, new) = one { Did::Exchanged(Some(value), *new) } else { Did::Read(value) };
                late += 1;
            }
        };
        for value in 1..80 {
            let wave = WaveId { group: numbers.below(2), wave: numbers.below(2) as u32 };
            let at = 64 * numbers.below(4);
            let note = match numbers.below(12) {
                0..4 => {
                    let mark = Mark::Load([0, 0, INNER, ALL][numbers.below(4) as usize]);
                    let (now, landed) = device.issue(wave, mark, at, value.into(), numbers.below(3) as u16);
                    land(&mut did, landed);
                    now.map_or(Did::Waits(value.into()), Did::Read)
                }
                4..8 => {
                    device.store(wave, Mark::Store { through: numbers.below(2) == 0 }, at, value);
                    Did::Wrote(value)
                }
                8 => Did::Exchanged(device.exchange(wave, at, value.into(), value), value),
                other => {
                    let drops = [INNER, OUTER, ALL][numbers.below(3) as usize];
                    let landed = device.mark(
                        wave,
                        match other {
                            9 => Mark::Wait { stores: numbers.below(2) == 0, loads: numbers.below(2) == 0 },
                            10 => Mark::Meet,
                            _ => Mark::Control { back: numbers.below(2) == 0, drops },
                        },
                    );
                    land(&mut did, landed);
                    continue;
                }
            };
            did.entry((wave, at)).or_default().push(note);
        }
        for (group, wave) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let landed = device.mark(WaveId { group, wave }, Mark::Wait { stores: true, loads: true });
            land(&mut did, landed);
        }
        device.caches.flush();
        for ((wave, at), all) in did {
            let order = device.order(at);
            let place = |value: u32| order.iter().position(|known| *known == value);
            let mut last = 0;
            for one in all {
                if let Did::Exchanged(found, new) = one {
                    let found = found.and_then(place).expect("it has landed, and what it found was there");
                    assert_eq!(Some(found + 1), place(new), "{seed} {generation:?} {wave:?} at {at}: {order:?}");
                }
                let (value, least) = match one {
                    Did::Exchanged(_, value) => (value, last + 1),
                    Did::Waits(number) => panic!("{seed} {generation:?}: load {number} has not landed"),
                    Did::Read(value) => (value, last),
                    Did::Wrote(value) => (value, last + 1),
                };
                let place = place(value).unwrap_or_else(|| panic!("{seed} {generation:?}: {value} is nowhere"));
                assert!(place >= least, "{seed} {generation:?} {wave:?} at {at}: {value} in {order:?} behind {last}");
                last = place;
            }
        }
    }
    assert!(late > 10_000, "{late} loads were late");
}

/// A value and a flag, the first stored before the second, the second looked at before the first: how often the flag is seen
/// without the value.
fn passed(generation: Generation, write: &[Mark], read: &[Mark], load: Mark) -> usize {
    let (writer, reader) = (WaveId { group: 0, wave: 0 }, WaveId { group: 1, wave: 0 });
    let missed = |seed: &u64| {
        let device = Device::new(*seed, generation, false);
        let store = Mark::Store { through: generation != Generation::Gfx940 };
        device.load(reader, Mark::Load(0), 0);
        device.store(writer, store, 0, 1);
        write.iter().for_each(|mark| drop(device.mark(writer, *mark)));
        device.store(writer, Mark::Store { through: true }, 128, 1);
        (0..3).for_each(|_| drop(device.mark(writer, Mark::Wait { stores: false, loads: true })));
        device.mark(reader, Mark::Wait { stores: false, loads: true });
        let flag = device.load(reader, Mark::Load(ALL), 128);
        device.mark(reader, Mark::Wait { stores: false, loads: true });
        read.iter().for_each(|mark| drop(device.mark(reader, *mark)));
        flag == 1 && device.load(reader, load, 0) == 0
    };
    (0..200).filter(missed).count()
}

#[test]
fn what_was_released_and_acquired_is_there_and_each_half_alone_is_not_enough() {
    for generation in GENERATIONS {
        let is_backed = generation == Generation::Gfx940;
        let back = Mark::Control { back: true, drops: 0 };
        let wait = Mark::Wait { stores: true, loads: true };
        let release = if is_backed { vec![back, wait] } else { vec![wait] };
        let acquire = [Mark::Control { back: false, drops: ALL }];
        assert_eq!(passed(generation, &release, &acquire, Mark::Load(0)), 0, "{generation:?}");
        assert_eq!(passed(generation, &release, &[], Mark::Load(ALL)), 0, "{generation:?}");
        assert!(passed(generation, &release, &[], Mark::Load(0)) > 20, "{generation:?}: no acquire");
        assert!(passed(generation, &[], &acquire, Mark::Load(0)) > 5, "{generation:?}: no release");
        let waited = passed(generation, &[wait], &acquire, Mark::Load(0));
        assert_eq!(waited > 0, is_backed, "{generation:?}: {waited} without a write-back");
    }
}

#[test]
fn one_cache_alone_is_not_enough_where_there_are_two() {
    for generation in [Generation::Gfx940, Generation::Gfx10, Generation::Gfx11] {
        let release = [Mark::Control { back: true, drops: 0 }, Mark::Wait { stores: true, loads: true }];
        for drops in [INNER, OUTER] {
            let read = [Mark::Control { back: false, drops }];
            assert!(passed(generation, &release, &read, Mark::Load(0)) > 10, "{generation:?}: {drops}");
        }
    }
}

#[test]
fn scalars_are_old_until_their_cache_is_invalidated() {
    let release = [Mark::Wait { stores: true, loads: true }];
    let (vector, scalar) = ([Mark::Control { back: false, drops: ALL }], [Mark::Constants]);
    assert!(passed(Generation::Gfx90a, &release, &vector, Mark::Scalar) > 20);
    assert_eq!(passed(Generation::Gfx90a, &release, &scalar, Mark::Scalar), 0);
}
