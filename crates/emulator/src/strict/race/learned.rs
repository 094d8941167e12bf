//! What waves know from what they have looked at, without regard to caches.
//!
//! A wave that has read an atomic variable and waited for the value knows what was told on it up to then: what it does
//! next comes later than that. If it then reads by way of its caches, these may hold older values; if it writes, they do
//! not matter. So pairs of accesses whose second one writes need no acquire: the last workgroup of a reduction may
//! overwrite what the others have left. All this is looked up only for an access that would be reported otherwise.
//!
//! A word is looked at before it is read, and other threads' stores may come in between: where there are such, what is told on
//! the word counts that was there when the wave had waited for the value.
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

/// A word that is read by the access with this number.
#[derive(Clone, Copy)]
struct Awaited {
    word: u64,
    seq: u32,
    stream: usize,
}

/// What a wave has looked at, and what it has learned.
pub struct Looks {
    all: Vec<Look>,
    /// By word: the store, and the length of the log, of the last look.
    last: HashMap<u64, (Option<(u32, u32)>, usize)>,
    /// Words whose values the wave has not waited for yet.
    awaited: Vec<Awaited>,
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
            awaited: Vec::new(),
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
        self.awaited.clear();
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
        let awaited = &mut self.waves[usize::from(wave)].looks.awaited;
        if self.races.has_threads() && awaited.len() < MOST {
            awaited.push(Awaited { word, seq, stream });
        }
        self.look_at(wave, word, seq, stream);
    }

    /// The wave has waited for what is done: words that it has read by then are looked at again.
    pub(super) fn look_again(&mut self, wave: u16, done: Done) {
        let awaited = &mut self.waves[usize::from(wave)].looks.awaited;
        if awaited.is_empty() {
            return;
        }
        let (read, left): (Vec<_>, Vec<_>) =
            std::mem::take(awaited).into_iter().partition(|it| it.seq <= done[it.stream]);
        *awaited = left;
        read.into_iter().for_each(|Awaited { word, seq, stream }| self.look_at(wave, word, seq, stream));
    }

    fn look_at(&mut self, wave: u16, word: u64, seq: u32, stream: usize) {
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

#[cfg(test)]
mod tests {
    use super::super::coherence::Scope;
    use super::super::{Access, Places, Races};
    use super::*;

    const DATA: u64 = 0x1000;
    const FLAG: u64 = 0x2000;

    /// A workgroup of two waves.
    struct Group(Watched, Order);

    impl Group {
        fn new(races: &Arc<Races>, number: u64) -> Group {
            Group(Watched::new(Arc::clone(races), number, number, 2), Order::new(2, false))
        }

        /// A wave accesses a word, having waited for what it has done before: whether that races.
        fn races(&mut self, wave: u16, address: u64, writes: bool, scope: Scope) -> bool {
            let Group(watched, order) = self;
            let done = [watched.issued(wave); 3];
            let told = writes.then(|| watched.tell(order, wave, done));
            let seq = watched.issue(order, wave);
            let access = Access { wave, pc: 0, writes, atomic: None, scope, size: 4, marked: true, seq, stream: 0 };
            watched.touch(order, &access, Places::List(&[(0, address)]), told.as_ref(), done, &|_| false).is_some()
        }

        /// It waits for all that it has done.
        fn wait(&mut self, wave: u16) {
            let done = [self.0.issued(wave); 3];
            self.0.note_done(&self.1, wave, done);
        }
    }

    #[test]
    fn mates_learn_of_a_store_that_comes_between_the_look_and_the_load_and_of_no_later_one() {
        for in_time in [true, false] {
            let races = Arc::new(Races::new([2, 1, 1], 2, false, Default::default(), 2));
            let [mut writer, mut reader] = [0, 1].map(|number| Group::new(&races, number));
            assert!(!reader.races(0, FLAG, false, Scope::Device));
            if !in_time {
                reader.wait(0);
            }
            assert!(!writer.races(0, DATA, true, Scope::Plain));
            writer.wait(0);
            assert!(!writer.races(0, FLAG, true, Scope::Device));
            if in_time {
                reader.wait(0);
            }
            reader.1.barrier();
            reader.0.invalidate(&reader.1, 1, ALL, |issued| [issued; 3]);
            assert_eq!(reader.races(1, DATA, false, Scope::Plain), !in_time);
        }
    }
}
