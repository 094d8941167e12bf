//! What an access to device memory touches, and which earlier one it races with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::cells::{Page, ROLES, Role, Stamp, page_of, word_of};
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
        let scope = match self.scope {
            Scope::Plain => 0,
            Scope::Group => Stamp::GROUP,
            Scope::Device => Stamp::GROUP | Stamp::DEVICE,
        };
        let small = match (self.size <= 8, self.writes) {
            (true, true) if !self.marked => Stamp::SMALL,
            (true, false) if self.scope == Scope::Plain => Stamp::SMALL_READ,
            _ => 0,
        };
        let atomic = if self.atomic.is_some() { Stamp::ATOMIC } else { 0 };
        let bits = atomic | scope | small | (self.stream as u32) << Stamp::STREAM;
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
    /// This access may be the first load of a loop that compares and swaps, which compilers make a plain one.
    pub may_compare: bool,
    pub group: [u32; 3],
    pub wave: u32,
}

/// Bytes of a word that a lane touches.
#[derive(Clone, Copy)]
pub(super) struct Touched {
    lane: usize,
    word: u64,
    bytes: u32,
}

/// The words that lanes touch, `size` bytes each.
fn words(places: &[(usize, u64)], size: u64, words: &mut Vec<Touched>) {
    words.clear();
    for &(lane, address) in places {
        let end = address.saturating_add(size);
        let mut at = address;
        while at < end {
            let next = ((at >> 2) + 1) << 2;
            let bytes = ((1u32 << (next.min(end) - at)) - 1) << (at & 3);
            words.push(Touched { lane, word: at >> 2, bytes });
            at = next;
        }
    }
}

/// How far an access has come.
struct Progress<'a> {
    access: &'a Access,
    by: Stamp,
    at: usize,
    /// Whether the word there has been judged, and whether it gets what it holds.
    judged: Option<bool>,
    writers: Judge,
    readers: Judge,
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
        let mut touched = std::mem::take(&mut self.touched);
        words(places, access.size, &mut touched);
        let by = access.stamp(self.who(access.wave));
        let joins = access.atomic.is_some_and(|returns| returns || places.len() == 1);
        let heads = if joins { self.heads(access, &touched) } else { HashMap::new() };
        let (writers, readers) = (Judge::default(), Judge::default());
        let mut progress = Progress { access, by, at: 0, judged: None, writers, readers };
        let (mut found, mut nearby) = (None, false);
        while let Some(first) = touched.get(progress.at) {
            let page = page_of(first.word << 2);
            let obstacle = self.pass(order, races.shard(page).pages.page(page), page, &touched, &mut progress);
            let Some((earlier, wrote)) = obstacle else { continue };
            if !std::mem::replace(&mut nearby, true) {
                // Who waits for a wave of its own workgroup needs no caches invalidated.
                self.acquire_nearby(order, access.wave, done);
                progress.writers = Judge::default();
                continue;
            }
            let Touched { lane, word, bytes } = touched[progress.at];
            let silent = access.writes && access.atomic.is_none() && same(lane);
            progress.judged = Some(silent);
            if found.is_none() && !silent {
                let (group, wave) = races.place_of(earlier.who);
                let pc = access.pc & !0xffff_ffff | u64::from(earlier.pc);
                let address = (word << 2) + u64::from(bytes.trailing_zeros());
                let may_compare = earlier.has(Stamp::ATOMIC) && by.has(Stamp::SMALL_READ);
                found = Some(Race { lane, address, pc, wrote, may_compare, group, wave });
            }
        }
        self.synchronise(access, &touched, told, joins, heads);
        self.touched = touched;
        found
    }

    /// Notes an access in the words of one page, up to one where another access is in its way; whether that writes.
    fn pass(
        &self,
        order: &Order,
        page: &mut Page,
        number: u64,
        touched: &[Touched],
        progress: &mut Progress<'_>,
    ) -> Option<(Stamp, bool)> {
        let writes = progress.access.writes;
        while let Some(&Touched { word, bytes, .. }) = touched.get(progress.at)
            && page_of(word << 2) == number
        {
            let cell = word_of(word << 2);
            let by = Stamp { bits: progress.by.bits | bytes, ..progress.by };
            let judged = progress.judged.take();
            if judged.is_none() {
                let roles = if writes { &ROLES[..] } else { &ROLES[..1] };
                for &role in roles {
                    let Some(earlier) = page.get(role, cell) else { continue };
                    if earlier.who != 0
                        && earlier.who != by.who
                        && earlier.has(bytes)
                        && !progress.writers.clears(self, order, progress.access, earlier)
                        && !self.are_atomic(earlier, &by)
                    {
                        return Some((*earlier, role == Role::Writer));
                    }
                }
            }
            match writes {
                true if judged == Some(true) => {}
                true => page.write(cell, by),
                false => page.read(cell, by, |reader| progress.readers.clears(self, order, progress.access, reader)),
            }
            progress.at += 1;
        }
        None
    }

    /// What the stores told that atomics are about to change, by word.
    fn heads(&self, access: &Access, touched: &[Touched]) -> HashMap<u64, Told> {
        let mut heads = HashMap::new();
        for &Touched { word, .. } in touched {
            let shard = self.races.shard(page_of(word << 2));
            let writer = shard.pages.writer(word << 2).filter(|_| !shard.chains.contains_key(&word));
            drop(shard);
            let told = writer.filter(|writer| self.is_told_by(access.wave, writer)).and_then(|w| self.races.told(&w));
            heads.extend(told.map(|told| (word, told)));
        }
        heads
    }

    /// Notes what an access tells others, and what it looks at.
    fn synchronise(
        &mut self,
        access: &Access,
        touched: &[Touched],
        told: Option<&Told>,
        joins: bool,
        mut heads: HashMap<u64, Told>,
    ) {
        let looks = access.scope != Scope::Plain && access.reads();
        if !joins && !looks && (access.atomic.is_some() || !self.races.has_chains.load(Relaxed)) {
            return;
        }
        for &Touched { word, .. } in touched {
            if let Some(told) = told {
                let mut shard = self.races.shard(page_of(word << 2));
                if joins {
                    self.races.has_chains.store(true, Relaxed);
                    let chain = shard.chains.entry(word).or_default();
                    if let Some(head) = heads.remove(&word) {
                        head.join_into(&mut chain.0);
                    }
                    told.join_into(&mut chain.0);
                    chain.1 = self.races.changes.fetch_add(1, Relaxed);
                } else if access.atomic.is_none() {
                    shard.chains.remove(&word);
                }
            }
            if looks {
                self.look(access.wave, word, access.seq, access.stream);
            }
        }
    }

    /// Whether two accesses are both of an atomic variable, as far as the waves are apart.
    fn are_atomic(&self, earlier: &Stamp, later: &Stamp) -> bool {
        let scope = self.scope_of(earlier.who);
        let (a, b) = (earlier.has(scope), later.has(scope));
        a && (b || later.has(Stamp::SMALL))
            || b && earlier.has(Stamp::SMALL)
            || earlier.has(Stamp::SMALL_READ) && later.has(Stamp::ATOMIC)
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
