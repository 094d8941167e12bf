//! What waves know from what they have looked at, without regard to caches.
//!
//! A wave that has read an atomic variable and waited for the value knows what was told on it up to then: what it does
//! next comes later than that. If it then reads by way of its caches, these may hold older values; if it writes, they do
//! not matter. So pairs of accesses whose second one writes need no acquire: the last workgroup of a reduction may
//! overwrite what the others have left. All this is looked up only for an access that would be reported otherwise.
//!
//! A wave that invalidates its caches does so for what waves of its workgroup have looked at, too, as far as it has met
//! them since: one thread counts the workgroup in, all wait at a barrier, and all of them acquire.

use std::collections::HashMap;
use std::sync::Arc;

use super::cells::{Stamp, page_of};
use super::coherence::{ALL, INNER};
use super::group::Watched;
use super::known::{Done, Known};
use super::{Log, lock};
use crate::strict::order::Order;

/// A word was read, as it was then.
struct Look {
    seq: u32,
    stream: usize,
    /// The store that was there, by its wave and number.
    store: Option<(u32, u32)>,
    /// What atomics had told on the word: this many entries of its log.
    chain: Option<(Log, usize)>,
}

/// What a wave has looked at, and what it has learned.
pub struct Looks {
    all: Vec<Look>,
    /// By word: the store, and the length of the log, of the last look.
    last: HashMap<u64, (Option<(u32, u32)>, usize)>,
    learned: Known,
    /// How many looks of each wave of the workgroup are in `learned`.
    counts: Box<[usize]>,
    /// What the wave had seen of its workgroup's clocks when it last invalidated its inner caches, and the others.
    invalidated: [Box<[u32]>; 2],
    /// How many looks of each other wave it has acquired.
    acquired: Box<[usize]>,
}

/// Looks that are remembered.
const MOST: usize = 1 << 16;

impl Looks {
    pub fn new(waves: usize) -> Looks {
        Looks {
            all: Vec::new(),
            last: HashMap::new(),
            learned: Known::default(),
            counts: vec![0; waves].into(),
            invalidated: std::array::from_fn(|_| vec![0; waves].into()),
            acquired: vec![0; waves].into(),
        }
    }

    /// As for a wave that begins.
    pub fn begin_again(&mut self) {
        self.all.clear();
        self.last.clear();
        self.learned = Known::default();
        self.counts.fill(0);
        self.invalidated.iter_mut().for_each(|clock| clock.fill(0));
        self.acquired.fill(0);
    }

    /// What the wave had seen of its workgroup's clocks when it last invalidated its inner caches.
    pub fn fresh(&self) -> &[u32] {
        &self.invalidated[0]
    }

    /// The wave invalidates these caches, and has seen this of its workgroup's clocks.
    pub fn note_invalidation(&mut self, clock: &[u32], caches: u8) {
        for (at, which) in self.invalidated.iter_mut().zip([INNER, ALL & !INNER]) {
            if caches & which != 0 {
                at.copy_from_slice(clock);
            }
        }
    }
}

impl Watched {
    pub(super) fn note_look(&mut self, wave: u16, word: u64, seq: u32, stream: usize) {
        if self.waves[usize::from(wave)].looks.all.len() >= MOST {
            return;
        }
        let address = word << 2;
        let (writer, chain) = {
            let shard = self.races.shard(page_of(address));
            let chain = shard.chains.get(&word).map(|chain| (chain.log.clone(), lock(&chain.log).len()));
            (shard.pages.writer(address), chain)
        };
        let store = writer.filter(|writer| self.is_told_by(wave, writer)).map(|writer| (writer.who, writer.seq));
        let state = (store, chain.as_ref().map_or(0, |(_, len)| *len));
        let looks = &mut self.waves[usize::from(wave)].looks;
        if state != (None, 0) && looks.last.insert(word, state) != Some(state) {
            looks.all.push(Look { seq, stream, store, chain });
            self.has_looked = true;
        }
    }

    /// Whether a wave knows of an earlier access from what it, or waves of its workgroup that it has met since, have
    /// looked at. `done` is what its own waits guarantee.
    #[cold]
    pub(super) fn has_learned(&mut self, order: &Order, wave: u16, earlier: &Stamp, done: Done) -> bool {
        for mate in 0..self.waves.len() {
            let done = if mate == usize::from(wave) { done } else { self.done_by(mate, order.seen(wave, mate as u16)) };
            let from = self.waves[usize::from(wave)].looks.counts[mate];
            let mut known = Known::default();
            let count = self.join_looks(mate, from, done, &mut known);
            let looks = &mut self.waves[usize::from(wave)].looks;
            looks.counts[mate] += count;
            looks.learned.join(&known);
        }
        let looks = &self.waves[usize::from(wave)].looks;
        looks.learned.covers(earlier.who, earlier.stream(), earlier.seq)
    }

    /// Adds what a wave has learned from its looks after some, as far as it has waited for them; gives how many those are.
    fn join_looks(&self, mate: usize, from: usize, done: Done, known: &mut Known) -> usize {
        let new = &self.waves[mate].looks.all[from..];
        let count = new.iter().take_while(|look| look.seq <= done[look.stream]).count();
        // Lanes mostly look at what one store has written, and at one variable again and again.
        let (mut stores, mut chains) = (HashMap::new(), HashMap::new());
        for look in &new[..count] {
            if let Some((who, seq)) = look.store
                && stores.insert(who, seq) != Some(seq)
                && let Some(told) = self.races.told(who, seq)
            {
                told.join_into(known, seq);
            }
            if let Some((log, len)) = &look.chain {
                let joined = chains.entry(Arc::as_ptr(log)).or_insert(0);
                if *joined < *len {
                    lock(log)[*joined..*len].iter().for_each(|(told, write)| told.join_into(known, *write));
                    *joined = *len;
                }
            }
        }
        count
    }

    /// What other waves of the workgroup had looked at, and a wave had met them, when it invalidated all of its caches.
    pub(super) fn learned_from_mates(&mut self, wave: u16) -> Option<Known> {
        let at = usize::from(wave);
        let mut known = Known::default();
        for mate in (0..self.waves.len()).filter(|&mate| mate != at) {
            let looks = &self.waves[at].looks;
            let from = looks.acquired[mate];
            if from == self.waves[mate].looks.all.len() {
                continue;
            }
            let [inner, outer] = &looks.invalidated;
            let done = self.done_by(mate, inner[mate].min(outer[mate]));
            let count = self.join_looks(mate, from, done, &mut known);
            self.waves[at].looks.acquired[mate] += count;
        }
        (!known.is_empty()).then_some(known)
    }
}
