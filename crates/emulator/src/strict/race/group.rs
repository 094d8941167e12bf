//! What the waves of one workgroup know of accesses to device memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::backing::Backing;
use super::cells::{Stamp, page_of};
use super::coherence::{ALL, INNER};
use super::gate::Passage;
use super::known::{Done, Known, Told};
use super::learned::Looks;
use super::touch::{Access, Lack, Run};
use super::{Races, lock};
use crate::strict::order::Order;

/// A word that was read by an atomic access.
pub(super) struct Looked {
    seq: u32,
    stream: usize,
    /// Which caches were invalidated since.
    seen: u8,
}

/// Words that are remembered to have been looked at.
const MOST_LOOKED: usize = 1 << 16;
/// Acquisitions from which on it pays to unite those that all waves know of.
const MANY: usize = 32;

pub(super) struct Own {
    issued: u32,
    /// By the wave's own time: the first access since then.
    marks: Vec<u32>,
    looked: HashMap<u64, Looked>,
    /// What was acquired from stores, by their wave, and from atomics, by word.
    from_stores: HashMap<u32, u32>,
    from_chains: HashMap<u64, u64>,
    pub(super) backing: Backing,
    last: Option<Told>,
    /// The clock and the number of acquisitions that `mates` and `others` are of.
    as_of: (Box<[u32]>, usize),
    mates: Arc<[Done]>,
    others: Arc<Known>,
    /// The acquisitions that `others` has.
    joined: Vec<Arc<Known>>,
    /// From a time of the wave's own on: what its waits guarantee.
    dones: Vec<(u32, Done)>,
    pub(super) looks: Looks,
}

impl Own {
    /// `nothing` is what a wave knows of others to begin with.
    fn new(nothing: &Arc<Known>, waves: usize) -> Own {
        Own {
            issued: 0,
            marks: Vec::new(),
            looked: HashMap::new(),
            from_stores: HashMap::new(),
            from_chains: HashMap::new(),
            backing: Backing::default(),
            last: None,
            as_of: (Box::default(), 0),
            mates: Arc::default(),
            others: Arc::clone(nothing),
            joined: Vec::new(),
            dones: Vec::new(),
            looks: Looks::new(waves),
        }
    }
}

impl Own {
    /// As [`Own::new`], of what an earlier wave has left.
    fn begin_again(&mut self, nothing: &Arc<Known>) {
        self.issued = 0;
        self.marks.clear();
        self.looked.clear();
        self.from_stores.clear();
        self.from_chains.clear();
        self.backing = Backing::default();
        self.last = None;
        self.as_of = (Box::default(), 0);
        self.mates = Arc::default();
        self.others = Arc::clone(nothing);
        self.joined.clear();
        self.dones.clear();
        self.looks.begin_again();
    }
}

struct Acquired {
    wave: u16,
    /// The wave's own.
    time: u32,
    known: Arc<Known>,
}

pub struct Watched {
    pub(super) races: Arc<Races>,
    /// The number of its first wave in the launch.
    first: u32,
    cluster: u64,
    pub(super) waves: Vec<Own>,
    acquired: Vec<Acquired>,
    /// Of them.
    version: usize,
    /// How often others could see more of what its waves have done.
    pub(super) backings: usize,
    /// Some wave has, by an access that is not atomic.
    pub(super) has_stored: bool,
    /// Some wave has looked at what another one told.
    pub(super) has_looked: bool,
    /// Room for what an access touches.
    pub(super) touched: Vec<Run>,
}

impl Watched {
    /// The workgroup with a number, of `waves` waves.
    pub fn new(races: Arc<Races>, group: u64, cluster: u64, waves: usize) -> Watched {
        let first = races.first_wave(group);
        Watched {
            first,
            cluster,
            waves: (0..waves.max(1)).map(|_| Own::new(&races.nothing, waves.max(1))).collect(),
            races,
            acquired: Vec::new(),
            version: 0,
            backings: 0,
            has_stored: false,
            has_looked: false,
            touched: Vec::new(),
        }
    }

