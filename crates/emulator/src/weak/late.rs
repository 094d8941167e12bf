//! Loads and atomics that are done late: behind stores of their wave that follow, as long as it has not waited for them.
//!
//! One is *issued*, *done* when its seed says, and *lands* in its registers when its wave waits for loads. (Whatever reads them
//! before does so too early.) What a wave has loaded lands in the order in which it was issued, as its counter has it.

use std::ops::Range;

use super::history::By;
use crate::choose::WaveId;
use crate::masks::lanes;
use crate::mem::Action;
use crate::mem::access::{Addresses, Rows};
use crate::memory::{Memory, Recent};
use crate::wave::Wave;

/// What is done, with which registers.
pub struct Issued {
    pub action: Action,
    pub rows: Rows,
    pub at: Addresses,
    /// What an atomic changes memory by.
    pub operands: Vec<[u32; 64]>,
}

impl Issued {
    pub fn new(w: &Wave, action: Action, rows: Rows, at: &Addresses) -> Issued {
        let count = match action {
            Action::Atomic(atomic, _) => rows.words << u8::from(atomic.two_operands()),
            _ => 0,
        };
        let operands = (0..u16::from(count)).map(|k| w.row(rows.data + k).0).collect();
        Issued { action, rows, at: at.clone(), operands }
    }

    /// Whether there is memory for all that an atomic changes.
    pub fn can_change(&self, memory: &Memory) -> bool {
        let size = 4 * u64::from(self.rows.words);
        let mut recent = Recent::NONE;
        let mut is_there = |address: u64| {
            let found = memory.resolve(&mut recent, address, size, true);
            address.is_multiple_of(size) && found.is_ok_and(|p| p.is_aligned(size as usize))
        };
        lanes(self.at.mask).all(|lane| is_there(self.at.lane[lane]))
    }
}

pub struct Late {
    pub by: By,
    /// The caches that a load passes by.
    skips: u8,
    issued: Issued,
    /// Whose bytes it accesses, apart from one another and in order.
    places: Vec<Range<u64>>,
    /// What memory held there when it was issued.
    before: Vec<Vec<u8>>,
    /// What lands in its registers, once it is done.
    brought: Option<Vec<[u32; 64]>>,
    /// The first store of its wave that was executed since.
    passed: Option<By>,
    /// Its wave has ended.
    is_left: bool,
}

impl Late {
    pub fn new(by: By, skips: u8, issued: Issued, places: Vec<Range<u64>>, before: Vec<Vec<u8>>) -> Late {
        Late { by, skips, issued, places, before, brought: None, passed: None, is_left: false }
    }

    pub fn is_atomic(&self) -> bool {
        matches!(self.issued.action, Action::Atomic(..))
    }

    /// Whether it accesses some of these bytes.
    pub fn meets(&self, places: &[Range<u64>]) -> bool {
        self.places.iter().any(|own| places.iter().any(|place| own.start < place.end && place.start < own.end))
    }

    /// Whether it brings something into some of the registers that something else is brought into.
    pub fn is_for(&self, rows: Rows) -> bool {
        let own = self.registers();
        !own.is_empty() && own.start < rows.dst + u16::from(rows.words) && rows.dst < own.end
    }

    /// The registers that it brings something into.
    pub fn registers(&self) -> Range<u16> {
        let Issued { action, rows, .. } = &self.issued;
        let lands = matches!(action, Action::Load(_) | Action::Atomic(_, true));
        rows.dst..if lands { rows.dst + u16::from(rows.words) } else { rows.dst }
    }

    /// Puts into registers what it has brought.
    pub fn land(&self, w: &mut Wave) {
        let Issued { action, at, .. } = &self.issued;
        let kept = w.kept;
        for (row, values) in self.registers().zip(self.brought.iter().flatten()) {
            let to = &mut w.row_mut(row).0;
            for lane in lanes(at.mask) {
                to[lane] = match action {
                    Action::Load(transfer) => transfer.merge(to[lane] & kept, values[lane]),
                    _ => values[lane],
                };
            }
        }
    }

