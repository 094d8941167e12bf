//! Stores that are under way.

use std::ops::Range;

use super::Time;
use super::history::{By, History};
use crate::memory::Memory;

/// What is on its way to memory, within a line.
pub struct Stored {
    pub start: u64,
    pub bytes: Vec<u8>,
    pub by: By,
    pub issued: Time,
    /// A wait is enough for it to have arrived.
    pub through: bool,
    /// A write-back takes it along.
    pub backed: bool,
}

impl Stored {
    fn place(&self) -> Range<u64> {
        self.start..self.start + self.bytes.len() as u64
    }
}

fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// All of a launch, in the order in which they were issued.
#[derive(Default)]
pub struct Stores(Vec<Stored>);

impl Stores {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn add(&mut self, stored: Stored) {
        self.0.push(stored);
    }

    /// Whether some are on their way to a place.
    pub fn hold(&self, place: &Range<u64>) -> bool {
        self.0.iter().any(|stored| meet(&stored.place(), place))
    }

    /// One arrives, behind those that its workgroup has issued to the same bytes before.
    pub fn arrive(&mut self, memory: &Memory, history: &mut History, now: Time, at: usize) {
        let (group, place) = (self.0[at].by.wave.group, self.0[at].place());
        let same = |earlier: &Stored| earlier.by.wave.group == group && meet(&earlier.place(), &place);
        let first = self.0[..at].iter().position(same);
        match first {
            Some(first) => {
                self.arrive(memory, history, now, first);
                self.arrive(memory, history, now, at - 1);
            }
            None => land(self.0.remove(at), memory, history, now),
        }
    }

    pub fn arrive_all(&mut self, memory: &Memory, history: &mut History, now: Time) {
        self.arrive_if(memory, history, now, |_| true);
    }

    /// Those of a workgroup that are on their way to a place arrive.
    pub fn arrive_within(&mut self, memory: &Memory, history: &mut History, now: Time, group: u64, place: &Range<u64>) {
        self.arrive_if(memory, history, now, |stored| stored.by.wave.group == group && meet(&stored.place(), place));
    }

    /// Those of all workgroups that are on their way to a place arrive.
    pub fn arrive_at(&mut self, memory: &Memory, history: &mut History, now: Time, place: &Range<u64>) {
        self.arrive_if(memory, history, now, |stored| meet(&stored.place(), place));
    }

    /// A wave has waited. What its workgroup's other waves have stored arrives, too: it may know of that by a barrier, and LLVM's
    /// model has nothing wait for it.
    pub fn waited(&mut self, memory: &Memory, history: &mut History, now: Time, group: u64) {
        let arrives = |stored: &Stored| stored.by.wave.group == group && (stored.through || stored.backed);
        self.arrive_if(memory, history, now, arrives);
    }

    /// A wave writes its die's L2 back.
    pub fn back(&mut self, group: u64) {
        self.0.iter_mut().filter(|stored| stored.by.wave.group == group).for_each(|stored| stored.backed = true);
    }

    fn arrive_if(&mut self, memory: &Memory, history: &mut History, now: Time, arrives: impl Fn(&Stored) -> bool) {
        while let Some(at) = self.0.iter().position(&arrives) {
            self.arrive(memory, history, now, at);
        }
    }

    /// What is on its way and seen already.
    pub fn overlay(&self, place: &Range<u64>, bytes: &mut [u8], is_here: &dyn Fn(&Stored) -> bool) {
        for stored in self.0.iter().filter(|stored| is_here(stored)) {
            for (at, byte) in (stored.start..).zip(&stored.bytes).filter(|(at, _)| place.contains(at)) {
                bytes[(at - place.start) as usize] = *byte;
            }
        }
    }

    /// One that is on its way to bytes that a load has seen otherwise.
    pub fn missed(&self, place: &Range<u64>, bytes: &[u8], is_here: &dyn Fn(&Stored) -> bool) -> Option<(By, u64)> {
        self.0.iter().filter(|stored| !is_here(stored)).find_map(|stored| {
            let mut there = (stored.start..).zip(&stored.bytes).filter(|(at, _)| place.contains(at));
            let (at, _) = there.find(|(at, byte)| bytes[(at - place.start) as usize] != **byte)?;
            Some((stored.by, at))
        })
    }
}

fn land(stored: Stored, memory: &Memory, history: &mut History, now: Time) {
    let mut before = vec![0; stored.bytes.len()];
    if memory.read(stored.start, &mut before).is_ok() && memory.write(stored.start, &stored.bytes).is_ok() {
        history.note(stored.start, &before, &stored.bytes, stored.by, (stored.issued, now), false);
    }
}