    /// Makes it that of another workgroup of the launch, with as many waves.
    pub fn begin_again(&mut self, group: u64, cluster: u64) {
        (self.first, self.cluster) = (self.races.first_wave(group), cluster);
        self.waves.iter_mut().for_each(|own| own.begin_again(&self.races.nothing));
        self.acquired.clear();
        (self.version, self.backings, self.has_stored, self.has_looked) = (0, 0, false, false);
    }

    /// As [`Passage::enter`].
    pub fn enter(&self, addresses: impl Iterator<Item = u64>, size: u64) -> Passage {
        Passage::enter(&self.races, addresses, size)
    }

    /// Whether the host orders accesses there.
    pub fn is_in_ring(&self, address: u64) -> bool {
        self.races.rings.iter().any(|ring| ring.contains(&address))
    }

    pub(super) fn who(&self, wave: u16) -> u32 {
        self.first.wrapping_add(wave.into())
    }

    pub(super) fn mate(&self, who: u32) -> Option<usize> {
        who.checked_sub(self.first).map(|mate| mate as usize).filter(|&mate| mate < self.waves.len())
    }

    /// The scope that an access of another wave must have to be atomic for the waves here.
    pub(super) fn scope_of(&self, who: u32) -> u32 {
        if self.mate(who).is_some() { Stamp::GROUP } else { Stamp::DEVICE }
    }

    /// Whether a wave that reads what this access has written learns what its writer told.
    pub(super) fn is_told_by(&self, wave: u16, writer: &Stamp) -> bool {
        let is_another = writer.who != 0 && writer.who != self.who(wave);
        is_another && writer.has(self.scope_of(writer.who) | Stamp::SMALL)
    }

    /// How many accesses a wave has made.
    pub fn issued(&self, wave: u16) -> u32 {
        self.waves[usize::from(wave)].issued
    }

    /// The number of the wave's next access.
    pub fn issue(&mut self, order: &Order, wave: u16) -> u32 {
        let time = order.seen(wave, wave) as usize;
        let own = &mut self.waves[usize::from(wave)];
        own.issued += 1;
        if own.marks.len() <= time {
            own.marks.resize(time + 1, own.issued);
        }
        own.issued
    }

    /// How many accesses a wave had made up to a time of its own.
    pub(super) fn issued_by(&self, mate: usize, time: u32) -> u32 {
        let own = &self.waves[mate];
        own.marks.get(time as usize + 1).map_or(own.issued, |first| first - 1)
    }

    /// A wave's waits guarantee this from now on.
    pub fn note_done(&mut self, order: &Order, wave: u16, done: Done) {
        let time = order.seen(wave, wave);
        let dones = &mut self.waves[usize::from(wave)].dones;
        match dones.last_mut() {
            Some(last) if last.0 == time => last.1 = done,
            _ => dones.push((time, done)),
        }
        self.look_again(wave, done);
        if self.races.writes_back {
            self.backings += usize::from(self.waves[usize::from(wave)].backing.settle(time, done));
        }
    }

    /// What a wave had waited for up to a time of its own.
    pub(super) fn done_by(&self, mate: usize, time: u32) -> Done {
        let dones = &self.waves[mate].dones;
        let later = dones.partition_point(|&(at, _)| at <= time);
        later.checked_sub(1).map_or([0; 3], |at| dones[at].1)
    }

    /// What a wave had done up to a time of its own, as far as its workgroup is concerned.
    fn happened_by(&self, mate: usize, time: u32) -> Done {
        if self.races.within.waits { self.done_by(mate, time) } else { [self.issued_by(mate, time); 3] }
    }

    /// The acquisitions that are known to a wave that has seen this much of its workgroup's clocks.
    fn known_to<'a>(&'a self, clock: &'a [u32], wave: u16) -> impl Iterator<Item = &'a Arc<Known>> {
        let knows = move |a: &&Acquired| a.wave == wave || clock[usize::from(a.wave)] >= a.time;
        self.acquired.iter().filter(knows).map(|a| &a.known)
    }