    /// What a load brings into its registers of the bytes at its places.
    fn gather(&self, bytes: &[Vec<u8>]) -> Vec<[u32; 64]> {
        let Issued { action, rows, at, .. } = &self.issued;
        let size = if let Action::Load(transfer) = action { transfer.bytes(1) as usize } else { 4 };
        let word = |address: u64| {
            let which = self.places.partition_point(|place| place.start <= address).saturating_sub(1);
            let from = address.wrapping_sub(self.places[which].start) as usize;
            let bytes = bytes[which].get(from..from + size).unwrap_or_default();
            bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        let of_row = |k: u8| {
            let mut values = [0; 64];
            lanes(at.mask).for_each(|lane| values[lane] = word(at.lane[lane].wrapping_add(at.stride * u64::from(k))));
            values
        };
        (0..rows.words).map(of_row).collect()
    }

    /// Changes memory, lane after lane; what was there before.
    fn change(&self, memory: &Memory) -> Vec<[u32; 64]> {
        let Issued { action, rows, at, operands } = &self.issued;
        let (mut recent, mut old) = (Recent::NONE, vec![[0; 64]; usize::from(rows.words)]);
        let Action::Atomic(atomic, _) = action else { return old };
        for lane in lanes(at.mask) {
            let size = 4 * u64::from(rows.words);
            let Ok(p) = memory.resolve(&mut recent, at.lane[lane], size, true) else { continue };
            let operand = |row: usize| operands.get(row).map_or(0, |row| row[lane]);
            if rows.words == 1 {
                old[0][lane] = atomic.run32(p, operand(0), operand(1));
            } else {
                let pair = |row: usize| u64::from(operand(row)) | u64::from(operand(row + 1)) << 32;
                let was = atomic.run64(p, pair(0), pair(2));
                (old[0][lane], old[1][lane]) = (was as u32, (was >> 32) as u32);
            }
        }
        old
    }
}

/// What one asks for.
pub struct Asked {
    pub by: By,
    pub skips: u8,
    pub places: Vec<Range<u64>>,
    pub is_atomic: bool,
}

/// All of a launch that have not landed, in the order in which they were issued.
#[derive(Default)]
pub struct Lates(Vec<Late>);

impl Lates {
    pub fn add(&mut self, late: Late) {
        self.0.push(late);
    }

    /// How many are to be done.
    pub fn under_way(&self) -> usize {
        self.0.iter().filter(|late| late.brought.is_none()).count()
    }

    /// Where one of these is.
    pub fn nth(&self, which: usize) -> usize {
        let all = self.0.iter().enumerate().filter(|(_, late)| late.brought.is_none());
        all.map(|(at, _)| at).nth(which).unwrap_or_default()
    }

    /// The first one under way that is asked for.
    pub fn first(&self, is_asked: impl Fn(&Late) -> bool) -> Option<usize> {
        self.0.iter().position(|late| late.brought.is_none() && is_asked(late))
    }

    /// The last one that is asked for, under way or not.
    pub fn last(&self, is_asked: impl Fn(&Late) -> bool) -> Option<usize> {
        self.0.iter().rposition(is_asked)
    }

    pub fn is_under_way(&self, at: usize, is_asked: impl Fn(&Late) -> bool) -> bool {
        self.0[at].brought.is_none() && is_asked(&self.0[at])
    }

    /// The first one under way that was issued before another one to the same bytes, by a wave that has the same cache.
    pub fn before(&self, at: usize, is_same: impl Fn(WaveId, WaveId) -> bool) -> Option<usize> {
        let late = &self.0[at];
        self.0[..at].iter().position(|earlier| {
            earlier.brought.is_none() && is_same(earlier.by.wave, late.by.wave) && earlier.meets(&late.places)
        })
    }

    pub fn asked(&self, at: usize) -> Asked {
        let late = &self.0[at];
        Asked { by: late.by, skips: late.skips, places: late.places.clone(), is_atomic: late.is_atomic() }
    }

    /// What a load brings, where memory holds something now. A store of its wave behind which memory became that, and where.
    pub fn answer(&mut self, at: usize, bytes: &[Vec<u8>], there: &[Vec<u8>]) -> Option<(By, u64)> {
        let late = &mut self.0[at];
        late.brought = Some(late.gather(bytes));
        let passed = late.passed?;
        (0..late.places.len()).find_map(|which| {
            let (was, is, now) = (&late.before[which], &bytes[which], &there[which]);
            let at = (0..is.len()).find(|&at| was.get(at) != is.get(at) && now.get(at) == is.get(at))?;
            Some((passed, late.places[which].start + at as u64))
        })
    }

    /// An atomic is done.
    pub fn change(&mut self, at: usize, memory: &Memory) {
        let late = &mut self.0[at];
        late.brought = Some(late.change(memory));
    }

    /// A store of a wave was executed.
    pub fn are_passed(&mut self, wave: WaveId, by: By) {
        let own = self.0.iter_mut().filter(|late| late.brought.is_none() && late.by.wave == wave);
        own.for_each(|late| late.passed = late.passed.or(Some(by)));
    }

    /// Those of a wave up to one, in order; they have been done.
    pub fn take(&mut self, last: usize, wave: WaveId) -> Vec<Late> {
        self.0.extract_if(..=last, |late| late.by.wave == wave).collect()
    }

    /// A wave has ended: nothing waits for what it has loaded. Its atomics are still to be done.
    pub fn forget_loads(&mut self, wave: WaveId) {
        self.0.retain(|late| late.by.wave != wave || late.is_atomic() && late.brought.is_none());
        let own = self.0.iter_mut().filter(|late| late.by.wave == wave);
        own.for_each(|late| late.is_left = true);
    }

    /// Forgets atomics that are done and that nothing waits for.
    pub fn forget_done(&mut self) {
        self.0.retain(|late| late.brought.is_none() || !late.is_left);
    }
}
