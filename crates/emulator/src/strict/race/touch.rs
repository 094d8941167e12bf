//! What an access to device memory touches, and which earlier one it races with.

use std::sync::{Arc, MutexGuard};

use super::Shard;
use super::cells::{Stamp, page_of, word_of};
use super::coherence::Scope;
use super::group::Watched;
use super::known::{Done, Told};
use crate::strict::order::Order;

/// An access to device memory that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub wave: u16,
    pub pc: u64,
    pub writes: bool,
    /// A read-modify-write, and whether the old value comes back.
    pub atomic: Option<bool>,
    pub scope: Scope,
    /// A compare and swap.
    pub compares: bool,
    /// Bytes of a lane.
    pub size: u64,
    /// Whether a store of this processor says whether it is atomic.
    pub marked: bool,
    /// As [`Watched::issue`] gave it, and where the wave's waits count it.
    pub seq: u32,
    pub stream: usize,
}

impl Access {
    fn stamp(&self, who: u32) -> Stamp {
        let atomic = if self.atomic.is_some() { Stamp::ATOMIC } else { 0 };
        let scope = match self.scope {
            Scope::Plain => 0,
            Scope::Group => Stamp::GROUP,
            Scope::Device => Stamp::GROUP | Stamp::DEVICE,
        };
        let small = match (self.size <= 8, self.writes) {
            (true, true) if !self.marked => Stamp::SMALL,
            (true, false) => Stamp::SMALL_READ,
            _ => 0,
        };
        let compares = if self.compares { Stamp::COMPARES } else { 0 };
        let bits = atomic | scope | small | compares | (self.stream as u32) << Stamp::STREAM;
        Stamp { who, seq: self.seq, pc: self.pc as u32, bits }
    }
    fn reads(&self) -> bool {
        !self.writes || self.atomic == Some(true)
    }
}

/// An access that races with the one under way.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    pub lane: usize,
    pub address: u64,
    pub pc: u64,
    pub wrote: bool,
    pub group: [u32; 3],
    pub wave: u32,
}

impl Watched {
    /// Notes an access, and gives one that it races with. `told` is what a write tells. `same`: whether what a lane stores
    /// is in memory already, which is no race.
    pub fn touch(
        &mut self,
        order: &Order,
        access: &Access,
        places: &[(usize, u64)],
        told: Option<&Told>,
        done: Done,
        same: &dyn Fn(usize) -> bool,
    ) -> Option<Race> {
        let races = Arc::clone(&self.races);
        let proto = access.stamp(self.who(access.wave));
        let (mut judge, mut readers) = (Judge::default(), Judge::default());
        let mut nearby = false;
        let mut found = None;
        let mut open: Option<(u64, MutexGuard<'_, Shard>)> = None;
        let synchronises = access.atomic.is_some_and(|returns| returns || places.len() == 1);
        for &(lane, address) in places {
            let end = address.saturating_add(access.size);
            let mut at = address;
            while at < end {
                let next = ((at >> 2) + 1) << 2;
                let bytes = ((1u32 << (next.min(end) - at)) - 1) << (at & 3);
                let by = Stamp { bits: proto.bits | bytes, ..proto };
                let page = page_of(at);
                if open.as_ref().is_none_or(|(number, _)| *number != page) {
                    drop(open.take());
                    open = Some((page, races.shard(page)));
                }
                let Some((_, shard)) = &mut open else { break };
                let cell = &mut shard.pages.page(page)[word_of(at)];
                let [first, second] = cell.readers;
                let earlier = [cell.writer, first, second];
                let count = if access.writes { 3 } else { 1 };
                let candidate = earlier[..count].iter().position(|e| {
                    e.who != 0
                        && e.who != by.who
                        && e.has(bytes)
                        && !self.are_atomic(e, &by)
                        && !judge.clears(self, order, access, e)
                });
                let mut silent = false;
                if let Some(which) = candidate {
                    let earlier = earlier[which];
                    drop(open.take());
                    if !std::mem::replace(&mut nearby, true) {
                        // Who waits for a wave of its own workgroup needs no caches invalidated.
                        self.acquire_nearby(order, access.wave, done);
                        judge = Judge::default();
                        continue;
                    }
                    silent = access.writes && access.atomic.is_none() && same(lane);
                    if found.is_none() && !silent {
                        let (group, wave) = races.place_of(earlier.who);
                        let pc = access.pc & !0xffff_ffff | u64::from(earlier.pc);
                        found = Some(Race { lane, address, pc, wrote: which == 0, group, wave });
                    }
                    open = Some((page, races.shard(page)));
                }
                let Some((_, shard)) = &mut open else { break };
                let cell = &mut shard.pages.page(page)[word_of(at)];
                if access.writes {
                    if !silent {
                        cell.write(by);
                    }
                } else {
                    cell.read(by, |reader| readers.clears(self, order, access, reader));
                }
                let word = at >> 2;
                if let Some(told) = told {
                    if synchronises {
                        let chain = shard.chains.entry(word).or_default();
                        told.join_into(&mut chain.0);
                        chain.1 += 1;
                    } else if access.atomic.is_none() && !shard.chains.is_empty() {
                        shard.chains.remove(&word);
                    }
                }
                if access.scope != Scope::Plain && access.reads() {
                    self.look(access.wave, word, access.seq, access.stream);
                }
                at = next;
            }
        }
        found
    }

    /// Whether two accesses are both of an atomic variable, as far as the waves are apart.
    fn are_atomic(&self, earlier: &Stamp, later: &Stamp) -> bool {
        let scope = if self.mate(earlier.who).is_some() { Stamp::GROUP } else { Stamp::DEVICE };
        let (a, b) = (earlier.has(scope), later.has(scope));
        let first_read = |reader: &Stamp, other: &Stamp| reader.has(Stamp::SMALL_READ) && other.has(Stamp::COMPARES);
        a && (b || later.has(Stamp::SMALL))
            || b && earlier.has(Stamp::SMALL)
            || first_read(earlier, later)
            || first_read(later, earlier)
    }
}

/// Neighbours were mostly touched by the same access.
#[derive(Default)]
struct Judge {
    /// The last access that was judged, and whether it is ordered.
    verdict: (u32, u32, bool),
}

impl Judge {
    #[inline(always)]
    fn clears(&mut self, watched: &Watched, order: &Order, access: &Access, earlier: &Stamp) -> bool {
        if (self.verdict.0, self.verdict.1) != (earlier.who, earlier.seq) {
            self.verdict = (earlier.who, earlier.seq, watched.is_ordered(order, access.wave, earlier));
        }
        self.verdict.2
    }
}