    /// Whether an earlier access comes before what a wave does now, which may find it in a cache of its compute unit.
    pub(super) fn is_ordered(&self, order: &Order, wave: u16, earlier: &Stamp, cached: bool) -> bool {
        let clock = match cached && self.races.within.invalidates {
            true => self.waves[usize::from(wave)].looks.fresh(),
            false => order.clock(wave),
        };
        if let Some(mate) = self.mate(earlier.who)
            && (mate == usize::from(wave) || earlier.seq <= self.happened_by(mate, clock[mate])[earlier.stream()])
        {
            return true;
        }
        self.known_to(clock, wave).any(|known| known.covers(earlier.who, earlier.stream(), earlier.seq))
    }

    /// What would have ordered an access behind an earlier one that it races with.
    pub(super) fn lack(&self, order: &Order, access: &Access, earlier: &Stamp) -> Lack {
        if access.is_cached() && self.is_ordered(order, access.wave, earlier, false) {
            return Lack::Invalidation;
        }
        match self.mate(earlier.who) {
            Some(mate) if earlier.seq <= self.issued_by(mate, order.seen(access.wave, mate as u16)) => Lack::Wait,
            _ => Lack::Order,
        }
    }

    /// Notes what a wave tells by the write that it is about to issue; `done` is what its waits guarantee.
    pub fn tell(&mut self, order: &Order, wave: u16, done: Done) -> Told {
        let told = self.told(order, wave, done);
        let own = &mut self.waves[usize::from(wave)];
        if !own.last.as_ref().is_some_and(|last| last.is_same(&told)) {
            self.races.tell(own.issued + 1, told.clone());
            own.last = Some(told.clone());
        }
        told
    }

    fn told(&mut self, order: &Order, wave: u16, done: Done) -> Told {
        if self.races.writes_back { self.backed_told(order, wave, done) } else { self.all_told(order, wave, done) }
    }

    /// All that a wave knows.
    pub(super) fn all_told(&mut self, order: &Order, wave: u16, done: Done) -> Told {
        let at = usize::from(wave);
        let clock = order.clock(wave);
        let (as_of, acquisitions) = &self.waves[at].as_of;
        if **as_of != *clock || *acquisitions != self.version {
            let happened = |mate: usize| self.happened_by(mate, clock[mate]);
            let knows_mates = (0..self.waves.len()).any(|mate| mate != at && happened(mate) != [0; 3]);
            let mates = if knows_mates { (0..self.waves.len()).map(happened).collect() } else { Arc::default() };
            let all: Vec<Arc<Known>> = self.known_to(clock, wave).cloned().collect();
            let version = self.version;
            let own = &mut self.waves[at];
            // What was known stays known: only what is new is added.
            let is_new = |known: &&Arc<Known>| !own.joined.iter().any(|had| Arc::ptr_eq(had, known));
            let new: Vec<&Arc<Known>> = all.iter().filter(is_new).collect();
            match new[..] {
                [] => {}
                [one] if own.others.is_empty() => own.others = Arc::clone(one),
                _ => {
                    let others = Arc::make_mut(&mut own.others);
                    new.into_iter().for_each(|known| others.join(known));
                }
            }
            (own.mates, own.joined) = (mates, all);
            own.as_of = (clock.into(), version);
        }
        let own = &self.waves[at];
        let (mates, others) = (Arc::clone(&own.mates), Arc::clone(&own.others));
        Told { who: self.who(wave), done, first: self.first, mates, others }
    }

    /// A wave invalidates some caches. `done` says, given a number of accesses, what the wave's waits guarantee of them.
    pub fn invalidate(&mut self, order: &Order, wave: u16, caches: u8, done: impl FnOnce(u32) -> Done) {
        let invalidates = self.races.within.invalidates;
        let own = &mut self.waves[usize::from(wave)];
        own.looks.note_invalidation(order.clock(wave), caches);
        if self.has_looked
            && let Some(known) = self.learned_from_mates(wave)
        {
            self.note(order, wave, known);
        }
        let own = &mut self.waves[usize::from(wave)];
        if own.looked.is_empty() {
            return;
        }
        let done = done(own.issued);
        let (mut words, mut nearby) = (Vec::new(), Vec::new());
        own.looked.retain(|&word, look| {
            if look.seq <= done[look.stream] {
                look.seen |= caches;
            }
            match look.seen {
                ALL => words.push(word),
                seen if invalidates && seen & INNER != 0 => nearby.push(word),
                _ => {}
            }
            look.seen != ALL
        });
        self.acquire(order, wave, &nearby, true);
        self.acquire(order, wave, &words, false);
    }

    /// A wave acquires what those told who wrote these words last; `nearby`: only of its workgroup's waves.
    fn acquire(&mut self, order: &Order, wave: u16, words: &[u64], nearby: bool) {
        let mut known = Known::default();
        for &word in words {
            let address = word << 2;
            let writer = {
                let shard = self.races.shard(page_of(address));
                let own = &mut self.waves[usize::from(wave)];
                if let Some(chain) = shard.chains.get(&word)
                    && !nearby
                    && own.from_chains.insert(word, chain.changed) != Some(chain.changed)
                {
                    known.join(&chain.known);
                }
                shard.pages.writer(address)
            };
            let Some(writer) = writer.filter(|writer| self.is_told_by(wave, writer)) else { continue };
            if nearby && self.mate(writer.who).is_none() {
                continue;
            }
            if self.waves[usize::from(wave)].from_stores.insert(writer.who, writer.seq) != Some(writer.seq)
                && let Some(told) = self.races.told(writer.who, writer.seq)
            {
                told.join_into(&mut known, writer.seq);
            }
        }
        if !known.is_empty() {
            self.note(order, wave, known);
        }
    }

    /// A wave knows this from now on.
    fn note(&mut self, order: &Order, wave: u16, known: Known) {
        let time = order.seen(wave, wave);
        match self.acquired.iter_mut().find(|a| a.wave == wave && a.time == time) {
            Some(a) => Arc::make_mut(&mut a.known).join(&known),
            None => self.acquired.push(Acquired { wave, time, known: Arc::new(known) }),
        }
        self.version += 1;
        if self.acquired.len() > MANY {
            self.unite(order);
        }
    }

    /// What all waves know of becomes one.
    fn unite(&mut self, order: &Order) {
        let waves = 0..self.waves.len() as u16;
        let all_know = |a: &Acquired| waves.clone().all(|wave| order.seen(wave, a.wave) >= a.time);
        let (old, new) = std::mem::take(&mut self.acquired).into_iter().partition::<Vec<_>, _>(all_know);
        let mut known = Known::default();
        old.iter().for_each(|a| known.join(&a.known));
        self.acquired = vec![Acquired { wave: 0, time: 0, known: Arc::new(known) }];
        self.acquired.extend(new);
    }

    /// A wave reads a word by an atomic access.
    pub(super) fn look(&mut self, wave: u16, word: u64, seq: u32, stream: usize) {
        self.note_look(wave, word, seq, stream);
        let looked = &mut self.waves[usize::from(wave)].looked;
        if looked.len() >= MOST_LOOKED {
            looked.clear();
        }
        looked.insert(word, Looked { seq, stream, seen: 0 });
    }

    /// A wave acquires what waves of its workgroup told.
    pub(super) fn acquire_nearby(&mut self, order: &Order, wave: u16, done: Done) {
        let looked = &self.waves[usize::from(wave)].looked;
        let words: Vec<u64> =
            looked.iter().filter(|(_, look)| look.seq <= done[look.stream]).map(|(&word, _)| word).collect();
        self.acquire(order, wave, &words, true);
    }

    /// A wave comes to a barrier of several workgroups, which orders all that it knows of.
    pub fn come(&mut self, order: &Order, wave: u16, key: u32) {
        let issued = self.waves[usize::from(wave)].issued;
        let told = self.all_told(order, wave, [issued; 3]);
        told.join_into(lock(&self.races.meetings).entry(self.meeting(key)).or_default(), issued);
    }

    /// A wave has waited for such a barrier.
    pub fn meet(&mut self, order: &Order, wave: u16, key: u32) {
        let known = lock(&self.races.meetings).get(&self.meeting(key)).cloned();
        if let Some(known) = known {
            self.note(order, wave, known);
        }
    }

    fn meeting(&self, key: u32) -> u64 {
        let cluster = if key == crate::barrier::CLUSTER_KEY { self.cluster } else { 0 };
        u64::from(key) << 32 | cluster & 0xffff_ffff
    }
}
